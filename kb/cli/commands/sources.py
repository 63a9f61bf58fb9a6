"""`kb source`: the further folders of a knowledge base, which are added to its configuration."""

from __future__ import annotations

from typing import Any

import click

from kb.cli.call import Call, CommandGroup, json_option, pass_call
from kb.cli.commands.inspect import show_sources
from kb.cli.commands.upkeep import show_what_goes
from kb.cli.output.printing import confirmed, echo_folded, echo_result
from kb.cli.output.progress import interruptible, show_progress
from kb.domain.sources import KEPT_FROM, TRUST_LEVELS
from kb.domain.text import counted, plain_line
from kb.operations.admin.sources import add, forget_source, move, plan_remove, remove, rename
from kb.operations.inspect.listing import list_sources


@click.group("source", cls=CommandGroup)
def source_command() -> None:
    """Add, remove, rename and move further folders. Their files are shown and cited as NAME:path."""


@source_command.command(
    "add",
    epilog="""\b
Examples:
  kb source add work ~/work/docs --about 'The turbine project'
  kb source add papers /mnt/papers --kind pdf --trust secondary
  kb source add diary ~/diary --exposure never_to_mcp --exposure never_to_llm
""",
)
@click.argument("name")
@click.argument("root")
@click.option("--include", multiple=True, metavar="GLOB", help="Only files that match (gitignore syntax); repeat.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Leave out what matches; repeat.")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only this kind of file, such as pdf; repeat.")
@click.option("--trust", type=click.Choice(TRUST_LEVELS), help="Trust it at most so far.")
@click.option(
    "--exposure",
    multiple=True,
    type=click.Choice(KEPT_FROM),
    help="Keep all of it from agents, language models, the page or a cluster; repeat.",
)
@click.option("--language", metavar="LANG", help="The language of documents whose own cannot be told.")
@click.option("--no-ocr", is_flag=True, help="Read no text from pixels of its files.")
@click.option("--archives", is_flag=True, default=None, help="Read the files in its ZIP and tar archives too.")
@click.option("--about", metavar="TEXT", help="One line that says what it holds.")
@pass_call
def source_add_command(call: Call, /, name: str, root: str, no_ocr: bool, **values: Any) -> None:
    """Add the folder ROOT as the source NAME. The next kb ingest reads its files."""
    source = add(call.config, name, root, {**values, "ocr": False if no_ocr else None})
    echo_folded(plain_line(f"{source.name}  {source.root}"), head="added ")
    click.echo("kb ingest reads it; a kb watch that runs follows it")


@source_command.command("list", epilog="\b\nExamples:\n  kb source list\n")
@json_option("Print source_list.v1.")
@pass_call
def source_list_command(call: Call, as_json: bool) -> None:
    """List the folders with what is indexed of each; the same as kb list sources."""
    echo_result(list_sources(call.session), as_json, show_sources)


@source_command.command(
    "remove",
    epilog="""\b
Examples:
  kb source remove work         # says what is stored of it, and asks
  kb source remove work --yes
""",
)
@click.argument("name")
@click.option("--yes", is_flag=True, help="Remove it without asking.")
@pass_call
def source_remove_command(call: Call, name: str, yes: bool) -> int:
    """Take a source out of the configuration, and forget its documents as kb forget does. Its files stay.

    Exit code 1 when you decline.
    """
    report = plan_remove(call.config, name)
    if report is not None and report.paths:
        show_what_goes(report)
    if not (yes or confirmed(f"Remove the source {name}?")):
        return 1
    remove(call.config, name)
    if report is not None and report.paths:
        with interruptible(show_progress()) as handle:
            forget_source(call.config, name, handle)
    click.echo("removed; its files stay")
    return 0


@source_command.command("rename", epilog="\b\nExamples:\n  kb source rename work turbine\n")
@click.argument("name")
@click.argument("new")
@click.option("--no-embed", is_flag=True, help="Do not look for vectors now; the next kb ingest does.")
@pass_call
def source_rename_command(call: Call, name: str, new: str, no_embed: bool) -> None:
    """Rename a source: in the configuration, in kept answers, and its documents, whose files are read for that.

    Documents and passages get new ids, because ids follow from paths; their vectors come from the cache.
    """
    with interruptible(show_progress()) as handle:
        report = rename(call.config, name, new, handle, embed=not no_embed)
    for note in report.notes:
        echo_folded(plain_line(note), head="note: ", err=True)
    click.echo(f"renamed; {counted(report.counts.moved, 'document')} moved, {report.counts.errors:,} could not be read")


@source_command.command("move", epilog="\b\nExamples:\n  kb source move papers /media/disk/papers\n")
@click.argument("name")
@click.argument("root")
@pass_call
def source_move_command(call: Call, name: str, root: str) -> None:
    """Say that a source is in the folder ROOT now. What is indexed stays as it is."""
    source = move(call.config, name, root)
    echo_folded(plain_line(f"{source.name}  {source.root}"), head="moved ")
