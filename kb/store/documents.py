"""Stores and removes one document, its names and its links; the caller holds the transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import apsw

from kb.domain.derived import Derived, DerivedName
from kb.domain.documents import Block, Chunk, Document, SourceFile
from kb.domain.text import stored_text
from kb.language.korean import has_hangul
from kb.language.links import links_of, names_of
from kb.language.names import squashed
from kb.store import queries
from kb.store.mirror import forget_vectors

SCHEMA_VERSION = 1

_DERIVED_KINDS: dict[DerivedName, str] = {
    "pdf-text": "text_extracted",
    "ocr": "ocr_applied",
    "caption": "caption_applied",
    "transcript": "transcribed",
    "plugin-text": "text_extracted",
    "parts": "text_extracted",
}


class CodeWords(NamedTuple):
    """The words by which a chunk of source code is found in addition to its text; None for any other chunk.

    They are the names that it defines, their documentation, and the words inside its names.
    """

    symbol_text: str | None = None
    doc_text: str | None = None
    identifier_text: str | None = None


KoreanUnits: TypeAlias = tuple[tuple[str, str, int], ...]
"""Written units, the morphemes of each, and how often it occurred, in order."""


class IndexedWords(NamedTuple):
    """The words by which a document is found.

    `texts` has the text of each chunk, in NFC and without components, `headings` what is above each chunk, and `code`
    each chunk's words of source code (empty for other documents). `name` has the words of the file's name and folders.
    `korean_texts` are those texts whose morphemes are needed. `words` are the words as written, `sounds` pairs of a
    word and its sound, `pairs` words that the document gives in both scripts.
    """

    texts: tuple[str, ...]
    headings: tuple[str, ...]
    name: str
    korean_texts: tuple[str, ...]
    words: tuple[str, ...]
    sounds: tuple[tuple[str, str], ...]
    pairs: tuple[tuple[str, str], ...]
    code: tuple[CodeWords, ...]


NO_WORDS = IndexedWords((), (), "", (), (), (), (), ())
"""Those of a document that is not to be stored."""


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """The document of a file with everything that is stored for it, except the morphemes of its Korean texts.

    `source` is the name of the source, and `relative_path` the path in it. `file` has the size and time at which the
    bytes were read. `stored` is the document that had this path before, None without one.
    """

    file: SourceFile
    source: str
    relative_path: str
    stored: queries.StoredDocument | None
    document: Document
    chunks: tuple[Chunk, ...]
    indexed: IndexedWords
    derived: tuple[Derived, ...]
    checksum: str
    data: bytes
    pipeline_version: str
    created_at: str
    updated_at: str


class Prepared(NamedTuple):
    """What is computed and copied before a document's transaction begins.

    `morphemes` maps the Korean texts of the whole batch to their morphemes, separated by spaces. `units` are those of
    the document. `storage` is the kind (`copied` or `reference`) and the path of the file with the document's bytes.
    """

    morphemes: Mapping[str, str]
    units: KoreanUnits
    storage: tuple[str, str]


@contextmanager
def chunks_together(db: apsw.Connection) -> Iterator[None]:
    """Collects the chunks of the documents stored in the block and inserts them at its end, in a third of the time."""
    queries.open_arriving_chunks(db)
    yield
    queries.insert_chunks(db)


def put_document(
    db: apsw.Connection,
    read: ReadDocument,
    prepared: Prepared,
    *,
    old: queries.StoredDocument | None,
    old_path: str,
    now: str,
) -> None:
    """Stores a document in place of `old`, stored at `old_path`: the document's path, or that before a move.

    Must be called inside `chunks_together`.
    """
    document, file, indexed = read.document, read.file, read.indexed
    morphemes, units, (storage_kind, storage_path) = prepared
    if old is not None:
        _remove(db, old_path)
    queries.insert_asset(
        db,
        asset_id=document.asset_id,
        source_uri=file.source_path,
        workspace_path=document.workspace_path,
        media_type=file.media_type,
        byte_len=file.byte_len,
        checksum=read.checksum,
        storage_kind=storage_kind,
        storage_path=storage_path,
        discovered_at=now,
    )
    queries.insert_document(
        db,
        doc_id=document.doc_id,
        asset_id=document.asset_id,
        workspace_path=document.workspace_path,
        title=document.title,
        lang=document.lang,
        languages_json=_dumps(_languages(read)),
        source_type=document.metadata.source_type,
        trust_level=document.metadata.trust_level,
        parser_version=document.parser_version,
        doc_version=1 if old is None else old.doc_version + (old.asset_id != document.asset_id),
        schema_version=SCHEMA_VERSION,
        metadata_json=stored_text(_metadata_json(document)),
        provenance_json=_provenance_json(read, now),
        created_at=read.created_at,
        updated_at=read.updated_at,
        source_path=file.source_path,
        byte_len=file.byte_len,
        mtime_ns=file.mtime_ns,
        pipeline_version=read.pipeline_version,
        source=read.source,
        committed_at=None if old is None else old.committed_at,
        committed_by=None if old is None else old.committed_by,
    )
    queries.insert_document_tags(db, [{"doc_id": document.doc_id, "tag": tag} for tag in document.metadata.tags])
    note = document.source_text if file.media_type == "markdown" else None
    put_links(db, document.doc_id, document.workspace_path, read.relative_path, document.metadata.aliases, note)
    queries.insert_blocks(db, (_block_row(document, block) for block in document.blocks))
    queries.insert_arriving_chunks(db, _chunk_rows(read, morphemes, now))
    if document.symbols:
        queries.insert_symbols(db, _symbol_rows(document))
    if document.references:
        queries.insert_symbol_refs(db, _reference_rows(document))
    if units:
        queries.insert_document_korean_units(db, doc_id=document.doc_id, units_json=_dumps(units))
    if indexed.words:
        queries.insert_document_words(db, doc_id=document.doc_id, words_json=_dumps(indexed.words))
        queries.insert_word_sounds(db, sounds_json=_dumps(indexed.sounds))
    if indexed.pairs:
        queries.insert_document_pairs(db, doc_id=document.doc_id, pairs_json=_dumps(indexed.pairs))
    queries.bump_corpus_revision(db)


def _languages(read: ReadDocument) -> list[str]:
    """The languages of a document's passages, and Korean if it contains any Hangul."""
    document = read.document
    found = {document.lang, *(chunk.lang for chunk in read.chunks)}
    if any(has_hangul(stored_text(text)) for text in (document.title, *(chunk.text for chunk in read.chunks))):
        found.add("ko")
    return sorted(filter(None, found))


