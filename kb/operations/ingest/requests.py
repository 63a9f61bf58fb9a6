"""The request of an ingest: plain values, made from the configuration."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from kb.config import Config
from kb.domain.derived import CaptionSettings, ExtractSettings, OcrSettings, SpeechSettings
from kb.domain.documents import ChunkPolicy
from kb.domain.kinds import KINDS, Kinds, MediaFamily, extension_of
from kb.errors import UsageError
from kb.operations.embedding.plan import EmbeddingPlan, embedding_plan
from kb.operations.ingest.engines import NO_PLUGINS, ExtractionPlan, IngestPlugins, PdfPasswords, ingest_plugins
from kb.operations.ingest.read import ReadingRules
from kb.operations.opening.exposure import kept_from_models, no_path
from kb.operations.opening.own_files import PrivatePlaces, private_places
from kb.operations.opening.typed_path import as_on_disk, path_below
from kb.scan.rules import Included

_MB = 1_000_000


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """What to ingest and how; `scope` narrows it to one file or folder below `root`.

    Copies of files go to `asset_dir`, up to `copy_threshold_bytes`, derived results to `artifact_dir`.
    """

    sqlite: Path
    root: Path
    include: tuple[str, ...]
    exclude: tuple[str, ...]
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


def ingest_request(
    config: Config,
    path: str | None,
    *,
    dry_run: bool,
    allow_empty: bool,
    embed: bool,
    families: Sequence[MediaFamily] | None = None,
    moved: bool = False,
) -> IngestRequest:
    """The ingest of the whole workspace, or of `path` below it (relative to the working directory or to the root).

    `families` are the kinds of files to read, None for all; stored documents of other kinds stay unchanged.

    Raises: UsageError when `path` is not below the workspace root, or a file of a kind kb does not read.
    """
    plugins = ingest_plugins(config)
    wanted = plugins.kinds.families if families is None else families
    policy = ChunkPolicy(
        config.chunking.target_tokens,
        config.chunking.overlap_tokens,
        config.chunking.respect_markdown_headings,
        config.chunking.chunker_version,
        plugins.chunkers,
    )
    return IngestRequest(
        sqlite=config.sqlite,
        root=config.workspace_root,
        include=(*config.workspace.include, *plugins.include),
        exclude=config.workspace.exclude,
        rules=ReadingRules(
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
    )


def media_families(words: str, config: Config) -> tuple[MediaFamily, ...]:
    """The families named by `markdown,pdf`, including those of configured extractors.

    Raises: UsageError for an unknown word.
    """
    named = [word.strip() for word in words.split(",")]
    families = (*KINDS.families, *(cast(MediaFamily, name) for name in config.plugins.extractors))
    for word in named:
        if word not in families:
            raise UsageError(f"no kind of file {word!r}", f"one or more of {', '.join(families)}, joined by commas")
    return tuple(family for family in families if family in named)


def extraction_plan(config: Config, families: Sequence[MediaFamily] = KINDS.families) -> ExtractionPlan:
    """How to read the files that need an engine."""
    ocr, caption, audio = config.ocr, config.image_caption, config.audio
    threads = max(1, (os.cpu_count() or 1) // config.indexing.max_parallel_extractors)
    settings = ExtractSettings(
        OcrSettings(ocr.languages, ocr.page_dpi) if ocr.enabled else None,
        CaptionSettings(caption.model, config.models_llm.endpoint) if caption.enabled else None,
        SpeechSettings(audio.model, config.model_dir, audio.language, threads) if audio.enabled else None,
    )
    return ExtractionPlan(
        families=tuple(families),
        settings=settings,
        passwords=PdfPasswords(config.extract.pdf_passwords, config.extract.pdf_passwords_command),
        processes=config.indexing.max_parallel_extractors,
        quiet_cpu_s=config.indexing.extract_timeout_s,
        memory_bytes=config.indexing.extract_memory_mb * _MB,
        cache=config.derived_cache,
        cache_bytes=config.cache_bytes,
    )


def _scope(config: Config, path: str | None, kinds: Kinds) -> str:
    """`path` relative to the workspace root; a path that is in the working directory wins over one in the root."""
    if path is None:
        return ""
    below = path_below(config.workspace_root, path)
    if below is None:
        root = os.path.realpath(config.workspace_root)
        if not os.path.lexists(as_on_disk(os.path.abspath(os.path.expanduser(path)))):
            raise UsageError(
                f"{path} does not exist, neither here nor below the workspace {root}",
                "check the spelling; kb ingest alone takes out what was deleted",
            )
        raise UsageError(
            f"{path} is not below the workspace {root}", "name a file or folder in it, or set workspace.root"
        )
    _refuse_unread_kind(config, below, kinds)
    return below


def _refuse_unread_kind(config: Config, below: str, kinds: Kinds) -> None:
    full = os.path.join(config.workspace_root, below)
    if os.path.isdir(full) or kinds.media_type_of(full) is not None:
        return
    folder, slash, name = str(below).rpartition("/")
    can_run = os.path.isfile(full) and os.access(full, os.X_OK)
    included = Included(config.workspace.include)
    if included.text_type(folder + slash, name, full, is_executable=lambda: can_run) is not None:
        return
    kind = extension_of(full)
    known = ", ".join(name.removeprefix("*.") for name in kinds.spellings())
    raise UsageError(
        f"kb does not read {kind} files" if kind else f"{os.path.basename(full)} has no extension that kb knows",
        f"it reads {known}; save a document as PDF, a picture as JPEG or PNG",
    )
