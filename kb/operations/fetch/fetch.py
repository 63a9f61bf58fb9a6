"""Fetches the text at places word for word, with context, within a budget of tokens.

targets ─▶ places (documents and citations) ─▶ text as it was indexed ─▶ as many lines as the budget holds ─▶ cursor
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from kb.domain.citations import Citation
from kb.domain.ids import content_hash
from kb.domain.results.fetched import (
    Fetched,
    FetchedPlace,
    FetchFailure,
    FetchRequest,
    FetchTarget,
    Neighbour,
)
from kb.errors import InvalidCursor, KbError, StoreError, UsageError
from kb.operations.fetch.places import Place, PlaceText, Texts, find_places, line_range
from kb.operations.opening.base import Base
from kb.operations.opening.paging import TokenCounter, corpus_revision, read_cursor, token_counter, write_cursor
from kb.store import queries
from kb.store.connection import Connection

MOST_TARGETS = 50
MOST_CONTEXT_LINES = 500
LEAST_TOKENS = 50

# Tokens of a shown line's number, rule and line end.
_LINE_TOKENS = 3


class _Start(NamedTuple):
    """Where a fetch continues: the place, and the line and character of its text."""

    place: int = 0
    line: int = 0
    char: int = 0


def fetch(session: Base, request: FetchRequest) -> Fetched:
    """The text at each place; a place that cannot be fetched is a failure among the results.

    Raises: UsageError for an invalid request, InvalidCursor, StaleCursor; NotIndexed and its kin.
    """
    with session.reading() as base, base.snapshot():
        revision = corpus_revision(base.db)
        request, start = _resumed(request, revision)
        _check(request)
        work = _Fetching(base, request, start)
        for target in request.targets:
            work.take(target)
        cursor = None if work.rest is None else write_cursor("fetch", revision, _state(request, work.rest))
        places, failures, counter = tuple(work.places), tuple(work.failures), work.counter
        return Fetched(places, failures, work.tokens, counter.name, cursor, revision)


def _check(request: FetchRequest) -> None:
    if not request.targets:
        raise UsageError("no place to fetch", "a citation such as notes/a.md#L12-L34, the id of a passage, or a path")
    if len(request.targets) > MOST_TARGETS:
        raise UsageError(f"{len(request.targets)} places at once", f"at most {MOST_TARGETS}")
    if not 0 <= request.context_lines <= MOST_CONTEXT_LINES:
        raise UsageError(f"{request.context_lines} lines of context", f"between 0 and {MOST_CONTEXT_LINES}")
    if request.max_tokens is not None and request.max_tokens < LEAST_TOKENS:
        raise UsageError(f"a budget of {request.max_tokens} tokens", f"at least {LEAST_TOKENS}")


class _Fetching:
    """The state of one request: fetches places in order, until the budget is used up."""

    def __init__(self, base: Base, request: FetchRequest, start: _Start) -> None:
        self.places: list[FetchedPlace] = []
        self.failures: list[FetchFailure] = []
        self.tokens = 0
        self.rest: _Start | None = None
        self.counter: TokenCounter = token_counter(base.config, base.models)
        self._base = base
        self._request = request
        self._start = start
        self._texts = Texts(base.config)
        self._number = 0

    def take(self, target: FetchTarget) -> None:
        """Fetches the places of one target, within the budget."""
        found: Sequence[Place | KbError]
        try:
            found = find_places(self._base.db, self._base.config.workspace_root, target)
        except StoreError:
            raise
        except KbError as error:
            found = [error]
        for each in found:
            self._take(target, each)

    def _take(self, target: FetchTarget, found: Place | KbError) -> None:
        """Fetches the next place, unless an earlier fetch had it or the budget is used up."""
        number, self._number = self._number, self._number + 1
        if self.rest is not None or number < self._start.place:
            return
        if self._left() == 0:
            self.rest = _Start(number)
        elif isinstance(found, KbError):
            self.failures.append(FetchFailure(target.shown, found))
        else:
            self._fetch(target, found, self._start if number == self._start.place else _Start(number))

    def _left(self) -> int | None:
        budget = self._request.max_tokens
        return None if budget is None else max(0, budget - self.tokens)

    def _fetch(self, target: FetchTarget, place: Place, begun: _Start) -> None:
        try:
            text = self._texts.at(place.document, place.citation, self._request.context_lines)
        except KbError as error:
            self.failures.append(FetchFailure(target.shown, error))
            return
        if begun.line >= len(text.lines):
            raise InvalidCursor("this is no cursor of fetch", "fetch again without a cursor")
        taken, tokens, stopped = _within(text.lines, begun, self._left(), self.counter, first=not self.places)
        self.tokens += tokens
        if stopped is not None:
            self.rest = stopped
            if not taken:
                return
        self.places.append(self._shown(target, place, text, begun, taken, is_cut=stopped is not None))

    def _shown(
        self, target: FetchTarget, place: Place, text: PlaceText, begun: _Start, taken: str, *, is_cut: bool
    ) -> FetchedPlace:
        document = place.document
        heading_path, before, after = _around(self._base.db, document.doc_id, text.citation)
        return FetchedPlace(
            target=target.shown,
            citation=text.citation,
            doc_id=document.doc_id,
            chunk_id=place.chunk_id,
            title=document.title,
            heading_path=heading_path,
            media_type=document.media_type,
            lang=document.lang,
            updated_at=document.updated_at,
            text=taken,
            first_line=None if text.first_line is None else text.first_line + begun.line,
            total_lines=text.total_lines,
            hash=content_hash(taken.encode("utf-8", "surrogatepass")),
            document_hash=document.checksum,
            is_current=self._texts.is_current(document),
            before=before,
            after=after,
            is_cut=is_cut,
        )


def _within(
    lines: tuple[str, ...], begun: _Start, left: int | None, counter: TokenCounter, *, first: bool
) -> tuple[str, int, _Start | None]:
    """As many lines of the text as fit; their tokens; where the text continues, if it does.

    The `first` text of a reply has at least a piece of a line, however long that line is.
    """
    taken: list[str] = []
    tokens = 0
    char = begun.char
    for at in range(begun.line, len(lines)):
        line = lines[at][char:]
        cost = counter.count(line) + _LINE_TOKENS
        if left is not None and tokens + cost > left:
            if taken or not first:
                return "\n".join(taken), tokens, _Start(begun.place, at, char)
            kept = _longest(line, max(left - _LINE_TOKENS, 1), counter)
            rest = _Start(begun.place, at, char + kept)
            return line[:kept], counter.count(line[:kept]) + _LINE_TOKENS, rest
        taken.append(line)
        tokens += cost
        char = 0
    return "\n".join(taken), tokens, None


def _longest(line: str, budget: int, counter: TokenCounter) -> int:
    """How many characters of a line fit, at least one."""
    low, high = 1, min(len(line), 20 * budget)  # few tokens have more letters
    while low < high:
        middle = (low + high + 1) // 2
        if counter.count(line[:middle]) <= budget:
            low = middle
        else:
            high = middle - 1
    return low


def _around(
    db: Connection, doc_id: str, citation: Citation
) -> tuple[tuple[str, ...], Neighbour | None, Neighbour | None]:
    """The headings above a place, and the passages before and after it."""
    rows = queries.select_passages_of(db, doc_id=doc_id)
    asked = line_range(citation)
    here = [at for at, row in enumerate(rows) if _meets(row, citation, asked)]
    if here:
        first, last = here[0], here[-1]
    elif asked is not None:  # lines between two passages
        behind = (at for at, row in enumerate(rows) if row.line_start is not None and row.line_start > asked[1])
        first = next(behind, len(rows))
        last = first - 1
    else:
        return (), None, None
    headings = _headings(rows[first]) if here else ()
    before = _neighbour(rows[first - 1]) if first > 0 else None
    return headings, before, _neighbour(rows[last + 1]) if last + 1 < len(rows) else None


def _meets(row: queries.PassagePlace, citation: Citation, asked: tuple[int, int] | None) -> bool:
    if asked is None:
        return row.citation == citation.to_uri()
    start, end = row.line_start, row.line_end
    return start is not None and end is not None and start <= asked[1] and asked[0] <= end


def _headings(row: queries.PassagePlace) -> tuple[str, ...]:
    return tuple(json.loads(row.heading_path_json))


def _neighbour(row: queries.PassagePlace) -> Neighbour:
    return Neighbour(row.citation, _headings(row))


def _state(request: FetchRequest, rest: _Start) -> dict[str, Any]:
    return {"t": [list(target) for target in request.targets], "c": request.context_lines, "at": list(rest)}


def _resumed(request: FetchRequest, revision: int) -> tuple[FetchRequest, _Start]:
    """The request that a cursor continues, and its start. Raises: InvalidCursor, StaleCursor, UsageError."""
    if request.cursor is None:
        return request, _Start()
    if request.targets:
        raise UsageError("a cursor and places at once", "the cursor goes on with the places it was given for")
    state = read_cursor("fetch", revision, request.cursor)
    try:
        targets = tuple(_target(*fields) for fields in state["t"])
        place, line, char = state["at"]
        context = state["c"]
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidCursor("this is no cursor of fetch", "fetch again without a cursor") from error
    if not all(type(each) is int and each >= 0 for each in (place, line, char, context)):
        raise InvalidCursor("this is no cursor of fetch", "fetch again without a cursor")
    return request._replace(targets=targets, context_lines=context), _Start(place, line, char)


def _target(
    place: object, lines: object = None, page: object = None, time: object = None, symbol: object = None
) -> FetchTarget:
    """A target of a cursor. Raises: TypeError where its fields have other types."""
    words = [each for each in (lines, time, symbol) if each is not None]
    if not isinstance(place, str) or not all(isinstance(each, str) for each in words):
        raise TypeError(place)
    if page is not None and type(page) is not int:
        raise TypeError(page)
    return FetchTarget(place, lines, page, time, symbol)  # type: ignore[arg-type]  # checked above
