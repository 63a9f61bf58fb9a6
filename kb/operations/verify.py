"""Holds stored answers against the files as they are now: which quotations stand, moved, changed or went."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kb.answer.standing import Found, Standing, look_up
from kb.config import Config
from kb.domain.answers import Answer, Claim
from kb.domain.citations import Citation, LineCitation
from kb.errors import FileError, FileVanished
from kb.extract.decode import decode
from kb.operations.answers import all_answers, find_answer
from kb.operations.reading import reading
from kb.scan.read import read_bytes
from kb.store import answer_queries as queries
from kb.store.connection import Connection


class QuoteCheck(NamedTuple):
    """One quotation of an answer and how it fares; `now_at` is where it stands now, where it stands."""

    quote: str
    cited: Citation
    standing: Standing
    now_at: Citation | None


class AnswerCheck(NamedTuple):
    """An answer with its quotations."""

    trace_id: str
    question: str
    quotes: tuple[QuoteCheck, ...]

    @property
    def holds(self) -> bool:
        """Whether every quotation still stands somewhere."""
        return all(quote.standing in ("stands", "moved") for quote in self.quotes)


def verify(config: Config, typed: str | None, *, every: bool) -> list[AnswerCheck]:
    """The checks of one answer, named by its id or the start of one (None: the last), or of `every` answer.

    Raises: NotFound, InvalidId.
    """
    answers: Sequence[Answer] = all_answers(config.sqlite) if every else [find_answer(config.sqlite, typed)]
    with reading(config.sqlite) as reader:
        checking = _Checking(reader.db, config.indexing.max_file_mb * 1_000_000)
        return [
            AnswerCheck(
                answer.retrieval.trace_id,
                answer.question,
                tuple(
                    checking.check(claim, answer)
                    for claim in answer.claims
                    if claim.status != "dropped" and claim.quote is not None and claim.citation is not None
                ),
            )
            for answer in answers
            if answer.refusal_reason is None
        ]


class _Checking:
    """Reads each file once, however many quotations stand in it."""

    def __init__(self, db: Connection, max_bytes: int) -> None:
        self._db = db
        self._max_bytes = max_bytes
        self._texts: dict[str, str | FileError] = {}

    def check(self, claim: Claim, answer: Answer) -> QuoteCheck:
        """How the quotation of one sentence fares."""
        quote, cited = claim.quote, claim.citation
        assert quote is not None
        assert cited is not None
        sources = {passage.doc_path: passage.source_path for passage in answer.packed}
        found = self._look_up(quote, cited, sources.get(cited.path, cited.path))
        if found.standing in ("changed", "missing"):
            elsewhere = self._elsewhere(quote, cited)
            found = Found("moved", elsewhere) if elsewhere is not None else found
        return QuoteCheck(quote, cited, found.standing, found.now_at)

    def _look_up(self, quote: str, cited: Citation, source_path: str) -> Found:
        text = self._text(source_path)
        if isinstance(text, FileError):
            return Found("missing" if isinstance(text, FileVanished) else "unreadable")
        if not isinstance(cited, LineCitation):
            return Found("unreadable")
        return look_up(quote, cited, text)

    def _elsewhere(self, quote: str, cited: Citation) -> LineCitation | None:
        """Where the quotation stands in another file that is indexed."""
        for place in queries.find_quote(self._db, quote=quote):
            text = self._text(place.source_path)
            if place.workspace_path == cited.path or isinstance(text, FileError):
                continue
            found = look_up(quote, LineCitation(place.workspace_path, 0, 0), text)
            if isinstance(found.now_at, LineCitation):
                return found.now_at
        return None

    def _text(self, source_path: str) -> str | FileError:
        if source_path not in self._texts:
            try:
                data = read_bytes(source_path, max_bytes=self._max_bytes).data
                self._texts[source_path] = decode(data).text
            except FileError as error:
                self._texts[source_path] = error
        return self._texts[source_path]
