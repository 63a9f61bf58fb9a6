"""Hits as a person reads them: rank, score and citation; heading; snippet with its matches (frozen design §1.5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from kb.cli.session import use_color
from kb.cli.terminal import columns, fold, link, plain, plain_line, shows_links
from kb.domain.search import RetrievalDetail, SearchHit, SearchResult

_INDENT = "   "


def show_hits(result: SearchResult, *, explain: bool) -> None:
    """Prints the hits and a footer; without a hit, what was looked for."""
    color = use_color()
    links = shows_links()
    width = columns() - len(_INDENT) if color else None
    for hit in result.hits:
        _show_hit(hit, explain, color, links, width)
    count = len(result.hits)
    words = " ".join(plain_line(term) for term in result.terms)
    footer = f"{count} hit{'' if count == 1 else 's'}  {result.query.mode}  index {result.index_version}"
    if not count:
        footer = f"no hits for: {words or plain_line(result.query.text)}\n{footer}"
    click.echo(click.style(footer, dim=True) if color else footer)
    if result.note:
        click.echo(f"note: {plain(result.note)}", err=True)


def _show_hit(hit: SearchHit, explain: bool, color: bool, links: bool, width: int | None) -> None:
    where = plain_line(hit.citation.to_uri())
    shown = click.style(where, fg="cyan") if color else where
    number = f"{hit.rank}."
    click.echo(f"{number:<3}{hit.score:.2f}  {link(shown, hit.source_path) if links else shown}")
    label = plain_line(" › ".join(hit.heading_path) or hit.title)
    click.echo(_INDENT + (click.style(label, bold=True) if color else label))
    snippet = plain(hit.snippet)
    for start, end in fold(snippet, width) if width else [(0, len(snippet))]:
        click.echo(_INDENT + (_highlighted(snippet, hit.snippet_matches, start, end) if color else snippet[start:end]))
    if explain:
        for line in _explained(hit.retrieval):
            click.echo(f"{_INDENT}├ {line}")
        click.echo(f"{_INDENT}└ chunker {hit.chunker_version}  chunk_id {hit.chunk_id}  doc_id {hit.doc_id}")


def _explained(retrieval: RetrievalDetail) -> Iterator[str]:
    """One line a channel, and one for the fusion."""
    if retrieval.lexical_score is not None:
        yield f"lexical (bm25)   rank {retrieval.lexical_rank}  score {retrieval.lexical_score:.2f}"
    if retrieval.vector_score is not None:
        second = "" if retrieval.secondary_score is None else f" + {retrieval.secondary_score:.2f}"
        yield f"vector (cosine)  rank {retrieval.vector_rank}  score {retrieval.vector_score:.2f}{second}"
    if retrieval.fusion_score is not None:
        shares = f"of words {retrieval.lexical_share:.2f} and meaning {retrieval.vector_share:.2f}"
        yield f"fusion           score {retrieval.fusion_score:.3f}  {shares}"


def _highlighted(text: str, matches: Sequence[tuple[int, int]], start: int, end: int) -> str:
    """`text[start:end]` with the parts of the matches that lie in it set off."""
    shown, at = "", start
    for match_start, match_end in matches:
        low, high = max(match_start, at), min(match_end, end)
        if low < high:
            shown += text[at:low] + click.style(text[low:high], fg="yellow", bold=True)
            at = high
    return shown + text[at:end]
