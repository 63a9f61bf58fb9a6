"""Reads one changed file: bytes → known already? → document → chunks → the words that index it.

These words are texts, headings, names, names in code, sounds and morphemes. All except morphemes are computed for each
document; Kiwi analyses the Korean texts of several documents at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import NamedTuple, TypeAlias, cast

from kb.chunk.chunkers import cut_document, policy_of
from kb.chunk.cutting import policy_hash
from kb.domain.derived import Derived, DerivedName
from kb.domain.documents import Chunk, ChunkPolicy, Code, Document, SourceFile
from kb.domain.ids import Json, asset_id, block_id, document_id
from kb.domain.kinds import MediaFamily, family_of
from kb.domain.results.ingest import StageTimes
from kb.domain.sources import TRUST_LEVELS, Source, Sources
from kb.domain.spans import CodeSpan, LineSpan
from kb.domain.text import WorkspacePath, stored_text
from kb.errors import ExtractFailed, FileError, worded
from kb.extract.code.left_out import reason_left_out
from kb.extract.registry import extractor_of
from kb.language.hangul import word_sounds
from kb.language.korean import analyse, analysis_version, has_hangul
from kb.language.markup import without_components
from kb.language.names import inner_words, name_timestamp, name_words, parts_of, spellings
from kb.language.words import written_pairs, written_words
from kb.operations.opening.clock import from_ns
from kb.scan.read import FileBytes, read_bytes
from kb.scan.walk import SkippedFile
from kb.store import queries
from kb.store.documents import NO_WORDS, CodeWords, IndexedWords, KoreanUnits, ReadDocument

Reading: TypeAlias = ReadDocument | SourceFile | SkippedFile | FileError
"""The result of reading a changed file: a document, where its bytes are new; the file as it is now, where they are
known; the rule that leaves it out; or a failure."""

ReadBatch: TypeAlias = list[tuple[SourceFile, Reading]]
"""Files with their readings, to be stored together."""


EMPTY = "empty"
"""Why a file without a byte is left out."""

_KEPT_EMPTY: tuple[MediaFamily, ...] = ("markdown", "code")


class ChangedFile(NamedTuple):
    """A file to read, the stored document at its path, and whether this parser and chunker would make that again."""

    file: SourceFile
    stored: queries.StoredDocument | None
    is_current: bool

    @property
    def family(self) -> MediaFamily:
        """The family of the file's kind."""
        return family_of(self.file.media_type)


@dataclass(frozen=True, slots=True)
class ReadingRules:
    """The sources, the size limits and the chunk policy; `is_stored` is False in a dry run."""

    sources: Sources
    max_file_bytes: int
    max_markdown_bytes: int
    policy: ChunkPolicy
    is_stored: bool

    def limit_of(self, family: MediaFamily) -> tuple[int, str]:
        """The size limit of files of that family in bytes, and the configuration key that sets it."""
        if family == "markdown" and self.max_markdown_bytes < self.max_file_bytes:
            return self.max_markdown_bytes, "indexing.max_markdown_mb"
        return self.max_file_bytes, "indexing.max_file_mb"


def read_changed(changed: ChangedFile, rules: ReadingRules, stages: StageTimes) -> Reading:
    """Reads a file that needs no engines."""
    try:
        content = read_content(changed, rules, stages)
        return read_document(changed, content, {}, rules, stages) if isinstance(content, FileBytes) else content
    except FileError as error:
        return error


def read_content(changed: ChangedFile, rules: ReadingRules, stages: StageTimes) -> FileBytes | SourceFile | SkippedFile:
    """The bytes of a file; a SourceFile instead if they are indexed already, a SkippedFile if a rule leaves them out.

    Without bytes only notes and source code are documents: links and imports lead to them. Raises: FileError.
    """
    file, stored = changed.file, changed.stored
    max_bytes, limit = rules.limit_of(changed.family)
    with stages.measure("read"):
        content = read_bytes(file.source_path, max_bytes=max_bytes, limit=limit)
    if not content.data and changed.family not in _KEPT_EMPTY:
        return SkippedFile(file.workspace_path, EMPTY)
    if changed.family == "code" and (
        reason := reason_left_out(content.data, rules.sources.place(file.workspace_path)[1])
    ):
        return SkippedFile(file.workspace_path, reason)
    if stored is not None and changed.is_current and stored.asset_id == asset_id(content.blake3):
        return _as_read(file, content)
    return content


