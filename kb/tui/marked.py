"""The marked row: its document is shown beside the hits, and keys copy, open or judge it."""

from __future__ import annotations

import os
from collections.abc import Callable

from textual.app import App, SuspendNotSupported

from kb.domain.citations import PageCitation
from kb.domain.search import Passage
from kb.errors import KbError
from kb.operations.answers.open_citation import find_opening, run_opening
from kb.operations.evaluate.golden_sets import append_question, judged_question, suite_file
from kb.operations.inspect.view import view_document
from kb.operations.opening.base import Base
from kb.tui.asking import Asking, ask_in_thread
from kb.tui.rows import clean_line, matched_words
from kb.tui.strings import words
from kb.tui.widgets import Preview, ResultList, Row, ShownLines, cited_text, shown_lines

GOOD, BAD = "✓", "✗"


class Judgements:
    """Judgements of the current question; one with a good hit is added to the golden set."""

    def __init__(self, session: Base) -> None:
        self._session = session
        self._say = words(session.config)
        self._question = ""
        self._judged: dict[str, tuple[Passage, int]] = {}
        self._kept = ""

    def ask(self, question: str) -> None:
        """Saves the last question and starts another."""
        if question != self._question:
            self.keep()
            self._question, self._judged = question, {}

    def judge(self, hit: Passage, is_good: bool) -> str:
        """Judges a hit, or removes the same judgement; returns the mark to show."""
        grade = 1 if is_good else 0
        if self._judged.get(hit.chunk_id, (hit, -1))[1] == grade:
            del self._judged[hit.chunk_id]
            return " "
        self._judged[hit.chunk_id] = (hit, grade)
        return GOOD if is_good else BAD

    def keep(self) -> None:
        """Adds the question to the golden set, if one of its hits is good."""
        judged, self._judged = [(hit.citation, grade) for hit, grade in self._judged.values()], {}
        if not any(grade for _, grade in judged):
            return
        suite = suite_file(self._session.config, None)
        try:
            append_question(suite, judged_question(suite, self._question, judged, None))
        except KbError as error:
            self._kept = clean_line(error.message)
        else:
            self._kept = self._say("kept in", clean_line(str(suite)))

    @property
    def said(self) -> str:
        """The counts of judgements, or where the last ones were saved."""
        if not self._judged:
            return self._kept
        good = sum(grade for _, grade in self._judged.values())
        return self._say("judged", good, len(self._judged) - good)


class MarkedRow:
    """Actions on the marked row; `status` writes to the status line, `fail` shows an error."""

    def __init__(
        self,
        app: App[None],
        session: Base,
        found: ResultList,
        document: Preview,
        asking: Asking,
        status: Callable[[str], None],
        fail: Callable[[KbError], None],
    ) -> None:
        self._app, self._session, self._asking = app, session, asking
        self._found, self._document = found, document
        self._status, self._fail = status, fail
        self._say = words(session.config)

    @property
    def place(self) -> str | None:
        """The citation of the marked row; None if no row is marked."""
        row = self._found.marked
        return row.place if row is not None and row.place else None

    def show_document(self, row: Row) -> None:
        """Reads and shows the document of a row, unless another row is marked by then."""

        def shown(lines: ShownLines) -> None:
            if self._found.marked == row:
                self._document.show(lines, matched_words(row.hit) if row.hit else ())

        def fail(error: KbError) -> None:
            self._document.say(f"{error.message}\n{error.hint or ''}")

        ask_in_thread(self._app, lambda: self._lines(row), shown, fail, group="preview")

    def copy_place(self) -> None:
        """Copies the citation."""
        if self.place is not None:
            self._app.copy_to_clipboard(self.place)
            self._status(self._say("copied place", clean_line(self.place)))

    def copy_text(self) -> None:
        """Copies the cited text; reads it first, because another row's document may still be shown."""
        row = self._found.marked
        if row is not None and row.place:
            self._asking.ask("copy", self._asking.newest, lambda: self._lines(row), self._copy)

    def _copy(self, lines: ShownLines) -> None:
        text = cited_text(lines)
        self._app.copy_to_clipboard(text)
        self._status(self._say("copied text", len(text)))

    def open(self) -> None:
        """Opens the place in the user's editor or viewer."""
        if self.place is None:
            return
        try:
            opening = find_opening(self._session, self.place, None, os.environ)
            with self._app.suspend():
                run_opening(opening)
        except KbError as error:
            self._fail(error)
        except SuspendNotSupported as error:
            self._status(self._say("cannot open", error))
        self._app.refresh(layout=True)

    def _lines(self, row: Row) -> ShownLines:
        """The lines to show for a row, by the passage for a page, by the citation for a recording: the more exact."""
        is_page = row.hit is not None and isinstance(row.hit.citation, PageCitation)
        view = view_document(self._session, row.place, row.hit.chunk_id if row.hit and is_page else None)
        return shown_lines(view, self._say)
