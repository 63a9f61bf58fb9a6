"""`kb status`: what is indexed, when, and what is pending."""

from __future__ import annotations

from collections.abc import Mapping

import click

from kb.cli.call import Call, json_option, pass_call, print_json
from kb.cli.output.printing import echo_fields
from kb.cli.output.terminal import plain_line
from kb.cli.output.times import local_time
from kb.operations.inspect.last_ingest import last_run
from kb.operations.inspect.listing import base_status


@click.command("status", epilog="\b\nExamples:\n  kb status\n  kb status --json | jq .missing\n")
@json_option("Print base_status.v1.")
@pass_call
def command(call: Call, as_json: bool) -> None:
    """Show what is indexed, when that was, and what is pending or missing, each with what to do.

    kb doctor checks that all of it is in order; kb schema shows versions.
    """
    status = base_status(call.session)
    if as_json:
        print_json(status)
        return
    run = last_run(call.session)
    last = "none has ended yet" if status.last_ingest_at is None else local_time(status.last_ingest_at)
    if run is not None:
        counts = run.counts
        did = {"new": counts.new_count, "updated": counts.updated_count, "moved": counts.moved_count}
        did |= {"removed": counts.removed_count, "not read": counts.error_count}
        last += f" ({_counted(did) or 'nothing new'}{', stopped' if counts.aborted else ''})"
    kinds = "; ".join(filter(None, map(_counted, (status.kinds, status.languages))))
    sizes = ((status.documents, "document"), (status.passages, "passage"))
    held = ", ".join(f"{count:,} {noun}{'s' * (count != 1)}" for count, noun in sizes)
    echo_fields(
        (name, plain_line(value))
        for name, value in (
            ("workspace", str(call.config.workspace_root)),
            ("indexed", held + f" ({kinds})" * bool(kinds)),
            ("last ingest", last),
            ("searched by", "words and meaning" if status.by_meaning else "words"),
            ("pending", "; ".join(status.missing) or "nothing; kb ingest looks for what changed on the disk"),
        )
    )


def _counted(counts: Mapping[str, int]) -> str:
    """`markdown 12, pdf 3`: the most first."""
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return ", ".join(f"{name} {count:,}" for name, count in ordered if count)
