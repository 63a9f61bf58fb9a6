"""What the tools of agents give beside their text: hits, texts and answers, compact, and what was taken in."""

from __future__ import annotations

from typing import NamedTuple

from kb.domain.answers.answer import Answer, AnswerState
from kb.domain.ingest_events import IngestCounts
from kb.domain.on_wire import on_wire
from kb.domain.results.fetched import Fetched, Picture
from kb.domain.results.search_page import SearchPage
from kb.domain.search import SearchHit, SearchMode


class FoundPassage(NamedTuple):
    """One passage. `snippet` are its matching lines; `citation` and `chunk_id` can be fetched.

    `score` ranks by what `score_kind` names; it is not a confidence. `date` is of the document.
    """

    number: int
    citation: str
    chunk_id: str
    title: str
    section: tuple[str, ...]
    snippet: str
    date: str
    source: str
    score: float
    score_kind: str


@on_wire("found_passages.v1")
class FoundPassages(NamedTuple):
    """The hits of one question, best first. `next_cursor` gives more, as long as the corpus does not change."""

    mode: SearchMode
    hits: list[FoundPassage]
    next_cursor: str | None
    note: str | None
    tokens: int


class FetchedText(NamedTuple):
    """The text at one place, word for word but for hidden characters; `hash` is the BLAKE3 of the text with them.

    `first_line` is the line of the file that `text` begins with, null where it has no lines. `before` and `after` cite
    the passages around it. `is_current`: the file has not changed since it was indexed. `is_cut`: the rest comes with
    `next_cursor`.
    """

    citation: str
    title: str
    section: tuple[str, ...]
    text: str
    first_line: int | None
    total_lines: int | None
    hash: str
    is_current: bool
    before: str | None
    after: str | None
    is_cut: bool


class NotFetched(NamedTuple):
    """A place that could not be fetched, and what to do."""

    place: str
    code: str
    message: str
    hint: str | None


@on_wire("fetched_texts.v1", fields="places failures tokens next_cursor pictures?")
class FetchedTexts(NamedTuple):
    """What was fetched, in the order it was asked for; `pictures` is there where they were asked for."""

    places: list[FetchedText]
    failures: list[NotFetched]
    tokens: int
    next_cursor: str | None
    pictures: tuple[Picture, ...]


class AnswerPlace(NamedTuple):
    """A place the answer rests on (`marker` is in its text), or the nearest one where it is refused."""

    marker: str | None
    citation: str
    label: str
    quote: str | None


class AnswerStep(NamedTuple):
    """A step of an answer that took several: what was asked, what its evidence is enough for, the places found."""

    question: str
    state: AnswerState
    places: list[str]


@on_wire("given_answer.v1", fields="state answer likely_right refusal_reason places model notes session steps?")
class GivenAnswer(NamedTuple):
    """An answer. `state`: kb is sure (`answered`), `unsure`, or the documents hold none (`refused`).

    `likely_right` is how likely the answer is right, measured on questions with known answers; null where not known.
    """

    state: AnswerState
    answer: str
    likely_right: float | None
    refusal_reason: str | None
    places: list[AnswerPlace]
    model: str
    notes: tuple[str, ...]
    session: str | None
    steps: tuple[AnswerStep, ...]


@on_wire("taken_in.v1")
class TakenIn(NamedTuple):
    """How many documents are new, changed and so on, of those an agent sees. `path` is the note's, where one was added.

    `was_there`: the same text had been added before. `failed` counts files that could not be read, which are not named.
    """

    path: str | None
    was_there: bool
    new: int
    updated: int
    moved: int
    removed: int
    unchanged: int
    failed: int


def found_passages(page: SearchPage) -> FoundPassages:
    """A page of hits."""
    hits = [_passage(number, hit, page.dates.get(hit.doc_id, "")) for number, hit in enumerate(page.hits, page.first)]
    return FoundPassages(page.result.query.mode, hits, page.next_cursor, page.result.note, page.tokens)


def _passage(number: int, hit: SearchHit, date: str) -> FoundPassage:
    source = hit.doc_path.partition("/")[0] if "/" in hit.doc_path else ""
    uri, score = hit.citation.to_uri(), round(hit.score, 3)
    return FoundPassage(
        number, uri, hit.chunk_id, hit.title, hit.heading_path, hit.snippet, date[:10], source, score, hit.score_kind
    )


def fetched_texts(fetched: Fetched, pictures: tuple[Picture, ...] = ()) -> FetchedTexts:
    """What was fetched, and the pictures beside it."""
    places = [
        FetchedText(
            each.citation.to_uri(),
            each.title,
            each.heading_path,
            each.text,
            each.first_line,
            each.total_lines,
            each.hash,
            each.is_current,
            each.before and each.before.uri,
            each.after and each.after.uri,
            each.is_cut,
        )
        for each in fetched.places
    ]
    failures = [
        NotFetched(each.target, each.error.code, each.error.message, each.error.hint) for each in fetched.failures
    ]
    return FetchedTexts(places, failures, fetched.tokens, fetched.next_cursor, pictures)


def given_answer(answer: Answer) -> GivenAnswer:
    """An answer or refusal."""
    right = None if answer.evidence is None else answer.evidence.right
    return GivenAnswer(
        answer.state,
        answer.text,
        None if right is None else round(right, 3),
        answer.refusal_reason,
        [AnswerPlace(each.marker, each.citation.to_uri(), each.label, each.quote) for each in answer.citations],
        answer.model.id,
        answer.notes,
        answer.conversation_id,
        tuple(
            AnswerStep(hop.question, hop.state, [each.citation.to_uri() for each in hop.places]) for hop in answer.hops
        ),
    )


def taken_in(counts: IngestCounts, path: str | None = None, *, was_there: bool = False) -> TakenIn:
    """What a writing tool has done."""
    changed = (counts.new, counts.updated, counts.moved, counts.removed, counts.unchanged, counts.errors)
    return TakenIn(path, was_there, *changed)
