"""Prints hits for people: rank, score and citation; heading; snippet with its matches."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import click

from kb.cli.output.printing import HEADING, MATCH, PLACE, QUIET, echo_folded, echo_parts
from kb.cli.output.terminal import columns, fold, shows_links, use_color, with_code
from kb.domain.citations import CodeCitation
from kb.domain.search import Passage, RetrievalDetail, SearchResult
from kb.domain.text import plain, plain_line

_INDENT = "   "


def show_hits(result: SearchResult, *, explain: bool) -> None:
    """Prints the hits and a footer; without a hit, the question."""
    is_terminal = sys.stdout.isatty()
    links = shows_links()
    count = len(result.hits)
    for hit in result.hits:
        _show_hit(hit, f"{f'{hit.rank}.':<{len(str(count)) + 1}} ", explain, is_terminal, links)
    if count:
        echo_parts((f"{count} hit{'' if count == 1 else 's'}", result.query.mode), style=QUIET)
    else:
        echo_folded(f"no hits for: {plain_line(result.query.text)}", style=QUIET)
    if explain:
        echo_parts((f"index {result.index_version}", f"ranked by {result.ranking_version}"), style=QUIET)
    if result.note:
        from kb.retrieve.notes import note  # few results have a note

        echo_folded(plain_line(result.note), head=f"{note(result.query.text, 'label')}: ", err=True)


def _show_hit(hit: Passage, number: str, explain: bool, is_terminal: bool, links: bool) -> None:
    place = plain_line(hit.citation.to_uri()) + (f"  [{hit.vault}]" if hit.vault else "")
    echo_folded(place, head=f"{number}{hit.score:.2f}  ", style=PLACE, links_to=hit.source_path if links else None)
    if isinstance(hit.citation, CodeCitation):
        _show_code(hit, hit.citation)
    else:
        echo_folded(plain_line(" › ".join(hit.heading_path) or hit.title), head=_INDENT, style=HEADING)
        if is_terminal:
            _show_snippet(hit, columns() - len(_INDENT))
        else:
            click.echo(_INDENT + plain_line(" ".join(hit.snippet.split())))
    if explain:
        for line in _explained(hit.retrieval):
            echo_folded(line, head=f"{_INDENT}├ ")
        made = f"chunker {hit.chunker_version}  chunk_id {hit.chunk_id}  doc_id {hit.doc_id}"
        echo_folded(made, head=f"{_INDENT}└ ")


def _show_code(hit: Passage, citation: CodeCitation) -> None:
    """Prints a definition, its signature if the snippet does not show it, and the lines of the snippet."""
    repository = f"  {hit.repository.label}" if hit.repository else ""
    echo_folded(plain_line(citation.label(hit.title) + repository), head=_INDENT, style=HEADING)
    snippet = plain(hit.snippet)
    if hit.signature and hit.signature[:40] not in " ".join(snippet.split()):
        echo_folded(plain_line(hit.signature), head=_INDENT, style=QUIET)
    color = use_color()
    at = 0
    for line in snippet.split("\n"):
        shown = _highlighted(snippet, hit.shown.matches, at, at + len(line)) if color else line
        click.echo(f"{_INDENT}{shown}".rstrip())
        at += len(line) + 1


def _show_snippet(hit: Passage, width: int) -> None:
    """Prints a snippet: code line by line, the rest folded."""
    color = use_color()
    snippet = plain(hit.snippet)
    at = 0
    for line, is_code in with_code(snippet.split("\n")):
        for start, end in [(0, len(line))] if is_code else fold(line, width):
            whole = _highlighted(snippet, hit.shown.matches, at + start, at + end) if color else line[start:end]
            click.echo(_INDENT + whole)
        at += len(line) + 1


def _explained(retrieval: RetrievalDetail) -> Iterator[str]:
    """One line for each channel's score, and one for their sum."""
    if retrieval.lexical_score is not None:
        share = "" if retrieval.lexical_share is None else f"  share {retrieval.lexical_share:.2f}"
        yield f"words (bm25)     rank {retrieval.lexical_rank}  score {retrieval.lexical_score:.2f}{share}"
    if retrieval.vector_score is not None:
        yield f"vector (cosine)  rank {retrieval.vector_rank}  score {retrieval.vector_score:.2f}"
    if retrieval.late_score is not None:
        yield f"tokens (late)    score {retrieval.late_score:.3f}"
    if retrieval.judge_logit is not None:
        yield f"judge            logit {retrieval.judge_logit:.2f}"
    if retrieval.recency_factor is not None:
        yield f"date (recency)   times {retrieval.recency_factor:.3f}"
    if retrieval.fusion_score is not None:
        yield f"sum              score {retrieval.fusion_score:.3f}"


def _highlighted(text: str, matches: Sequence[tuple[int, int]], start: int, end: int) -> str:
    """`text[start:end]` with the matches in it highlighted."""
    shown, at = "", start
    for match_start, match_end in matches:
        low, high = max(match_start, at), min(match_end, end)
        if low < high:
            shown += text[at:low] + click.style(text[low:high], **MATCH)
            at = high
    return shown + text[at:end]
