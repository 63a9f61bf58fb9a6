"""The row that is marked: its document is shown beside the hits, and keys copy, open or judge it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable

from textual.app import App, SuspendNotSupported

from kb.domain.results.viewing import DocumentView
from kb.errors import KbError
from kb.operations.answers.open_citation import find_opening
from kb.operations.inspect.view import view_document
from kb.operations.session.session import Session
from kb.private import users_surroundings
from kb.tui.asking import Asking
from kb.tui.clean import clean_line
from kb.tui.found import Found, Row
from kb.tui.preview import Preview, cited_text
from kb.tui.rows import counted, matched_words


class MarkedRow:
    """What is done with it; `say` tells in the line of the status, `fail` what was wrong."""

    def __init__(
        self,
        app: App[None],
        session: Session,
        found: Found,
        document: Preview,
        asking: Asking,
        say: Callable[[str], None],
        fail: Callable[[KbError], None],
    ) -> None:
        self._app, self._session, self._asking = app, session, asking
        self._found, self._document = found, document
        self._say, self._fail = say, fail

    @property
    def place(self) -> str | None:
        """What it cites."""
        row = self._found.marked
        return row.place if row is not None and row.place else None

    def show_document(self, row: Row) -> None:
        """Shows the document of `row` beside the hits, unless another row is marked by the time it is read."""

        def shown(view: DocumentView) -> None:
            if self._found.marked == row:
                self._document.show(view, matched_words(row.hit) if row.hit else ())

        def load() -> None:
            try:
                view = self._view(row)
            except KbError as error:
                self._app.call_from_thread(self._document.say, f"{error.message}\n{error.hint or ''}")
            else:
                self._app.call_from_thread(shown, view)

        self._app.run_worker(load, thread=True, group="preview", exclusive=True, exit_on_error=False)

    def copy_place(self) -> None:
        """Copies the citation."""
        if self.place is not None:
            self._app.copy_to_clipboard(self.place)
            self._say(f"copied: {clean_line(self.place)}")

    def copy_text(self) -> None:
        """Copies the cited text; it is read for that, because the document shown may still be another row's."""
        row = self._found.marked
        if row is not None and row.place:
            self._asking.ask("copy", self._asking.newest, lambda: self._view(row), self._copy)

    def _copy(self, view: DocumentView) -> None:
        text = cited_text(view)
        self._app.copy_to_clipboard(text)
        self._say(f"copied {counted(len(text), 'character')}")

    def open(self) -> None:
        """Opens the place in the user's editor or viewer."""
        if self.place is None:
            return
        try:
            opening = find_opening(self._session, self.place, None, os.environ)
            theirs = users_surroundings()
            with self._app.suspend():
                subprocess.call(opening.command, env=theirs.environment, umask=theirs.umask)
        except KbError as error:
            self._fail(error)
        except (OSError, SuspendNotSupported) as error:
            self._say(f"it cannot be opened here: {error}")
        self._app.refresh(layout=True)

    def _view(self, row: Row) -> DocumentView:
        return view_document(self._session, row.place, row.hit.chunk_id if row.hit else None)
