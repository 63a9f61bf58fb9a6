"""Fetches the text at places, word for word, with context, within a budget of tokens.

targets ─▶ places (documents and citations) ─▶ text as it was indexed ─▶ as many lines as fit the budget ─▶ cursor
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any, NamedTuple, TypeAlias

from kb.domain.citations import Citation, LineCitation
from kb.domain.ids import content_hash
from kb.domain.results.fetched import Fetched, FetchedPlace, FetchFailure, FetchRequest, FetchTarget, Neighbour
from kb.errors import InvalidCursor, KbError, StoreError, UsageError
from kb.operations.fetch.places import FoundPlace, PlaceText, Texts, find_places, line_range
from kb.operations.opening.base import Base, ConnectedBase
from kb.operations.opening.paging import TokenCounter, corpus_revision, read_cursor, token_counter, write_cursor
from kb.store import queries

MOST_TARGETS = 50
MOST_CONTEXT_LINES = 500
LEAST_TOKENS = 50

# Links to a document that are looked at, and those that are named.
_MOST_LINKS, _LINKS_NAMED = 100, 3
# Tokens of text that a reply has, however small its budget.
_LEAST_OF_LINE = 30
# Tokens of a shown line's number, rule and line end.
_LINE_TOKENS = 3


class _Start(NamedTuple):
    """Where a fetch continues: the number of a place of the first target left, and the line and character in it."""

    place: int = 0
    line: int = 0
    char: int = 0


def fetch(session: Base, request: FetchRequest, shown_as: Callable[[Fetched], str] | None = None) -> Fetched:
    """The text at each place. A place that cannot be fetched becomes a failure in the result.

    The budget counts the tokens of the texts; with `shown_as`, those of the text that it makes of the whole result.
    Raises: UsageError for an invalid request, InvalidCursor, StaleCursor; NotIndexed and other StoreErrors.
    """
    with session.reading() as base, base.snapshot():
        revision = corpus_revision(base.db)
        request, start = _resumed(request, revision)
        _check(request)
        work = _Fetching(base, request, start, revision, shown_as)
        for target in request.targets:
            work.take(target)
        return work.fetched(work.rest, *work.places)


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
    """The state of one request; fetches places in order until the budget is used up."""

    def __init__(
        self,
        base: ConnectedBase,
        request: FetchRequest,
        start: _Start,
        revision: int,
        shown_as: Callable[[Fetched], str] | None,
    ) -> None:
        self.places: list[FetchedPlace] = []
        self.failures: list[FetchFailure] = []
        self.rest: _Start | None = None
        self._counter: TokenCounter = token_counter(base.config, base.models)
        self._base = base
        self._request = request
        self._start = start
        self._revision = revision
        self._shown_as = shown_as
        self._texts = Texts(base.config)
        self._done = 0  # targets fetched whole: a cursor does not name them
        self._tokens = 0

    def fetched(self, rest: _Start | None, *places: FetchedPlace) -> Fetched:
        """The result with these places, and a cursor if there is a rest."""
        left = self._request._replace(targets=self._request.targets[self._done :])
        cursor = None if rest is None else write_cursor("fetch", self._revision, _state(left, rest))
        return Fetched(places, tuple(self.failures), self._tokens, self._counter.name, cursor, self._revision)

    def _left(self, *places: FetchedPlace) -> int | None:
        """How many tokens are left for texts, after those so far and all around texts; None without a budget."""
        if self._request.max_tokens is None:
            return None
        frame = 0
        if self._shown_as is not None:
            bare = (each._replace(text="") for each in (*self.places, *places))
            frame = self._counter.count(self._shown_as(self.fetched(_Start(MOST_TARGETS, 9999, 999), *bare)))
        return max(0, self._request.max_tokens - frame - self._tokens)

    def take(self, target: FetchTarget) -> None:
        """Fetches the places of one target, within the budget."""
        found: Sequence[FoundPlace | KbError]
        try:
            found = find_places(self._base.db, self._base.config.sources, target)
        except StoreError:
            raise
        except KbError as error:
            found = [error]
        for number, each in enumerate(found):
            self._take(target, number, each)
        if self.rest is None:
            self._done += 1
            self._start = _Start()

    def _take(self, target: FetchTarget, number: int, found: FoundPlace | KbError) -> None:
        """Fetches one place of a target, unless an earlier fetch included it or the budget is used up."""
        if self.rest is not None or number < self._start.place:
            return
        if (self.places or self.failures) and self._left() == 0:
            self.rest = _Start(number)
        elif isinstance(found, KbError):
            self.failures.append(FetchFailure(target.shown, found))
        else:
            self._fetch(target, found, self._start if number == self._start.place else _Start(number))

    def _fetch(self, target: FetchTarget, place: FoundPlace, begun: _Start) -> None:
        try:
            text = self._texts.at(place.document, place.citation, self._request.context_lines)
        except KbError as error:
            self.failures.append(FetchFailure(target.shown, error))
            return
        if begun.line >= len(text.lines):
            raise InvalidCursor("this is no cursor of fetch", "fetch again without a cursor")
        shown = self._shown(target, place, text, begun)
        left = self._left(shown._replace(is_cut=True))
        taken, tokens, stopped = _within(text.lines, begun, left, self._counter, first=not self.places)
        self._tokens += tokens
        self.rest = stopped
        if taken or stopped is None:
            hashed = content_hash(taken.encode("utf-8", "surrogatepass"))
            self.places.append(shown._replace(text=taken, hash=hashed, is_cut=stopped is not None))

    def _shown(self, target: FetchTarget, place: FoundPlace, text: PlaceText, begun: _Start) -> FetchedPlace:
        """The place, without its text."""
        document = place.document
        rows = queries.select_passages_of(self._base.db, doc_id=document.doc_id)
        lines, _ = self._texts.lines_of(document)
        if text.first_line is None or lines is None:
            heading_path, before, after = _around(rows, text.citation)
        else:
            heading_path, before, after = _around_lines(rows, text, text.first_line, lines)
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
            text="",
            first_line=None if text.first_line is None else text.first_line + begun.line,
            total_lines=text.total_lines,
            hash=content_hash(b""),
            document_hash=document.checksum,
            is_current=self._texts.is_current(document),
            before=before,
            after=after,
            is_cut=False,
            linked_from=self._linked_from(document.doc_id),
        )

    def _linked_from(self, doc_id: str) -> tuple[LineCitation, ...]:
        """The first link to a document from each other one; empty if an earlier place is in this document."""
        if any(each.doc_id == doc_id for each in self.places):
            return ()
        links = queries.list_links(
            self._base.db, from_ids_json=None, to_ids_json=json.dumps([doc_id]), broken=0, row_limit=_MOST_LINKS
        )
        first = {each.workspace_path: each.line for each in reversed(links) if each.workspace_path != each.target_path}
        return tuple(LineCitation(path, line, line) for path, line in sorted(first.items())[:_LINKS_NAMED])


def _within(
    lines: tuple[str, ...], begun: _Start, left: int | None, counter: TokenCounter, *, first: bool
) -> tuple[str, int, _Start | None]:
    """As many lines of the text as fit, their tokens, and where the text continues, None if all lines fit.

    The `first` text of a reply has at least a piece of a line, even if that line is longer than the budget.
    """
    if first and left is not None:
        left = max(left, _LEAST_OF_LINE)
    taken: list[str] = []
    tokens = 0
    char = begun.char
    for at in range(begun.line, len(lines)):
        line = lines[at][char:]
        cost = counter.count(line) + _LINE_TOKENS
        if left is not None and tokens + cost > left:
            if taken or not first:
                return "\n".join(taken), tokens, _Start(begun.place, at, char)
            kept = _longest(line, left - _LINE_TOKENS, counter)
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


_Around: TypeAlias = tuple[tuple[str, ...], Neighbour | None, Neighbour | None]
"""The headings above a place, and what is before and after it."""


def _around(rows: Sequence[queries.PassagePlace], citation: Citation) -> _Around:
    """The passages before and after a place that has no lines."""
    here = [at for at, row in enumerate(rows) if row.citation == citation.to_uri()]
    if not here:
        return (), None, None
    first, last = here[0], here[-1]
    before, after = rows[:first][-1:], rows[last + 1 :][:1]
    return (
        _headings(rows[first]),
        Neighbour(before[0].citation, _headings(before[0])) if before else None,
        Neighbour(after[0].citation, _headings(after[0])) if after else None,
    )


def _around_lines(
    rows: Sequence[queries.PassagePlace], text: PlaceText, first_line: int, lines: Sequence[str]
) -> _Around:
    """What comes before and after some lines: the rest of their passage, or else the next passage.

    `lines` are those of the whole file. The headings are those above all requested lines.
    """
    asked, path, total = line_range(text.citation), text.citation.path, len(lines)
    assert asked is not None
    placed = [(row.line_start, row.line_end, row) for row in rows if row.line_start and row.line_end]
    here = [row for start, end, row in placed if start <= asked[1] and asked[0] <= end]
    end, start = first_line - 1, first_line + len(text.lines)
    while end > 0 and not lines[end - 1].strip():
        end -= 1
    while start <= total and not lines[start - 1].strip():
        start += 1
    before = [each for each in placed if each[0] <= end][-1:]
    after = [each for each in placed if each[1] >= start][:1]

    def beside(start: int, end: int, passages: list[tuple[int, int, queries.PassagePlace]]) -> Neighbour:
        return Neighbour(LineCitation(path, start, end).to_uri(), _headings(passages[0][2]) if passages else ())

    return (
        _shared([_headings(each) for each in here]),
        beside(before[0][0] if before else 1, end, before) if end > 0 else None,
        beside(start, after[0][1] if after else total, after) if start <= total else None,
    )


def _headings(row: queries.PassagePlace) -> tuple[str, ...]:
    return tuple(json.loads(row.heading_path_json))


def _shared(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The headings with which all of these paths begin."""
    same = takewhile(lambda each: len(set(each)) == 1, zip(*paths, strict=False))
    return tuple(each[0] for each in same)


def _state(request: FetchRequest, rest: _Start) -> dict[str, Any]:
    targets = [
        list(each)[: 1 + max(at for at, part in enumerate(each) if part is not None)] for each in request.targets
    ]
    return {"t": targets, "c": request.context_lines, "at": list(rest)}


def _resumed(request: FetchRequest, revision: int) -> tuple[FetchRequest, _Start]:
    """The request that a cursor continues, and where it continues. Raises: InvalidCursor, StaleCursor, UsageError."""
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
    """A target that is read from a cursor. Raises: TypeError if a field has the wrong type."""
    words = [each for each in (lines, time, symbol) if each is not None]
    if not isinstance(place, str) or not all(isinstance(each, str) for each in words):
        raise TypeError(place)
    if page is not None and type(page) is not int:
        raise TypeError(page)
    return FetchTarget(place, lines, page, time, symbol)  # type: ignore[arg-type]  # checked above
