"""Compares stored answers with the current files: which quotations are unchanged, moved, changed or gone."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from kb.domain.answers import Answer, Claim
from kb.domain.citations import Citation, LineCitation, cite, cited_lines
from kb.domain.results.answers import AnswerCheck, QuoteCheck, Standing
from kb.domain.results.viewing import DocumentView
from kb.domain.text import stored_text
from kb.errors import FileError, FileVanished, NotFound
from kb.extract.laid import line_text
from kb.language.occurrences import occurrences, occurs
from kb.operations.answers.records import all_answers, find_answer
from kb.operations.inspect.view import view_document
from kb.operations.opening.base import Base
from kb.scan.git import commit_at, top_of
from kb.scan.read import is_there, read_bytes
from kb.store import queries
from kb.store.connection import Connection


class FoundQuote(NamedTuple):
    """The state of a quotation, and its present place, if any.

    `missing`: the file is gone; `unreadable`: it can no longer be parsed; `changed`: it lacks the words.
    """

    standing: Standing
    now_at: Citation | None = None


def look_up(quote: str, cited: LineCitation, text: str) -> FoundQuote:
    """The state of a quotation in the parsed text of its file; the cited lines may cover more, such as a passage."""
    now_at = nearest_lines(quote, cited, text)
    if now_at is None:
        return FoundQuote("changed")
    if cited.start <= now_at.start and now_at.end <= cited.end:
        return FoundQuote("stands", cited)
    return FoundQuote("moved", now_at)


def nearest_lines(quote: str, cited: LineCitation, text: str) -> LineCitation | None:
    """The lines of the occurrence of a quotation in `text` nearest to the cited lines; None without one."""
    lines = [1 + text.count("\n", 0, start) for start, _ in occurrences(quote, text, "verbatim")]
    if not lines:
        return None
    first = min(lines, key=lambda line: (abs(line - cited.start), line))
    return cited._replace(start=first, end=first + quote.count("\n"))


_LEAST_SHARED = 0.5
_MARKS = ".,;:!?()[]\"'“”‘’「」…"


def nearest_text(quote: str, text: str, line: int) -> str | None:
    """The text that has most likely replaced a quotation that `text` no longer contains; None if nothing is similar.

    It has as many lines as the quotation; of equally similar texts, the nearest to `line`.
    """
    asked = Counter(quote.split())
    lines = text.split("\n")
    span = quote.count("\n") + 1
    best, at = 0.0, 0
    for start in range(max(1, len(lines) - span + 1)):
        shared = (Counter(" ".join(lines[start : start + span]).split()) & asked).total() / asked.total()
        if (shared, -abs(start + 1 - line)) > (best, -abs(at + 1 - line)):
            best, at = shared, start
    return "\n".join(lines[at : at + span]).strip() if best >= _LEAST_SHARED else None


def changed_words(old: str, new: str) -> list[tuple[str, str]]:
    """The pairs of old and new words that differ; words of `new` before and after the quotation do not count."""
    before, after = old.split(), new.split()
    return [
        (" ".join(before[a:b]).strip(_MARKS), " ".join(after[c:d]).strip(_MARKS))
        for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
        if kind != "equal" and not (a == b and a in (0, len(before)))
    ]


def verify(session: Base, typed: str | None, *, every: bool) -> list[AnswerCheck]:
    """Checks an answer by its id or the beginning of one (None: the last), or `every`. Raises: NotFound, InvalidId."""
    answers: Sequence[Answer] = all_answers(session) if every else [find_answer(session, typed)]
    with session.reading() as base:
        checking = _Checking(base.db, session)
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
    """Checks quotations; each file is read once."""

    def __init__(self, db: Connection, session: Base) -> None:
        self._db = db
        self._session = session
        self._texts: dict[str, str | FileError] = {}

    def check(self, claim: Claim, answer: Answer) -> QuoteCheck:
        """Checks the quotation of one sentence."""
        quote, cited = claim.quote, claim.citation
        assert quote is not None
        assert cited is not None
        sources = {passage.doc_path: passage.source_path for passage in answer.written.packed}
        if (lines := cited_lines(cited)) is not None:
            found = self._in_lines(quote, lines, self._file_of(cited.path, sources))
        else:
            found = self._in_media(quote, cited)
        if found.standing in ("changed", "missing"):
            elsewhere = self._elsewhere(quote, cited)
            found = FoundQuote("moved", elsewhere) if elsewhere is not None else found
        checked = QuoteCheck(quote, cited, found.standing, found.now_at, *self._other_commits(cited.path, answer))
        now_text = self._now_text(quote, cited, sources) if found.standing == "changed" else None
        return checked._replace(second=claim.second, now_text=now_text)

    def _file_of(self, path: str, sources: Mapping[str, str]) -> str:
        """The file of a cited path: where it was when it was cited, else in the present folder of its source."""
        known = sources.get(path)
        return known if known is not None and is_there(known) else str(self._session.config.sources.on_disk(path))

    def _now_text(self, quote: str, cited: Citation, sources: Mapping[str, str]) -> str | None:
        """The text that has replaced a changed quotation; None if nothing is similar."""
        if (lines := cited_lines(cited)) is not None:
            text = self._text(self._file_of(cited.path, sources))
            return None if isinstance(text, FileError) else nearest_text(quote, text, lines.start)
        view = self._view(cited)
        return None if view is None or not view.is_current else nearest_text(quote, view.place_text or "", 1)

    def _other_commits(self, path: str, answer: Answer) -> tuple[str, str] | tuple[()]:
        """The commits of the file's repository then and now; empty if they are equal or unknown."""
        cited = ((each.commit, each.source_path) for each in answer.written.packed if each.doc_path == path)
        then, source = next(cited, (None, ""))
        top = None if then is None else top_of(os.path.dirname(source))
        now = None if top is None else commit_at(top)
        return () if then is None or now is None or then == now else (then, now)

    def _in_lines(self, quote: str, cited: LineCitation, source_path: str) -> FoundQuote:
        text = self._text(source_path)
        if isinstance(text, FileError):
            return FoundQuote("missing" if isinstance(text, FileVanished) else "unreadable")
        return look_up(quote, cited, text)

    def _in_media(self, quote: str, cited: Citation) -> FoundQuote:
        """The state of a quotation on a page, in a region or at a time, by the derived text of the unchanged file."""
        view = self._view(cited)
        if view is None or not is_there(view.document.source_path):
            return FoundQuote("missing")
        holds = view.is_current and occurs(quote, view.place_text or "", "words")
        return FoundQuote("stands", cited) if holds else FoundQuote("changed")

    def _view(self, cited: Citation) -> DocumentView | None:
        """The cited document with its derived text at the place; None if no document has that place."""
        try:
            view = view_document(self._session, cited.to_uri())
        except NotFound:
            return None
        return None if view.place_text is None else view

    def _elsewhere(self, quote: str, cited: Citation) -> Citation | None:
        """The place of a quotation in another file, or elsewhere in its page, picture or recording; else None."""
        for place in queries.find_quote(self._db, quote=stored_text(quote)):
            at = cite(place.workspace_path, json.loads(place.source_spans_json), None)
            lines = cited_lines(at)
            if lines is None:
                if at != cited and self._in_media(quote, at).standing == "stands":
                    return at
                continue
            text = self._text(place.source_path)
            if place.workspace_path != cited.path and not isinstance(text, FileError):
                now_at = nearest_lines(quote, lines, text)
                if now_at is not None:
                    return now_at
        return None

    def _text(self, source_path: str) -> str | FileError:
        if source_path not in self._texts:
            try:
                data = read_bytes(source_path, max_bytes=self._session.config.indexing.max_file_mb * 1_000_000).data
                self._texts[source_path] = line_text(data, source_path)
            except FileError as error:
                self._texts[source_path] = error
        return self._texts[source_path]
