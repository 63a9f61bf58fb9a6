"""`kb config show|path`."""

from __future__ import annotations

import os

import click

from kb.cli.call import Call, CommandGroup, json_option, pass_call, print_json
from kb.config import Config, default_path
from kb.config.writing import items, to_toml
from kb.domain.results.upkeep import ConfigReport, ConfigValue


@click.group("config", cls=CommandGroup)
def command() -> None:
    """Show the configuration in force: defaults, then file, then KB_<SECTION>_<KEY>, then --set."""


@command.command("show", epilog="\b\nExamples:\n  kb config show\n  KB_SEARCH_DEFAULT_K=3 kb config show\n")
@json_option("Print config_report.v1.")
@pass_call
def show(call: Call, as_json: bool) -> None:
    """Print every key as TOML; a comment says where a value that is not the default came from."""
    if as_json:
        _print_report(call.config)
    else:
        click.echo(to_toml(call.config, with_origins=True), nl=False)


@command.command("path", epilog='\b\nExamples:\n  $EDITOR "$(kb config path)"\n')
@json_option("Print config_report.v1.")
@pass_call
def path(call: Call, as_json: bool) -> None:
    """Print the path of the configuration file, whether it exists or not."""
    if as_json:
        _print_report(call.config)
    else:
        click.echo(str(call.config.file or default_path(os.environ)))


def _print_report(config: Config) -> None:
    values = {key: ConfigValue(value, origin) for key, value, origin in items(config)}
    print_json(ConfigReport(config.file, values))
