"""`kb status`, `kb doctor` and `kb schema`: the state of the index, checks, and the capabilities of this kb."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import click

from kb.cli.call import Call, in_each_vault, json_option, pass_call
from kb.cli.entry import config_path
from kb.cli.output.ingest_report import short_hint
from kb.cli.output.printing import (
    BAD,
    GOOD,
    QUIET,
    Style,
    echo_fields,
    echo_folded,
    echo_result,
    local_time,
    print_json,
    styled,
)
from kb.cli.output.progress import duration, interruptible, show_stage
from kb.cli.output.terminal import as_utf8
from kb.cli.watch_socket import watching_process
from kb.config import Config
from kb.domain.checks import Diagnosis, State
from kb.domain.embeddings import VectorAddress
from kb.domain.results.ingest import UNREAD_WORDS
from kb.domain.results.inspection import BaseStatus, Job, UnreadGroup
from kb.domain.results.viewing import BrokenLinks
from kb.domain.text import counted, plain_line
from kb.errors import UsageError
from kb.operations.doctor.doctor import diagnose
from kb.operations.inspect.links import broken_links
from kb.operations.inspect.self_report import introspect
from kb.operations.inspect.status import base_status, last_run

_UNREAD_ROWS = 7
_SHOWN_KINDS = 8
# Their messages name the file, which stands beside it.
_SAID_BY_CODE = (
    "archives_off",
    "file_named_twice",
    "file_not_regular",
    "file_unreadable",
    "file_vanished",
    "path_not_unicode",
)

_MARKS: Mapping[State, tuple[str, Style]] = {
    "ok": ("✓", GOOD),
    "failed": ("✗", BAD),
    "absent": ("–", QUIET),
    "unchecked": ("–", QUIET),
}


@click.command("status", epilog="\b\nExamples:\n  kb status\n  kb status --json | jq .missing\n")
@json_option("Print base_status.v1.")
@pass_call
@in_each_vault
def status_command(call: Call, as_json: bool) -> None:
    """Show what is indexed, when it was indexed, and what is pending or missing, with the command for each.

    kb doctor checks the installation and the index; kb schema shows versions.
    """
    status = base_status(call.session)
    if as_json:
        print_json(status)
        return
    run = last_run(call.session)
    last = "none has ended yet" if status.last_ingest_at is None else local_time(status.last_ingest_at)
    if run is not None:
        did = {"new": run.new_count, "updated": run.updated_count, "moved": run.moved_count}
        did |= {"removed": run.removed_count, "not read": run.error_count}
        last += f" ({_most_first(did) or 'nothing new'}{', stopped' if run.aborted else ''})"
    kinds = "; ".join(filter(None, map(_most_first, (_by_family(status.kinds), status.languages))))
    held = f"{counted(status.documents, 'document')}, {counted(status.passages, 'passage')}"
    watcher = watching_process(config_path(str(call.config.file) if call.config.file else None))
    rows = [
        *_answering(call),
        ("workspace", f"{call.config.workspace_root}{_absence(call.config.workspace_root)}"),
        *_of_sources(call.config, status),
        ("indexed", held + f" ({kinds})" * bool(kinds)),
        *_unread_rows(status.unread),
        ("last ingest", last),
        *filter(None, map(_job_row, status.jobs)),
        ("searched by", "words and meaning" if status.by_meaning else "words"),
        *([("watched by", f"kb watch, process {watcher}")] if watcher else []),
        ("pending", "; ".join(status.missing) or "nothing; kb ingest looks for what changed on the disk"),
    ]
    if isinstance(address := call.config.vector_dir, VectorAddress):
        rows.append(("vectors", f"leave this machine: {address}"))
    if call.config.compute.address:
        rows.append(("cluster", f"an ingest sends texts and files to {call.config.compute.address}"))
    echo_fields((name, plain_line(value)) for name, value in rows)


def _answering(call: Call) -> list[tuple[str, str]]:
    """Which vault or project this is, and why; nothing for the usual knowledge base, and a file that is named."""
    if call.config.owner is not None:
        why = call.chosen_by or "around the working directory"
        return [("answered by", f"the project {call.config.file} ({why})")]
    name, _, vault = call.chosen_by.partition(" ")
    return [("answered by", f"the vault {vault} ({name})")] if name in ("--vault", "KB_VAULT") else []


def _job_row(job: Job) -> tuple[str, str] | None:
    """A row for long work that is running or has failed; None for other work."""
    progress = job.progress
    how_far = f"{job.kind} since {local_time(job.created_at)}"
    if progress is not None and progress.total:
        how_far += f": {progress.done:,} of {progress.total:,} {progress.unit}"
    if job.status == "failed":
        error = job.error
        return "failed", how_far + (f"; {error.message}" + f" ({error.hint})" * bool(error.hint) if error else "")
    if job.status != "running":
        return None
    seconds_left = None if progress is None else progress.seconds_left
    if progress is not None and progress.done and progress.unit != "files":  # which take very different times
        taken_s = (datetime.fromisoformat(job.updated_at) - datetime.fromisoformat(job.created_at)).total_seconds()
        seconds_left = taken_s / progress.done * (progress.total - progress.done)
    return "running", how_far + (f", some {duration(seconds_left)} left" if seconds_left else "")


def _unread_rows(groups: Sequence[UnreadGroup]) -> Iterator[tuple[str, str]]:
    """A row for each reason of files that are not read, in the words of an ingest's report; rules share one row."""
    by_reason: dict[tuple[str, str], list[UnreadGroup]] = {}
    for group in groups:
        by_reason.setdefault((group.outcome, group.why if group.outcome == "waiting" else group.code), []).append(group)
    ordered = sorted(by_reason.values(), key=lambda each: -sum(group.files for group in each))
    failed = [each for each in ordered if each[0].outcome != "left out"]
    name = "not read"
    for each in failed if len(failed) <= _UNREAD_ROWS else failed[: _UNREAD_ROWS - 1]:
        files = sum(group.files for group in each)
        path, hint = each[0].examples[0], _commonest_hint(each)
        words = each[0].why
        if len(each) > 1 or each[0].code in _SAID_BY_CODE:
            words = UNREAD_WORDS.get(each[0].code) or words
        more = f" and {files - 1:,} more" if files > 1 else ""
        yield name, f"{files:,} {words}: {path}{more}" + (f"; {short_hint(hint)}" if hint else "")
        name = ""
    if rest := failed[_UNREAD_ROWS - 1 :] if len(failed) > _UNREAD_ROWS else []:
        yield (
            "",
            f"{sum(group.files for each in rest for group in each):,} more, for {len(rest)} reasons that --json gives",
        )
    if ruled := [each for each in ordered if each[0].outcome == "left out"]:
        counted_by = [
            f"{sum(group.files for group in each):,} {each[0].code} ({each[0].examples[0]})" for each in ruled
        ]
        yield "left out", ", ".join(counted_by)


