"""`kb models install|list|verify`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from kb.cli.call import Call, CommandGroup, json_option, pass_call, print_json
from kb.cli.interrupt import interruptible
from kb.cli.output.printing import echo_folded
from kb.cli.output.terminal import plain_line
from kb.domain.results.upkeep import ModelStatus
from kb.errors import UsageError
from kb.operations.admin.models import configured_installs, install_models, model_statuses, verify_models


@click.group("models", cls=CommandGroup)
def command() -> None:
    """Install and check models. Nothing is ever fetched during a search or an answer."""


@command.command(
    "install",
    epilog="""\b
Examples:
  kb models install                          # the models the configuration names
  kb models install kb-encoder-1             # this one
  kb models install whisper-base             # the one that hears speech
""",
)
@click.argument("names", nargs=-1)
@click.option("--force", is_flag=True, help="Install it again even if it is complete.")
@json_option("Print one model_status.v1 per line.")
@pass_call
def install(call: Call, names: tuple[str, ...], force: bool, as_json: bool) -> None:
    """Install models: fetched once, checked against pinned checksums, resumed where a try was cut off."""
    from kb.cli.output.progress import show_bytes

    wanted = names or configured_installs(call.config)
    if not wanted:
        provider = call.config.models_embedding.provider
        raise UsageError(f"nothing to install (models.embedding.provider = {provider})", "name one: kb models list")
    with show_bytes() as on_event, interruptible(on_event) as handle:
        done = install_models(call.config, wanted, force=force, handle=handle)
    _show([status for status in model_statuses(call.config) if status.name in done], as_json)


@command.command("list", epilog="\b\nExamples:\n  kb models list\n")
@json_option("Print one model_status.v1 per line.")
@pass_call
def list_(call: Call, as_json: bool) -> None:
    """List the models kb can install, and whether they are there."""
    _show(model_statuses(call.config), as_json)


@command.command("verify", epilog="\b\nExamples:\n  kb models verify\n")
@click.argument("names", nargs=-1)
@json_option("Print one model_status.v1 per line.")
@pass_call
def verify(call: Call, names: tuple[str, ...], as_json: bool) -> int:
    """Compare every file of the installed models with its checksum. Exit code 3 when one is off."""
    from kb.cli.output.progress import show_bytes

    with show_bytes() as on_event, interruptible(on_event) as handle:
        checked = verify_models(call.config, names, handle)
    _show(checked, as_json)
    return 3 if any(status.problem for status in checked) else 0


def _show(statuses: Sequence[ModelStatus], as_json: bool) -> None:
    if as_json:
        for status in statuses:
            print_json(status)
        return
    for status in statuses:
        mark = "✗" if status.problem else "✓" if status.installed else " "
        used = status.used_as or ("for tests: too small to answer well" if status.purpose == "language" else "")
        use = f"  ({used})" if used else ""
        size = f"{status.size_bytes / 1e6:.0f} MB"
        kind = f"{status.dimensions} d" if status.dimensions else status.purpose or ""
        echo_folded(f"{status.licence}{use}", head=f"{mark} {status.name:<22} {kind:>8} {size:>7}  ")
        if status.problem:
            echo_folded(plain_line(status.problem), head="    ")
