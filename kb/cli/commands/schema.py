"""`kb schema`."""

from __future__ import annotations

import json
import sys
from typing import cast

import click

from kb.cli.call import Call, json_option, pass_call, print_json
from kb.cli.output.printing import echo_fields
from kb.cli.output.streams import as_utf8
from kb.cli.output.times import local_time
from kb.operations.inspect.introspect import introspect


@click.command(
    "schema", epilog="\b\nExamples:\n  kb schema --json | jq .capabilities\n  kb schema --wire search_hit.v1\n"
)
@click.option("--wire", metavar="ID", help="Print the JSON Schema of one wire object, e.g. search_hit.v1.")
@json_option("Print schema.v1.")
@pass_call
def command(call: Call, wire: str | None, as_json: bool) -> None:
    """Show what this kb can do, the versions its results depend on, and what is indexed."""
    if wire is not None:
        from kb.errors import UsageError
        from kb.wire.schemas import json_schemas

        schemas = json_schemas()
        if wire not in schemas:
            raise UsageError(f"no wire schema {wire!r}", "one of " + ", ".join(schemas))
        as_utf8(sys.stdout).write(json.dumps(schemas[wire], indent=2, ensure_ascii=False) + "\n")
        return
    from kb.wire.schemas import self_report

    ctx = click.get_current_context().find_root()
    program = cast(click.Group, ctx.command)
    found = self_report(introspect(call.session, program.list_commands(ctx)))
    if as_json:
        print_json(found)
        return
    stats = found.stats
    click.echo(f"kb {found.kb_version}")
    able = found.capabilities
    rows = [
        ("can", ", ".join(name for name, there in able.items() if there) or "-"),
        ("not here", ", ".join(name for name, there in able.items() if not there) or "-"),
        *found.models.items(),
        ("wire", ", ".join(found.wire.schemas)),
    ]
    if stats is not None:
        last = stats.last_ingest_at
        counts = (
            f"{stats.documents:,} documents",
            f"{stats.chunks:,} chunks",
            f"{stats.source_bytes:,} bytes",
        )
        rows.append(("indexed", ", ".join(counts)))
        rows.append(("last ingest", local_time(last) if last else "none has ended yet"))
    echo_fields(rows)
    if stats is None:
        click.echo("no knowledge base yet: kb init")
