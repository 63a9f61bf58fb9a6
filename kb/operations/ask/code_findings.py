"""Whether a question is answered from notes or from source code, and the answer made of the latter.

it can mean nothing but code ─▶ code, where there is evidence
notes that answer ─▶ notes; else code that answers; else notes that may; else code that may
"""

from __future__ import annotations

from kb.answer.code.judging import code_evidence
from kb.answer.code.quoting import answering, is_cut, quote_code
from kb.answer.wording import goes_on
from kb.domain.answers.answer import Answer, Evidence
from kb.domain.code_hits import CodeFound
from kb.operations.ask.findings import Findings, Written
from kb.store.connection import Connection


def of_notes_or_code(db: Connection, notes: Findings, found: CodeFound) -> Findings:
    """The findings to answer from: those among notes, or the same question's in source code."""
    code = _in_code(notes, found, code_evidence(db, found))
    if not notes.result.hits or (found.is_of_code and code.state != "refused"):
        return code
    if notes.state == "answered" or code.state == "refused":
        return notes
    # A plain word that code happens to define says less than notes that may answer.
    is_meant = code.state == "answered" and not found.hits[0].is_named
    return code if is_meant or notes.state == "refused" else notes


def _in_code(notes: Findings, found: CodeFound, evidence: Evidence) -> Findings:
    k = notes.request.k
    kept = found._replace(hits=found.hits[:k])
    return notes._replace(
        result=notes.result._replace(hits=notes.result.among_code[:k]), evidence=evidence, judgement=None, code=kept
    )


def answer_with_code(found: Findings, code: CodeFound, written: Written) -> Answer:
    """Definitions, statements and the comments that document them, word for word."""
    hits = answering(code, is_sure=found.state == "answered")
    passages = {passage.chunk_id: passage for passage in written.packed}
    quoted = quote_code(hits, [passages[hit.chunk_id] for hit in hits], found.first_number)
    notes = tuple(goes_on(found.language, hit.citation.to_uri()) for hit in hits if is_cut(hit))
    return found.answer(written, quoted.text, quoted.claims, quoted.cited, notes)
