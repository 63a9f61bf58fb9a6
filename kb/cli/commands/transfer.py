"""`kb export` and `kb import`: a knowledge base in one file, or a snapshot of it, for another machine."""

from __future__ import annotations

from pathlib import Path

import click

from kb.cli.call import Call, json_option, option, pass_call
from kb.cli.output.printing import echo_folded, print_json, size_mb
from kb.cli.output.progress import interruptible, show_stage
from kb.config.addresses import is_address
from kb.domain.text import plain_line
from kb.errors import UsageError
from kb.operations.admin.transfer import export_base, export_snapshot, fetch_snapshot, import_base, store_snapshot


@click.command(
    "export",
    epilog="""\b
Examples:
  kb export ~/kb-2026.tar.gz     # .gz: compressed
  kb export --snapshot /mnt/share/kb-friday
  kb --read-only --set storage.data_dir=/mnt/share/kb-friday search budget
  kb export --snapshot s3://my-bucket/kb
""",
)
@click.argument("file", type=click.Path())
@option("--snapshot", is_flag=True, help="Write a folder that kb --read-only reads in its place, or to an address.")
@json_option("Print export_report.v1.")
@pass_call
def export_command(call: Call, file: str, snapshot: bool, as_json: bool) -> None:
    """Write the knowledge base into FILE: index, vectors, answers, configuration, copies of your files.

    With --snapshot FILE is a folder of index, vectors and answers, or an address of an object store (s3://, gs://,
    az://), where it takes the place of the last one. Searching and indexing may go on meanwhile. What is written holds
    the text of your notes; a file or folder only you can read.
    """
    if is_address(file) and not snapshot:
        raise UsageError(f"an archive cannot be written to {file}", "kb export --snapshot")
    with interruptible(show_stage()) as handle:
        if is_address(file):
            report = store_snapshot(call.config, file, handle)
        else:
            report = (export_snapshot if snapshot else export_base)(call.config, Path(file).absolute(), handle)
    if as_json:
        print_json(report)
        return
    echo_folded(plain_line(report.file), head=f"{size_mb(report.size_bytes)} written to ")
    echo_folded(report.proof.root, head="root ")


@click.command(
    "import",
    epilog="""\b
Examples:
  kb import ~/kb-2026.tar.gz
  kb doctor --proof           # the root, once more
  kb import s3://my-bucket/kb ~/kb-desktop
""",
)
@click.argument("file", type=click.Path())
@click.argument("folder", type=click.Path(path_type=Path), required=False)
@json_option("Print import_report.v1.")
@pass_call
def import_command(call: Call, file: str, folder: Path | None, as_json: bool) -> None:
    """Unpack FILE, which kb export wrote, where no knowledge base is yet.

    It then answers as it did on the other machine, with the same models and settings. Where your notes are in another
    folder here, run kb ingest --moved.

    Where FILE is the address of a snapshot, FOLDER becomes a copy of it, which kb --read-only reads; once more, a newer
    one.
    """
    if is_address(file) != (folder is not None):
        raise UsageError("FOLDER goes with the address of a snapshot", "kb import s3://my-bucket/kb ~/kb-desktop")
    with interruptible(show_stage()) as handle:
        if folder is not None:
            report = fetch_snapshot(call.config, file, folder.absolute(), handle)
        else:
            report = import_base(call.config, Path(file).absolute(), handle)
    if as_json:
        print_json(report)
        return
    echo_folded(report.proof.root, head="as it was exported: root ")
    for setting in report.settings:
        echo_folded(plain_line(setting), head="note: the other machine has ", err=True)
    if report.sources:
        names = ", ".join(report.sources)
        echo_folded(
            f"{names}: kb source add each with its folder here first, else kb ingest removes their documents",
            head="note: the configuration lacks the sources ",
            err=True,
        )
