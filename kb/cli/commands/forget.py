"""`kb forget`."""

from __future__ import annotations

import shlex
import sys

import click

from kb.cli.call import Call, json_option, pass_call, print_json
from kb.cli.interrupt import interruptible
from kb.cli.output.printing import echo_folded
from kb.cli.output.terminal import plain_line
from kb.domain.results.upkeep import ForgetReport
from kb.operations.admin.forget import Named, forget, plan_forget

_SHOWN = 20


@click.command(
    "forget",
    epilog="""\b
Examples:
  kb forget notes/old.md                    # says what is kept of it, and asks
  kb forget notes/old.md --yes              # does not ask
  kb forget private/ --ignore               # a folder, and never again
  kb forget --tag secret
  kb forget --path-glob 'scans/2019/**'
  kb forget notes/old.md --json             # what would be forgotten
""",
)
@click.argument("path", required=False)
@click.option("--tag", metavar="TAG", help="The documents with this tag, or one below it.")
@click.option("--path-glob", metavar="GLOB", help="The paths that match, e.g. 'private/**' (gitignore syntax).")
@click.option("--ignore", is_flag=True, help="Also add them to .kbignore of the workspace.")
@click.option("--yes", is_flag=True, help="Forget without asking.")
@json_option("Print forget_report.v1; without --yes a dry run.")
@pass_call
def command(
    call: Call, path: str | None, tag: str | None, path_glob: str | None, ignore: bool, yes: bool, as_json: bool
) -> int:
    """Forget documents: nothing of their text stays in anything that kb keeps.

    Passages, vectors, copies, what was read by OCR and heard, caches, answers and conversations that rest on them,
    evaluation runs, records of what agents were given, logs. The files themselves stay, and the next kb ingest reads
    them again unless they are removed or ignored. Exit code 1 where nothing is kept of them, or it was not wanted.
    """
    named = Named(path, tag, path_glob)
    report = plan_forget(call.config, named)
    if report.paths and not as_json:
        _show(report)
    if report.paths and (yes or (not as_json and _agreed())):
        from kb.cli.output.progress import show_progress

        with show_progress() as on_event, interruptible(on_event) as handle:
            report = forget(call.config, named, handle, ignore=ignore)
    if as_json:
        print_json(report)
    elif not report.paths:
        click.echo("kb keeps nothing of it")
    elif report.done:
        click.echo("forgotten")
        _show_what_stays(report)
    return 0 if report.done or (as_json and report.paths) else 1


def _agreed() -> bool:
    click.echo("Forget it? [y/N] ", nl=False)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _show(report: ForgetReport) -> None:
    for each in report.paths[:_SHOWN]:
        echo_folded(plain_line(each))
    if len(report.paths) > _SHOWN:
        click.echo(f"and {len(report.paths) - _SHOWN:,} more")
    click.echo("is to be forgotten:" if len(report.paths) == 1 else "are to be forgotten:")
    for part in report.parts:
        where = "" if part.path is None else f"  {plain_line(str(part.path))}"
        name = part.name.removesuffix("s") if part.entries == 1 else part.name
        echo_folded(f"{name}{where}", head=f"{part.entries:>12,} ")
    click.echo("and copies, derived texts and cached work of documents that are gone")


def _show_what_stays(report: ForgetReport) -> None:
    if not report.stays:
        return
    files = "The file stays" if len(report.stays) == 1 else f"The {len(report.stays):,} files stay"
    if report.ignored:
        echo_folded(plain_line(f"{files}; {report.ignore_file} keeps kb from reading again what it names"))
        return
    click.echo(f"{files}: kb ingest reads again what is not removed, or ignored by")
    words = " ".join(shlex.quote(line) for line in report.ignore_lines)
    echo_folded(plain_line(f"printf '%s\\n' {words} >> {shlex.quote(str(report.ignore_file))}"))
