"""Finds the expected passages of golden questions in this index, and asks a question as `kb search` does."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from time import perf_counter
from typing import Any

from kb.domain.citations import cited_lines
from kb.domain.ids import content_hash
from kb.domain.run_handle import RunHandle
from kb.domain.search import Passage, SearchMode, SearchQuery, SearchResult
from kb.errors import FileError, GoldenInvalid, ModelMissing, QuerySyntaxError
from kb.eval.golden import GoldenSet, Question
from kb.eval.outcome import ExpectedResults, answered, cited_lines_hold, graded, holds_all, resolve
from kb.extract.laid import line_text
from kb.language.detect import query_language
from kb.operations.ask.ask import answer_question
from kb.operations.ask.findings import AskRequest
from kb.operations.opening.base import ConnectedBase
from kb.operations.search.search import ranking_version, search, vector_source
from kb.scan.read import read_bytes
from kb.store import queries
from kb.store.connection import Connection


def expected_passages(db: Connection, golden: GoldenSet) -> dict[str, ExpectedResults]:
    """The expected results of each question in this index, by question id.

    Raises: GoldenInvalid with the expectations that are not in the index, and their lines.
    """
    expectations = [expectation for question in golden.questions for expectation in question.expected]
    ids = [named for expectation in expectations if (named := expectation.doc_id or expectation.chunk_id)]
    paths = {expectation.path for expectation in expectations if expectation.path}
    paths |= {row.workspace_path for row in queries.select_paths_of_ids(db, ids_json=json.dumps(ids))}
    return resolve(golden, queries.select_passages_at(db, paths_json=json.dumps(sorted(paths))))


class GoldenAsker:
    """Asks golden questions with loaded models; each question is timed from its text to its hits."""

    def __init__(self, base: ConnectedBase, mode: SearchMode, k: int, *, with_answers: bool) -> None:
        """`with_answers`: each question is also answered.

        Raises: ModelMissing if the mode needs vectors and there are none, as a search by words measures something else.
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
                raise ModelMissing(error.message, f"{error.hint}; or measure in mode lexical") from error

    def ranking_version(self) -> str:
        """The label of the ranking: its statements and weights, with their versions."""
        return ranking_version(self._base, SearchQuery("any", self._mode, self._k, judged=True))

    def ask(self, query_no: int, question: Question, expected: ExpectedResults) -> str:
        """The outcome of a question as JSON; `query_no` is its number. Raises: GoldenInvalid if FTS5 rejects it."""
        query = SearchQuery(question.query, self._mode, self._k, judged=True)
        try:
            result, latency_ms = self._timed(query)
        except QuerySyntaxError as error:
            where = f"question {question.id!r}, line {question.line}"
            raise GoldenInvalid(f"{where}: {error.message}", error.hint) from error
        hits = result.hits[: self._k]
        rows = queries.select_texts(self._base.db, ids_json=json.dumps([hit.chunk_id for hit in hits]))
        texts = {row.chunk_id: row.text for row in rows}
        found = {
            "query_no": query_no,
            "query": question.query,
            "lang": question.lang or query_language(question.query),
            "category": question.category,
            "answerable": int(question.answerable),
            "latency_ms": round(latency_ms, 3),
            "expected": dict(expected.documents),
            "expected_grades": sorted(expected.documents.values(), reverse=True),
            "expects_passages": int(expected.names_passages),
            "answer_found": holds_all(question.must_contain, "\n".join(texts[hit.chunk_id] for hit in hits)),
            "hits": list(graded(expected, hits, lambda hit: self._files.hold(hit, texts[hit.chunk_id]))),
            "places": list(self._places(question, expected)),
            "asked": self._asked(question) if self._with_answers else None,
        }
        return json.dumps(found, ensure_ascii=False, separators=(",", ":"))

    def _request(self, question: Question) -> AskRequest:
        return AskRequest(question.query, self._mode, self._k, keep=False)

    def _timed(self, query: SearchQuery) -> tuple[SearchResult, float]:
        vector_source(self._base, query)  # loading the models is no question's time
        start = perf_counter()
        result = search(self._base, query)
        return result, 1000 * (perf_counter() - start)

    def _asked(self, question: Question) -> dict[str, Any]:
        """The answer to the question as `kb ask` gives it, with its time."""
        start = perf_counter()
        answer = answer_question(self._base, self._request(question), RunHandle())
        return answered(question, answer, 1000 * (perf_counter() - start))

    def _places(self, question: Question, expected: ExpectedResults) -> Iterator[dict[str, Any]]:
        """The lines or files that the question expects as they are now: lines with their text, a file with its hash.

        `kb eval impact` later compares them with the files.
        """
        for expectation in question.expected:
            if expectation.path is None:
                continue
            lines = self._files.lines(expected.sources[expectation.path])
            start, end = expectation.lines or (None, None)
            text = file_hash(lines) if start is None else "\n".join(lines[start - 1 : end])
            yield {"path": expectation.path, "start": start, "end": end, "text": text}


class CitedFiles:
    """The lines of the files that hits and expectations cite; each file is read once."""

    def __init__(self) -> None:
        self._lines: dict[str, list[str]] = {}

    def lines(self, source_path: str) -> list[str]:
        """The lines of a text file; empty if it is gone."""
        if source_path not in self._lines:
            try:
                data = read_bytes(source_path, max_bytes=sys.maxsize).data
                self._lines[source_path] = line_text(data, source_path).split("\n")
            except FileError:
                self._lines[source_path] = []
        return self._lines[source_path]

    def hold(self, hit: Passage, text: str) -> bool | None:
        """Whether the cited lines are exactly those of the passage; None for a citation without lines."""
        lines = cited_lines(hit.citation)
        if lines is None:
            return None
        return cited_lines_hold(self.lines(hit.source_path), lines.start, lines.end, text)


def file_hash(lines: list[str]) -> str:
    """The hash of a file's text."""
    return content_hash("\n".join(lines).encode())
