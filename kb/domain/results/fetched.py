"""Results of a fetch: the indexed text at given places, word for word, and the passages around it."""

from __future__ import annotations

from typing import NamedTuple

from kb.domain.citations import Citation, LineCitation
from kb.domain.on_wire import on_wire
from kb.errors import KbError


class FetchTarget(NamedTuple):
    """One place to fetch: a citation, the id of a passage or a document, or a path.

    A path may come with `lines` (`12-34`), a `page` (from 1), a `time` in seconds (`822-850`), or the name of a
    `symbol` that the file defines; a symbol needs no path.
    """

    place: str
    lines: str | None = None
    page: int | None = None
    time: str | None = None
    symbol: str | None = None

    @property
    def shown(self) -> str:
        """The requested place, on one line."""
        parts = {"lines": self.lines, "page": self.page, "time": self.time, "symbol": self.symbol}
        named = [f"{name} {value}" for name, value in parts.items() if value is not None]
        return " ".join(filter(None, (self.place, *named)))


class FetchRequest(NamedTuple):
    """Places to fetch. `context_lines` lines are added before and after each; `max_tokens` limits all texts together.

    `cursor`, from an earlier fetch, replaces the targets.
    """

    targets: tuple[FetchTarget, ...]
    context_lines: int = 0
    max_tokens: int | None = None
    cursor: str | None = None


class Neighbour(NamedTuple):
    """What comes before or after a fetched text: a citation, which can be fetched in turn, and the headings above it.

    This is the rest of the passage, or the next passage; at most blank lines lie between it and the text.
    """

    uri: str
    heading_path: tuple[str, ...]


class FetchedPlace(NamedTuple):
    """One fetched place. `text` is the indexed text at the place, word for word; `hash` is the BLAKE3 of `text`, and
    `document_hash` that of the file.

    `first_line` is the number of the first line of `text` in the file, `total_lines` the number of lines of the file;
    both are null for a file without lines. `citation` names the requested lines; further lines of `text` are context.
    `is_cut`: `next_cursor` gives the rest. `is_current`: the file has not changed since it was indexed. `linked_from`,
    given at the first place of each document, cites up to three links from other documents to this one.
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
    """A place that could not be fetched, with the error."""

    target: str
    error: KbError


@on_wire("fetch.v1", title="FetchV1")
class Fetched(NamedTuple):
    """The fetched places. `tokens` is the size of all texts, counted with the vocabulary that `token_counter` names.

    `token_counter` is `estimate` if no installed model has a vocabulary. `next_cursor` continues after the budget; it
    is valid as long as the corpus has the same `corpus_revision`.
    """

    places: tuple[FetchedPlace, ...]
    failures: tuple[FetchFailure, ...]
    tokens: int
    token_counter: str
    next_cursor: str | None
    corpus_revision: int


@on_wire(title="GivenPictureV1", fields="place media_type")
class Picture(NamedTuple):
    """A picture that is returned beside the texts, in the order of the places."""

    # `data` are the bytes of a file, or drawn.

    place: str
    media_type: str
    data: bytes


class Pictures(NamedTuple):
    """The requested pictures, and for each picture that cannot be returned the reason."""

    given: tuple[Picture, ...] = ()
    failures: tuple[str, ...] = ()


NO_PICTURES = Pictures()
