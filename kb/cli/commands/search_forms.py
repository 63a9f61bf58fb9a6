"""`kb search` with paging, a limit per file, a trace, output as Markdown, paths, vim lines or CSV, and --bulk.

Bulk is a stream of questions on stdin, a stream of results on stdout, one line each.
"""

from __future__ import annotations

import csv
import io
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import BinaryIO, NamedTuple

import click

from kb.cli.call import Call
from kb.cli.output.hits import show_hits
from kb.cli.output.printing import QUIET, echo_folded, print_json
from kb.cli.output.terminal import as_utf8
from kb.config import Config
from kb.config.vaults import vaults
from kb.domain.results.fetched import FetchedPlace, FetchRequest, FetchTarget
from kb.domain.results.searching import BulkSearchItem, SearchTrace
from kb.domain.search import Passage, SearchDefaults, SearchMode, SearchQuery, SearchResponse, SearchResult
from kb.domain.text import plain_line
from kb.errors import KbError, UsageError
from kb.operations.answers.last_shown import shown_files, shown_hits
from kb.operations.fetch.fetch import fetch
from kb.operations.opening.base import Base, open_base
from kb.operations.search.pages import search_page
from kb.operations.search.search import search
from kb.operations.search.trace import traced
from kb.operations.search.vaults import search_vaults

START = "start"
_MOST_LOOKED_AT = 1_000


class Wanted(NamedTuple):
    """How hits are printed and narrowed. `cursor` may be `start`, for the first page."""

    form: str
    snippet_chars: int | None
    max_tokens: int | None
    cursor: str | None
    explain: bool
    trace: bool
    per_file: int | None
    min_score: float | None

    @property
    def is_paged(self) -> bool:
        """Whether to print one page, whose last line says how to get the next."""
        return self.max_tokens is not None or self.cursor is not None


def search_in_form(call: Call, query: SearchQuery, wanted: Wanted) -> int:
    """Searches and prints; returns the exit code of `kb search`."""
    if wanted.is_paged and (wanted.per_file or wanted.min_score is not None):
        raise UsageError("--per-file and --min-score do not go with pages", "leave out --max-tokens and --cursor")
    if call.is_of_all:
        return _search_all(call, query, wanted)
    config = _configured(call, wanted)

    def find(base: Base) -> SearchResponse:
        if not wanted.is_paged:
            return SearchResponse(_narrowed(base, query, wanted))
        cursor = None if wanted.cursor == START else wanted.cursor
        page = search_page(base, query, cursor=cursor, max_tokens=wanted.max_tokens)
        return SearchResponse(page.result, page)

    if wanted.trace:
        found = traced(config, find)
    else:
        with open_base(config) as session, session.reading() as base:
            found = find(base)
    return _shown(call, found, wanted)


def _configured(call: Call, wanted: Wanted) -> Config:
    chars = wanted.snippet_chars
    return call.config if chars is None else call.config.with_search(snippet_chars=chars)


def _search_all(call: Call, query: SearchQuery, wanted: Wanted) -> int:
    """Searches in all vaults and prints one list. Raises: UsageError for what is of one vault."""
    if wanted.is_paged or wanted.trace or query.sort == "date":
        raise UsageError("pages, --trace and --sort date are of one vault", "name it: --vault NAME; kb vault list")
    with ExitStack() as opened:
        models = call.warm and call.warm.models

        def base_of(name: str) -> Base:
            nonlocal models
            base = opened.enter_context(closing(Base(_configured(call.of_vault(name), wanted), models=models)))
            models = base.models
            return base

        result = search_vaults(vaults(os.environ), base_of, query, lambda base: _narrowed(base, query, wanted))
    return _shown(call, SearchResponse(result), wanted)


def _shown(call: Call, found: SearchResponse, wanted: Wanted) -> int:
    call.remember((shown_files if wanted.form == "paths" else shown_hits)(found.result))
    _print(call, found, wanted)
    return 0 if found.result.hits else 1


def _narrowed(base: Base, query: SearchQuery, wanted: Wanted) -> SearchResult:
    """The best hits with enough score, at most `per_file` from each file; searches deeper until there are enough."""
    k = query.k
    while True:
        result = search(base, query._replace(k=k))
        kept: list[Passage] = []
        of_file = Counter[str]()
        for hit in result.hits:
            of_file[hit.doc_path] += 1
            enough = wanted.min_score is None or hit.score >= wanted.min_score
            if enough and (wanted.per_file is None or of_file[hit.doc_path] <= wanted.per_file):
                kept.append(hit)
        if wanted.per_file is None or len(kept) >= query.k or len(result.hits) < k or k >= _MOST_LOOKED_AT:
            hits = tuple(hit._replace(rank=rank) for rank, hit in enumerate(kept[: query.k], 1))
            return result._replace(query=result.query._replace(k=query.k), hits=hits)
        k = min(_MOST_LOOKED_AT, 4 * k)


def _print(call: Call, found: SearchResponse, wanted: Wanted) -> None:
    if wanted.form == "json":
        print_json(found)
        return
    if wanted.form == "text":
        show_hits(found.result, explain=wanted.explain)
    else:
        form = _FORMS.get(wanted.form)
        as_utf8(sys.stdout).write(form(found.result) if form else _vim(call, found.result))
        sys.stdout.flush()
    if found.trace is not None:
        _show_trace(found.trace)
    if found.page is not None and found.page.next_cursor is not None:
        counted = f"{found.page.tokens} tokens ({found.page.token_counter})"
        echo_folded(f"{counted}; more: the same question with", style=QUIET, err=True)
        click.echo(f"--cursor {found.page.next_cursor}", err=True)


