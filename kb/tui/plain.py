"""`kb ui --plain`: the same by numbered lists and letters, a line at a time, for screen readers and slow lines."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from typing import Any, TextIO

from kb.domain.answers.answer import Answer
from kb.domain.answers.answer_events import HopTaken
from kb.domain.citations import Citation
from kb.domain.run_handle import RunHandle
from kb.domain.search import SearchFilters, SearchHit, SearchMode
from kb.errors import KbError, UsageError
from kb.operations.answers.history import list_sessions, show_session
from kb.operations.answers.locate import locate
from kb.operations.answers.open_citation import find_opening
from kb.operations.ask.ask import ask
from kb.operations.ask.findings import AskRequest
from kb.operations.inspect.facets import count_facets
from kb.operations.search.search import search
from kb.operations.session.session import Session
from kb.private import users_surroundings
from kb.tui.clean import clean, clean_line
from kb.tui.rows import counted, step_line

_HELP = """\
words        search           ?words  ask; ??words in steps, each part of the question by itself
N            read place N     o N     open it in your editor or viewer
c N          its citation     m       by words and meaning, by words, by meaning
f            filters          f NAME=VALUE sets one (tag, lang, media, folder, dated), f NAME= takes it away
s            conversations    s NAME  goes on with one, or begins it; s - leaves it
h            this             q       end
"""
_MODES: tuple[SearchMode, ...] = ("hybrid", "lexical", "vector")
_STATES = {
    "answered": "Answered from your notes.",
    "unsure": "Perhaps this; not sure.",
    "refused": "Not in your notes.",
}
_FILTERS = {"lang": "lang", "media": "media", "dated": "dated", "symbol": "symbol", "kind": "symbol_kind"}


def converse(session: Session, question: str, typed: TextIO, shown: TextIO, *, may_write: bool) -> int:
    """Answers lines until `q` or the end of input; answers are kept where it `may_write`. Returns the exit code."""
    talk = _Talk(session, shown, may_write)
    if question:
        talk.take(question)
    else:
        talk.say("Words search, ?words ask, h shows all keys, q ends.")
    while talk.goes_on:
        shown.write("kb: ")
        shown.flush()
        line = typed.readline()
        if not line:
            break
        try:
            talk.take(line.strip())
        except KbError as error:
            talk.say(f"error: {clean_line(error.message)}")
            if error.hint:
                talk.say(f"hint: {clean_line(error.hint)}")
    return 0


class _Talk:
    """What was shown last, and how it is asked."""

    def __init__(self, session: Session, shown: TextIO, may_write: bool) -> None:
        self._session = session
        self._shown = shown
        self._may_write = may_write
        self._mode: SearchMode = session.defaults.mode
        self._filters = SearchFilters()
        self._talk: str | None = None  # the conversation that questions go on with
        self._places: list[Citation] = []
        self.goes_on = True

    def say(self, text: str) -> None:
        """A line."""
        self._shown.write(text + "\n")

    def take(self, line: str) -> None:
        """Does what a line asks for. Raises: KbError."""
        key, _, rest = line.partition(" ")
        if line in ("q", "h", "m", "f", "s"):
            {
                "q": self._end,
                "h": self._help,
                "m": self._change_mode,
                "f": self._show_filters,
                "s": self._show_talks,
            }[line]()
        elif line.isdecimal():
            self._read(self._place(line))
        elif key in ("o", "c") and rest.strip().isdecimal():
            place = self._place(rest.strip())
            if key == "o":
                self._open(place)
            else:
                self.say(clean_line(place.to_uri()))
        elif key == "f" and "=" in rest:
            self._filter(rest)
        elif key == "s" and rest.strip():
            self._go_on(rest.strip())
        elif line.startswith("?") and line.lstrip("?").strip():
            self._ask(line.lstrip("?").strip(), in_steps=line.startswith("??"))
        elif line.strip("?"):
            self._search(line)
        else:
            self._help()

    def _end(self) -> None:
        self.goes_on = False

    def _help(self) -> None:
        self.say(_HELP.rstrip())

    def _search(self, words: str) -> None:
        result = search(self._session, self._session.defaults.query(words, self._mode, None, self._filters))
        self._places = [hit.citation for hit in result.hits]
        for hit in result.hits:
            self._show_hit(hit)
        self.say(f"{len(result.hits)} found." if result.hits else f"Nothing found for: {clean_line(words)}")
        if result.note:
            self.say(clean_line(result.note))

    def _show_hit(self, hit: SearchHit) -> None:
        self.say(f"{hit.rank}. {clean_line(' › '.join(hit.heading_path) or hit.title)}")
        self.say(f"   {clean_line(hit.snippet)}")
        self.say(f"   {clean_line(hit.citation.to_uri())}")

    def _ask(self, question: str, *, in_steps: bool) -> None:
        query = self._session.defaults.query(question, self._mode, None, self._filters)
        depth = self._session.config.rag.deep_steps if in_steps else 1
        request = AskRequest(*query, session_id=self._talk, keep=self._may_write, depth=depth)
        answer = ask(self._session, request, RunHandle(self._tell))
        self._places = [each.citation for each in answer.citations]
        self._show_answer(answer)

    def _tell(self, event: object) -> None:
        if isinstance(event, HopTaken):
            self.say(step_line(event.hop))

    def _show_answer(self, answer: Answer) -> None:
        self.say(_STATES[answer.state])
        self.say(clean(answer.text))
        for note in answer.notes:
            self.say(clean_line(note))
        self.say("Nearest places:" if answer.refusal_reason else "From:")
        for number, each in enumerate(answer.citations, 1):
            self.say(f"{number}. {each.marker or ''} {clean_line(each.citation.to_uri())}".replace("  ", " "))

    def _place(self, number: str) -> Citation:
        if not 1 <= int(number) <= len(self._places):
            raise UsageError(f"no place {number}", f"{len(self._places)} were shown")
        return self._places[int(number) - 1]

    def _read(self, place: Citation) -> None:
        found = locate(self._session, place)
        self.say(clean_line(place.to_uri()))
        self.say(clean(found.text))
        if not found.is_current:
            self.say("The file has changed since it was indexed.")

    def _open(self, place: Citation) -> None:
        opening = find_opening(self._session, place.to_uri(), None, os.environ)
        theirs = users_surroundings()
        try:
            subprocess.call(opening.command, env=theirs.environment, umask=theirs.umask)
        except OSError as error:
            raise UsageError(f"{opening.command[0]} cannot be run: {error.strerror}", "set $EDITOR") from error

    def _change_mode(self) -> None:
        self._mode = _MODES[(_MODES.index(self._mode) + 1) % len(_MODES)]
        self.say(f"Searching by: {self._mode}")

    def _show_talks(self) -> None:
        rows = list_sessions(self._session)
        for row in rows:
            here = " (this one)" if row.session_id == self._talk else ""
            self.say(
                f"{clean_line(row.session_id)}{here}: {clean_line(row.title or '')}, {counted(row.turns, 'question')}"
            )
        self.say("s NAME goes on with one, or begins it." if rows else "No conversations yet; s NAME begins one.")

    def _go_on(self, name: str) -> None:
        self._talk = None if name == "-" else name
        if self._talk is None:
            self.say("Questions stand alone.")
            return
        if any(row.session_id == name for row in list_sessions(self._session)):
            for turn in show_session(self._session, name).turns:
                self.say(f"? {clean_line(turn.question)}")
                self.say(clean(turn.answer))
        self.say(f"In {clean_line(name)}: ?words goes on.")

    def _show_filters(self) -> None:
        for facet in ("media", "folder", "tag", "lang"):
            counts = [each for each in count_facets(self._session, self._filters) if each.facet == facet]
            values: Sequence[str] = [f"{clean_line(each.value)} ({each.documents})" for each in counts]
            self.say(f"{facet}: {', '.join(values) or 'none'}")

    def _filter(self, typed: str) -> None:
        name, _, value = (part.strip() for part in typed.partition("="))
        if name == "tag":
            self._filters = self._filters._replace(tags_any=(value,) if value else ())
        elif name == "folder":
            self._filters = self._filters._replace(path_globs=(f"{value}/**",) if value else ())
        elif name in _FILTERS:
            change: dict[str, Any] = {_FILTERS[name]: value or None}
            self._filters = self._filters._replace(**change)
        else:
            raise UsageError(f"no filter {name!r}", f"one of tag, folder, {', '.join(_FILTERS)}")
        self.say(f"{name}: {clean_line(value) or 'any'}")
