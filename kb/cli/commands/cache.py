"""`kb cache stats|prune`."""

from __future__ import annotations

import re

import click

from kb.cli.call import Call, CommandGroup, json_option, pass_call, print_json
from kb.cli.output.printing import echo_folded
from kb.cli.output.terminal import plain_line
from kb.domain.results.upkeep import CacheReport
from kb.errors import UsageError
from kb.operations.admin.cache import cache_stats, prune_caches

_UNITS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}


@click.group("cache", cls=CommandGroup)
def command() -> None:
    """Show and shrink the caches, which save reading and embedding twice.

    Losing them costs time, never data.
    """


@command.command("stats", epilog="\b\nExamples:\n  kb cache stats\n  kb cache stats --json | jq .byte_len\n")
@json_option("Print cache_report.v1.")
@pass_call
def stats(call: Call, as_json: bool) -> None:
    """Show how much the caches hold."""
    _show(cache_stats(call.config), as_json)


@command.command("prune", epilog="\b\nExamples:\n  kb cache prune --max-size 500MB\n  kb cache prune --max-size 0\n")
@click.option("--max-size", required=True, metavar="SIZE", help="What the caches may take together, e.g. 500MB or 2GB.")
@json_option("Print cache_report.v1.")
@pass_call
def prune(call: Call, max_size: str, as_json: bool) -> None:
    """Delete what has not been used for the longest time."""
    _show(prune_caches(call.config, _read_size(max_size)), as_json)


def _show(report: CacheReport, as_json: bool) -> None:
    if as_json:
        print_json(report)
        return
    for part in report.parts:
        echo_folded(plain_line(str(part.path)), head=f"{part.name:<8} {part.entries:>9,}  {_shown(part.byte_len):>9}  ")
    if report.freed_bytes:
        click.echo(f"freed {_shown(report.freed_bytes)}")


def _read_size(text: str) -> int:
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([kmg]?)b?", text.strip().lower())
    if match is None:
        raise UsageError(f"{text!r} is not a size", "a size looks like 500MB or 2GB")
    return int(float(match[1]) * _UNITS[match[2]])


def _shown(byte_len: int) -> str:
    return f"{byte_len / 1_000_000:.1f} MB"
