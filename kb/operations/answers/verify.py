"""Compares stored answers with the current files: which quotations are unchanged, moved, changed or gone."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple

from kb.domain.answers import Answer, Claim
from kb.domain.citations import Citation, LineCitation, cite, cited_lines
from kb.domain.derived import DERIVED_NAMES
from kb.domain.ids import content_hash
from kb.domain.results.answers import AnswerCheck, QuoteCheck, Standing
from kb.domain.text import stored_text
from kb.errors import FileError, FileVanished, NotFound
from kb.extract.cited_text import cited_text
from kb.extract.decode import decode
from kb.language.occurrences import occurrences, occurs
from kb.operations.answers.records import all_answers, find_answer
from kb.operations.opening.base import Base
from kb.scan.git import commit_at, top_of
from kb.scan.read import read_bytes
from kb.store import queries
from kb.store.artifacts import read_artifact
from kb.store.connection import Connection

"""`missing`: the file is gone; `unreadable`: its former format fails to parse; `changed`: the words are not in it."""


class Found(NamedTuple):
    """The status of a quotation, and its current place, if any."""

    standing: Standing
    now_at: Citation | None = None


def look_up(quote: str, cited: LineCitation, text: str) -> Found:
    """The status of a quotation in the parsed text of its file.

    The cited lines may be more than the quotation's, such as those of a whole passage.
    """
    now_at = nearest_lines(quote, cited, text)
    if now_at is None:
        return Found("changed")
    if cited.start <= now_at.start and now_at.end <= cited.end:
        return Found("stands", cited)
    return Found("moved", now_at)


def nearest_lines(quote: str, cited: LineCitation, text: str) -> LineCitation | None:
    """The lines of a quotation's occurrence nearest to the cited ones; None where it is nowhere in `text`."""
    lines = [1 + text.count("\n", 0, start) for start, _ in occurrences(quote, text, "verbatim")]
    if not lines:
        return None
    first = min(lines, key=lambda line: (abs(line - cited.start), line))
    return cited._replace(start=first, end=first + quote.count("\n"))


_LEAST_SHARED = 0.5
_MARKS = ".,;:!?()[]\"'“”‘’「」…"


def nearest_text(quote: str, text: str, line: int) -> str | None:
    """The text that most likely replaced a quotation that is no longer in `text`; None where nothing is similar.

    It has as many lines as the quotation; of those that share most of its words, the nearest to `line`.
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
    """The words that differ, old and new; words of `new` before and after the quotation do not count."""
    before, after = old.split(), new.split()
    return [
        (" ".join(before[a:b]).strip(_MARKS), " ".join(after[c:d]).strip(_MARKS))
        for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
        if kind != "equal" and not (a == b and a in (0, len(before)))
    ]


class Located(NamedTuple):
    """A cited place. `text` is its text in the file as it was indexed.

    `is_current` says whether the file at `source_path` still has the content that was indexed; `kept_path` is kb's own
    copy of that content, or the file itself where it is too large to be copied.
    """

    citation: Citation
    doc_id: str
    media_type: str
    source_path: Path
    kept_path: Path
    is_current: bool
    text: str


def locate(session: Base, citation: Citation) -> Located:
    """The place that `citation` names.

    Raises: NotFound where no such file is indexed, or it has no such place; NotIndexed and its kin.
    """
    with session.reading() as base:
        path = stored_text(citation.path)
        doc_id = next((row.id for row in queries.find_document_ids(base.db, prefix=path) if row.label == path), None)
        document = None if doc_id is None else queries.select_document(base.db, doc_id=doc_id)
    if document is None:
        raise NotFound(f"no document {citation.path!r}", "kb list docs shows what there is")
    artifacts = session.config.artifact_dir
    derived = {name: data for name in DERIVED_NAMES if (data := read_artifact(artifacts, document.doc_id, name))}
    source_path, kept_path = Path(document.source_path), Path(document.storage_path)
    kept = _content(kept_path)
    is_kept = kept is not None and content_hash(kept) == document.checksum
    text = cited_text(citation, kept if kept is not None and is_kept else b"", derived)
    if text is None:
        raise NotFound(
            f"{citation.to_uri()} names no place in that file as it was indexed", "kb inspect doc shows its places"
        )
    current = _content(source_path)
    return Located(
        citation=citation,
        doc_id=document.doc_id,
        media_type=document.media_type,
        source_path=source_path,
        kept_path=kept_path,
        is_current=current is not None and content_hash(current) == document.checksum,
        text=text,
    )


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def verify(session: Base, typed: str | None, *, every: bool) -> list[AnswerCheck]:
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
    """Checks quotations; reads each file once."""

    def __init__(self, db: Connection, session: Base) -> None:
        self._db = db
        self._session = session
        self._texts: dict[str, str | FileError] = {}

    def check(self, claim: Claim, answer: Answer) -> QuoteCheck:
        """The check of one sentence's quotation."""
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
        """The text that replaced a changed quotation, if it is similar."""
        if (lines := cited_lines(cited)) is not None:
            text = self._text(sources.get(cited.path, cited.path))
            return None if isinstance(text, FileError) else nearest_text(quote, text, lines.start)
        try:
            place = locate(self._session, cited)
        except NotFound:
            return None
        return nearest_text(quote, place.text, 1) if place.is_current else None

    def _other_commits(self, path: str, answer: Answer) -> tuple[str, str] | tuple[()]:
        """The indexed and the current commit of the file's repository, where they differ."""
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
        """The status on a page, in a region or at a time, by the derived text while the file is unchanged."""
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
