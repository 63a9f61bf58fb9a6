"""Turns a file's bytes into a document ready to be stored: extract → chunk → Korean morphemes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TypeAlias, cast

from kb.chunk.chunkers import cut_document, policy_of
from kb.chunk.cutting import policy_hash
from kb.domain.chunks import Chunk, ChunkPolicy
from kb.domain.derived import Derived, DerivedName
from kb.domain.documents import Code, Document, SourceFile
from kb.domain.ids import Json, asset_id
from kb.domain.kinds import MediaFamily, family_of
from kb.domain.paths import WorkspacePath
from kb.domain.results.ingest import StageTimes
from kb.domain.spans import LineSpan
from kb.domain.text import stored_text
from kb.extract.registry import Extractor, extractor_of
from kb.language.hangul import word_sounds
from kb.language.korean import analyse, analysis_version, has_hangul
from kb.language.markup import without_components
from kb.language.names import name_timestamp, name_words
from kb.language.words import written_pairs, written_words
from kb.operations.ingest.code_words import CodeWords, code_words, path_words
from kb.operations.opening.clock import from_ns
from kb.scan.assets import store_asset
from kb.scan.read import FileBytes
from kb.store import queries
from kb.store.artifacts import write_artifacts
from kb.store.documents import IndexedText, PreparedDocument, StoredSource

Morphemes: TypeAlias = Mapping[str, str]
"""Korean text → the content morphemes and names in it, with a space between."""

KoreanUnits: TypeAlias = tuple[tuple[str, str, int], ...]
"""Written units, the morphemes each stood for, and how often it occurred, in order."""

# Bumped when the words or dates that a document is found by change: title, headings, names, their languages.
WORDS_VERSION = "words-6"


@dataclass(frozen=True, slots=True)
class AssetPolicy:
    """Where copies of the sources go, up to which size, and where what engines derived from them goes."""

    directory: Path
    copy_threshold_bytes: int
    artifact_dir: Path


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A changed file that is being read: its bytes, and what is stored of the document at its path."""

    file: SourceFile
    content: FileBytes
    stored: queries.StoredDocument | None

    @property
    def family(self) -> MediaFamily:
        """What kind of file it is."""
        return family_of(self.file.media_type)

    @property
    def extractor(self) -> Extractor:
        """What it is read by."""
        return extractor_of(self.family)


@dataclass(frozen=True, slots=True)
class WrittenDown:
    """What can be said of a cut document by itself: the words as they are written, and where its bytes are kept.

    `code` are the words of source code, for each chunk; none of any other document.
    """

    words: tuple[str, ...]
    sounds: tuple[tuple[str, str], ...]
    pairs: tuple[tuple[str, str], ...]
    code: tuple[CodeWords, ...]
    source: StoredSource


@dataclass(frozen=True, slots=True)
class Cut:
    """A file's document and its chunks, before the Korean analysis that runs over several documents at once."""

    opened: OpenFile
    document: Document
    chunks: tuple[Chunk, ...]
    derived: tuple[Derived, ...] = ()
    written: WrittenDown | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """What each chunk is found by and embedded as: its text in NFC, without the components of a note."""
        texts = [chunk.text for chunk in self.chunks]
        source = self.document.source_text
        if self.opened.family == "markdown" and (shown := _without_components(self.document)) != source:
            starts = [0, *accumulate(len(line) + 1 for line in source.split("\n"))]
            for at, chunk in enumerate(self.chunks):
                start = source.index(chunk.text, starts[cast(LineSpan, chunk.spans[0]).start - 1])
                texts[at] = shown[start : start + len(chunk.text)]
        return tuple(map(stored_text, texts))


def _without_components(document: Document) -> str:
    """The source text without components, statements and logic, except in code; as long as it is."""
    lines = without_components(document.source_text).split("\n")
    written = document.source_text.split("\n")
    for block in document.blocks:
        if isinstance(block.payload, Code) and isinstance(block.span, LineSpan):
            of_block = slice(block.span.start - 1, block.span.end)
            lines[of_block] = written[of_block]
    return "\n".join(lines)


def pipeline_tail(family: MediaFamily, policy: ChunkPolicy) -> str:
    """What a document of that family is made with after its parser: chunker, policy, morphemes and words.

    Its pipeline version is its parser version and this; a stored document with another one is rebuilt.
    """
    own = policy_of(family, policy)
    return f"/{own.chunker_version}:{policy_hash(own)}/{word_maker()}"


def word_maker() -> str:
    """What makes the words that a document is indexed by: the Korean analyser, and the rule for names and headings."""
    return f"{analysis_version()}/{WORDS_VERSION}"


def cut_file(
    opened: OpenFile, derived: Mapping[DerivedName, Derived], policy: ChunkPolicy, *, stages: StageTimes
) -> Cut:
    """The document in a file's bytes, or of what was derived of them, cut into chunks.

    Raises: FileError.
    """
    with stages.measure("extract"):
        document = opened.extractor.document(
            opened.content.data,
            derived,
            workspace_path=WorkspacePath(opened.file.workspace_path),
            asset_id=asset_id(opened.content.blake3),
        )
    with stages.measure("chunk"):
        chunks = cut_document(document, opened.family, policy)
    return Cut(opened, document, chunks, tuple(derived.values()))


