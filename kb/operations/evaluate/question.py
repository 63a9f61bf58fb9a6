"""What golden questions should find in this knowledge base; asks one as `kb search` would, and says what it found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from kb.domain.citations import cited_lines
from kb.domain.ids import content_hash
from kb.domain.run_handle import RunHandle
from kb.domain.search import SearchHit, SearchMode, SearchQuery, SearchResult
from kb.errors import GoldenInvalid, ModelMissing, QuerySyntaxError
from kb.eval.golden import GoldenSet, Question
from kb.eval.outcome import Asked, Expected, Outcome, Place, cited_lines_hold, resolve, result_json
from kb.extract.decode import decode
from kb.language.detect import query_language
from kb.operations.ask.ask import answer_question
from kb.operations.ask.findings import AskRequest
from kb.operations.ask.retrieve import search_for
from kb.operations.opening.base import Base
from kb.operations.search.search import (
    ranking_version,
    search,
    vector_source,
)
from kb.store import queries
from kb.store.connection import Connection


def expected_passages(db: Connection, golden: GoldenSet) -> dict[str, Expected]:
    """What each question expects of this index, by question id.

    Raises: GoldenInvalid naming, with their lines, the expectations that the index cannot meet.
    """
    expectations = [expectation for question in golden.questions for expectation in question.expected]
    ids = [named for expectation in expectations if (named := expectation.doc_id or expectation.chunk_id)]
    paths = {expectation.path for expectation in expectations if expectation.path}
    paths |= {row.workspace_path for row in queries.select_paths_of_ids(db, ids_json=json.dumps(ids))}
    return resolve(golden, queries.select_passages_at(db, paths_json=json.dumps(sorted(paths))))


class GoldenAsker:
    """A knowledge base with warm models; each question is timed from its text to its hits."""

    def __init__(self, base: Base, mode: SearchMode, k: int, *, with_answers: bool) -> None:
        """`with_answers`: each question is answered too.

        Raises: ModelMissing where the mode needs vectors and there are none: words alone are another measure.
        """
        self._base = base
        self._mode = mode
        self._k = k
        self._with_answers = with_answers
        self._files = CitedFiles()
        if mode != "lexical":
            try:
                vector_source(base, SearchQuery("any", "vector", 1))
            except ModelMissing as error:
                raise ModelMissing(error.message, f"{error.hint}; or measure --mode lexical") from error

    def ranking_version(self) -> str:
        """What puts the passages of a question in order: the statements and weights, with their versions."""
        return ranking_version(self._base, SearchQuery("any", self._mode, self._k))

    def ask(self, query_no: int, question: Question, expected: Expected) -> str:
        """The outcome of a question as JSON; `query_no` is its place in the suite.

        Raises: GoldenInvalid for a raw expression that FTS5 does not accept.
        """
        query = search_for(self._request(question), question.query) if self._with_answers else self._query(question)
        try:
            result, latency_ms = self._timed(query)
        except QuerySyntaxError as error:
            where = f"question {question.id!r}, line {question.line}"
            raise GoldenInvalid(f"{where}: {error.message}", error.hint) from error
        hits = result.hits[: self._k]
        rows = queries.select_texts(self._base.db, ids_json=json.dumps([hit.chunk_id for hit in hits]))
        texts = {row.chunk_id: row.text for row in rows}
        outcome = Outcome(
            query_no=query_no,
            question=question,
            lang=question.lang or query_language(question.query),
            expected=expected,
            hits=hits,
            texts=[texts[hit.chunk_id] for hit in hits],
            latency_ms=latency_ms,
            places=list(self._places(question, expected)),
            asked=self._asked(question, result, latency_ms),
        )
        return result_json(outcome, lambda hit: self._files.hold(hit, texts[hit.chunk_id]))

    def _query(self, question: Question) -> SearchQuery:
        return SearchQuery(question.query, self._mode, self._k)

    def _request(self, question: Question) -> AskRequest:
        return AskRequest(question.query, self._mode, self._k, keep=False)

    def _timed(self, query: SearchQuery) -> tuple[SearchResult, float]:
        vector_source(self._base, query)  # loading the models is no question's time
        start = perf_counter()
        result = search(self._base, query)
        return result, 1000 * (perf_counter() - start)

    def _asked(self, question: Question, searched: SearchResult, search_ms: float) -> Asked | None:
        """What the answer is, made of what was searched already; its time is that of both."""
        if not self._with_answers:
            return None
        start = perf_counter()
        request = self._request(question)
        answer = answer_question(self._base, request, RunHandle(), searched)
        evidence = None if answer.evidence is None else answer.evidence.value
        ms = 1000 * (perf_counter() - start)
        if searched.query == search_for(request, question.query):
            ms += search_ms
        return Asked(answer.text, answer.refusal_reason is not None, evidence, ms)

    def _places(self, question: Question, expected: Expected) -> Iterator[Place]:
        """What the question's expectations name, as it is now."""
        for expectation in question.expected:
            if expectation.path is None:
                continue
            lines = self._files.lines(expected.sources[expectation.path])
            if expectation.lines is None:
                yield Place(expectation.path, None, None, file_hash(lines))
            else:
                start, end = expectation.lines
                yield Place(expectation.path, start, end, "\n".join(lines[start - 1 : end]))


class CitedFiles:
    """The lines of the files that hits and expectations cite, each file read once."""

    def __init__(self) -> None:
        self._lines: dict[str, list[str]] = {}

    def lines(self, source_path: str) -> list[str]:
        """The lines of a text file; none where it is gone."""
        if source_path not in self._lines:
            try:
                self._lines[source_path] = decode(Path(source_path).read_bytes()).text.split("\n")
            except OSError:
                self._lines[source_path] = []
        return self._lines[source_path]

    def hold(self, hit: SearchHit, text: str) -> bool | None:
        """Whether the cited lines hold the passage and no line more; None for a citation of something else."""
        lines = cited_lines(hit.citation)
        if lines is None:
            return None
        return cited_lines_hold(self.lines(hit.source_path), lines.start, lines.end, text)


def file_hash(lines: list[str]) -> str:
    """The same for the same text."""
    return content_hash("\n".join(lines).encode())
