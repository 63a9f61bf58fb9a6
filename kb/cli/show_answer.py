"""An answer as a person reads it: the text with its markers, the places it stands on, a line on how it was made."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from kb.cli.session import use_color
from kb.cli.terminal import Folding, columns, fold, link, plain, plain_line, shows_links
from kb.domain.answers import Answer, AnswerCitation, Claim
from kb.operations.asking import AskEvent, Generated

_RULE = "─" * 57
_TICK = {True: "✓", False: "✗"}


class Tokens:
    """The pieces of a generated text, shown as they come where the output is a terminal, folded to its width."""

    def __init__(self, live: bool) -> None:
        self._live = live
        self._folding = Folding(columns() if live else 0)
        self.shown = ""

    def take(self, event: AskEvent) -> None:
        """Shows the next piece."""
        if self._live and isinstance(event, Generated):
            piece = plain(event.text if self.shown else event.text.lstrip())
            self.shown += piece
            self._write(self._folding.feed(piece))

    def end(self) -> None:
        """Shows the last word, and ends the line."""
        if self.shown:
            self._write(self._folding.end() + "\n")

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


@contextmanager
def show_tokens(*, live: bool) -> Iterator[Tokens]:
    """Where to put the pieces of an answer; the line is ended however the answer ends."""
    tokens = Tokens(live)
    try:
        yield tokens
    finally:
        tokens.end()


def show_answer(answer: Answer, *, explain: bool, shown: str = "") -> None:
    """Prints the answer, unless just that was `shown` as it came, what it stands on, and how it was made."""
    color = use_color()
    is_new = " ".join(shown.split()) != " ".join(plain(answer.text).split())
    if is_new and shown:
        click.echo()
        if answer.refusal_reason is None:
            click.echo(_dim("held against its sources, this stands:", color))
    if explain and answer.claims:
        _show_claims(answer, color)
    if is_new and (answer.refusal_reason is not None or not explain):
        for line in plain(answer.text).splitlines():
            _show_folded(line)
    if explain:
        _show_trace(answer, color)
    elif answer.refusal_reason is None:
        click.echo(_dim(_RULE, color))
        for citation in answer.citations:
            _show_citation(citation, color)
    else:
        _show_candidates(answer, color)
    for note in answer.notes:
        click.echo(f"note: {plain_line(note)}", err=True)
    click.echo(_dim(_footer(answer, explain), color))


def _show_claims(answer: Answer, color: bool) -> None:
    for claim in answer.claims:
        for line in plain(claim.text).splitlines():
            head = f"▎ {line}"
            click.echo(click.style(head, bold=True) if color else head)
        for line in _claim_lines(claim):
            click.echo(f"  └ {line}")


def _claim_lines(claim: Claim) -> Iterator[str]:
    if claim.citation is not None:
        yield plain_line(claim.citation.to_uri())
    if claim.quote is not None and claim.quote != claim.text:
        yield f"「{plain_line(claim.quote)}」"
    if claim.status != "supported":
        yield f"{claim.status}: {plain_line(claim.reason or '')}"


def _show_trace(answer: Answer, color: bool) -> None:
    retrieval, evidence = answer.retrieval, answer.evidence
    click.echo(_dim("retrieval trace", color))
    rows = [("query", plain_line(answer.search_query)), ("mode", retrieval.mode), ("k", str(retrieval.k))]
    if evidence is not None:
        verdict = "pass" if evidence.value >= retrieval.score_gate else "refused"
        rows.append(("evidence", f"{_two_places(evidence.value)}, gate {retrieval.score_gate:.2f}: {verdict}"))
        near = "" if evidence.nearness is None else f", nearness {evidence.nearness:+.3f}"
        features = f"words {evidence.lexical:.2f} (margin {evidence.lexical_margin:.2f}){near}"
        rows.append(("judged by", f"{evidence.version}: {features}"))
    rows.append(("chunks", f"{retrieval.chunks_used} used of {retrieval.chunks_returned}"))
    for name, value in rows:
        click.echo(f"  {name:<10} {value}")
    for hit in answer.hits:
        found = hit.retrieval
        words = "-" if found.lexical_score is None else f"{found.lexical_score:.1f}"
        meaning = "-" if found.vector_score is None else f"{found.vector_score:.2f}"
        click.echo(f"  #{hit.rank:<3} {hit.score:.2f}  {plain_line(hit.citation.to_uri())}  bm25={words} vec={meaning}")


def _show_citation(citation: AnswerCitation, color: bool) -> None:
    where = plain_line(citation.citation.to_uri())
    shown = click.style(where, fg="cyan") if color else where
    click.echo(f"{citation.marker or ' · '} {link(shown, citation.source_path) if shows_links() else shown}")
    click.echo(f"    {plain_line(citation.label)}")


def _show_candidates(answer: Answer, color: bool) -> None:
    if answer.citations:
        click.echo(_dim("nearest places:", color))
    for citation in answer.citations:
        _show_citation(citation, color)


def _footer(answer: Answer, explain: bool) -> str:
    retrieval, evidence = answer.retrieval, answer.evidence
    parts = [f"grounded {_TICK[answer.grounded]}"]
    if answer.refusal_reason is not None:
        parts.append(answer.refusal_reason)
    if answer.model.id != "none":
        parts.append(answer.model.id)
        if answer.model.provider != "extractive":
            parts.append(answer.prompt_template_version)
        cited = sum(citation.marker is not None for citation in answer.citations)
        parts.append(f"{cited} of {retrieval.chunks_used} chunk{'' if retrieval.chunks_used == 1 else 's'}")
    if evidence is not None:
        gate = f" < {retrieval.score_gate:.2f}" if answer.refusal_reason == "score_gate" else ""
        parts.append(f"evidence {_two_places(evidence.value)}{gate}")
    parts.append(f"{answer.usage.latency_ms} ms")
    return "  ".join(parts) + ("\n  " + "  ".join(_details(answer)) if explain else "")


def _two_places(share: float) -> str:
    """Cut, not rounded: what is below the gate looks below it."""
    return f"{int(share * 100) / 100:.2f}"


def _details(answer: Answer) -> Iterator[str]:
    usage = answer.usage
    if answer.model.provider != "extractive":
        yield f"prompt {usage.prompt_tokens} tokens  completion {usage.completion_tokens} tokens"
    yield f"embedding {answer.embedding.id if answer.embedding else '-'}"
    yield f"index {answer.index_version}"
    yield answer.retrieval.trace_id


def _show_folded(line: str) -> None:
    width = columns() if sys.stdout.isatty() else 0
    for start, end in fold(line, width) if width else [(0, len(line))]:
        click.echo(line[start:end])


def _dim(text: str, color: bool) -> str:
    return click.style(text, dim=True) if color else text
