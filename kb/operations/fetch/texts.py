"""The text that was indexed at a place, and whether the file still has it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from kb.config import Config
from kb.domain.citations import Citation, CodeCitation, LineCitation
from kb.domain.derived import DERIVED_NAMES
from kb.domain.ids import content_hash
from kb.domain.results.inspection import DocumentDetail
from kb.errors import FileVanished, NotFound
from kb.extract.cited_text import cited_text
from kb.extract.decode import decode
from kb.operations.fetch.places import line_range
from kb.store.artifacts import read_artifact


class PlaceText(NamedTuple):
    """Lines of text. `first_line` and `total_lines` are those of the file, None where it has none.

    `citation` is what they are of: of the lines asked for, those that there are.
    """

    citation: Citation
    lines: tuple[str, ...]
    first_line: int | None
    total_lines: int | None


class _Kept(NamedTuple):
    lines: tuple[str, ...] | None
    is_current: bool


class Texts:
    """Reads each document of one request once."""

    def __init__(self, config: Config) -> None:
        self._artifacts = config.artifact_dir
        self._kept: dict[str, _Kept] = {}

    def is_current(self, document: DocumentDetail) -> bool:
        """Whether the file still has the content that was indexed."""
        return self._of(document).is_current

    def at(self, document: DocumentDetail, citation: Citation, context_lines: int) -> PlaceText:
        """The text at a place, with so many lines around it.

        Raises: NotFound where the document has no such place; FileVanished where its content is gone.
        """
        if (asked := line_range(citation)) is not None:
            return self._lines(document, citation, asked, context_lines)
        derived = {
            name: data for name in DERIVED_NAMES if (data := read_artifact(self._artifacts, document.doc_id, name))
        }
        text = cited_text(citation, b"", derived)
        if text is None:
            raise NotFound(f"{document.workspace_path} has no place {_fragment(citation)}", "search gives the places")
        return PlaceText(citation, tuple(text.split("\n")), None, None)

    def _lines(
        self, document: DocumentDetail, citation: Citation, asked: tuple[int, int], context_lines: int
    ) -> PlaceText:
        lines = self._of(document).lines
        if lines is None:
            raise FileVanished(
                f"the content of {document.workspace_path} as it was indexed is not there any more",
                "kb ingest reads the file again",
            )
        total = len(lines)
        first, last = asked
        require_line(document.workspace_path, first, total)
        last = min(last, total)
        start, end = max(1, first - context_lines), min(total, last + context_lines)
        return PlaceText(_with_lines(citation, first, last), lines[start - 1 : end], start, total)

    def _of(self, document: DocumentDetail) -> _Kept:
        if document.doc_id not in self._kept:
            self._kept[document.doc_id] = _read(document)
        return self._kept[document.doc_id]


def _read(document: DocumentDetail) -> _Kept:
    """The content by its hash alone, so that whatever lies in its place now is not shown for it."""
    source = _content(Path(document.source_path))
    is_current = source is not None and content_hash(source) == document.checksum
    kept = source if is_current else _content(Path(document.storage_path))
    if kept is None or content_hash(kept) != document.checksum:
        return _Kept(None, False)
    return _Kept(file_lines(kept), is_current)


def file_lines(content: bytes) -> tuple[str, ...]:
    """The lines of a file."""
    lines = decode(content).text.split("\n")
    if len(lines) > 1 and not lines[-1]:
        lines.pop()  # a line end at the end of a file begins no line
    return tuple(lines)


def require_line(path: str, number: int, total: int) -> None:
    """Raises NotFound where a file of so many lines has none of that number."""
    if number > total:
        raise NotFound(f"{path} has {total} lines, and no line {number}", "lines count from 1")


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _with_lines(citation: Citation, first: int, last: int) -> Citation:
    if isinstance(citation, CodeCitation):
        return citation._replace(line_start=first, line_end=last)
    assert isinstance(citation, LineCitation)
    return citation._replace(start=first, end=last)


def _fragment(citation: Citation) -> str:
    return "#" + citation.to_uri().rpartition("#")[2]