def write_down(cut: Cut, assets: AssetPolicy, stages: StageTimes) -> WrittenDown:
    """The words of a cut document; its bytes are copied. Raises: StoreError where they cannot be."""
    with stages.measure("copy"):
        source = _store_source(cut, assets)
    with stages.measure("words"):
        # What is misspelled in a question is compared with words that people write, not with names in code.
        is_code = cut.opened.family == "code"
        code = tuple(code_words(cut.document, chunk) for chunk in cut.chunks) if is_code else ()
        texts = [] if is_code else list(dict.fromkeys(_indexed_texts(cut)))
        words = tuple(written_words(texts))
        return WrittenDown(words, word_sounds(words), tuple(written_pairs(texts)), code, source)


def finish(
    cuts: Sequence[Cut], policy: ChunkPolicy, assets: AssetPolicy, stages: StageTimes
) -> Iterator[PreparedDocument]:
    """Each cut document with its morphemes and its asset stored; the Korean texts of all are analysed first."""
    with stages.measure("korean"):
        korean, units = _analyse_all(cuts)
    return (
        _finished(cut, korean, own_units, policy, assets, stages) for cut, own_units in zip(cuts, units, strict=True)
    )


def _finished(
    cut: Cut,
    korean: Morphemes,
    units: KoreanUnits,
    policy: ChunkPolicy,
    assets: AssetPolicy,
    stages: StageTimes,
) -> PreparedDocument:
    written = cut.written or write_down(cut, assets, stages)
    if cut.derived:
        with stages.measure("copy"):
            write_artifacts(assets.artifact_dir, cut.document.doc_id, cut.derived)
    return PreparedDocument(
        document=cut.document,
        chunks=cut.chunks,
        indexed=tuple(_indexed(cut, written.code, korean)),
        korean_units=units,
        words=written.words,
        sounds=written.sounds,
        pairs=written.pairs,
        source=written.source,
        pipeline_version=cut.document.parser_version + pipeline_tail(cut.opened.family, policy),
        derived=cut.derived,
        created_at=_created_at(cut),
        updated_at=cut.document.metadata.updated_at or from_ns(cut.opened.file.mtime_ns),
    )


def _created_at(cut: Cut) -> str:
    """When a document was written: as it says itself, as its name says, or else its file's time."""
    document = cut.document
    named = name_timestamp(document.workspace_path)
    return document.metadata.created_at or named or from_ns(cut.opened.file.mtime_ns)


def _store_source(cut: Cut, assets: AssetPolicy) -> StoredSource:
    storage = store_asset(
        cut.opened.content.data,
        cut.document.asset_id,
        asset_dir=assets.directory,
        source_path=cut.opened.file.source_path,
        copy_threshold_bytes=assets.copy_threshold_bytes,
    )
    return StoredSource(
        source_path=cut.opened.file.source_path,
        media_type=cut.opened.file.media_type,
        byte_len=cut.opened.content.byte_len,
        mtime_ns=cut.opened.content.mtime_ns,
        checksum=cut.opened.content.blake3,
        storage_kind=storage.kind,
        storage_path=storage.path,
    )


def _analyse_all(cuts: Sequence[Cut]) -> tuple[Morphemes, list[KoreanUnits]]:
    """The morphemes of every Korean text of the cut documents, and each document's units.

    Units are counted while Kiwi reads: those of a long document, kept for each text, take thirty times its size.
    """
    within: dict[str, list[int]] = {}
    for index, cut in enumerate(cuts):
        for text in dict.fromkeys(filter(has_hangul, _indexed_texts(cut))):
            within.setdefault(text, []).append(index)
    counts: list[Counter[tuple[str, str]]] = [Counter() for _ in cuts]
    morphemes: dict[str, str] = {}
    for text, found in zip(within, analyse(list(within)) if within else (), strict=True):
        morphemes[text] = found.indexed
        for index in within[text]:
            counts[index].update(found.units)
    return morphemes, [tuple((*unit, occurrences) for unit, occurrences in sorted(each.items())) for each in counts]


def _indexed_texts(cut: Cut) -> Iterator[str]:
    for ordinal, text in enumerate(cut.texts):
        yield text
        yield _heading_words(cut, ordinal)
    yield _name_words(cut)


def _heading_words(cut: Cut, ordinal: int) -> str:
    """What is above a chunk: title, headings, aliases; the first chunk also answers for the frontmatter."""
    document = cut.document
    words = [document.title, *cut.chunks[ordinal].heading_path, *document.metadata.aliases]
    if ordinal == 0:
        words += [*document.metadata.tags, *_strings(document.metadata.user)]
    return stored_text("\n".join(dict.fromkeys(word for word in words if word)))


def _name_words(cut: Cut) -> str:
    return stored_text("\n".join(name_words(cut.document.workspace_path, cut.document.title)).replace("_", " "))


def _strings(value: Json) -> Iterator[str]:
    """Every string of a JSON value, keys left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from _strings(item)


def _indexed(cut: Cut, code: Sequence[CodeWords], korean: Morphemes) -> Iterator[IndexedText]:
    """What is indexed beside each chunk's text."""
    name_text = path_words(cut.document.workspace_path) if code else _with_morphemes(_name_words(cut), korean)
    for ordinal, (chunk, text) in enumerate(zip(cut.chunks, cut.texts, strict=True)):
        yield IndexedText(
            _with_morphemes(_heading_words(cut, ordinal), korean),
            korean.get(text),
            name_text,
            None if text == chunk.text else text,
            *(code[ordinal] if code else ()),
        )


def _with_morphemes(words: str, korean: Morphemes) -> str:
    """`words` and the morphemes found in them on a line of their own."""
    return f"{words}\n{korean[words]}" if words in korean else words