def read_document(
    changed: ChangedFile,
    content: FileBytes,
    derived: Mapping[DerivedName, Derived],
    rules: ReadingRules,
    stages: StageTimes,
) -> ReadDocument:
    """The document of a file, from its bytes or derived results, with chunks and words. Raises: FileError."""
    source, relative = rules.sources.place(changed.file.workspace_path)
    try:
        with stages.measure("extract"):
            document = extractor_of(changed.family).document(
                content.data, derived, workspace_path=WorkspacePath(relative), asset_id=asset_id(content.blake3)
            )
            document = of_source(document, source, changed.file.workspace_path, changed.family)
        with stages.measure("chunk"):
            chunks = cut_document(document, changed.family, rules.policy)
    except (FileError, MemoryError):
        raise
    except Exception as error:
        hint = "it is an error of kb: please report it; list the file in .kbignore meanwhile"
        raise ExtractFailed(f"kb cannot read it ({type(error).__name__}): {worded(error)}", hint) from error
    return with_words(changed, content, document, chunks, tuple(derived.values()), rules, stages)


def with_words(
    changed: ChangedFile,
    content: FileBytes,
    document: Document,
    chunks: tuple[Chunk, ...],
    derived: tuple[Derived, ...],
    rules: ReadingRules,
    stages: StageTimes,
) -> ReadDocument:
    """A document with the words that index it; without words in a dry run."""
    indexed = NO_WORDS
    source, relative = rules.sources.place(document.workspace_path)
    if rules.is_stored:
        with stages.measure("words"):
            indexed = indexed_words(document, relative, chunks, changed.family)
    changed_at = from_ns(content.written_ns or changed.file.mtime_ns)
    return ReadDocument(
        file=_as_read(changed.file, content),
        source=source.name,
        relative_path=relative,
        stored=changed.stored,
        document=document,
        chunks=chunks,
        indexed=indexed,
        derived=derived,
        checksum=content.blake3,
        data=content.data,
        pipeline_version=document.parser_version + pipeline_tail(source, changed.family, rules.policy),
        created_at=document.metadata.created_at or name_timestamp(relative) or changed_at,
        updated_at=document.metadata.updated_at or changed_at,
    )


def _as_read(file: SourceFile, content: FileBytes) -> SourceFile:
    return file._replace(byte_len=content.byte_len, mtime_ns=content.mtime_ns)


# Bumped when the indexed words or dates of a document change: title, headings, names, their languages.
WORDS_VERSION = "words-6"


def word_maker() -> str:
    """The version of the indexed words: of the Korean analyser, and of the rule for names and headings."""
    return f"{analysis_version()}/{WORDS_VERSION}"


def pipeline_tail(source: Source, family: MediaFamily, policy: ChunkPolicy) -> str:
    """The end of a family's pipeline version: source, forms of results, chunker, policy, morphemes and words.

    A stored document with another pipeline version is made again.
    """
    own = policy_of(family, policy)
    form = extractor_of(family).form
    return f"{source.reading}{form}/{own.chunker_version}:{policy_hash(own)}/{word_maker()}"


def of_source(document: Document, source: Source, path: WorkspacePath, family: MediaFamily) -> Document:
    """A document that was read by its path within a source, changed to one of that source.

    It gets the ids of its whole path, and at most the source's trust level.
    """
    trust = max(document.metadata.trust_level, source.trust, key=TRUST_LEVELS.index)
    if trust != document.metadata.trust_level:
        document = replace(document, metadata=replace(document.metadata, trust_level=trust))
    if source.language and document.lang in ("", "und") and family != "code":
        document = replace(document, lang=source.language)
    if path == document.workspace_path:
        return document
    doc_id = document_id(path, document.asset_id, document.parser_version)
    blocks = tuple(
        replace(each, block_id=block_id(doc_id, each.kind, each.heading_path, each.ordinal, each.span.to_json()))
        for each in document.blocks
    )
    return replace(document, doc_id=doc_id, workspace_path=path, blocks=blocks)


