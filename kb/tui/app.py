"""The one screen of `kb ui`: a line to type in, hits or an answer below it, the document beside them.

    key → timer → a worker thread asks the session → the screen shows it, unless something newer was asked meanwhile

What is asked, and what of it is shown, is numbered: an answer that comes late is dropped, and the hits of the last
question stay until those of the next are there.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from typing import ClassVar, TypeVar

from textual import work
from textual.app import App, ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.events import Resize
from textual.timer import Timer
from textual.widgets import Footer, Input, OptionList, Static
from textual.widgets.option_list import Option

from kb.domain.answers.answer import Answer
from kb.domain.answers.answer_events import AskEvent, Generated, Retrieved
from kb.domain.results.answers import AnswerSummary
from kb.domain.results.viewing import DocumentView, FacetCount
from kb.domain.run_handle import RunHandle
from kb.domain.search import SearchFilters, SearchHit, SearchMode, SearchResult
from kb.errors import KbError
from kb.operations.answers.history import find_answer, list_answers
from kb.operations.answers.open_citation import find_opening
from kb.operations.answers.verify import verify
from kb.operations.ask.ask import ask
from kb.operations.ask.findings import AskRequest
from kb.operations.inspect.facets import count_facets
from kb.operations.inspect.view import view_document
from kb.operations.search.search import search
from kb.operations.session.session import Session
from kb.private import users_surroundings
from kb.tui.clean import clean, clean_line
from kb.tui.dialogs import FiltersDialog, KeysDialog, in_force
from kb.tui.judged import Judgements
from kb.tui.others import DoctorScreen, DocumentsScreen, RunsScreen
from kb.tui.preview import Preview
from kb.tui.rows import answer_row, answer_text, counted, hit_row, matched_words, place_row

DEBOUNCE_S = 0.12
PREVIEW_S = 0.05
NARROW = 100  # cells; below, the document stands under the hits
SHORT = 18  # rows; below, a narrow screen has no room for it

MODES: dict[SearchMode, str] = {"hybrid": "words + meaning", "lexical": "words", "vector": "meaning"}
_EARLIER_SHOWN = 200
_JAMO = "".join(map(chr, range(0x3131, 0x3164)))  # letters of which no syllable was made yet

Asked = TypeVar("Asked")


class SearchApp(App[None]):
    """The screen and what its keys do."""

    TITLE = "kb"
    CSS_PATH = "screen.tcss"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "quit", "End", priority=True, show=False),
        Binding("tab", "mode", "Mode", priority=True),
        Binding("ctrl+f", "filters", "Filters", priority=True),
        Binding("down,ctrl+n", "move(1)", "Next", priority=True, show=False),
        Binding("up,ctrl+p", "move(-1)", "Previous", priority=True, show=False),
        Binding("pagedown", "scroll(1)", show=False, priority=True),
        Binding("pageup", "scroll(-1)", show=False, priority=True),
        Binding("ctrl+y", "copy_place", "Citation", priority=True),
        Binding("ctrl+o", "copy_text", "Text", priority=True),
        Binding("ctrl+g", "judge(True)", "Good", priority=True),
        Binding("ctrl+b", "judge(False)", "Bad", priority=True),
        Binding("ctrl+r", "earlier", "Answers", priority=True),
        Binding("ctrl+t", "verify", "Verify", priority=True, show=False),
        Binding("ctrl+j,ctrl+enter", "ask", "Ask", priority=True, show=False),
        Binding("f1", "keys", "Keys", priority=True),
        Binding("f2", "documents", "Documents", priority=True),
        Binding("f3", "doctor", "Doctor", priority=True),
        Binding("f4", "runs", "Runs", priority=True),
        Binding("escape", "back", "Back", show=False),
    ]

    def __init__(self, session: Session, question: str = "", *, may_write: bool = True) -> None:
        super().__init__()
        self._session = session
        self._question = question
        self._may_write = may_write
        self._mode: SearchMode = session.defaults.mode
        self._narrowed = SearchFilters()
        self._asked = 0  # counts what was asked; the answer to an older question is not shown
        self._shown = 0  # the last of those of which something was shown
        self._places: list[str] = []  # the citation of each row
        self._hits: list[SearchHit] = []
        self._answers: list[AnswerSummary] = []
        self._answer: Answer | None = None
        self._handle = RunHandle()
        self._typing: Timer | None = None
        self._moving: Timer | None = None
        self._judged = Judgements(session)
        self._input = Input(placeholder="Search your notes; ?… asks them", id="line")
        self._both = Horizontal(id="both")
        self._said = VerticalScroll(id="said")
        self._text = Static("", id="answer", markup=False)
        self._rows = OptionList(id="rows", markup=False)
        self._document = Preview(id="preview")
        self._known = Static("", id="status", markup=False)

    def compose(self) -> ComposeResult:
        """The line, what was found, the document, what to know of it, the keys."""
        yield self._input
        with self._both:
            with Vertical(id="found"):
                with self._said:
                    yield self._text
                yield self._rows
            yield self._document
        yield self._known
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        """Begins with what there is."""
        self.theme = "textual-light" if os.environ.get("COLORFGBG", "").endswith((";7", ";15")) else "textual-dark"
        self._rows.can_focus = False
        self._said.display = False
        self._status("")
        if self._question:
            self._line = self._question  # which is typed, as it were
        else:
            self._document.say("Type to search.\n\n?…  asks\nF1  all keys")

    def on_resize(self, event: Resize) -> None:
        """Beside each other where there is room, else one below the other."""
        is_narrow = event.size.width < NARROW
        self._both.set_class(is_narrow, "narrow")
        self._document.display = not (is_narrow and event.size.height < SHORT)

    # What is typed

    def on_input_changed(self, event: Input.Changed) -> None:
        """A pause in typing is a question."""
        if event.input.id != "line" or self.screen is not self.screen_stack[0]:
            return
        if self._typing is not None:
            self._typing.stop()
        self._typing = self.set_timer(DEBOUNCE_S, self._ask_hits)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter: asks where a question mark stands before, else opens what is marked."""
        if event.input.id == "line":
            if self._line.lstrip().startswith("?"):
                self.action_ask()
            else:
                self.action_open()

    @property
    def _line(self) -> str:
        return self._input.value

    @_line.setter
    def _line(self, text: str) -> None:
        self._input.value = text

    @property
    def _words(self) -> str:
        """What is asked: without the question mark before it, and the letter of which no syllable was made yet."""
        return self._line.strip().removeprefix("?").rstrip(_JAMO).strip()

    # Asking the session

    def _next(self) -> int:
        """The number of a new question; an answer in the making is stopped."""
        self._handle.cancel()
        self._asked += 1
        return self._asked

    def _ask_hits(self) -> None:
        number, words = self._next(), self._words
        self._judged.keep()
        if not words:
            self._show_rows([], [])
            self._status("")
            return
        self._find(number, words)

    @work(thread=True, group="find", exclusive=True, exit_on_error=False)
    def _find(self, number: int, words: str) -> None:
        query = self._session.defaults.query(words, self._mode, None, self._narrowed)
        self._told(number, lambda: search(self._session, query), self._show_hits)

    @work(thread=True, group="ask", exit_on_error=False)
    def _make_answer(self, number: int, words: str, handle: RunHandle) -> None:
        query = self._session.defaults.query(words, self._mode, None, self._narrowed)
        request = AskRequest(*query, keep=self._may_write)
        self._told(number, lambda: ask(self._session, request, handle), self._show_answer)

    def _told(self, number: int, asked: Callable[[], Asked], shown: Callable[[Asked], None]) -> None:
        """In a worker: asks, and has the screen show it, or what went wrong, unless something newer was asked."""
        try:
            found = asked()
        except KbError as error:
            self.call_from_thread(self._newest, number, self._fail, error)
        else:
            self.call_from_thread(self._newest, number, shown, found)

    def _newest(self, number: int, shown: Callable[[Asked], None], found: Asked) -> None:
        if number == self._asked:
            self._shown = number
            shown(found)

    # Showing what came

    def _show_hits(self, result: SearchResult) -> None:
        self._said.display = False
        self._answer, self._answers, self._hits = None, [], list(result.hits)
        self._judged.ask(result.query.text)
        rows = [Option(hit_row(hit, " ")) for hit in result.hits]
        self._show_rows(rows, [hit.citation.to_uri() for hit in result.hits])
        said = (
            counted(len(result.hits), "hit") if result.hits else f"nothing found for: {clean_line(result.query.text)}"
        )
        self._status(said, clean_line(result.note or ""))

    def _show_answer(self, answer: Answer) -> None:
        self._answer, self._answers, self._hits = answer, [], []
        self._said.display = True
        self._text.update(answer_text(answer))
        self._said.scroll_home(animate=False)
        rows = [Option(place_row(number, place)) for number, place in enumerate(answer.citations, 1)]
        self._show_rows(rows, [place.citation.to_uri() for place in answer.citations])
        self._status(f"{answer.usage.latency_ms:,} ms · Ctrl-T verifies · Esc back to the hits")

    def _show_event(self, event: AskEvent) -> None:
        answer = self._text
        if isinstance(event, Retrieved):
            self._status(f"reading {counted(len(event.result.hits), 'passage')} …")
        elif isinstance(event, Generated):
            answer.update(f"{answer.content}{clean(event.text)}")
            self._said.scroll_end(animate=False)

    def _show_rows(self, rows: list[Option], places: list[str]) -> None:
        found = self._rows
        found.clear_options()
        found.add_options(rows)
        self._places = places
        if rows:
            found.highlighted = 0
        else:
            self._document.say("")

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """The document of the row that is marked, once it has been marked for a moment."""
        if event.option_list.id != "rows":
            return
        if self._moving is not None:
            self._moving.stop()
        self._moving = self.set_timer(PREVIEW_S, self._preview)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click on a row is Enter on it."""
        if event.option_list.id == "rows":
            self.action_open()

    def _preview(self) -> None:
        at = self._at
        if at is None or not self._places:
            return
        hit = self._hits[at] if at < len(self._hits) else None
        self._load(self._places[at], hit)

    @work(thread=True, group="preview", exclusive=True, exit_on_error=False)
    def _load(self, place: str, hit: SearchHit | None) -> None:
        try:
            view = view_document(self._session, place, hit.chunk_id if hit else None)
        except KbError as error:
            self.call_from_thread(self._document.say, f"{error.message}\n{error.hint or ''}")
        else:
            self.call_from_thread(self._show_document, place, view, hit)

    def _show_document(self, place: str, view: DocumentView, hit: SearchHit | None) -> None:
        if self._place == place:  # another row may be marked by now
            self._document.show(view, matched_words(hit) if hit else ())

    def _fail(self, error: KbError) -> None:
        self._status(f"{clean_line(error.message)}{f' · {clean_line(error.hint)}' if error.hint else ''}")

    def _status(self, said: str, note: str = "") -> None:
        parts = [said, MODES[self._mode], *in_force(self._narrowed), self._judged.said, note]
        self._known.update(" · ".join(filter(None, parts)))

    # Keys

    @property
    def _at(self) -> int | None:
        return self._rows.highlighted

    @property
    def _place(self) -> str | None:
        at = self._at
        return self._places[at] if at is not None and at < len(self._places) else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """In a dialog only its own keys count, and the one that ends."""
        return len(self.screen_stack) == 1 or action == "quit"

    def action_move(self, by: int) -> None:
        """Marks the row that is so many further."""
        rows = self._rows
        if rows.option_count:
            rows.highlighted = min(max((rows.highlighted or 0) + by, 0), rows.option_count - 1)

    def action_scroll(self, pages: int) -> None:
        """Scrolls the document."""
        self._document.scroll_relative(y=pages * max(self._document.size.height - 2, 1), animate=False)

    def action_mode(self) -> None:
        """By words and meaning, by words, by meaning."""
        modes = list(MODES)
        self._mode = modes[(modes.index(self._mode) + 1) % len(modes)]
        self._status("")
        self._ask_hits()

    def action_ask(self) -> None:
        """Answers what is typed; where nothing is, the keys are shown: `?` alone is asked for help everywhere."""
        if self._typing is not None:
            self._typing.stop()
        number, words = self._next(), self._words
        if not words:
            self.action_keys()
            return
        self._text.update("")
        self._said.display = True
        self._status("looking for passages …")
        self._handle = RunHandle(lambda event: self.call_from_thread(self._newest, number, self._show_event, event))
        self._make_answer(number, words, self._handle)

    def action_open(self) -> None:
        """Opens the place in the user's editor or viewer; shows an earlier answer."""
        at, place = self._at, self._place
        if self._answers and at is not None:
            self._show_kept(self._next(), self._answers[at].trace_id)
            return
        if place is None:
            return
        try:
            opening = find_opening(self._session, place, None, os.environ)
            theirs = users_surroundings()
            with self.suspend():
                subprocess.call(opening.command, env=theirs.environment, umask=theirs.umask)
        except KbError as error:
            self._fail(error)
        except (OSError, SuspendNotSupported) as error:
            self._status(f"it cannot be opened here: {error}")
        self.refresh(layout=True)

    @work(thread=True, group="ask", exit_on_error=False)
    def _show_kept(self, number: int, trace_id: str) -> None:
        self._told(number, lambda: find_answer(self._session, trace_id), self._show_answer)

    def action_copy_place(self) -> None:
        """Copies the citation."""
        if self._place is not None:
            self.copy_to_clipboard(self._place)
            self._status(f"copied: {clean_line(self._place)}")

    def action_copy_text(self) -> None:
        """Copies the cited text."""
        if self._place is not None:
            text = self._document.shown_text
            self.copy_to_clipboard(text)
            self._status(f"copied {counted(len(text), 'character')}")

    def action_judge(self, is_good: bool) -> None:
        """Marks the hit as what was looked for, or not."""
        at = self._at
        if at is None or at >= len(self._hits):
            return
        if not self._may_write:
            self._status("read-only: judgements are not kept")
            return
        mark = self._judged.judge(self._hits[at], is_good)
        self._rows.replace_option_prompt_at_index(at, hit_row(self._hits[at], mark))
        self._status("")

    @work(thread=True, group="facets", exclusive=True, exit_on_error=False)
    def action_filters(self) -> None:
        """Filters, with their counts."""
        number, filters = self._asked, self._narrowed
        self._told(number, lambda: count_facets(self._session, filters), self._choose_filters)

    def _choose_filters(self, counts: list[FacetCount]) -> None:
        self.push_screen(FiltersDialog(self._narrowed, counts), self._filter)

    def _filter(self, chosen: SearchFilters | None) -> None:
        if chosen is not None:
            self._narrowed = chosen
            self._status("")
            self._ask_hits()

    @work(thread=True, group="ask", exclusive=True, exit_on_error=False)
    def action_earlier(self) -> None:
        """Earlier answers."""
        self._told(self._asked, lambda: list_answers(self._session, _EARLIER_SHOWN), self._show_earlier)

    def _show_earlier(self, answers: list[AnswerSummary]) -> None:
        self._said.display = False
        self._answers, self._hits, self._answer = answers, [], None
        self._show_rows([Option(answer_row(each)) for each in answers], [])
        self._status(f"{counted(len(answers), 'earlier answer')} · Enter shows one · Esc back")

    @work(thread=True, group="ask", exclusive=True, exit_on_error=False)
    def action_verify(self) -> None:
        """Whether the quotations of the answer still stand in their files."""
        answer = self._answer
        if answer is None or not self._may_write:
            return
        self._told(
            self._asked,
            lambda: verify(self._session, answer.retrieval.trace_id, every=False),
            lambda checks: self._status(
                ", ".join(
                    f"{quote.standing}: {clean_line(quote.cited.to_uri())}" for each in checks for quote in each.quotes
                )
                or "this answer quotes nothing"
            ),
        )

    def action_keys(self) -> None:
        """All keys."""
        self.push_screen(KeysDialog())

    def action_documents(self) -> None:
        """All documents by their folders; the one that is chosen is shown."""
        self.push_screen(DocumentsScreen(self._session), self._show_chosen)

    def _show_chosen(self, path: str | None) -> None:
        if path is not None:
            self._next()
            self._hits, self._answer, self._answers = [], None, []
            self._show_rows([Option(clean_line(path))], [path])

    def action_doctor(self) -> None:
        """The checks of the doctor."""
        self.push_screen(DoctorScreen(self._session))

    def action_runs(self) -> None:
        """Evaluation runs."""
        self.push_screen(RunsScreen(self._session))

    async def action_back(self) -> None:
        """From an answer to the hits, from a question to an empty line."""
        if self._answer is not None or self._answers or self._said.display:
            self._line = self._line.lstrip().removeprefix("?")
            self._said.display = False
            self._ask_hits()
        else:
            self._line = ""

    def on_unmount(self) -> None:
        """Keeps what was judged, and stops what is underway."""
        self._handle.cancel()
        self._judged.keep()
