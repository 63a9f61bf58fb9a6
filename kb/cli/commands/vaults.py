"""`kb vault`: named knowledge bases, each with a configuration, a folder of notes and data that no other one has."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click

from kb.cli.call import Call, CommandGroup, json_option, pass_call
from kb.cli.commands.setup import init_at
from kb.cli.commands.upkeep import show_reset
from kb.cli.output.printing import PLACE, confirmed, echo_folded, echo_rows, styled
from kb.cli.output.progress import interruptible, show_progress
from kb.config import load
from kb.config.vaults import USUAL, link_vault, list_vaults, new_file, set_aside, vault_to_remove, vaults
from kb.domain.results.upkeep import Vault
from kb.domain.text import plain_line
from kb.errors import UsageError
from kb.operations.admin.removal import plan_reset, reset
from kb.private import require_writable


@click.group("vault", cls=CommandGroup)
def vault_command() -> None:
    """Add, list and remove named knowledge bases. kb --vault NAME COMMAND works in one of them.

    The knowledge base without a name is called default.
    """


@vault_command.command(
    "add",
    epilog="""\b
Examples:
  kb vault add work ~/work/notes       # then: kb --vault work ingest
  kb vault add old ~/old/kb.toml       # a knowledge base that has a configuration already
""",
)
@click.argument("name")
@click.argument("root")
@click.option("--data-dir", metavar="DIR", help="Folder for its data [default: ~/.local/share/kb/vaults/NAME-…].")
@json_option("Print init_report.v1.")
@pass_call
def vault_add_command(call: Call, name: str, root: str, data_dir: str | None, as_json: bool) -> None:
    """Add the vault NAME with the notes in the folder ROOT, or the one whose configuration is the file ROOT."""
    require_writable("the configuration")
    file, place = new_file(name, os.environ), Path(os.path.abspath(os.path.expanduser(root)))
    if not place.is_file():
        init_at(file, call.settings, str(place), data_dir, vault=name, as_json=as_json)
        return
    if data_dir is not None or as_json:
        raise UsageError(f"{place} says where its data is", "leave out --data-dir and --json")
    link_vault(file, place)
    echo_folded(f"{file} -> {place}", head="created ")


@vault_command.command("list", epilog="\b\nExamples:\n  kb vault list\n  kb vault list --json | jq -r .name\n")
@json_option("Print one vault.v1 per line.")
@pass_call
def vault_list_command(call: Call, as_json: bool) -> int:
    """List the vaults with their folders; → marks the one that this call would work in. Exit code 1 without any."""
    named = call.named or call.project
    chosen = Path(os.path.abspath(named)) if named else vaults(os.environ).get(USUAL)
    return echo_rows(list_vaults(os.environ, chosen), as_json, _show_vault, "no vault yet: kb init makes the usual one")


def _show_vault(vault: Vault) -> None:
    mark = "→" if vault.is_chosen else " "
    said = vault.problem or f"{vault.root}{'' if vault.is_indexed else '  (nothing indexed yet)'}"
    echo_folded(plain_line(said), head=f"{mark} {styled(vault.name, PLACE)}  ")


@vault_command.command(
    "remove",
    epilog="""\b
Examples:
  kb vault remove work                  # the name alone; says how to undo it
  kb vault remove work --data --dry-run # what would go of its data
  kb vault remove work --data --yes
""",
)
@click.argument("vault")
@click.option("--data", "with_data", is_flag=True, help="Also remove all data that kb has made of it.")
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
@click.option("--yes", is_flag=True, help="Remove it without asking.")
@pass_call
def vault_remove_command(call: Call, vault: str, with_data: bool, dry_run: bool, yes: bool) -> int:
    """Remove the name of a vault; its notes stay, and without --data its data too. Exit code 1 when you decline."""
    config, folder = vault_to_remove(vault, os.environ)
    if with_data:
        show_reset(plan_reset(load(str(config), (), {}), "everything"), of_vault=True)
    if dry_run:
        echo_folded(plain_line(str(folder)), head="would go ")
        return 0
    require_writable("the configuration")
    if not (yes or confirmed(f"Remove the vault {vault}{' and its data' if with_data else ''}?")):
        return 1
    if with_data:
        with interruptible(show_progress()) as handle:
            reset(load(str(config), (), {}), "everything", handle)
    kept = set_aside(folder)
    echo_folded(plain_line(shlex.join(("mv", str(kept), str(folder)))), head="removed; to undo: ")
    return 0
