"""`kb list`, `kb inspect` and `kb sql`: the stored rows, as lists, one by one, and by the plain sqlite3 program."""

from __future__ import annotations

import json
import shlex
from pathlib import Path, PurePosixPath

import click

from kb.cli.call import Call, CommandGroup, WholeNumber, filter_options, in_each_vault, json_option, pass_call
from kb.cli.output.printing import echo_fields, echo_folded, echo_result, echo_rows, local_time, print_json
from kb.domain.citations import cite, shown_name
from kb.domain.derived import NOT_DERIVED, read_labels
from kb.domain.filters import SearchFilters
from kb.domain.kinds import MediaType, family_of
from kb.domain.results.inspection import BoundQuery, DocumentRow, Listing, SourceList
from kb.domain.search import MODES, SearchMode
from kb.domain.symbols import Symbol
from kb.domain.text import counted, plain, plain_line
from kb.errors import UsageError
from kb.operations.inspect.inspect import (
    inspect_chunk,
    inspect_document,
    inspect_symbol,
    list_documents,
    list_symbols,
    why_none,
)
from kb.operations.inspect.listing import list_filtered, list_sources
from kb.operations.inspect.sql_shell import bind_query, init_lines, query_lines, write_init_file


@click.group("list", cls=CommandGroup)
def list_command() -> None:
    """List what is indexed."""


@list_command.command(
    "docs",
    epilog="""\b
Examples:
  kb list docs --lang ko --tag 회의
  kb list docs --path-glob 'papers/**' --json | jq -r .doc_path
""",
)
@filter_options
@click.option("-n", "--limit", type=WholeNumber(1), help="At most this many.")
@json_option("Print one doc_summary.v1 per line.")
@pass_call
@in_each_vault
def list_docs_command(call: Call, filters: SearchFilters, limit: int | None, as_json: bool) -> int:
    """List documents in the order of their paths. Exit code 1 when there is none."""
    code = echo_rows(list_documents(call.session, filters, limit), as_json, _show_document)
    if code and not as_json:
        _say_none(call, filters, "no document passes these filters")
    return code


def _show_document(row: DocumentRow) -> None:
    path, title = plain_line(row.workspace_path), plain_line(row.title)
    shown = path if title == PurePosixPath(path).stem else f"{path}  {title}"
    echo_folded(shown, head=f"{row.doc_id[:12]}  {row.lang:<3} {row.chunk_count:>4}  ")


@list_command.command(
    "symbols",
    epilog="""\b
Examples:
  kb list symbols --path 'src/**' --kind class
  kb list symbols --symbol 'parse*' --json | jq -r .citation.uri
""",
)
@filter_options
@click.option("--path", metavar="GLOB", help="Only files that match; the same as --path-glob.")
@click.option("-n", "--limit", type=WholeNumber(1), help="At most this many.")
@json_option("Print one symbol_summary.v1 per line.")
@pass_call
@in_each_vault
def list_symbols_command(call: Call, filters: SearchFilters, path: str | None, limit: int | None, as_json: bool) -> int:
    """List what source code defines, by file and line. Exit code 1 when there is none."""
    if path is not None:
        filters = filters._replace(path_globs=(*filters.path_globs, path))
    code = echo_rows(list_symbols(call.session, filters, limit), as_json, _show_definition)
    if code and not as_json:
        _say_none(call, filters, "no definition passes these filters")
    return code


def _show_definition(row: Symbol) -> None:
    place = f"{row.path}#L{row.line_start}-L{row.line_end}"
    echo_folded(plain_line(f"{shown_name(row.qualified_name, row.path)} ({row.kind}, {row.language})  {place}"))


@list_command.command("sources", epilog="\b\nExamples:\n  kb list sources\n")
@json_option("Print source_list.v1.")
@pass_call
@in_each_vault
def list_sources_command(call: Call, as_json: bool) -> None:
    """List the folders of the knowledge base with what is indexed of each."""
    echo_result(list_sources(call.session), as_json, show_sources)


