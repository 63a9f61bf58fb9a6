"""Prints an answer for people: the text with its markers, the places it cites, a line on how it was made."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import click

from kb.answer.generated_text import show_markers
from kb.answer.wording import (
    checked_heading,
    evidence_words,
    hop_line,
    nearest_heading,
    outcome_words,
    share_words,
    two_places,
    unsure_heading,
)
from kb.cli.output.printing import HEADING, PLACE, QUIET, Style, echo_folded, echo_parts, echo_styled, echo_text, styled
from kb.cli.output.terminal import Folding, columns, shows_links, with_code
from kb.domain.answers import Answer, AnswerCitation, AskEvent, Claim, Generated, HopTaken, SecondVerdict, SpanKind
from kb.domain.text import plain, plain_line
from kb.language.detect import query_language
from kb.retrieve.notes import note

# The number of places shown for each step.
_SHOWN_PLACES = 3

_RULE = "─" * 57

_PAINT: Mapping[SpanKind, Style] = {"piece": HEADING, "claim": {}, "marker": PLACE, "beside": QUIET, "plain": {}}


class Tokens:
    """Prints the pieces of a generated text as they come, folded to the width, if the output is a terminal."""

    def __init__(self, live: bool) -> None:
        self._live = live
        self._folding = Folding(columns() if live else 0)
        self.shown = ""

    def take(self, event: AskEvent) -> None:
        """Prints the next piece, or the step of a deep answer."""
        if self._live and isinstance(event, HopTaken):
            echo_folded(plain_line(hop_line(event.hop)), head=f"{event.hop.number}. ", style=QUIET, err=True)
        elif self._live and isinstance(event, Generated):
            piece = plain(event.text if self.shown else event.text.lstrip())
            self.shown += piece
            self._write(self._folding.feed(piece))

    def end(self) -> None:
        """Prints the last word and ends the line."""
        if self.shown:
            self._write(self._folding.end() + "\n")

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


@contextmanager
def show_tokens(*, live: bool) -> Iterator[Tokens]:
    """Takes the pieces of an answer to print; ends the line however the answer ends."""
    tokens = Tokens(live)
    try:
        yield tokens
    finally:
        tokens.end()


def show_answer(answer: Answer, *, explain: bool, shown: str = "") -> None:
    """Prints the answer (unless the same text was `shown` while it was generated), its sources, and how it was made."""
    is_new = " ".join(shown.split()) != " ".join(plain(answer.text).split())
    if is_new and shown:
        click.echo()
        if answer.refusal_reason is None:
            echo_folded(checked_heading(query_language(answer.question)), style=QUIET)
    if explain and answer.claims:
        _show_claims(answer)
    # Each part says whether kb is sure of it.
    says_itself = len(answer.hops) > 1 and answer.written.model.provider == "extractive"
    if answer.state == "unsure" and not says_itself:
        echo_folded(unsure_heading(query_language(answer.question)), style=HEADING)
    if is_new and (answer.refusal_reason is not None or not explain):
        echo_styled((span.text, _PAINT[span.kind]) for span in answer.spans)
    if explain:
        _show_trace(answer)
    elif answer.refusal_reason is None:
        click.echo(styled(_RULE[: columns() if sys.stdout.isatty() else None], QUIET))
        for citation in answer.citations:
            _show_citation(citation, citation.marker or " · ")
    else:
        _show_candidates(answer)
    by_meaning = note(answer.question, "by meaning only")
    is_plain_refusal = answer.refusal_reason is not None and not explain  # one sentence and the nearest places
    for said in answer.notes:
        if not (is_plain_refusal and said == by_meaning):
            echo_folded(plain_line(said), head=f"{note(answer.question, 'label')}: ", err=True)
    if is_plain_refusal:
        return
    if answer.why:
        echo_folded(answer.why, style=QUIET)
    echo_parts(_footer(answer), style=QUIET)
    if explain:
        echo_parts(list(_details(answer)), style=QUIET)


def show_short(answer: Answer) -> None:
    """Prints the pieces or sentences of the answer and their places; of a refusal, the nearest place."""
    kept = [claim for claim in answer.claims if claim.status != "dropped"]
    for claim in kept:
        echo_text(claim.text + show_markers(claim.passages))
    if not kept:
        echo_text(answer.text)
    for citation in answer.citations if kept else answer.citations[:1]:
        _show_citation(citation, citation.marker or " · ")


def _show_claims(answer: Answer) -> None:
    for claim in answer.claims:
        for line, is_code in with_code(plain(claim.text).splitlines()):
            if is_code:
                click.echo(f"▎ {styled(line, HEADING)}")
            else:
                echo_folded(line, head="▎ ", style=HEADING)
        for line in _claim_lines(claim):
            echo_folded(line, head="  └ ")


def _claim_lines(claim: Claim) -> Iterator[str]:
    if claim.citation is not None:
        yield plain_line(claim.citation.to_uri())
    if claim.quote is not None and claim.quote != claim.text:
        yield f"「{plain_line(claim.quote)}」"
    if claim.second is not None:
        yield judges_line(claim.second)
    if claim.status != "supported":
        yield f"{claim.status.replace('_', ' ')}: {plain_line(claim.reason or '')}"


def judges_line(second: SecondVerdict) -> str:
    """The verdicts of both judges on a sentence."""
    return f"rules: {second.rules}, {plain_line(second.judge)}: {second.verdict}"


def _show_hops(answer: Answer) -> None:
    echo_folded("steps", style=QUIET)
    for hop in answer.hops:
        echo_folded(plain_line(hop_line(hop)), head=f"{hop.number}. ")
        for place in hop.places[:_SHOWN_PLACES]:
            echo_folded(plain_line(place.citation.to_uri()), head="  └ ", style=PLACE)


def _show_trace(answer: Answer) -> None:
    if answer.hops:
        _show_hops(answer)
    retrieval, evidence = answer.retrieval, answer.retrieval.evidence
    echo_folded("retrieval trace", style=QUIET)
    rows = [("query", plain_line(answer.search_query)), ("mode", retrieval.mode), ("k", str(retrieval.k))]
    if evidence is not None:
        verdict = "pass" if evidence.value >= retrieval.score_gate else "refused"
        rows.append(("evidence", f"{two_places(evidence.value)}, gate {retrieval.score_gate:.2f}: {verdict}"))
        near = "" if evidence.nearness is None else f", nearness {evidence.nearness:+.3f}"
        features = f"words {evidence.lexical:.2f} (margin {evidence.lexical_margin:.2f}){near}"
        rows.append(("judged by", f"{evidence.version}: {features}"))
    rows.append(("chunks", f"{retrieval.chunks_used} used of {retrieval.chunks_returned}"))
    for name, value in rows:
        echo_folded(value, head=f"  {name:<10} ")
    for hit in answer.retrieval.hits:
        found = hit.retrieval
        words = "-" if found.lexical_score is None else f"{found.lexical_score:.1f}"
        meaning = "-" if found.vector_score is None else f"{found.vector_score:.2f}"
        place = f"{plain_line(hit.citation.to_uri())}  bm25={words} vec={meaning}"
        echo_folded(place, head=f"  #{hit.rank:<3} {hit.score:.2f}  ")


def _show_citation(citation: AnswerCitation, number: str) -> None:
    place = plain_line(citation.citation.to_uri())
    links_to = citation.source_path if shows_links() else None
    echo_folded(place, head=f"{number} ", style=PLACE, links_to=links_to)
    echo_folded(plain_line(citation.label), head="    ")


def _show_candidates(answer: Answer) -> None:
    if answer.citations:
        echo_folded(nearest_heading(query_language(answer.question)), style=QUIET)
    for number, citation in enumerate(answer.citations, 1):
        _show_citation(citation, f"{number}. ")
        if citation.quote:
            echo_folded(plain_line(citation.quote), head="    ", style=QUIET)


def _footer(answer: Answer) -> list[str]:
    retrieval, evidence = answer.retrieval, answer.retrieval.evidence
    language = query_language(answer.question)
    is_quoted = answer.written.model.provider == "extractive"
    is_sure = answer.state == "answered"
    reason, grounded = answer.refusal_reason, answer.grounded
    parts = [outcome_words(language, reason, is_quoted=is_quoted, grounded=grounded, is_sure=is_sure)]
    if answer.written.model.id != "none":
        if not is_quoted:
            parts += [answer.written.model.id, answer.prompt_template_version]
        cited = sum(citation.marker is not None for citation in answer.citations)
        parts.append(share_words(language, cited, retrieval.chunks_used))
    if evidence is not None:
        gate = f" < {retrieval.score_gate:.2f}" if reason == "score_gate" else ""
        parts.append(evidence_words(language, f"{two_places(evidence.value)}{gate}"))
    parts.append(f"{answer.written.usage.latency_ms} ms")
    return parts


def _details(answer: Answer) -> Iterator[str]:
    usage = answer.written.usage
    if answer.written.model.provider == "extractive":
        yield answer.written.model.id
    else:
        yield f"prompt {usage.prompt_tokens} tokens  completion {usage.completion_tokens} tokens"
    yield f"embedding {answer.retrieval.embedding.id if answer.retrieval.embedding else '-'}"
    yield f"index {answer.retrieval.index_version}"
    if answer.retrieval.ranking_version:
        yield f"ranked by {answer.retrieval.ranking_version}"
    yield answer.retrieval.trace_id