def _show_trace(trace: SearchTrace) -> None:
    """Prints the stages on stderr, so that stdout has only hits."""
    for stage in trace.stages:
        click.echo(f"{stage.name:<11}{stage.ms:9.2f} ms  {stage.things} {stage.unit}", err=True)
        for name, runs, ms in stage.statements:
            click.echo(f"{'':<11}{ms:9.2f} ms  {runs} × {name}", err=True)
    click.echo(f"{'all':<11}{trace.total_ms:9.2f} ms", err=True)


def _markdown(result: SearchResult) -> str:
    """A numbered list of links, each with its snippet as a quotation."""
    parts = []
    for hit in result.hits:
        uri = plain_line(hit.citation.to_uri())
        over = plain_line(" › ".join(hit.heading_path) or hit.title).replace("[", "\\[").replace("]", "\\]")
        snippet = "\n".join(f"   > {plain_line(line)}" for line in hit.snippet.splitlines())
        vault = f" ({hit.vault})" if hit.vault else ""
        parts.append(f"{hit.rank}. [{over}](<{uri}>){vault}\n\n{snippet}\n")
    return "\n".join(parts)


def _paths(result: SearchResult) -> str:
    """Each file once, in the order of its best hit."""
    return "".join(f"{plain_line(path)}\n" for path in dict.fromkeys(hit.source_path for hit in result.hits))


def _vim(call: Call, result: SearchResult) -> str:
    """One line per hit, as rg --vimgrep prints it: the line with most words, its first match; columns count bytes."""
    places: dict[tuple[str | None, str], FetchedPlace] = {}
    for vault in dict.fromkeys(hit.vault for hit in result.hits):
        targets = tuple(FetchTarget(hit.citation.to_uri()) for hit in result.hits if hit.vault == vault)
        with open_base((call.of_vault(vault) if vault else call).config) as session:
            fetched = fetch(session, FetchRequest(targets)).places
        places |= {(vault, place.target): place for place in fetched}
    shown = []
    for hit in result.hits:
        place = places.get((hit.vault, hit.citation.to_uri()))
        words = {hit.snippet[start:end].lower() for start, end in hit.shown.matches}
        lines = place.text.split("\n") if place and place.first_line is not None else [hit.snippet]
        found = [[at for word in words if (at := line.lower().find(word)) >= 0] for line in lines]
        best = max(range(len(lines)), key=lambda at: (len(found[at]), -at))
        number = best + place.first_line if place and place.first_line is not None else 1
        column = len(lines[best][: min(found[best], default=0)].encode()) + 1
        vault_name = f"[{hit.vault}] " if hit.vault else ""
        shown.append(f"{plain_line(hit.source_path)}:{number}:{column}:{vault_name}{plain_line(lines[best])}\n")
    return "".join(shown)


def _csv(result: SearchResult) -> str:
    """RFC 4180, with a head; a cell that a spreadsheet would take for a formula begins with an apostrophe."""
    text = io.StringIO()
    writer = csv.writer(text)
    in_vaults = ("vault",) if any(hit.vault for hit in result.hits) else ()
    writer.writerow(("rank", "score", "score_kind", "citation", "title", "section", "snippet", *in_vaults))
    for hit in result.hits:
        words = (hit.citation.to_uri(), hit.title, " › ".join(hit.heading_path), hit.snippet)
        writer.writerow((hit.rank, f"{hit.score:.4f}", hit.score_kind, *map(_cell, words), *filter(None, (hit.vault,))))
    return text.getvalue()


def _cell(text: str) -> str:
    shown = " ".join(plain_line(text).split())
    return f"'{shown}" if shown.startswith(("=", "+", "-", "@")) else shown


_FORMS: dict[str, Callable[[SearchResult], str]] = {"md": _markdown, "paths": _paths, "csv": _csv}

MAX_LINE_BYTES = 1_000_000


def run_bulk(config: Config, mode: SearchMode | None, k: int | None) -> int:
    """Answers every line of stdin in order; `mode` and `k` apply to lines that set neither.

    A bad line gives an item with an error; after the last line the command fails.
    Raises: StoreError where the knowledge base cannot be read; UsageError where a line was bad.
    """
    with open_base(config, many=True) as session:
        with session.reading():
            pass  # fails here, once, if the knowledge base cannot be read
        defaults = session.defaults._replace(mode=mode or session.defaults.mode, k=k or session.defaults.k)
        index = bad = 0
        for line in _lines(sys.stdin.buffer):
            if line.strip():
                item = _answer_line(session, index, line, defaults)
                print_json(item)
                index += 1
                bad += item.error is not None
    if bad:
        raise UsageError(f"{bad} of {index} lines could not be answered", "their items say why")
    return 0


def _lines(stdin: BinaryIO) -> Iterator[bytes]:
    """The lines of stdin; of a line above the limit, only its beginning, one byte longer than the limit."""
    while line := stdin.readline(MAX_LINE_BYTES + 1):
        rest = line
        while len(rest) > MAX_LINE_BYTES and not rest.endswith(b"\n"):
            rest = stdin.readline(MAX_LINE_BYTES + 1)
        yield line


def _answer_line(session: Base, index: int, line: bytes, defaults: SearchDefaults) -> BulkSearchItem:
    from kb.wire.arguments import search_query  # by pydantic, which takes long to import
    from kb.wire.schemas import read_bulk_query, read_json_line

    value: object = None
    try:
        if len(line) > MAX_LINE_BYTES:
            raise UsageError(f"a line of more than {MAX_LINE_BYTES:,} bytes", "a question is one line of JSON")
        value = read_json_line(line)
        query = search_query(read_bulk_query(value), defaults)
        return BulkSearchItem(index, value, SearchResponse(search(session, query)), None)
    except KbError as error:
        return BulkSearchItem(index, value, None, error)