def remove_document(db: apsw.Connection, workspace_path: str) -> bool:
    """Removes the document at a path with everything that belongs to it; False if there was none."""
    is_removed = _remove(db, workspace_path)
    if is_removed:
        queries.bump_corpus_revision(db)
    return is_removed


def _remove(db: apsw.Connection, workspace_path: str) -> bool:
    forget_vectors(db, workspace_path)
    return bool(queries.delete_document_at(db, workspace_path=workspace_path))


def _chunk_rows(read: ReadDocument, morphemes: Mapping[str, str], now: str) -> Iterator[queries.ChunkRow]:
    """The rows of a document's chunks. Morphemes of headings and names are indexed on a line below these."""

    def with_morphemes(words: str) -> str:
        return f"{words}\n{morphemes[words]}" if words in morphemes else words

    indexed = read.indexed
    name_text = with_morphemes(indexed.name)
    code = indexed.code or [CodeWords()] * len(read.chunks)
    return (
        {
            "chunk_id": chunk.chunk_id,
            "doc_id": chunk.doc_id,
            "ordinal": ordinal,
            "text": chunk.text,
            "heading_path_json": _dumps(list(chunk.heading_path)),
            "section_label": chunk.section_label,
            "source_spans_json": _dumps([span.to_json() for span in chunk.spans]),
            "token_estimate": chunk.token_estimate,
            "chunker_version": chunk.chunker_version,
            "policy_hash": chunk.policy_hash,
            "block_ids_json": _dumps(list(chunk.block_ids)),
            "created_at": now,
            "lang": chunk.lang,
            "heading_text": with_morphemes(heading),
            "tokenized_korean_text": morphemes.get(text),
            "name_text": name_text,
            "nfc_text": None if text == chunk.text else text,
            "symbol_text": of_code.symbol_text,
            "doc_text": of_code.doc_text,
            "identifier_text": of_code.identifier_text,
        }
        for ordinal, (chunk, text, heading, of_code) in enumerate(
            zip(read.chunks, indexed.texts, indexed.headings, code, strict=True)
        )
    )


