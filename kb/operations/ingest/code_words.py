"""The words by which a chunk of source code is found beside its text: the names it defines, and its path."""

from __future__ import annotations

from typing import NamedTuple

from kb.domain.chunks import Chunk
from kb.domain.documents import Document
from kb.domain.spans import CodeSpan
from kb.domain.text import stored_text
from kb.language.names import inner_words, parts_of, spellings


class CodeWords(NamedTuple):
    """What a chunk of source code is found by beside its text, as `IndexedText` has it."""

    symbol_text: str
    doc_text: str
    identifier_text: str


def code_words(document: Document, chunk: Chunk) -> CodeWords:
    """The names that begin in the chunk, whole and in words, what documents them, and the words inside the names in it.

    A later part of a definition has that one's name. What is defined inside of a function is found by its name alone.
    """
    span = chunk.spans[0]
    if not isinstance(span, CodeSpan):
        return CodeWords("", "", inner_words(stored_text(chunk.text)))
    lines = range(span.line_start, span.line_end + 1)
    begun = [each for each in document.symbols if each.defined_at in lines and not each.is_inner]
    names = [symbol.name for symbol in begun]
    if span.symbol_kind is not None and chunk.heading_path:
        names = [chunk.heading_path[-1], ".".join(chunk.heading_path), *names]
    return CodeWords(
        "\n".join(dict.fromkeys(spellings(names))),
        "\n".join(each.doc for each in begun if each.doc),
        inner_words(stored_text(chunk.text)),
    )


def path_words(workspace_path: str) -> str:
    """A path as it is written, and the words of its names."""
    names = workspace_path.rpartition(".")[0] or workspace_path
    return "\n".join([workspace_path, " ".join(part for name in names.split("/") for part in parts_of(name))])
