"""Compares stored answers with the files as they are now: which are unchanged, moved, changed or went."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence

from kb.answer.standing import Found, look_up, nearest_lines, nearest_text
from kb.domain.answers.answer import Answer, Claim
from kb.domain.citations import Citation, LineCitation, cite, cited_lines
from kb.domain.results.answers import AnswerCheck, QuoteCheck
from kb.domain.text import stored_text
from kb.errors import FileError, FileVanished, NotFound
from kb.extract.decode import decode
from kb.language.occurrences import occurs
from kb.operations.answers.history import all_answers, find_answer
from kb.operations.answers.locate import locate
from kb.operations.session.session import Session
from kb.scan.git import commit_at, top_of
from kb.scan.read import read_bytes
from kb.store import queries
from kb.store.connection import Connection


def verify(session: Session, typed: str | None, *, every: bool) -> list[AnswerCheck]:
    """The checks of one answer, named by its id or the start of one (None: the last), or of `every` answer.

    Raises: NotFound, InvalidId.
    """
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
    """Reads each file once, however many quotations are in it."""

    def __init__(self, db: Connection, session: Session) -> None:
        self._db = db
        self._session = session
        self._texts: dict[str, str | FileError] = {}

    def check(self, claim: Claim, answer: Answer) -> QuoteCheck:
        """How the quotation of one sentence fares."""
        quote, cited = claim.quote, claim.citation
        assert quote is not None
        assert cited is not None
        sources = {passage.doc_path: passage.source_path for passage in answer.packed}
        if (lines := cited_lines(cited)) is not None:
            found = self._in_lines(quote, lines, sources.get(cited.path, cited.path))
        else:
            found = self._in_media(quote, cited)
        if found.standing in ("changed", "missing"):
            elsewhere = self._elsewhere(quote, cited)
            found = Found("moved", elsewhere) if elsewhere is not None else found
        checked = QuoteCheck(quote, cited, found.standing, found.now_at, *self._other_commits(cited.path, answer))
        now_text = self._now_text(quote, cited, sources) if found.standing == "changed" else None
        return checked._replace(second=claim.second, now_text=now_text)

    def _now_text(self, quote: str, cited: Citation, sources: Mapping[str, str]) -> str | None:
        """What stands in the place of a quotation that changed, as far as it is alike."""
        if (lines := cited_lines(cited)) is not None:
            text = self._text(sources.get(cited.path, cited.path))
            return None if isinstance(text, FileError) else nearest_text(quote, text, lines.start)
        try:
            place = locate(self._session, cited)
        except NotFound:
            return None
        return nearest_text(quote, place.text, 1) if place.is_current else None

    def _other_commits(self, path: str, answer: Answer) -> tuple[str, str] | tuple[()]:
        """The commit that the file's repository was at, and the one it is at now, where those differ."""
        cited = ((each.commit, each.source_path) for each in answer.packed if each.doc_path == path)
        then, source = next(cited, (None, ""))
        top = None if then is None else top_of(os.path.dirname(source))
        now = None if top is None else commit_at(top)
        return () if then is None or now is None or then == now else (then, now)

    def _in_lines(self, quote: str, cited: LineCitation, source_path: str) -> Found:
        text = self._text(source_path)
        if isinstance(text, FileError):
            return Found("missing" if isinstance(text, FileVanished) else "unreadable")
        return look_up(quote, cited, text)

    def _in_media(self, quote: str, cited: Citation) -> Found:
        """On its page, in its region or at its time; what an engine read is looked at, while the file is the same."""
        try:
            place = locate(self._session, cited)
        except NotFound:
            return Found("missing")
        if not place.source_path.exists():
            return Found("missing")
        if not place.is_current:
            return Found("changed")
        return Found("stands", cited) if occurs(quote, place.text, "words") else Found("changed")

    def _elsewhere(self, quote: str, cited: Citation) -> Citation | None:
        """Where the quotation is in another file, or in another place of a page, picture or recording."""
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
                self._texts[source_path] = decode(data).text
            except FileError as error:
                self._texts[source_path] = error
        return self._texts[source_path]