def show_sources(found: SourceList) -> None:
    """Prints each source on a line: documents, name, folder, its description, and problems or rules of exposure."""
    for each in found.sources:
        is_lacking = "not in the configuration" if each.root is None else "" if each.is_there else "not there"
        said = (each.about, is_lacking, ", ".join(each.kept_from))
        shown = "  ".join(filter(None, (each.name, each.root, *said)))
        echo_folded(plain_line(shown), head=f"{each.documents:>6}  ")


@list_command.command(
    "tags", epilog="\b\nExamples:\n  kb list tags\n  kb list tags --since 2026-03 --json | jq -r '.items[].name'\n"
)
@filter_options
@click.option("-n", "--limit", type=WholeNumber(1), help="At most this many.")
@json_option("Print listing.v1.")
@pass_call
@in_each_vault
def list_tags_command(call: Call, filters: SearchFilters, limit: int | None, as_json: bool) -> int:
    """List tags with how many documents have each. Exit code 1 when there is none."""
    return _show_counted(call, filters, list_filtered(call.session, "tags", filters, limit=limit), as_json)


@list_command.command(
    "properties",
    epilog="""\b
Examples:
  kb list properties                          # each with an example
  kb list properties status                   # its values
  kb search "배포" --where 'status=done' --where 'date>=2026-03'
""",
)
@click.argument("name", required=False)
@filter_options
@click.option("-n", "--limit", type=WholeNumber(1), help="At most this many.")
@json_option("Print listing.v1.")
@pass_call
@in_each_vault
def list_properties_command(
    call: Call, name: str | None, filters: SearchFilters, limit: int | None, as_json: bool
) -> int:
    """List properties, or the values of one, with how many documents have each. Exit code 1 when there is none.

    Properties are what --where takes: the keys of frontmatter, what other files say of themselves (author), and what kb
    knows: title, tags, created, updated, modified (the file), committed and committed_by (the last git commit of the
    file), ingested, and date, a document's own.
    """
    found = list_filtered(call.session, "properties", filters, name=name, limit=limit)
    return _show_counted(call, filters, found, as_json, f"no document has the property {name!r}" if name else "")


def _show_counted(call: Call, filters: SearchFilters, listing: Listing, as_json: bool, none: str = "") -> int:
    if as_json:
        print_json(listing)
    for each in () if as_json else listing.items:
        echo_folded(plain_line(f"{each.name}  {each.detail or ''}".rstrip()), head=f"{each.size:>6}  ")
    if not listing.items and not as_json:
        _say_none(call, filters, none or "no document passes these filters")
    return 0 if listing.items else 1


def _say_none(call: Call, filters: SearchFilters, none: str) -> None:
    """Says why a list is empty."""
    is_empty = not list_documents(call.session, SearchFilters(), 1)
    why = "nothing is indexed yet: kb ingest" if is_empty else why_none(call.session, filters) or none
    echo_folded(plain_line(why), err=True)


@click.group("inspect", cls=CommandGroup)
def inspect_command() -> None:
    """Show all stored data of one document, chunk or name in code."""


