"""Running text in parts: paragraphs, items and rows of tables, numbered in the order they are read.

A row of a table is read with its header (`table_rows`), so that it can be found and understood by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest

from kb.domain.citations import part_name
from kb.extract.parts import FoundPicture, Part, PartBlock, PartBlockKind, ReadPicture, found_pictures

_HEADER_CHARS = 60


def table_rows(rows: Sequence[Sequence[str]], header: Sequence[str] = ()) -> Iterator[str]:
    """Each row on one line, with the names of its columns: `| Item: Bolt | Price: 30 |`.

    The names come from `header`, else from the first row of several cells if it is a header. A row of one cell is just
    its text; an empty row is "".
    """
    named = bool(header)
    for row in rows:
        if named or sum(map(bool, row)) < 2:
            yield _row(header, row)
            continue
        named = True
        if is_header(row) and len(rows) > 1:
            header = row
            yield _row((), row)
        else:
            yield _row(header, row)


def _row(header: Sequence[str], cells: Sequence[str]) -> str:
    filled = [cell for cell in cells if cell]
    if len(filled) < 2:
        return "".join(filled)
    said = []
    for at, cell in enumerate(cells):
        name = header[at] if at < len(header) else ""
        if cell:
            said.append(f"{name}: {cell}" if name and name != cell else cell)
    return f"| {' | '.join(said)} |"


def is_header(cells: Sequence[str]) -> bool:
    """Whether a row names the columns: it has several short, different texts, none of them a number."""
    named = [cell for cell in cells if cell]
    is_named = all(len(cell) <= _HEADER_CHARS and any(map(str.isalpha, cell)) for cell in named)
    return len(named) > 1 and is_named and len(set(named)) == len(named)


class Flow:
    """Collects the paragraphs of a document; footnotes and comments come after them.

    A picture is in the paragraph that was added last. `picture_of` gives what reads a picture of some name.
    """

    def __init__(self, picture_of: Callable[[str], ReadPicture | None] = lambda name: None) -> None:
        self.paragraphs: list[Part] = []
        self.notes: list[Part] = []
        self.pictures: list[FoundPicture] = []
        self._picture_of = picture_of
        self._note_counts: Counter[str] = Counter()
        self.begin()

    def begin(self, **places: str | int) -> None:
        """Begins a section: its places come first in the names of its paragraphs, which are counted within it."""
        self._places = places
        self._count = 0
        self._last = part_name(**places)

    def add(self, kind: PartBlockKind, text: str, level: int = 0) -> None:
        """Appends a paragraph, if it has text."""
        if text := text.strip():
            self._count += 1
            block = PartBlock(kind, text, min(level, 6))
            self._last = part_name(**self._places, para=self._count)
            self.paragraphs.append(Part(self._last, (block,)))

    def add_table(self, rows: Sequence[Sequence[str]], pictures: Sequence[Iterable[str]] = ()) -> None:
        """Appends the rows of a table, each with its header if the first row is one, and the `pictures` of each row."""
        for row, in_row in zip_longest(table_rows(rows), pictures, fillvalue=()):
            self.add("table", row or "")
            self.add_pictures(in_row)

    def add_pictures(self, names: Iterable[str]) -> None:
        """Adds pictures, by the names that `picture_of` knows."""
        self.pictures += found_pictures(self._last, names, self._picture_of)

    def add_note(self, key: str, text: str) -> None:
        """Appends a footnote (`note`) or a comment (`comment`), numbered by themselves."""
        if text := text.strip():
            self._note_counts[key] += 1
            self.notes.append(Part(part_name(**{key: self._note_counts[key]}), (PartBlock("paragraph", text),), ()))

    @property
    def parts(self) -> tuple[Part, ...]:
        """All parts. Notes and comments come last, each kind together."""
        return (*self.paragraphs, *sorted(self.notes, key=lambda part: part.name.partition("=")[0] != "note"))
