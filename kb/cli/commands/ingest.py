"""`kb ingest`."""

from __future__ import annotations

import click

from kb.cli.call import Call, json_option, pass_call, print_json, print_json_with_list
from kb.cli.interrupt import interruptible
from kb.domain.kinds import KINDS
from kb.operations.ingest.ingest import ingest
from kb.operations.ingest.requests import ingest_request, media_families


@click.command(
    "ingest",
    epilog="""\b
Examples:
  kb ingest                    # everything new or changed below workspace.root
  kb ingest projects/kb        # only this folder
  kb ingest --media markdown   # only notes; what needs an engine stays as it is
  kb ingest --dry-run          # what would change, changing nothing
  kb ingest --json | tail -1   # the report
""",
)
@click.argument("path", required=False)
@click.option("--dry-run", is_flag=True, help="Show what would change; change nothing.")
@click.option("--allow-empty", is_flag=True, help="Empty the knowledge base when the workspace is empty.")
@click.option("--moved", is_flag=True, help="Continue after the workspace folder was moved or renamed.")
@click.option("--no-embed", is_flag=True, help="Leave the vectors for later: kb index --embeddings.")
@click.option(
    "--media", metavar="KIND,…", help=f"Only these kinds of files: {', '.join(KINDS.families)} [default: all]."
)
@click.option("--summary-only", is_flag=True, help="Do not list the files in the report.")
@json_option("Print ingest_progress.v1 lines, then ingest_report.v1.")
@pass_call
def command(
    call: Call,
    path: str | None,
    dry_run: bool,
    allow_empty: bool,
    moved: bool,
    no_embed: bool,
    media: str | None,
    summary_only: bool,
    as_json: bool,
) -> int:
    """Update the index from your files: new, changed, moved and deleted ones.

    PATH is a file or folder below the workspace root. Ctrl-C stops after the current document; the next run continues
    from there. Searching works meanwhile.
    """
    request = ingest_request(
        call.config,
        path,
        dry_run=dry_run,
        allow_empty=allow_empty,
        moved=moved,
        embed=not no_embed,
        families=None if media is None else media_families(media, call.config),
    )
    if as_json:
        from kb.cli.output.progress import print_progress

        with interruptible(print_progress) as handle:
            report = ingest(request, handle)
        if summary_only:
            print_json(report)
        else:
            print_json_with_list(report, report.items)
    else:
        from kb.cli.output.progress import show_progress
        from kb.cli.show.report import show_report

        with show_progress() as on_event, interruptible(on_event) as handle:
            report = ingest(request, handle)
        show_report(report, summary_only=summary_only)
    return 2 if report.counts.errors and not report.counts.scanned else 0