def _commonest_hint(groups: Sequence[UnreadGroup]) -> str | None:
    files = Counter[str]()
    for group in groups:
        files[group.hint or ""] += group.files
    return files.most_common(1)[0][0] or None


def _of_sources(config: Config, status: BaseStatus) -> list[tuple[str, str]]:
    """A line for each further source: its folder, how many documents, what it holds."""
    held = {each.name.removesuffix(":"): each.size or 0 for each in status.sources}
    return [
        (
            f"source {each.name}",
            f"{each.root}: {counted(held.get(each.name, 0), 'document')}"
            + _absence(each.root)
            + (f" ({each.about})" if each.about else ""),
        )
        for each in config.sources.further
    ]


def _absence(folder: Path) -> str:
    return "" if os.path.isdir(folder) else ", the folder is not there"


def _by_family(kinds: Mapping[str, int]) -> Mapping[str, int]:
    """The counts by media type; by the part before the slash if there are many."""
    if len(kinds) <= _SHOWN_KINDS:
        return kinds
    families = Counter[str]()
    for kind, count in kinds.items():
        families[kind.partition("/")[0]] += count
    return families


def _most_first(counts: Mapping[str, int]) -> str:
    """`markdown 12, pdf 3`: the most first."""
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return ", ".join(f"{name} {count:,}" for name, count in ordered if count)


