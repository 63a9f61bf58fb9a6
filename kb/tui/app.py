"""The one screen of `kb ui`: a line to type in, hits or an answer below it, the document beside them.

A key starts a timer; then a worker thread asks the session (`asking.py`), widgets show the result (`widgets.py`), and
further keys act on the marked row (`marked.py`).
"""

from __future__ import annotations

import asyncio
import os
import signal
import termios
import threading
from typing import ClassVar

from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.events import Resize
from textual.timer import Timer
from textual.widgets import Input, OptionList, Static
from textual.worker import Worker, WorkerState

from kb.answer.wording import why
from kb.domain.answers import Answer, Generated, HopTaken, Retrieved
from kb.domain.filters import SearchFilters
from kb.domain.results.answers import AnswerCheck, AnswerSummary, Conversation
from kb.domain.results.inspection import LastIngest
from kb.domain.results.viewing import FacetCount
from kb.domain.search import SearchResult
from kb.errors import KbError
from kb.operations.answers.records import find_answer, list_answers, list_sessions, show_session
from kb.operations.answers.verify import verify
from kb.operations.ask.ask import ask
from kb.operations.inspect.facets import count_facets
from kb.operations.inspect.status import last_run
from kb.operations.opening.base import Base
from kb.operations.search.search import search
from kb.tui.asking import Act, Asking, QuestionSettings, WaitingKeys
from kb.tui.dialogs import KEYS, ConversationsDialog, FiltersDialog, KeysDialog, conversation_text, in_force
from kb.tui.ingesting import IngestScreen
from kb.tui.look import is_dark_terminal, styles, theme
from kb.tui.marked import Judgements, MarkedRow
from kb.tui.rows import clean_line, step_line
from kb.tui.screens import DoctorScreen, DocumentsScreen, RunsScreen
from kb.tui.strings import words
from kb.tui.widgets import NARROW, LineInput, Preview, ResultList, Row

DEBOUNCE_S = 0.03  # keys within this time, or while the last question is answered, are one question
MORE = 20  # hits that come at the end of the list
SHORT = 18  # rows; a narrow screen with fewer does not show the document

_EARLIER_SHOWN = 200
_SCREENS = {"documents": DocumentsScreen, "doctor": DoctorScreen, "runs": RunsScreen, "ingest": IngestScreen}
_JAMO = "".join(map(chr, range(0x3131, 0x3164)))  # Hangul letters that are not yet part of a syllable


def run(session: Base, question: str, *, may_write: bool) -> int:
    """Runs the screen in this terminal until it is left. Returns the exit code."""
    is_dark, typed = is_dark_terminal(session.config)
    app = SearchApp(session, question + typed, may_write=may_write, is_dark=is_dark)
    app.run(mouse=True)
    return app.return_code or 0


