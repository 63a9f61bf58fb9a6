"""Results of a fetch: the text at places, word for word, and the passages around it."""

from __future__ import annotations

from typing import NamedTuple

from kb.domain.citations import Citation, LineCitation
from kb.domain.on_wire import on_wire
from kb.errors import KbError


class FetchTarget(NamedTuple):
    """One place that is asked for: a citation, the id of a passage or a document, or a path.

    A path may come with `lines` (`12-34`), a `page` (from 1), a `time` in seconds (`822-850`), or the name of a
    `symbol` that it defines; a symbol needs no path.
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

    `cursor`, from an earlier fetch, replaces the targets.
    """

    targets: tuple[FetchTarget, ...]
    context_lines: int = 0
    max_tokens: int | None = None
    cursor: str | None = None


class Neighbour(NamedTuple):
    """What is before or after a text, to read on: its citation, which can be fetched, and the headings over it.

    The rest of the passage, or the next one; only blank lines are between it and the text.
    """

    uri: str
    heading_path: tuple[str, ...]


class FetchedPlace(NamedTuple):
    """One place. `text` is the indexed text there, word for word, and `hash` its BLAKE3; `document_hash` the file's.

    `first_line` is the number of the first line of `text` in the file and `total_lines` how many that has; null where a
    file has no lines. `citation` names the lines asked for; those of `text` beyond them are context. `is_cut`: the rest
    comes with `next_cursor`. `is_current`: the file has not changed since it was indexed. `linked_from`, at the first
    place of each document, cites up to three links in other documents that reach it.
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
    linked_from: tuple[LineCitation, ...] = ()


class FetchFailure(NamedTuple):
    """A place that could not be fetched, and why."""

    target: str
    error: KbError


@on_wire("fetch.v1", title="FetchV1")
class Fetched(NamedTuple):
    """The fetched places. `tokens` are those of all texts, counted by the vocabulary of `token_counter`.

    `token_counter` is `estimate` where no model with a vocabulary is installed. `next_cursor` goes on where the budget
    ended, as long as the corpus is still at `corpus_revision`.
    """

    places: tuple[FetchedPlace, ...]
    failures: tuple[FetchFailure, ...]
    tokens: int
    token_counter: str
    next_cursor: str | None
    corpus_revision: int


@on_wire(title="GivenPictureV1", fields="place media_type")
class Picture(NamedTuple):
    """A picture that comes beside the text, in the same order."""

    # `data` are the bytes of a file, or drawn.

    place: str
    media_type: str
    data: bytes


class Pictures(NamedTuple):
    """The requested pictures, and those that could not be given, with the reason."""

    given: tuple[Picture, ...] = ()
    failures: tuple[str, ...] = ()


NO_PICTURES = Pictures()