def indexed_words(document: Document, relative_path: str, chunks: Sequence[Chunk], family: MediaFamily) -> IndexedWords:
    """The words that index a document and its chunks; its path is that within its source."""
    is_code = family == "code"
    texts = _indexed_texts(document, chunks, family)
    headings = tuple(_heading_words(document, chunk, ordinal) for ordinal, chunk in enumerate(chunks))
    name = stored_text("\n".join(name_words(relative_path, document.title)).replace("_", " "))
    interleaved = (each for pair in zip(texts, headings, strict=True) for each in pair)
    found_by = list(dict.fromkeys((*interleaved, name)))
    # Misspelled words of a question are compared with words that people write, not with names in code.
    words = tuple(written_words([] if is_code else found_by))
    return IndexedWords(
        texts=texts,
        headings=headings,
        name=_path_words(relative_path) if is_code else name,
        korean_texts=tuple(filter(has_hangul, found_by)),
        words=words,
        sounds=word_sounds(words),
        pairs=() if is_code else tuple(written_pairs(found_by)),
        code=tuple(_code_words(document, chunk) for chunk in chunks) if is_code else (),
    )


def analyse_korean(documents: Sequence[ReadDocument]) -> tuple[Mapping[str, str], list[KoreanUnits]]:
    """The morphemes of every Korean text in the documents, and the units of each document.

    Units are counted while Kiwi reads: kept for each text, those of a long document would take thirty times its size.
    """
    within: dict[str, list[int]] = {}
    for index, each in enumerate(documents):
        for text in each.indexed.korean_texts:
            within.setdefault(text, []).append(index)
    counts: list[Counter[tuple[str, str]]] = [Counter() for _ in documents]
    morphemes: dict[str, str] = {}
    for text, found in zip(within, analyse(list(within)) if within else (), strict=True):
        morphemes[text] = found.indexed
        for index in within[text]:
            counts[index].update(found.units)
    return morphemes, [tuple((*unit, occurrences) for unit, occurrences in sorted(each.items())) for each in counts]


def _indexed_texts(document: Document, chunks: Sequence[Chunk], family: MediaFamily) -> tuple[str, ...]:
    """The text of each chunk that is indexed and embedded: in NFC, without the components of a note."""
    texts = [chunk.text for chunk in chunks]
    source = document.source_text
    if family == "markdown" and (shown := _without_components(document)) != source:
        starts = [0, *accumulate(len(line) + 1 for line in source.split("\n"))]
        for at, chunk in enumerate(chunks):
            start = source.index(chunk.text, starts[cast(LineSpan, chunk.spans[0]).start - 1])
            texts[at] = shown[start : start + len(chunk.text)]
    return tuple(map(stored_text, texts))


def _without_components(document: Document) -> str:
    """The source text with components, statements and logic blanked except in code; its length stays."""
    lines = without_components(document.source_text).split("\n")
    written = document.source_text.split("\n")
    for block in document.blocks:
        if isinstance(block.payload, Code) and isinstance(block.span, LineSpan):
            of_block = slice(block.span.start - 1, block.span.end)
            lines[of_block] = written[of_block]
    return "\n".join(lines)


def _heading_words(document: Document, chunk: Chunk, ordinal: int) -> str:
    """The words above a chunk: title, headings, aliases; for the first chunk also those of the frontmatter."""
    words = [document.title, *chunk.heading_path, *document.metadata.aliases]
    if ordinal == 0:
        words += [*document.metadata.tags, *_strings(document.metadata.user)]
    return stored_text("\n".join(dict.fromkeys(word for word in words if word)))


def _strings(value: Json) -> Iterator[str]:
    """Every string of a JSON value, without keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from _strings(item)


def _code_words(document: Document, chunk: Chunk) -> CodeWords:
    """The names that a chunk defines (whole and in words), their documentation, and the words inside the names it uses.

    A later part of a definition has the definition's name. A definition inside a function is found by name alone.
    """
    span = chunk.spans[0]
    inside = inner_words(stored_text(chunk.text))
    if not isinstance(span, CodeSpan):
        return CodeWords("", "", inside)
    lines = range(span.line_start, span.line_end + 1)
    begun = [each for each in document.symbols if each.defined_at in lines and not each.is_inner]
    names = [symbol.name for symbol in begun]
    if span.symbol_kind is not None and chunk.heading_path:
        names = [chunk.heading_path[-1], ".".join(chunk.heading_path), *names]
    docs = "\n".join(each.doc for each in begun if each.doc)
    return CodeWords("\n".join(dict.fromkeys(spellings(names))), docs, inside)


def _path_words(workspace_path: str) -> str:
    """A path as it is written, and the words of its names."""
    names = workspace_path.rpartition(".")[0] or workspace_path
    return "\n".join([workspace_path, " ".join(part for name in names.split("/") for part in parts_of(name))])
