"""The request of an ingest, plain values made from the configuration, and the state of a running one."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import kb
from kb.config import Config
from kb.domain.derived import (
    IN_PART,
    NOT_DERIVED,
    CaptionSettings,
    DerivedName,
    ExtractSettings,
    OcrSettings,
    SpeechSettings,
    read_labels,
)
from kb.domain.documents import ChunkPolicy, SourceFile
from kb.domain.kinds import KINDS, Kinds, MediaFamily, MediaType, archive_type, extension_of, family_of
from kb.domain.results.ingest import IngestItem, IngestReport
from kb.domain.run_handle import RunHandle
from kb.domain.sources import Source, Sources, nested
from kb.domain.text import counted, to_posix
from kb.errors import ConfigError, UsageError
from kb.extract.registry import OF_PICTURES, extractor_of
from kb.operations.compute.plan import compute_plan
from kb.operations.embedding.plan import EmbeddingPlan, embedding_plan
from kb.operations.ingest.engines import (
    NO_PLUGINS,
    Engines,
    ExtractionPlan,
    IngestPlugins,
    PdfPasswords,
    ingest_plugins,
)
from kb.operations.ingest.read import ChangedFile, Reading, ReadingRules, pipeline_tail
from kb.operations.ingest.unread import UnreadFiles
from kb.operations.opening.exposure import kept_from_models, named_by, no_path
from kb.operations.opening.own_files import PrivatePlaces, private_places
from kb.operations.opening.typed_path import as_on_disk, path_below
from kb.scan.rules import Included
from kb.store import queries
from kb.store.connection import Connection
from kb.store.documents import ReadDocument

_MB = 1_000_000


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """What to ingest and how; `scope`, a stored path, limits it to one source, folder or file.

    Copies of files up to `copy_threshold_bytes` go to `asset_dir`, derived results to `artifact_dir`.
    """

    sqlite: Path
    rules: ReadingRules
    asset_dir: Path
    artifact_dir: Path
    copy_threshold_bytes: int
    extraction: ExtractionPlan
    places: PrivatePlaces
    plugins: IngestPlugins = NO_PLUGINS
    kept_from_models: Callable[[str], bool] = no_path
    embedding: EmbeddingPlan | None = None
    scope: str = ""
    follow_outside: bool = True
    dry_run: bool = False
    allow_empty: bool = False
    moved: bool = False
    retry: bool = False
    for_watch: bool = False

    def tries_again(self, path: str) -> bool:
        """Whether to read a file that could not be read before: with `retry`, or if it is the scope itself."""
        return self.retry or path == to_posix(self.scope)

    @property
    def sources(self) -> Sources:
        """The folders whose files are ingested."""
        return self.rules.sources


def ingest_request(
    config: Config,
    path: str | None,
    *,
    dry_run: bool,
    allow_empty: bool,
    embed: bool,
    families: Sequence[MediaFamily] | None = None,
    moved: bool = False,
    retry: bool = False,
    for_watch: bool = False,
) -> IngestRequest:
    """The request to ingest all sources, or `path` (relative to the working directory or the workspace root).

    `families` are the kinds of files to read, None for all; stored documents of other kinds stay unchanged.

    Raises: UsageError if `path` is in no source or of a kind that kb does not read; ConfigError for nested sources.
    """
    plugins = ingest_plugins(config)
    wanted = plugins.kinds.families if families is None else families
    sources = config.sources
    require_apart(sources)
    policy = ChunkPolicy(
        config.chunking.target_tokens,
        config.chunking.overlap_tokens,
        config.chunking.respect_markdown_headings,
        config.chunking.chunker_version,
        plugins.chunkers,
    )
    return IngestRequest(
        sqlite=config.sqlite,
        rules=ReadingRules(
            sources,
            config.indexing.max_file_mb * _MB,
            config.indexing.max_markdown_mb * _MB,
            policy,
            is_stored=not dry_run,
        ),
        asset_dir=config.asset_dir,
        artifact_dir=config.artifact_dir,
        copy_threshold_bytes=config.storage.copy_threshold_mb * _MB,
        extraction=extraction_plan(config, [each for each in wanted if each not in plugins.uncut]),
        places=private_places(config),
        plugins=plugins,
        kept_from_models=kept_from_models(config),
        embedding=embedding_plan(config) if embed and config.models_embedding.provider != "none" else None,
        scope=_scope(config, path, plugins.kinds),
        follow_outside=config.workspace.follow_outside,
        dry_run=dry_run,
        allow_empty=allow_empty,
        moved=moved,
        retry=retry,
        for_watch=for_watch,
    )


def require_apart(sources: Sources) -> None:
    """Raises ConfigError if two sources have the same folder, or one is inside the other."""
    if sources.further and (found := nested(sources.every)) is not None:
        outer, inner = found
        raise ConfigError(
            f"the folder of the source {inner.name}, {inner.root}, is in that of {outer.name}, {outer.root}",
            f"its files are of {outer.name} already: leave out one of the two, or move the folder",
        )


def media_families(words: str, config: Config) -> tuple[MediaFamily, ...]:
    """The families in a list like `markdown,pdf`, also those of configured extractors. Raises: UsageError."""
    named = [word.strip() for word in words.split(",")]
    families = (*KINDS.families, *(cast(MediaFamily, name) for name in config.plugins.extractors))
    for word in named:
        if word not in families:
            raise UsageError(f"no kind of file {word!r}", f"one or more of {', '.join(families)}, joined by commas")
    return tuple(family for family in families if family in named)


def extraction_plan(config: Config, families: Sequence[MediaFamily] = KINDS.families) -> ExtractionPlan:
    """How to read files of these families, with the engines that they need."""
    compute = compute_plan(config)
    return ExtractionPlan(
        families=tuple(families),
        settings=extract_settings(config),
        passwords=PdfPasswords(config.extract.pdf_passwords, config.extract.pdf_passwords_command),
        processes=config.indexing.max_parallel_extractors,
        quiet_cpu_s=config.indexing.extract_timeout_s,
        memory_bytes=config.indexing.extract_memory_mb * _MB,
        cache=config.derived_cache,
        cache_bytes=config.cache_bytes,
        compute=compute,
        kept_here=named_by(compute.kept_here) if compute.kept_here is not None else no_path,
    )


def extract_settings(config: Config) -> ExtractSettings:
    """The settings of the engines, without passwords."""
    ocr, caption, audio = config.ocr, config.image_caption, config.audio
    threads = max(1, (os.cpu_count() or 1) // config.indexing.max_parallel_extractors)
    return ExtractSettings(
        OcrSettings(ocr.languages, ocr.page_dpi) if any(each.ocr for each in config.sources.every) else None,
        CaptionSettings(caption.model, config.models_llm.endpoint) if caption.enabled else None,
        SpeechSettings(audio.model, config.model_dir, audio.language, threads) if audio.enabled else None,
    )


def _scope(config: Config, path: str | None, kinds: Kinds) -> str:
    """The stored path of `path`; a path in the working directory wins over one in the workspace."""
    if path is None:
        return ""
    below = path_below(config.sources, path)
    if below is None:
        root = os.path.realpath(config.workspace_root)
        if not os.path.lexists(as_on_disk(os.path.abspath(os.path.expanduser(path)))):
            raise UsageError(
                f"{path} does not exist, neither here nor below the workspace {root}",
                "check the spelling; kb ingest alone takes out what was deleted",
            )
        raise UsageError(
            f"{path} is not below the workspace {root}" if not config.further_sources else f"{path} is in no source",
            "name a file or folder in it, or set workspace.root"
            if not config.further_sources
            else "kb list sources shows their folders; kb source add adds one",
        )
    _refuse_unread_kind(config.sources, below, kinds)
    return below


def _refuse_unread_kind(sources: Sources, stored: str, kinds: Kinds) -> None:
    source, below = sources.place(stored)
    full = as_on_disk(os.path.join(source.root, below))
    if os.path.isdir(full) or kinds.media_type_of(full) is not None:
        return
    if archive_type(full) is not None:
        if source.archives or Included(source.include).names(below):
            return
        raise UsageError(
            "files in archives are not read", "workspace.archives = true, or archives = true of the source"
        )
    folder, slash, name = below.rpartition("/")
    can_run = os.path.isfile(full) and os.access(full, os.X_OK)
    included = Included(source.include)
    if included.text_type(folder + slash, name, full, is_executable=lambda: can_run) is not None:
        return
    kind = extension_of(full)
    known = ", ".join(name.removeprefix("*.") for name in kinds.spellings())
    raise UsageError(
        f"kb does not read {kind} files" if kind else f"{os.path.basename(full)} has no extension that kb knows",
        f"it reads {known}; save a document as PDF, a picture as JPEG or PNG",
    )


_DESCRIBED: frozenset[DerivedName] = frozenset(("caption",))
_SEEN: frozenset[DerivedName] = frozenset(("ocr",))


@dataclass(slots=True)
class IngestRun:
    """A running ingest: the request, the connection, and its findings so far."""

    request: IngestRequest
    db: Connection
    report: IngestReport
    handle: RunHandle
    engines: Engines
    unread_files: UnreadFiles
    readers: dict[tuple[MediaFamily, frozenset[DerivedName]], str] = field(default_factory=dict)
    current: set[tuple[MediaType, str, str]] = field(default_factory=set)  # pipeline versions of today
    unread: Counter[MediaFamily] = field(default_factory=Counter)  # files without a usable engine
    unread_parts: Counter[DerivedName] = field(default_factory=Counter)  # files of which only a part could be read
    unread_pictures: list[int] = field(default_factory=list)  # of each document whose pictures could not be read
    uncut: Counter[str] = field(default_factory=Counter)  # source files cut by paragraphs, by the lacking module
    vanished: dict[str, tuple[int, int, str, str]] = field(default_factory=dict)  # known files the walk has not met
    unknown_below: list[str] = field(default_factory=list)  # unreadable paths, whose stored documents stay
    absent: dict[str, int] = field(default_factory=dict)  # sources whose files cannot be seen, which stay as they are
    # Files whose text is stored before their pictures are read, with their outcome then.
    read_again: dict[str, IngestItem | None] = field(default_factory=dict)
    finished: int = 0
    total: int = 0

    def changed(self, file: SourceFile) -> ChangedFile:
        """The file with the document that is stored at its path, if any."""
        stored = queries.select_document_at(self.db, workspace_path=file.workspace_path)
        current = stored and self.is_current(file.media_type, stored.pipeline_version, file.workspace_path)
        return ChangedFile(file, stored, bool(current))

    def is_current(self, media_type: MediaType, pipeline_version: str, path: str) -> bool:
        """Whether a document with that pipeline version would be made in the same way now; cached in `current`."""
        family, source = family_of(media_type), self.request.sources.place(path)[0]
        key = (media_type, pipeline_version, source.reading)
        without = self.left_out(family, path)
        if without:
            return self._is_current(source, family, pipeline_version, without)
        if key not in self.current and self._is_current(source, family, pipeline_version, without):
            self.current.add(key)
        return key in self.current

    def reader(self, file: SourceFile) -> str:
        """What would read a file now, as a text: versions, engines and limits."""
        family = family_of(file.media_type)
        without = self.left_out(family, file.workspace_path)
        if (family, without) not in self.readers:
            extraction, max_bytes = self.request.extraction, self.request.rules.limit_of(family)[0]
            parts = [f"kb-{kb.__version__}", self.engines.parser_version(family, without), f"max-{max_bytes}"]
            if extractor_of(family).steps:
                parts.append(f"{extraction.quiet_cpu_s}s-{extraction.memory_bytes}")
            if family == "pdf":
                parts.append("passwords" if extraction.passwords.are_given else "no-passwords")
            self.readers[family, without] = "/".join(parts)
        return self.readers[family, without]

    def left_out(self, family: MediaFamily, path: str) -> frozenset[DerivedName]:
        """The results not to derive from a file: captions if models may not see it, OCR if its source has it off."""
        is_kept = family == "image" and self.request.kept_from_models(path)
        has_ocr = (
            all(step.name != "ocr" for step in extractor_of(family).steps) or self.request.sources.place(path)[0].ocr
        )
        return (_DESCRIBED if is_kept else frozenset()) | (frozenset() if has_ocr else _SEEN)

    def can_read(self, family: MediaFamily, path: str) -> bool:
        """Whether a file can be read with the engines that are usable."""
        return self.engines.can_read(family, self.left_out(family, path) & _SEEN)

    def has_pictures_to_read(self, reading: Reading) -> bool:
        """Whether OCR is to read pictures of a file that was read without; if it cannot, they are counted as unread."""
        if not isinstance(reading, ReadDocument):
            return False
        document, path = reading.document, reading.document.workspace_path
        pictures = document.metadata.user.get("pictures")
        if not isinstance(pictures, int) or read_labels(document.parser_version)[1].get("ocr") != NOT_DERIVED:
            return False
        left_out = self.left_out(family_of(reading.file.media_type), path)
        if OF_PICTURES.name not in left_out and self.engines.engine_of(OF_PICTURES) and not self.request.dry_run:
            return True
        self.unread_pictures.append(pictures)
        return False

    def is_stored_first(self, read: ReadDocument) -> bool:
        """Whether a document is to be stored before its pictures are read: one with text that is not stored yet."""
        document = read.document
        path = document.workspace_path
        if not read.chunks or path in self.read_again:
            return False
        stored = queries.select_document_at(self.db, workspace_path=path)
        is_same = stored is not None and stored.asset_id == document.asset_id
        if stored and (stored.doc_id == document.doc_id or (is_same and IN_PART in stored.pipeline_version)):
            return False
        self.read_again[path] = None
        self.total += 1
        return True

    def _is_current(
        self, source: Source, family: MediaFamily, pipeline_version: str, without: frozenset[DerivedName]
    ) -> bool:
        tail = pipeline_tail(source, family, self.request.rules.policy)
        if not pipeline_version.endswith(tail):
            return False
        return self.engines.are_those_of(family, pipeline_version.removesuffix(tail), without)

    def is_unread_as_before(self, file: SourceFile) -> bool:
        """Whether a file is recorded as not read and nothing has changed since; counts it then."""
        known = self.unread_files.as_before(file, self.reader(file))
        if known is not None and known.outcome == "left out":
            self.report.skip(known.code, file.workspace_path)
        elif known is not None:
            self.report.counts.still_unread += 1
        return known is not None

    def leave_unread(self, file: SourceFile) -> None:
        """Counts a file as unread, because its engine is not usable."""
        family = family_of(file.media_type)
        self.unread[family] += 1
        lacked = self.engines.lacked_by(family)
        self.unread_files.waiting(file, self.reader(file), self.engines.missing[lacked[0]] if lacked else None)

    def lacking(self) -> Iterator[str]:
        """One line for each needed engine that is not usable, and for each missing plugin."""
        yield from self.request.plugins.notes()
        for note, count in self.uncut.items():
            from kb.installation import extra_command  # only needed for a hint

            yield f"{note}: {count} file{'' if count == 1 else 's'} ({extra_command('code')})"
        if self.unread_pictures:
            what = (
                f"{counted(sum(self.unread_pictures), 'picture')} in {counted(len(self.unread_pictures), 'document')}"
            )
            why = "not installed" if OF_PICTURES in self.engines.missing else "switched off"
            yield f"{what} not read: OCR is {why}"
        missing = self.engines.missing
        for message, hint in dict.fromkeys((error.message, error.hint) for error in missing.values()):
            steps = {step for step, error in missing.items() if error.message == message}
            unread = sum(count for family, count in self.unread.items() if steps & set(self.engines.lacked_by(family)))
            in_part = sum(self.unread_parts[name] for name in {step.name for step in steps})
            counts = [
                f"{count} file{'' if count == 1 else 's'} {how}"
                for count, how in ((unread, "not read"), (in_part, "read in part"))
                if count
            ]
            if counts:
                yield f"{message}: {', '.join(counts)}" + (f" ({hint})" if hint else "")

    def would_have_met(self, path: str) -> bool:
        """Whether the walk would have met a file at `path`: it is in scope, and all folders above it can be read."""
        sources = self.request.sources
        if sources.place(path)[0].name in self.absent or not sources.is_below(path, to_posix(self.request.scope)):
            return False
        return not any(sources.is_below(path, folder) for folder in self.unknown_below)
