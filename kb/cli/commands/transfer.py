"""`kb export` and `kb import`: a knowledge base in one file, for another machine."""

from __future__ import annotations

from pathlib import Path

import click

from kb.cli.call import Call, json_option, option, pass_call
from kb.cli.output.printing import echo_folded, print_json, size_mb
from kb.cli.output.progress import interruptible, show_stage
from kb.domain.text import plain_line
from kb.operations.admin.transfer import export_base, export_snapshot, import_base


@click.command(
    "export",
    epilog="""\b
Examples:
  kb export ~/kb-2026.tar.gz     # .gz: compressed
  kb export --snapshot /mnt/share/kb-friday
  kb --read-only --set storage.data_dir=/mnt/share/kb-friday search budget
""",
)
@click.argument("file", type=click.Path(path_type=Path))
@option("--snapshot", is_flag=True, help="Write a folder that kb --read-only reads in its place.")
@json_option("Print export_report.v1.")
@pass_call
def export_command(call: Call, file: Path, snapshot: bool, as_json: bool) -> None:
    """Write the knowledge base into FILE: index, vectors, answers, configuration, copies of your files.

    With --snapshot FILE is a folder of index, vectors and answers. Searching and indexing may go on meanwhile. What is
    written holds the text of your notes; only you can read it.
    """
    with interruptible(show_stage()) as handle:
        report = (export_snapshot if snapshot else export_base)(call.config, file.absolute(), handle)
    if as_json:
        print_json(report)
        return
    echo_folded(plain_line(str(report.file)), head=f"{size_mb(report.size_bytes)} written to ")
    echo_folded(report.proof.root, head="root ")


@click.command(
    "import",
    epilog="\b\nExamples:\n  kb import ~/kb-2026.tar.gz\n  kb doctor --proof           # the root, once more\n",
)
@click.argument("file", type=click.Path(path_type=Path))
@json_option("Print import_report.v1.")
@pass_call
def import_command(call: Call, file: Path, as_json: bool) -> None:
    """Unpack FILE, which kb export wrote, where no knowledge base is yet.

    It then answers as it did on the other machine, with the same models and settings. Where your notes are in another
    folder here, run kb ingest --moved.
    """
    with interruptible(show_stage()) as handle:
        report = import_base(call.config, file.absolute(), handle)
    if as_json:
        print_json(report)
        return
    echo_folded(report.proof.root, head="as it was exported: root ")
    for setting in report.settings:
        echo_folded(plain_line(setting), head="note: the other machine has ", err=True)