class SearchApp(App[None]):
    """The screen and the actions of its keys."""

    TITLE = "kb"
    CSS_PATH = "screen.tcss"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(each.keys, each.action, priority=True) for each in KEYS if each.keys),
        Binding("escape", "back"),
    ]

    def __init__(self, session: Base, question: str = "", *, may_write: bool = True, is_dark: bool = True) -> None:
        super().__init__()
        self._session = session
        self._say = words(session.config)
        self._styles = styles(is_dark=is_dark)
        self.register_theme(theme(is_dark=is_dark))
        self.theme = "kb-dark" if is_dark else "kb-light"
        self._question = question
        self._settings = QuestionSettings(session, may_write=may_write)
        self._asking = Asking(self, self._fail)
        self._typing: Timer | None = None
        self._judged = Judgements(session)
        self._k = 0  # how many hits were asked for
        self._waiting = WaitingKeys()
        self._input = LineInput(placeholder=self._say("placeholder"), id="line")
        self._both = Horizontal(id="both")
        self._found = ResultList(self._say, id="found")
        self._document = Preview(id="preview")
        self._known = Static("", id="status", markup=False)
        self._keys = Static("", id="keys", markup=False)
        self._row = MarkedRow(self, session, self._found, self._document, self._asking, self._status, self._fail)

    def compose(self) -> ComposeResult:
        """The question, the results beside the document, the status, the keys."""
        yield self._input
        with self._both:
            yield self._found
            yield self._document
        yield self._known
        yield self._keys

    def on_mount(self) -> None:
        """Starts with the question of the command line, else with a hint."""
        self.console.push_theme(self._styles)
        self._exit_on_signals()
        self._status("")
        if self._question:
            self._line = self._question
        else:
            self._document.say(self._say("welcome"))
            self._asking.ask("start", 0, lambda: last_run(self._session), self._teach)

    def _teach(self, run: LastIngest | None) -> None:
        if run is None:
            self._document.say(self._say("welcome empty"))

    def _exit_on_signals(self) -> None:
        """Restores the terminal when another program ends kb, or when the terminal goes away."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGHUP):
                asyncio.get_running_loop().add_signal_handler(number, self._leave, 128 + number)

    def _leave(self, code: int) -> None:
        """Leaves the screen; where the terminal has gone, at once: Textual would wait for its writes for ever."""
        try:
            termios.tcgetattr(0)
        except termios.error:
            self.on_unmount()
            os._exit(code)
        self.exit(None, code)

    def on_unmount(self) -> None:
        """Stops running questions and saves judgements."""
        self._asking.stop()
        self._judged.keep()

    def on_resize(self, event: Resize) -> None:
        """Puts the document beside the hits, or below them on a narrow screen."""
        is_narrow = event.size.width < NARROW
        if self._both.has_class("narrow") != is_narrow:
            self._both.set_class(is_narrow, "narrow")
            self.call_after_refresh(self._found.redraw)  # the screen has its new size then
        self._document.display = not (is_narrow and event.size.height < SHORT)
        self._show_keys(event.size.width)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Shows an unexpected exception of a worker."""
        if event.state is WorkerState.ERROR:
            self._waiting.drop()
            self._status(self._say("failed", clean_line(repr(event.worker.error))))

    # Typing

    def on_input_changed(self, event: Input.Changed) -> None:
        """Searches after a pause in typing."""
        if event.input.id != "line" or self.screen is not self.screen_stack[0]:
            return
        if self._typing is not None:
            self._typing.stop()
        self._waiting.drop()  # keys that waited were for other words
        self._waiting.wait()
        self._typing = self.set_timer(DEBOUNCE_S, self._search_after_pause)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter asks a question that begins with `?`, else it opens the marked row."""
        if event.input.id == "line":
            if self._line.lstrip().startswith("?"):
                self.action_ask(in_steps=self._line.lstrip().startswith("??"))
            else:
                self._waiting.do(self.action_open)

    @property
    def _line(self) -> str:
        return self._input.value

    @_line.setter
    def _line(self, text: str) -> None:
        self._input.value = text
        self._input.cursor_position = len(text)  # a key goes on from its end

    @property
    def _words(self) -> str:
        """The question without leading question marks and without an unfinished syllable at its end."""
        return self._line.strip().lstrip("?").rstrip(_JAMO).strip()

    # Questions and their results

    def _search_after_pause(self) -> None:
        """Searches, unless a key began something else: a timer that is due may still run after it was stopped."""
        if self._typing is not None:
            self._ask_hits()

    def _ask_hits(self) -> None:
        self._typing = None
        number, words = self._asking.begin(), self._words
        self._judged.keep()
        if words:
            query = self._settings.query(words)
            self._waiting.wait()
            self._asking.ask_next(
                "find", number, lambda: search(self._session, query), lambda result: self._show_hits(number, result)
            )
        else:
            self._found.show([])
            self._document.say("")
            self._status("")
            self._waiting.act()

    def _show_hits(self, number: int, result: SearchResult) -> None:
        self._k = result.query.k
        self._judged.ask(result.query.text)
        self._found.show([Row(hit.citation.to_uri(), hit) for hit in result.hits])
        note = clean_line(result.note or "")
        if result.hits:
            self._status(self._say("hits", len(result.hits)), note)
        else:
            found = self._say("nothing found", clean_line(result.query.text))
            self._status(found)
            self._document.say("\n\n".join(filter(None, (found, note, self._say("nothing help")))))
            self._asking.ask("start", number, lambda: last_run(self._session), self._teach)
        if number == self._asking.newest and self._typing is None:
            self._waiting.act()

    def _show_event(self, event: object) -> None:
        if isinstance(event, Retrieved):
            self._status(self._say("reading", len(event.result.hits)))
        elif isinstance(event, HopTaken):
            self._found.add_text(f"{step_line(event.hop)}\n")
            self._status(self._say("steps", event.hop.number))
        elif isinstance(event, Generated):
            self._found.add_text(event.text)

    def _show_answer(self, answer: Answer) -> None:
        self._found.show_answer(answer)
        if not answer.citations:
            self._document.say("")
        self._status(self._say("took", answer.written.usage.latency_ms))

    def _show_kept(self, answer: Answer) -> None:
        with self._input.prevent(Input.Changed):
            self._line = f"?{clean_line(answer.question)}"
        self._show_answer(answer)

    def on_result_list_marked(self, event: ResultList.Marked) -> None:
        """Shows the document of the marked row."""
        self._row.show_document(event.row)

    def _begin(self) -> int:
        """Starts a question that replaces the hits; cancels the answer and unsent searches. Returns its number."""
        if self._typing is not None:
            self._typing.stop()
            self._typing = None
        self._waiting.drop()
        return self._asking.begin()

    def _fail(self, error: KbError) -> None:
        self._waiting.drop()
        said = why(self._say("language"), error)
        # Of a message in Korean a hint would be in English, but for a command.
        hint = error.hint if said == error.message or (error.hint or "").startswith("kb ") else None
        parts = [*filter(None, (said, hint))]
        self._status(" · ".join(map(clean_line, parts)))
        if self._found.marked is None:
            self._document.say("\n".join(parts))  # the whole of it: the line of the status may be cut

    def _status(self, said: str, note: str = "") -> None:
        settings, say = self._settings, self._say
        conversation = say("in conversation", clean_line(settings.conversation)) if settings.conversation else ""
        parts = [said, say(settings.mode), *in_force(settings.filters, say), conversation, self._judged.said, note]
        self._known.update(" · ".join(filter(None, parts)))
        self._show_keys(self.size.width)

    def _show_keys(self, width: int) -> None:
        """Shows as many keys as fit; the last two, Esc and F1, before the others."""
        keys = self._say("keys answer" if self._found.answer is not None else "keys hits").split("  ")
        while len(keys) > 2 and cell_len("  ".join(keys)) > width - 2:
            del keys[-3]
        self._keys.update("  ".join(keys))

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disables the keys of this screen while a dialog is open, except Ctrl-C."""
        return len(self.screen_stack) == 1 or action == "quit"

    def _on_hits(self, act: Act) -> None:
        """Runs an action on the hits, after the search for all that was typed before the key."""
        self._input.once_passed(act)

    def on_line_input_passed(self, event: LineInput.Passed) -> None:
        """Runs the action now, or when the hits are shown."""
        self._waiting.do(event.act)

    def action_move(self, by: int) -> None:
        """Moves the mark by so many rows; at the last one, more hits come."""
        self._on_hits(lambda: self._move(by))

    def _move(self, by: int) -> None:
        self._found.move(by)
        hits, marked = self._found.hits, self._found.marked
        if not hits or marked is None or marked.hit is not hits[-1] or len(hits) < self._k:
            return
        self._k = len(hits) + MORE
        number, query = self._asking.newest, self._settings.query(self._words, self._k)
        self._asking.ask_next(
            "find", number, lambda: search(self._session, query), lambda result: self._add_hits(result)
        )

    def _add_hits(self, result: SearchResult) -> None:
        self._found.add(result.hits)
        self._status(self._say("hits", len(self._found.hits)), clean_line(result.note or ""))

    def action_scroll(self, pages: int) -> None:
        """Scrolls the text of the answer as far as it goes, then the document."""
        if self._found.scroll_text(pages):
            return
        self._document.scroll_relative(y=pages * max(self._document.size.height - 2, 1), animate=False)

    def action_mode(self) -> None:
        """Changes the mode and searches again."""
        self._settings.change_mode()
        self._status("")
        self._ask_hits()

    def action_ask(self, in_steps: bool = False) -> None:
        """Answers the question; shows the keys for an empty one, because `?` alone asks for help."""
        number, words = self._begin(), self._words
        if not words:
            self.action_keys()
            return
        if self._found.is_of_answers:
            self._document.say("")  # of another question
        self._found.begin_answer()
        self._status(self._say("looking"))
        handle = self._asking.handle(number, self._show_event)
        request = self._settings.request(words, in_steps=in_steps)
        self._asking.ask("ask", number, lambda: ask(self._session, request, handle), self._show_answer, waits=True)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Opens a row that is clicked twice."""
        if event.option_list.id == "rows":
            self.action_open()

    def action_open(self) -> None:
        """Opens the place in the user's editor or viewer, or shows an earlier answer."""
        row = self._found.marked
        if row is None:
            return
        if row.answer is not None:
            kept = row.answer.trace_id
            number = self._begin()
            self._asking.ask("ask", number, lambda: find_answer(self._session, kept), self._show_kept, waits=True)
        else:
            self._row.open()

    def action_copy_place(self) -> None:
        """Copies the citation."""
        self._on_hits(self._row.copy_place)

    def action_copy_text(self) -> None:
        """Copies the cited text."""
        self._on_hits(self._row.copy_text)

    def action_judge(self, is_good: bool) -> None:
        """Judges the hit as relevant or not."""
        self._on_hits(lambda: self._judge(is_good))

    def _judge(self, is_good: bool) -> None:
        row = self._found.marked
        if row is None or row.hit is None:
            return
        if not self._settings.may_write:
            self._status(self._say("judging is off"))
            return
        self._found.judge(self._judged.judge(row.hit, is_good))
        self._status("")

    def action_filters(self) -> None:
        """Opens the filters with their counts."""
        filters = self._settings.filters

        def choose(counts: list[FacetCount]) -> None:
            self.push_screen(FiltersDialog(filters, counts, self._say), self._filter)

        self._asking.ask("facets", self._asking.newest, lambda: count_facets(self._session, filters), choose)

    def _filter(self, chosen: SearchFilters | None) -> None:
        if chosen is not None:
            self._settings.filters = chosen
            self._status("")
            self._ask_hits()

    def action_earlier(self) -> None:
        """Lists earlier answers."""
        newest = self._asking.newest
        self._asking.ask("ask", newest, lambda: list_answers(self._session, _EARLIER_SHOWN), self._show_earlier)

    def _show_earlier(self, answers: list[AnswerSummary]) -> None:
        self._found.show([Row(answer=each) for each in answers])
        self._document.say("")
        self._status(self._say("earlier", len(answers)))

    def action_verify(self) -> None:
        """Checks whether the quotations of the answer are still in their files."""
        answer = self._found.answer
        if answer is None or not self._settings.may_write:
            return
        kept = answer.retrieval.trace_id
        newest = self._asking.newest
        self._asking.ask("ask", newest, lambda: verify(self._session, kept, every=False), self._show_checks)

    def _show_checks(self, checks: list[AnswerCheck]) -> None:
        quotes = [quote for check in checks for quote in check.quotes]
        standing = ", ".join(f"{self._say(quote.standing)}: {clean_line(quote.cited.to_uri())}" for quote in quotes)
        self._status(standing or self._say("quotes nothing"))

    def action_keys(self) -> None:
        """Shows all keys."""
        self.push_screen(KeysDialog(self._say))

    def action_show(self, name: str) -> None:
        """Opens another screen; a document that is chosen there is shown."""
        self.push_screen(_SCREENS[name](self._session, may_write=self._settings.may_write), self._show_chosen)

    def _show_chosen(self, path: str | None) -> None:
        if path is not None:
            self._begin()
            self._found.show([Row(path)])

    def action_conversations(self) -> None:
        """Opens the list of conversations."""
        newest = self._asking.newest
        self._asking.ask("conversations", newest, lambda: list_sessions(self._session), self._choose_conversation)

    def _choose_conversation(self, rows: list[Conversation]) -> None:
        known = {row.session_id for row in rows}

        def chosen(name: str | None) -> None:
            if name is None:
                return
            self._settings.conversation = name or None
            if name in known:
                number = self._begin()
                self._asking.ask(
                    "conversations", number, lambda: show_session(self._session, name), self._show_conversation
                )
            else:
                self._status(self._say("begins", clean_line(name)) if name else self._say("alone"))

        self.push_screen(ConversationsDialog(rows, self._settings.conversation, self._say), chosen)

    def _show_conversation(self, conversation: Conversation) -> None:
        self._found.show_text(conversation_text(conversation, self._say))
        self._document.say("")
        self._status(self._say("questions", len(conversation.turns)))

    async def action_back(self) -> None:
        """Returns from an answer to the hits, or empties the line."""
        if self._found.is_of_answers:
            self._line = self._line.lstrip().lstrip("?")
            self._ask_hits()
        else:
            self._line = ""
