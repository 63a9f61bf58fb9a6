"""`kb inspect doc|chunk|symbol`."""

from __future__ import annotations

import json

import click

from kb.cli.call import Call, CommandGroup, json_option, pass_call, print_json
from kb.cli.output.printing import echo_fields, echo_folded
from kb.cli.output.terminal import plain, plain_line
from kb.cli.output.times import local_time
from kb.domain.citations import cite
from kb.domain.derived import NOT_DERIVED, read_labels
from kb.domain.kinds import MediaType, family_of
from kb.domain.symbols import shown_name
from kb.operations.inspect.inspect import inspect_chunk, inspect_document
from kb.operations.inspect.symbols import inspect_symbol


@click.group("inspect", cls=CommandGroup)
def command() -> None:
    """Show all that is stored of one document, chunk or name in code."""


@command.command("doc", epilog="\b\nExamples:\n  kb inspect doc 3f9a2c\n  kb inspect doc notes/kb.md --json\n")
@click.argument("id")
@json_option("Print doc_inspection.v1.")
@pass_call
def doc(call: Call, id: str, as_json: bool) -> None:
    """Show a document: by its id, the start of one, or its path."""
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
    echo_fields(((name, plain_line(value)) for name, value in rows), indent="  ")
    click.echo(f"  {_counted(len(found.blocks), 'block')}, {_counted(len(found.chunks), 'chunk')}")
    for chunk in found.chunks:
        place = _place(chunk.source_spans_json)
        label = plain_line(chunk.section_label or chunk.opening.strip())
        echo_folded(label, head=f"    {chunk.chunk_id[:12]}  {place}  {chunk.token_estimate} tokens  ")


@command.command("chunk", epilog="\b\nExamples:\n  kb inspect chunk 9b4a8c1e\n")
@click.argument("id")
@json_option("Print chunk_inspection.v1.")
@pass_call
def chunk(call: Call, id: str, as_json: bool) -> None:
    """Show a chunk, by its id or the start of one: its text and the words it is found by."""
    inspected = inspect_chunk(call.session, id)
    if as_json:
        print_json(inspected)
        return
    found = inspected.chunk
    echo_folded(f"{plain_line(found.workspace_path)}#{_place(found.source_spans_json)}")
    rows = [
        ("chunk_id", found.chunk_id),
        ("doc_id", found.doc_id),
        ("lang", f"{found.lang}, {found.token_estimate} tokens, {found.chunker_version}"),
        ("headings", found.heading_text.replace("\n", " › ") or "-"),
        ("names", found.name_text.replace("\n", " › ") or "-"),
        ("morphemes", found.tokenized_korean_text or "-"),
    ]
    for each in inspected.embeddings:
        rows.append(("vector", f"{each.model_id}, {each.dimensions} dimensions, {each.slot or 'not searched by'}"))
    if not inspected.embeddings:
        rows.append(("vector", "none"))
    echo_fields(((name, plain_line(value)) for name, value in rows), indent="  ")
    click.echo()
    click.echo(plain(found.text))


@command.command(
    "symbol", epilog="\b\nExamples:\n  kb inspect symbol parse_query\n  kb inspect symbol Foo::bar --json\n"
)
@click.argument("name")
@json_option("Print symbol_inspection.v1.")
@pass_call
def symbol(call: Call, name: str, as_json: bool) -> None:
    """Show where source code defines a name, and the lines that call or construct what is called so."""
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
    click.echo(f"  {_counted(len(found.uses), 'use')}")
    for use in found.uses:
        around = f"  {shown_name(use.from_symbol, use.path)}" if use.from_symbol else ""
        echo_folded(plain_line(f"{use.path}#L{use.line}{around}"), head="    ")


def _extent(media_type: str, metadata_json: str) -> list[tuple[str, str]]:
    """How many pages a PDF has, or how long a recording is; nothing of other documents."""
    known = json.loads(metadata_json).get("user", {})
    family = family_of(MediaType(media_type))
    if family == "audio":
        minutes, seconds = divmod(round(known["duration_ms"] / 1000), 60)
        return [("length", f"{minutes // 60}:{minutes % 60:02}:{seconds:02}")]
    return [("pages", str(known["pages"]))] if family == "pdf" else []


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _place(spans_json: str) -> str:
    """A chunk's place in its document, as its citation has it: `L12-L34`, `page=13`."""
    return cite("", json.loads(spans_json), None).to_uri().removeprefix("#")