@click.command(
    "doctor",
    epilog="\b\nExamples:\n  kb doctor\n  kb doctor --json | jq '.checks[] | select(.ok | not)'\n  kb doctor --links\n",
)
@click.option("--quick", is_flag=True, help="Skip the checks that read the whole database: pages, indexes, references.")
@click.option("--proof", is_flag=True, help="Print the Merkle root of what is indexed, and check nothing.")
@click.option(
    "--links",
    is_flag=True,
    help="List the links of notes that reach no file, heading or block, and check nothing else.",
)
@json_option("Print doctor.v1; with --proof, proof.v1; with --links, broken_links.v1.")
@pass_call
def doctor_command(call: Call, quick: bool, proof: bool, links: bool, as_json: bool) -> int:
    """Check the installation, the index and the models. Exit code 3 when a check fails, or a link reaches nothing.

    ✓ passed, ✗ failed, – optional and not installed, or not checked.
    """
    if proof:
        from kb.operations.admin.transfer import prove  # rarely asked for

        echo_result(prove(call.config), as_json, lambda found: echo_fields(found._asdict().items()))
        return 0
    if links:
        return _show_broken(broken_links(call.session), as_json)
    with interruptible(show_stage()) as handle:
        checks = diagnose(call.config, quick=quick, handle=handle)
    states = Counter(check.state for check in checks)
    if as_json:
        print_json(Diagnosis(tuple(checks)))
    else:
        for check in checks:
            mark, style = _MARKS[check.state]
            echo_folded(plain_line(check.detail), head=f"{styled(mark, style)} {check.name:<18} ")
            if check.hint:
                echo_folded(check.hint, head="    hint: ")
        click.echo(_summary(states))
    return 3 if states["failed"] else 0


def _show_broken(found: BrokenLinks, as_json: bool) -> int:
    if as_json:
        print_json(found)
    for link, nearest in () if as_json else found.links:
        said = [f"{link.target_path} has no such place"] if link.target_path else []
        said += [f"the nearest is {nearest}"] if nearest else []
        meant = f"  ({'; '.join(said)})" if said else ""
        written = f"{link.target}#{link.anchor}" if link.anchor else link.target
        echo_folded(plain_line(f"{link.workspace_path}#L{link.line}  {written}{meant}"))
    if not as_json:
        click.echo(f"{counted(len(found.links), 'link')} without a target." if found.links else "no broken links.")
    return 3 if found.links else 0


def _summary(states: Mapping[State, int]) -> str:
    failed, absent = states["failed"], states["absent"]
    words = f"{failed} check{'s' * (failed > 1)} failed" if failed else "all checks passed"
    return f"{words}; {absent} optional part{'s are' if absent > 1 else ' is'} not here (–)." if absent else f"{words}."


@click.command(
    "schema", epilog="\b\nExamples:\n  kb schema --json | jq .capabilities\n  kb schema --wire search_hit.v1\n"
)
@click.option("--wire", metavar="ID", help="Print the JSON Schema of one wire object, e.g. search_hit.v1.")
@json_option("Print schema.v1.")
@pass_call
def schema_command(call: Call, wire: str | None, as_json: bool) -> None:
    """Show what this kb can do, the versions its results depend on, and what is indexed."""
    from kb.wire.schemas import json_schemas, self_report  # by pydantic, which takes long to import

    if wire is not None:
        if wire not in (schemas := json_schemas()):
            raise UsageError(f"no wire schema {wire!r}", "one of " + ", ".join(schemas))
        as_utf8(sys.stdout).write(json.dumps(schemas[wire], indent=2, ensure_ascii=False) + "\n")
        return
    program = click.get_current_context().find_root().command
    assert isinstance(program, click.Group)
    report = self_report(introspect(call.session, program.list_commands(click.get_current_context())))
    if as_json:
        print_json(report)
        return
    stats = report.stats
    click.echo(f"kb {report.kb_version}")
    rows = [
        ("can", ", ".join(name for name, there in report.capabilities.items() if there) or "-"),
        ("not here", ", ".join(name for name, there in report.capabilities.items() if not there) or "-"),
        *report.models.items(),
        ("wire", ", ".join(report.wire.schemas)),
    ]
    if stats is not None:
        last = stats.last_ingest_at
        counts = f"{stats.documents:,} documents, {stats.chunks:,} chunks, {stats.source_bytes:,} bytes"
        rows.append(("indexed", counts))
        rows.append(("last ingest", local_time(last) if last else "none has ended yet"))
    echo_fields(rows)
    if stats is None:
        click.echo("no knowledge base yet: kb init")