@inspect_command.command("doc", epilog="\b\nExamples:\n  kb inspect doc 3f9a2c\n  kb inspect doc notes/kb.md --json\n")
@click.argument("id")
@json_option("Print doc_inspection.v1.")
@pass_call
def inspect_doc_command(call: Call, id: str, as_json: bool) -> None:
    """Show a document by its id, the start of its id, or its path."""
    found = inspect_document(call.session, id)
    if as_json:
        print_json(found)
        return
    document = found.document
    parser, engines = read_labels(document.parser_version)
    echo_folded(plain_line(document.workspace_path))
    echo_folded(plain_line(document.title), head="  ")
    rows = [
        ("doc_id", document.doc_id),
        ("lang", document.lang),
        ("tags", ", ".join(json.loads(document.tags_json)) or "-"),
        ("trust", document.trust_level),
        ("bytes", str(document.byte_len)),
        *_extent(document.media_type, document.metadata_json),
        ("version", f"{document.doc_version} (parser {parser})"),
        ("updated", local_time(document.updated_at)),
        ("stored", f"{document.storage_kind} {document.storage_path}"),
    ]
    for artifact in found.artifacts:
        rows.append(("derived", f"{artifact.name} by {artifact.engine or '-'}"))
        rows.append(("", f"{artifact.path}, {artifact.byte_len} bytes"))
    for name, engine in engines.items():
        if engine == NOT_DERIVED:
            rows.append(("derived", f"no {name}: switched off, or its engine is not installed"))
    rows += [("links", f"L{each.line} {each.target_path or each.target}") for each in found.links or ()]
    rows += [("backlinks", f"{each.workspace_path}#L{each.line}") for each in found.backlinks or ()]
    echo_fields(((name, plain_line(value)) for name, value in rows), indent="  ")
    click.echo(f"  {counted(len(found.blocks), 'block')}, {counted(len(found.chunks), 'chunk')}")
    for chunk in found.chunks:
        place = _place(chunk.source_spans_json)
        label = plain_line(chunk.section_label or chunk.opening.strip())
        echo_folded(label, head=f"    {chunk.chunk_id[:12]}  {place}  {chunk.token_estimate} tokens  ")


@inspect_command.command("chunk", epilog="\b\nExamples:\n  kb inspect chunk 9b4a8c1e\n")
@click.argument("id")
@json_option("Print chunk_inspection.v1.")
@pass_call
def inspect_chunk_command(call: Call, id: str, as_json: bool) -> None:
    """Show a chunk by its id or the start of its id: its text and its indexed words."""
    found = inspect_chunk(call.session, id)
    if as_json:
        print_json(found)
        return
    echo_folded(f"{plain_line(found.workspace_path)}#{_place(found.source_spans_json)}")
    rows = [
        ("chunk_id", found.chunk_id),
        ("doc_id", found.doc_id),
        ("lang", f"{found.lang}, {found.token_estimate} tokens, {found.chunker_version}"),
        ("headings", found.heading_text.replace("\n", " › ") or "-"),
        ("names", found.name_text.replace("\n", " › ") or "-"),
        ("morphemes", found.tokenized_korean_text or "-"),
    ]
    for each in found.embeddings:
        rows.append(("vector", f"{each.model_id}, {each.dimensions} dimensions, {each.slot or 'not searched by'}"))
    if not found.embeddings:
        rows.append(("vector", "none"))
    echo_fields(((name, plain_line(value)) for name, value in rows), indent="  ")
    click.echo()
    click.echo(plain(found.text))


@inspect_command.command(
    "symbol", epilog="\b\nExamples:\n  kb inspect symbol parse_query\n  kb inspect symbol Foo::bar --json\n"
)
@click.argument("name")
@json_option("Print symbol_inspection.v1.")
@pass_call
def inspect_symbol_command(call: Call, name: str, as_json: bool) -> None:
    """Show where source code defines a name, and the lines that call or construct it."""
    found = inspect_symbol(call.session, name)
    if as_json:
        print_json(found)
        return
    for each in found.definitions:
        echo_folded(plain_line(f"{each.path}#L{each.line_start}-L{each.line_end}"))
        name = shown_name(each.qualified_name, each.path)
        echo_folded(plain_line(f"{name} ({each.kind}, {each.language}, {each.visibility})"), head="  ")
        echo_folded(plain_line(each.signature), head="  ")
        if each.doc:
            echo_folded(plain_line(each.doc), head="  ")
    click.echo(f"  {counted(len(found.uses), 'use')}")
    for use in found.uses:
        around = f"  {shown_name(use.from_symbol, use.path)}" if use.from_symbol else ""
        echo_folded(plain_line(f"{use.path}#L{use.line}{around}"), head="    ")


