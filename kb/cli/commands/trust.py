"""`kb trust`: the projects whose `.kb/config.toml` counts."""

from __future__ import annotations

import os

import click

from kb.cli.call import Call, pass_call
from kb.cli.output.printing import confirmed, echo_fields, echo_folded
from kb.cli.projects import project_above
from kb.config import Config
from kb.config.projects import distrust, is_trusted, project_file, read_project, trust, trusted_projects
from kb.config.writing import source_table, toml_value
from kb.domain.text import plain_line
from kb.errors import NotFound
from kb.private import require_writable


@click.command(
    "trust",
    epilog="""\b
Examples:
  kb trust                     # shows what the project around here sets, and asks
  kb trust ~/src/turbine --yes
  kb trust --list
  kb trust --forget ~/src/turbine
""",
)
@click.argument("folder", required=False)
@click.option("--list", "lists", is_flag=True, help="List the projects that were trusted.")
@click.option("--forget", "forgets", is_flag=True, help="Trust it no more; its data stays.")
@click.option("--yes", is_flag=True, help="Trust it without asking.")
@pass_call
def trust_command(call: Call, folder: str | None, lists: bool, forgets: bool, yes: bool) -> int:
    """Use the knowledge base of a project: FOLDER, or the one around the working directory.

    A project says in .kb/config.toml what of its folder is read, and nothing else. It counts until the file changes.
    Exit code 1 when you decline.
    """
    if lists:
        for each in trusted_projects(os.environ):
            changed = "" if is_trusted(each, os.environ) else "  (changed since: not trusted)"
            echo_folded(plain_line(f"{each.parent.parent}{changed}"))
        return 0
    file = project_above() if folder is None else os.path.join(os.path.expanduser(folder), ".kb/config.toml")
    if file is None:
        raise NotFound("no .kb/config.toml is here or above", "kb init --project writes one")
    require_writable("what is trusted")
    if forgets:
        if not distrust(project_file(file), os.environ):
            raise NotFound(f"{file} was not trusted", "kb trust --list shows what is")
        echo_folded(plain_line(file), head="not trusted any more: ")
        return 0
    config, digest = read_project(file, call.settings, os.environ)
    _show(config)
    if not (yes or confirmed("Trust it, until it changes?")):
        return 1
    trust(project_file(file), digest, os.environ)
    click.echo("trusted; kb ingest, run below its folder, reads it")
    return 0


def _show(config: Config) -> None:
    """What a project sets."""
    own = [
        (key, getattr(config.workspace, key.partition(".")[2]))
        for key, value in config.origins.items()
        if value == "project" and key.startswith("workspace.")
    ]
    rows = [("folder", str(config.workspace_root)), *((key, toml_value(value)) for key, value in own)]
    rows += [("source", " ".join(source_table(each).split("\n")[1:])) for each in config.further_sources]
    echo_fields((name, plain_line(value)) for name, value in [*rows, ("its data", f"{config.data_dir}")])
