"""`kb search`: one question, or many on stdin."""

from __future__ import annotations

import click

from kb.cli.call import (
    Call,
    Number,
    QuestionCommand,
    WholeNumber,
    filter_options,
    help_option,
    json_option,
    mode_option,
    option,
    pass_call,
)
from kb.cli.output.hits import show_hits
from kb.cli.output.printing import print_json
from kb.cli.output.terminal import question_of
from kb.domain.filters import SearchFilters
from kb.domain.search import SearchMode, SearchResponse, Sort
from kb.errors import UsageError
from kb.operations.answers.last_shown import shown_hits
from kb.operations.search.search import search


@click.command(
    "search",
    cls=QuestionCommand,
    epilog="""\b
Examples:
  kb search "청킹 규칙은?"
  kb search 노트 연결                         # several words need no quotes
  kb search "retry backoff" --tag infra --path-glob "projects/**" --k 5
  kb search '"exact phrase" word* -excluded'  # each hit holds the phrase and a word that begins so, and lacks the last
  kb search 회의 --since 2026-03 --where 'status!=done' --sort date
  kb search 보일러 -당근 tag:home lang:ko     # also path:notes/** and title:plan; -- ends options
  kb search '/E[0-9]+/ boiler'                # a regular expression (RE2)
  kb search "'chunk* NEAR(heading, 5)'"       # a raw FTS5 expression, in single quotes
  kb search "retry" --format paths | tr '\\n' '\\0' | xargs -0 grep -n backoff
  kb search "retry" --max-tokens 1500 --cursor start       # a page; its last line says how to get the next
  kb search "retry" --files --min-score 0.2   # the files alone
  kb search "인증 토큰" --json | jq -r '.hits[].citation.uri'
  kb --vault all search budget                # in all vaults, one list
  kb search - < question.txt                  # the words on standard input
  printf '%s\\n' '{"query":"a"}' '{"query":"b","k":3}' | kb search --bulk
""",
)
@click.argument("query", nargs=-1)
@option("-k", "-n", "--k", "--limit", "k", type=WholeNumber(1, 1000), help="How many hits [default: search.default_k].")
@mode_option
@filter_options
@option(
    "--sort",
    type=click.Choice(["score", "date"]),
    default="score",
    help="date: the newest of the matches first, by their own dates as for --since.",
)
@option("--explain", is_flag=True, help="Show how each hit was found.")
@option("--trace", is_flag=True, help="Show the time and the number of items of each stage of the search.")
@option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "md", "paths", "csv", "vim"]),
    default="text",
    help="How to print the hits; json is search_response.v1, as with --json, vim is path:line:column:text.",
)
@option("--files", is_flag=True, help="Print only the files, each once; the same as --per-file 1 --format paths.")
@option("--per-file", type=WholeNumber(1), help="At most this many hits per file.")
@option("--min-score", type=Number(), help="Only hits with at least this score.")
@option("--snippet-chars", type=WholeNumber(20, 10_000), help="Length of snippets [default: search.snippet_chars].")
@option("--max-tokens", type=WholeNumber(50), help="Print as many hits as fit into this many tokens, at least one.")
@option("--cursor", help="Continue where an earlier search with --max-tokens or --cursor ended; first page: start.")
@option("--bulk", is_flag=True, help="Read one JSON question per line on stdin, write one result per line.")
@json_option("Print search_response.v1.")
@help_option
@pass_call
def search_command(
    call: Call,
    query: tuple[str, ...],
    k: int | None,
    mode: SearchMode | None,
    filters: SearchFilters,
    sort: Sort,
    explain: bool,
    trace: bool,
    form: str,
    files: bool,
    per_file: int | None,
    min_score: float | None,
    snippet_chars: int | None,
    max_tokens: int | None,
    cursor: str | None,
    bulk: bool,
    as_json: bool,
) -> int:
    """Find passages by their words and their meaning, each with an exact citation.

    kb matches words by their stems, Korean words by their morphemes, and meaning across Korean and English. Exit code 1
    when nothing is found.
    """
    if bulk:
        if query or explain or sort != "score" or filters != SearchFilters():
            raise UsageError(
                "--bulk reads each question with its filters from stdin",
                """leave them out here; a line looks like {"query": "비교 정렬", "k": 5, "lang": "ko"}""",
            )
        if call.is_of_all:
            raise UsageError("--bulk works in one vault", "name it: --vault NAME; kb vault list")
        from kb.cli.commands.search_forms import run_bulk  # few searches need it

        return run_bulk(call.config, mode, k)
    text = question_of(query)
    if not text.strip():
        raise UsageError("no question", 'example: kb search "청킹 규칙은?"')
    if files:
        form, per_file = "paths", per_file or 1
    asked = call.session.defaults.query(text, mode, k, filters, sort)
    numbers = (snippet_chars, max_tokens, cursor, per_file, min_score)
    if call.is_of_all or trace or form != "text" or any(each is not None for each in numbers):
        from kb.cli.commands.search_forms import Wanted, search_in_form  # few searches need it

        form = "json" if as_json else form
        wanted = Wanted(form, snippet_chars, max_tokens, cursor, explain, trace, per_file, min_score)
        return search_in_form(call, asked, wanted)
    result = search(call.session, asked)
    call.remember(shown_hits(result))
    if as_json:
        print_json(SearchResponse(result))
    else:
        show_hits(result, explain=explain)
    return 0 if result.hits else 1
