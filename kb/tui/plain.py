"""`kb ui --plain`: the UI as numbered lists and letter commands, line by line, for screen readers and slow lines."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TextIO

from rich.text import Text

from kb.domain.answers import Answer, HopTaken
from kb.domain.citations import Citation
from kb.domain.filters import OPTIONS, toggled, with_values
from kb.domain.results.fetched import FetchRequest, FetchTarget
from kb.domain.results.viewing import Facets
from kb.domain.run_handle import RunHandle
from kb.domain.search import Passage
from kb.domain.text import counted
from kb.errors import KbError, UsageError
from kb.language.detect import query_language
from kb.operations.answers.open_citation import find_opening, run_opening
from kb.operations.answers.records import list_sessions, show_session
from kb.operations.ask.ask import ask
from kb.operations.fetch.fetch import fetch
from kb.operations.inspect.facets import count_facets
from kb.operations.opening.base import Base
from kb.operations.search.search import search
from kb.tui.asking import QuestionSettings
from kb.tui.rows import clean, clean_line, step_line
from kb.tui.strings import in_language
from kb.tui.styled import unmarked

_HELP = """\
words        search           ?words  ask; ??words in steps, each part of the question by itself
N            read place N     o N     open it in your editor or viewer
c N          its citation     m       by words and meaning, by words, by meaning
f            filters          f NAME=VALUE sets one (tag, lang, media, folder, dated, …), f NAME= takes it away
s            conversations    s NAME  goes on with one, or begins it; s - leaves it
h            this             q       end
"""
_FILTERS = {"folder" if each.facet == "folder" else each.name: each for each in OPTIONS}


def converse(session: Base, question: str, typed: TextIO, shown: TextIO, *, may_write: bool) -> int:
    """Answers lines until `q` or the end of input; answers are kept where it `may_write`. Returns the exit code."""
    dialogue = _Dialogue(session, shown, may_write)
    if question:
        dialogue.take(question)
    else:
        dialogue.say("Words search, ?words ask, h shows all keys, q ends.")
    while dialogue.goes_on:
        shown.write("kb: ")
        shown.flush()
        line = typed.readline()
        if not line:
            break
        try:
            dialogue.take(line.strip())
        except KbError as error:
            dialogue.say(f"error: {clean_line(error.message)}")
            if error.hint:
                dialogue.say(f"hint: {clean_line(error.hint)}")
    return 0


class _Dialogue:
    """Runs the lines that are typed; keeps the places shown last, and how questions are asked."""

    def __init__(self, session: Base, shown: TextIO, may_write: bool) -> None:
        self._session = session
        self._shown = shown
        self._settings = QuestionSettings(session, may_write=may_write)
        self._places: list[Citation] = []
        self.goes_on = True

    def say(self, text: str) -> None:
        """Prints a line."""
        self._shown.write(text + "\n")

    def take(self, line: str) -> None:
        """Runs the command or search of a line. Raises: KbError."""
        match line.split(maxsplit=1):
            case ["q"]:
                self.goes_on = False
            case ["m"]:
                self._settings.change_mode()
                self.say(f"Searching by: {self._settings.mode}")
            case ["f"]:
                self._show_filters()
            case ["f", change] if "=" in change:
                self._filter(change)
            case ["s"]:
                self._show_conversations()
            case ["s", name]:
                self._go_on(name)
            case [number] if number.isdecimal():
                self._read(self._place(number))
            case ["o", number] if number.isdecimal():
                run_opening(find_opening(self._session, self._place(number).to_uri(), None, os.environ))
            case ["c", number] if number.isdecimal():
                self.say(clean_line(self._place(number).to_uri()))
            case ["h"] | []:
                self.say(_HELP.rstrip())
            case _ if not (words := line.lstrip("?").strip()):
                self.say(_HELP.rstrip())
            case _ if line.startswith("?"):
                self._ask(words, in_steps=line.startswith("??"))
            case _:
                self._search(line)

    def _search(self, words: str) -> None:
        result = search(self._session, self._settings.query(words))
        self._places = [hit.citation for hit in result.hits]
        for hit in result.hits:
            self._show_hit(hit)
        self.say(f"{len(result.hits)} found." if result.hits else f"Nothing found for: {clean_line(words)}")
        if result.note:
            self.say(clean_line(result.note))

    def _show_hit(self, hit: Passage) -> None:
        self.say(f"{hit.rank}. {clean_line(' › '.join(hit.heading_path) or hit.title)}")
        self.say(f"   {unmarked(Text(clean_line(hit.snippet))).plain}")
        self.say(f"   {clean_line(hit.citation.to_uri())}")

    def _ask(self, question: str, *, in_steps: bool) -> None:
        request = self._settings.request(question, in_steps=in_steps)
        answer = ask(self._session, request, RunHandle(self._tell))
        self._places = [each.citation for each in answer.citations]
        self._show_answer(answer)

    def _tell(self, event: object) -> None:
        if isinstance(event, HopTaken):
            self.say(step_line(event.hop))

    def _show_answer(self, answer: Answer) -> None:
        say = in_language(query_language(answer.question))
        if not answer.refusal_reason:
            self.say(f"{say(answer.state)}.")
        self.say(clean(answer.text))
        for note in answer.notes:
            self.say(clean_line(note))
        if answer.citations:
            self.say(say("nearest") if answer.refusal_reason else say("from"))
        for number, each in enumerate(answer.citations, 1):
            self.say(f"{number}. {each.marker or ''} {clean_line(each.citation.to_uri())}".replace("  ", " "))

    def _place(self, number: str) -> Citation:
        if not 1 <= int(number) <= len(self._places):
            raise UsageError(f"no place {number}", f"{len(self._places)} were shown")
        return self._places[int(number) - 1]

    def _read(self, place: Citation) -> None:
        fetched = fetch(self._session, FetchRequest((FetchTarget(place.to_uri()),)))
        for failure in fetched.failures:
            raise failure.error
        self.say(clean_line(place.to_uri()))
        self.say(clean("\n".join(each.text for each in fetched.places)))
        if not all(each.is_current for each in fetched.places):
            self.say("The file has changed since it was indexed.")

    def _show_conversations(self) -> None:
        rows = list_sessions(self._session)
        for row in rows:
            here = " (this one)" if row.session_id == self._settings.conversation else ""
            questions = counted(row.turn_count, "question")
            self.say(f"{clean_line(row.session_id)}{here}: {clean_line(row.title or '')}, {questions}")
        self.say("s NAME goes on with one, or begins it." if rows else "No conversations yet; s NAME begins one.")

    def _go_on(self, name: str) -> None:
        self._settings.conversation = None if name == "-" else name
        if self._settings.conversation is None:
            self.say("Questions stand alone.")
            return
        if any(row.session_id == name for row in list_sessions(self._session)):
            for turn in show_session(self._session, name).turns:
                self.say(f"? {clean_line(turn.question)}")
                self.say(clean(turn.answer))
        self.say(f"In {clean_line(name)}: ?words goes on.")

    def _show_filters(self) -> None:
        for facet in Facets._fields:
            counts = [each for each in count_facets(self._session, self._settings.filters) if each.facet == facet]
            values: Sequence[str] = [f"{clean_line(each.value)} ({each.documents})" for each in counts]
            self.say(f"{facet}: {', '.join(values) or 'none'}")

    def _filter(self, typed: str) -> None:
        name, _, value = (part.strip() for part in typed.partition("="))
        if name not in _FILTERS:
            raise UsageError(f"no filter {name!r}", f"one of {', '.join(_FILTERS)}")
        cleared = with_values(self._settings.filters, _FILTERS[name], ())
        self._settings.filters = toggled(cleared, _FILTERS[name], value) if value else cleared
        self.say(f"{name}: {clean_line(value) or 'any'}")
