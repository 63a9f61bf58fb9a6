"""`kb cluster`: the workers of the configured Dask scheduler, and their models."""

from __future__ import annotations

import click

from kb.cli.call import Call, CommandGroup, json_option, pass_call
from kb.cli.output.printing import echo_folded, echo_result
from kb.cli.output.progress import interruptible, show_progress
from kb.domain.results.upkeep import ClusterReport
from kb.domain.text import plain_line
from kb.operations.compute.cluster import cluster_status, prepare_cluster


@click.group("cluster", cls=CommandGroup)
def cluster_command() -> None:
    """Show the workers of the Dask scheduler that compute.scheduler names, and send models to them."""


@cluster_command.command("status", epilog="\b\nExamples:\n  kb cluster status\n")
@json_option("Print cluster_report.v1.")
@pass_call
def cluster_status_command(call: Call, as_json: bool) -> None:
    """Show each worker, and what it lacks of what is installed here."""
    echo_result(cluster_status(call.config), as_json, _show)


@cluster_command.command("prepare", epilog="\b\nExamples:\n  kb cluster prepare\n")
@json_option("Print cluster_report.v1.")
@pass_call
def cluster_prepare_command(call: Call, as_json: bool) -> None:
    """Send the models that the configuration names to the workers that lack them."""
    with interruptible(show_progress()) as handle:
        report = prepare_cluster(call.config, handle)
    echo_result(report, as_json, _show)


def _show(report: ClusterReport) -> None:
    echo_folded(f"{report.scheduler}  {plain_line(report.dashboard)}")
    for sent in report.sent:
        echo_folded(plain_line(sent), head="  sent ")
    for worker in report.workers:
        size = f"{worker.threads} thread{'' if worker.threads == 1 else 's'}"
        echo_folded(f"{worker.address}  {size}", head="  ✗ " if worker.lacks else "  ✓ ")
        for lack in worker.lacks:
            echo_folded(plain_line(lack), head="      ")
    if not report.workers:
        echo_folded("no workers: dask worker starts one", head="  ")
