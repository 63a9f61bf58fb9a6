"""Structured results of the tools of agents: compact hits, texts and answers, and the counts of an ingest."""

from __future__ import annotations

from typing import NamedTuple

from kb.domain.answers import Answer, AnswerCitation, Hop
from kb.domain.ingest_events import IngestCounts
from kb.domain.on_wire import on_wire
from kb.domain.results.fetched import Fetched, FetchedPlace, FetchFailure, Picture
from kb.domain.results.searching import SearchPage
from kb.domain.search import Passage


@on_wire(
    fields="""number citation=hit.citation.to_uri chunk_id=hit.chunk_id title=hit.title section=hit.heading_path
        snippet=hit.snippet date source score score_kind""",
)
class FoundPassage(NamedTuple):
    """One passage. `snippet` are its matching lines; `citation` and `chunk_id` can be fetched.

    `score` ranks by what `score_kind` names; it is not a confidence. `date` is of the document.
    """

    number: int
    hit: Passage
    date: str

    def source(self) -> str:
        """The folder at the top of the workspace; empty for a file there."""
        return self.hit.citation.path.rpartition("/")[0].partition("/")[0]

    def score(self) -> float:
        """The score, rounded to three digits."""
        return round(self.hit.score, 3)

    def score_kind(self) -> str:
        """The name of the score."""
        return self.hit.score_kind


@on_wire(
    "found_passages.v1", fields="mode=page.result.query.mode hits next_cursor=page.next_cursor note tokens=page.tokens"
)
class FoundPassages(NamedTuple):
    """The hits of one question, best first. `next_cursor` gives more, as long as the corpus does not change."""

    page: SearchPage

    def note(self) -> str | None:
        """The note of the search; None without one."""
        return self.page.result.note

    def hits(self) -> list[FoundPassage]:
        """The hits, numbered over all pages."""
        dates = self.page.dates
        numbered = enumerate(self.page.hits, self.page.first)
        return [FoundPassage(number, hit, dates.get(hit.doc_id, "")[:10]) for number, hit in numbered]


@on_wire(
    fields="""citation=place.citation.to_uri title=place.title section=place.heading_path text=place.text
        first_line=place.first_line total_lines=place.total_lines hash=place.hash is_current=place.is_current before
        after is_cut=place.is_cut linked_from?""",
)
class FetchedText(NamedTuple):
    """The text at one place, word for word but for hidden characters; `hash` is the BLAKE3 of the text with them.

    `first_line` is the line of the file that `text` begins with, null where it has no lines. `before` and `after` cite
    what is around it, to read on; `linked_from` cites links of other documents to this one. `is_current`: the file has
    not changed since it was indexed. `is_cut`: the rest comes with `next_cursor`.
    """

    place: FetchedPlace

    def before(self) -> str | None:
        """The citation of the passage before the text; None without one."""
        return self.place.before and self.place.before.uri

    def after(self) -> str | None:
        """The citation of the passage after the text; None without one."""
        return self.place.after and self.place.after.uri

    def linked_from(self) -> tuple[str, ...]:
        """The citations of links from other documents to this one."""
        return tuple(each.to_uri() for each in self.place.linked_from)


@on_wire(fields="place=failed.target code=failed.error.code message=failed.error.message hint=failed.error.hint")
class NotFetched(NamedTuple):
    """A place that could not be fetched, and what to do."""

    failed: FetchFailure


@on_wire("fetched_texts.v1", fields="places failures tokens=fetched.tokens next_cursor=fetched.next_cursor pictures?")
class FetchedTexts(NamedTuple):
    """What was fetched, in the order it was asked for; `pictures` is there where they were asked for."""

    fetched: Fetched
    pictures: tuple[Picture, ...]

    def places(self) -> list[FetchedText]:
        """The fetched texts."""
        return [FetchedText(each) for each in self.fetched.places]

    def failures(self) -> list[NotFetched]:
        """The places that could not be fetched."""
        return [NotFetched(each) for each in self.fetched.failures]


@on_wire(fields="marker=cited.marker citation=cited.citation.to_uri label=cited.label quote=cited.quote")
class AnswerPlace(NamedTuple):
    """A place the answer rests on (`marker` is in its text), or the nearest one where it is refused."""

    cited: AnswerCitation


@on_wire(fields="question=hop.question state=hop.state places")
class AnswerStep(NamedTuple):
    """A step of a deep answer: the question searched, how sure its answer is, and the places found."""

    hop: Hop

    def places(self) -> list[str]:
        """The citations of the places that the step found."""
        return [each.citation.to_uri() for each in self.hop.places]


@on_wire(
    "given_answer.v1",
    fields="""state=answer.state answer=answer.text likely_right refusal_reason places model=answer.written.model.id
        notes=answer.notes session=answer.conversation_id steps?""",
)
class GivenAnswer(NamedTuple):
    """An answer. `state`: kb is sure (`answered`), `unsure`, or the documents hold none (`refused`).

    `likely_right` is how likely the answer is right, measured on questions with known answers; null where not known.
    """

    answer: Answer

    def likely_right(self) -> float | None:
        """How likely the answer is right, 0 to 1; None if that is not known."""
        right = None if self.answer.retrieval.evidence is None else self.answer.retrieval.evidence.right
        return None if right is None else round(right, 3)

    def refusal_reason(self) -> str | None:
        """Why the question is not answered; None for an answer."""
        return self.answer.refusal_reason

    def places(self) -> list[AnswerPlace]:
        """The places that the answer cites, or the nearest places of a refusal."""
        return [AnswerPlace(each) for each in self.answer.citations]

    def steps(self) -> tuple[AnswerStep, ...]:
        """The steps of a deep answer; empty for any other answer."""
        return tuple(AnswerStep(each) for each in self.answer.hops)


@on_wire(
    "taken_in.v1",
    fields="""path was_there new=counts.new updated=counts.updated moved=counts.moved removed=counts.removed
        unchanged=counts.unchanged failed=counts.errors""",
)
class TakenIn(NamedTuple):
    """How many documents are new, changed and so on, of those an agent sees. `path` is the note's, where one was added.

    `was_there`: the same text had been added before. `failed` counts files that could not be read, which are not named.
    """

    counts: IngestCounts
    path: str | None = None
    was_there: bool = False
