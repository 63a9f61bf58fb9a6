"""`kb reset`."""

from __future__ import annotations

import click

from kb.cli.call import Call, json_option, pass_call, print_json
from kb.cli.interrupt import interruptible
from kb.cli.output.printing import echo_folded
from kb.cli.output.terminal import plain_line
from kb.domain.results.upkeep import ResetPart, ResetReport
from kb.operations.admin.reset import RESET_PARTS, plan_reset, reset

_AGAIN = {
    "vectors": "kb index --embeddings makes them again",
    "index": "kb ingest reads your files again",
    "everything": "kb ingest starts from the beginning",
}


@click.command(
    "reset",
    epilog="""\b
Examples:
  kb reset index              # what it would remove; nothing is removed
  kb reset index --yes        # documents, passages and vectors; answers stay
  kb reset vectors --yes      # found by words until they are made again
  kb reset answers --yes      # answers and conversations
  kb reset everything --yes   # all that kb has made, also where its file is damaged
""",
)
@click.argument("part", type=click.Choice(RESET_PARTS))
@click.option("--yes", is_flag=True, help="Remove it. Without, only say what would be removed.")
@json_option("Print reset_report.v1.")
@pass_call
def command(call: Call, part: ResetPart, yes: bool, as_json: bool) -> None:
    """Remove what kb has made: the vectors, the index, the answers, or everything.

    Your files, the configuration, golden questions and installed models stay.
    """
    if not yes:
        report = plan_reset(call.config, part)
    else:
        from kb.cli.output.progress import show_progress

        with show_progress() as on_event, interruptible(on_event) as handle:
            report = reset(call.config, part, handle)
    if as_json:
        print_json(report)
    else:
        _show(report)


def _show(report: ResetReport) -> None:
    click.echo("removed:" if report.done else "would be removed:")
    for each in report.parts:
        size = "" if each.byte_len is None else f"{each.byte_len / 1_000_000:,.1f} MB"
        if each.path is None:
            click.echo(f"{each.entries:>12,} {each.name}{f'  ({size})' if size else ''}")
        else:
            echo_folded(plain_line(str(each.path)), head=f"{size:>12} ")
    if not report.parts:
        click.echo("     nothing: there is none")
    if report.done and report.part in _AGAIN:
        click.echo(_AGAIN[report.part])
    elif not report.done:
        click.echo(f"Nothing was removed. To remove it: kb reset {report.part} --yes")