def _symbol_rows(document: Document) -> Iterator[queries.SymbolRow]:
    return (
        {
            "doc_id": document.doc_id,
            "position": position,
            "path": document.workspace_path,
            "name": symbol.name,
            "folded_name": squashed(symbol.name),
            "qualified_name": symbol.qualified_name,
            "kind": symbol.kind,
            "language": symbol.language,
            "parent": symbol.parent,
            "signature": symbol.signature,
            "doc": symbol.doc,
            "line_start": symbol.line_start,
            "defined_at": symbol.defined_at,
            "line_end": symbol.line_end,
            "visibility": symbol.visibility,
        }
        for position, symbol in enumerate(document.symbols)
    )


def _reference_rows(document: Document) -> Iterator[queries.SymbolRefRow]:
    return (
        {"doc_id": document.doc_id, "line": each.line, "name": each.name, "from_symbol": each.from_symbol}
        for each in document.references
    )


def _block_row(document: Document, block: Block) -> queries.BlockRow:
    return {
        "block_id": block.block_id,
        "doc_id": document.doc_id,
        "kind": block.kind,
        "heading_path_json": _dumps(list(block.heading_path)),
        "ordinal": block.ordinal,
        "source_span_json": _dumps(block.span.to_json()),
        "payload_json": _dumps(block.payload),
    }


def _metadata_json(document: Document) -> str:
    metadata = document.metadata
    return _dumps(
        {
            "aliases": metadata.aliases,
            "created_at": metadata.created_at,
            "updated_at": metadata.updated_at,
            "user_id_alias": metadata.user_id_alias,
            "user": metadata.user,
        }
    )


def _provenance_json(read: ReadDocument, now: str) -> str:
    document = read.document
    events = [{"at": now, "agent": "kb-scan", "kind": "discovered", "note": None}]
    events += [
        {"at": now, "agent": each.engine.label, "kind": _DERIVED_KINDS[each.name], "note": f"{each.name}.json"}
        for each in read.derived
    ]
    events.append({"at": now, "agent": document.parser_version, "kind": "parsed", "note": None})
    events += [
        {"at": now, "agent": document.parser_version, "kind": "warning", "note": f"{warning.kind}: {warning.note}"}
        for warning in document.warnings
    ]
    for chunker_version in dict.fromkeys(chunk.chunker_version for chunk in read.chunks):
        note = f"{len(read.chunks)} chunks"
        events.append({"at": now, "agent": chunker_version, "kind": "chunked", "note": note})
    events.append({"at": now, "agent": "kb-store", "kind": "indexed", "note": None})
    return _dumps({"events": events})


def _by_fields(value: object) -> dict[str, object]:
    """The fields of a payload by name, for JSON."""
    names: tuple[str, ...] = type(value).__slots__  # type: ignore[attr-defined]  # of the dataclass
    return {name: getattr(value, name) for name in names}


_dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_by_fields).encode


def put_links(
    db: apsw.Connection, doc_id: str, workspace_path: str, relative_path: str, aliases: Iterable[str], note: str | None
) -> None:
    """Stores the names of a document, and the links in its text if it is a note.

    A document of a further source is also named by its path in that source, and its links start from its folder there.
    """
    names = names_of((workspace_path, relative_path), aliases, is_note=note is not None)
    queries.insert_document_names(
        db, [{"doc_id": doc_id, "name": each.name, "path": each.path, "is_alias": int(each.is_alias)} for each in names]
    )
    links = links_of(note or "", relative_path, prefix=workspace_path.removesuffix(relative_path))
    queries.insert_links(
        db,
        (
            {
                "doc_id": doc_id,
                "position": position,
                "line": each.line,
                "kind": each.kind,
                "target": each.target,
                "anchor": each.anchor,
                "name": each.name,
                "path": each.path,
                "beside": each.beside,
                "source": each.source,
            }
            for position, each in enumerate(links)
        ),
    )


def fill_links(db: apsw.Connection) -> None:
    """Stores names and links of all documents in a file of an older kb, from the text of its passages."""
    for row in list(queries.select_notes_to_link(db)):
        lines: dict[int, str] = {}
        for first, text in json.loads(row.chunks_json):
            lines.update(enumerate(text.split("\n"), first))
        text = "\n".join(lines.get(line, "") for line in range(1, max(lines, default=0) + 1))
        note = text if row.media_type == "markdown" else None
        put_links(db, row.doc_id, row.workspace_path, row.workspace_path, json.loads(row.aliases_json), note)
