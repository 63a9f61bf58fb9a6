"""What a fetch gives back: the text at places, word for word, and what stands around it."""

from __future__ import annotations

from typing import NamedTuple

from kb.domain.citations import Citation
from kb.errors import KbError


class FetchTarget(NamedTuple):
    """One place that is asked for: a citation, the id of a passage or a document, or a path.

    A path may come with `lines` (`12-34`), a `page` (from 1), a `time` in seconds (`822-850`), or the name of a
    `symbol` that it defines; a symbol may stand without a path.
    """

    place: str
    lines: str | None = None
    page: int | None = None
    time: str | None = None
    symbol: str | None = None

    @property
    def shown(self) -> str:
        """The place as it was asked for, on one line."""
        parts = {"lines": self.lines, "page": self.page, "time": self.time, "symbol": self.symbol}
        named = [f"{name} {value}" for name, value in parts.items() if value is not None]
        return " ".join(filter(None, (self.place, *named)))


class FetchRequest(NamedTuple):
    """Places to fetch. `context_lines` are added before and after each; `max_tokens` bounds all of them together.

    `cursor`, from an earlier fetch, stands in the place of the targets.
    """

    targets: tuple[FetchTarget, ...]
    context_lines: int = 0
    max_tokens: int | None = None
    cursor: str | None = None


class Neighbour(NamedTuple):
    """The passage before or behind a place: where it stands, and under which headings."""

    uri: str
    heading_path: tuple[str, ...]


class FetchedPlace(NamedTuple):
    """One place. `text` is word for word what kb indexed there; `hash` is its BLAKE3.

    Where the file has lines, `first_line` is the number of the first line of `text` (from 1) and `total_lines` how many
    the file has; the lines of `citation` are those asked for, the others of `text` stand around them. `is_current` says
    whether the file still has the content that was indexed. `is_cut`: more of it comes with the next cursor.
    """

    target: str
    citation: Citation
    doc_id: str
    chunk_id: str | None
    title: str
    heading_path: tuple[str, ...]
    media_type: str
    lang: str
    updated_at: str
    text: str
    first_line: int | None
    total_lines: int | None
    hash: str
    document_hash: str
    is_current: bool
    before: Neighbour | None
    after: Neighbour | None
    is_cut: bool


class FetchFailure(NamedTuple):
    """A place that could not be fetched, and why."""

    target: str
    error: KbError


class Fetched(NamedTuple):
    """What was fetched, in the order it was asked for. `tokens` are those of all texts, as `token_counter` counts."""

    places: tuple[FetchedPlace, ...]
    failures: tuple[FetchFailure, ...]
    tokens: int
    token_counter: str
    next_cursor: str | None
    corpus_revision: int


class Picture(NamedTuple):
    """A picture at a place: the bytes of a file, or drawn."""

    place: str
    media_type: str
    data: bytes


class Pictures(NamedTuple):
    """Pictures that were asked for, and what could not be given, with the reason."""

    given: tuple[Picture, ...] = ()
    failures: tuple[str, ...] = ()


NO_PICTURES = Pictures()
