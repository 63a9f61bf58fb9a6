"""Hits judged by a key while one searches: a question with a good one is kept in the golden set."""

from __future__ import annotations

from kb.domain.search import SearchHit
from kb.errors import KbError
from kb.operations.evaluate.judge import append_question, judged_question
from kb.operations.evaluate.suite import suite_file
from kb.operations.session.session import Session
from kb.tui.clean import clean_line

GOOD, BAD = "✓", "✗"


class Judgements:
    """The judgements of the question at hand."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._question = ""
        self._judged: dict[str, tuple[SearchHit, int]] = {}
        self._kept = ""

    def ask(self, question: str) -> None:
        """Another question; that of the last one is kept before."""
        if question != self._question:
            self.keep()
            self._question, self._judged = question, {}

    def judge(self, hit: SearchHit, is_good: bool) -> str:
        """Judges a hit, or takes the same judgement back; the mark it has now."""
        grade = 1 if is_good else 0
        if self._judged.get(hit.chunk_id, (hit, -1))[1] == grade:
            del self._judged[hit.chunk_id]
            return " "
        self._judged[hit.chunk_id] = (hit, grade)
        return GOOD if is_good else BAD

    def keep(self) -> None:
        """Adds the question to the golden set, where one of its hits is good."""
        judged, self._judged = list(self._judged.values()), {}
        if not any(grade for _, grade in judged):
            return
        suite = suite_file(self._session.config, None)
        try:
            append_question(suite, judged_question(suite, self._question, judged, None))
        except KbError as error:
            self._kept = clean_line(error.message)
        else:
            self._kept = f"kept in {clean_line(str(suite))}"

    @property
    def said(self) -> str:
        """What there is to know of it."""
        if not self._judged:
            return self._kept
        good = sum(grade for _, grade in self._judged.values())
        return f"{good} good, {len(self._judged) - good} bad"
