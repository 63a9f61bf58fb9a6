"""The words by which a chunk of source code is found beside its text: the names it defines, and its path."""

from __future__ import annotations

from collections.abc import Iterator

from kb.domain.chunks import Chunk
from kb.domain.documents import Document
from kb.domain.spans import CodeSpan
from kb.domain.symbols import Symbol
from kb.language.identifiers import parts_of, spellings


def symbol_words(document: Document, chunk: Chunk) -> str:
    """The names that begin in the chunk, whole and in words; of a later part of a definition, that one's."""
    return "\n".join(dict.fromkeys(_names(document, chunk)))


def doc_words(document: Document, chunk: Chunk) -> str:
    """What documents the definitions that begin in the chunk."""
    return "\n".join(each.doc for each in _begun(document, chunk) if each.doc)


def path_words(workspace_path: str) -> str:
    """A path as it is written, and the words of its names."""
    names = workspace_path.rpartition(".")[0] or workspace_path
    return "\n".join([workspace_path, " ".join(part for name in names.split("/") for part in parts_of(name))])


def _names(document: Document, chunk: Chunk) -> Iterator[str]:
    span = chunk.spans[0]
    if not isinstance(span, CodeSpan):
        return
    if span.symbol_kind is not None and span.symbol:
        yield from spellings([span.symbol.rpartition(".")[2], span.symbol])
    yield from spellings(symbol.name for symbol in _begun(document, chunk))


def _begun(document: Document, chunk: Chunk) -> list[Symbol]:
    """The definitions that begin in the chunk."""
    span = chunk.spans[0]
    if not isinstance(span, CodeSpan):
        return []
    return [each for each in document.symbols if span.line_start <= each.defined_at <= span.line_end]