def _extent(media_type: str, metadata_json: str) -> list[tuple[str, str]]:
    """The pages of a PDF or the length of a recording; nothing for other documents."""
    known = json.loads(metadata_json).get("user", {})
    family = family_of(MediaType(media_type))
    if family == "audio":
        minutes, seconds = divmod(round(known["duration_ms"] / 1000), 60)
        return [("length", f"{minutes // 60}:{minutes % 60:02}:{seconds:02}")]
    return [("pages", str(known["pages"]))] if family == "pdf" else []


def _place(spans_json: str) -> str:
    """A chunk's place in its document, as in its citation: `L12-L34`, `page=13`."""
    return cite("", json.loads(spans_json), None).to_uri().removeprefix("#")


@click.command(
    "sql",
    epilog="""\b
Examples:
  kb sql                                       # how to, with the paths of this knowledge base
  kb sql --rc                                  # write kb.rc, then: sqlite3 -init kb.rc
  kb sql --rc kb.rc --query "청킹 규칙"          # with that question's parameters in it
  kb sql --query "retry" --tag infra --json | jq .params
""",
)
@click.option("--rc", metavar="[FILE]", is_flag=False, flag_value="kb.rc", help="Write an init file; - prints it.")
@click.option("--writable", is_flag=True, help="With --rc: leave the database open for writing.")
@click.option("--query", metavar="QUERY", help="Set the parameters that kb search would bind for this question.")
@click.option("--mode", type=click.Choice(list(MODES)), help="As in kb search.")
@click.option("-k", "--k", "k", type=WholeNumber(1, 1000), help="Number of hits [default: search.default_k].")
@filter_options
@json_option("Print sql_query.v1.")
@pass_call
def sql_command(
    call: Call,
    rc: str | None,
    writable: bool,
    query: str | None,
    mode: SearchMode | None,
    k: int | None,
    filters: SearchFilters,
    as_json: bool,
) -> None:
    """Prepare the plain sqlite3 program for this knowledge base.

    An init file opens the knowledge base read-only and sets every parameter of the search statements, so that .read
    gives the rows of kb search. --query sets the parameters of a question, in the init file or alone.
    """
    config = call.config
    if query is None and (k is not None or filters != SearchFilters()):
        raise UsageError("a filter without a question", 'example: kb sql --query "retry" --tag infra')
    if as_json and (query is None or rc is not None):
        raise UsageError("--json goes with --query alone", 'example: kb sql --query "retry" --json')
    if writable and rc is None:
        raise UsageError("--writable goes with --rc", "example: kb sql --rc kb.rc --writable")
    bound = bind_query(call.session, call.session.defaults.query(query or "", mode, k, filters))
    if rc is not None:
        _give_init_file(rc, init_lines(config.sqlite, bound, writable=writable), config.sqlite, writable)
    elif as_json:
        print_json(bound)
    elif query is not None:
        click.echo("\n".join(query_lines(bound)))
    else:
        _show_how(config.sqlite, bound)


def _give_init_file(rc: str, lines: list[str], sqlite: Path, writable: bool) -> None:
    if rc == "-":
        click.echo("\n".join(lines))
        return
    write_init_file(Path(rc), lines)
    database = f" {shlex.quote(str(sqlite))}" if writable else ""
    click.echo(f"wrote {rc}; now: sqlite3 -init {shlex.quote(rc)}{database}", err=True)


def _show_how(sqlite: Path, bound: BoundQuery) -> None:
    statements = bound.statement.parents[1]
    echo_fields([("database", str(sqlite)), ("statements", str(statements))])
    click.echo()
    echo_folded("Look around, read-only, with the parameters of kb's own statements set:")
    click.echo(f"""\
  kb sql --rc kb.rc
  sqlite3 -init kb.rc
  sqlite> SELECT * FROM corpus_stats;

Ask what kb search asks, and get the same rows:
  kb sql --rc kb.rc --query "your question"
  sqlite3 -init kb.rc {shlex.quote(str(sqlite))} '.read "{bound.statement}"'

Change things (kb ingest brings back what your files say):
  kb sql --rc kb-rw.rc --writable
  sqlite3 -init kb-rw.rc {shlex.quote(str(sqlite))}

Views: document_overview, chunk_source, corpus_stats.""")
