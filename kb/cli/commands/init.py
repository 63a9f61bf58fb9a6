"""`kb init`."""

from __future__ import annotations

from pathlib import Path

import click

from kb.cli.session import Session, json_option, pass_session, print_json
from kb.config import default_path, expand_variables, load
from kb.operations.admin.setup import set_up, settings_of_its_own


@click.command(
    "init",
    epilog="""\b
Examples:
  kb init --root ~/notes
  kb --config ./kb.toml init --root .      a knowledge base of its own
""",
)
@click.option("--root", metavar="DIR", help="The folder with your notes [default: ~/KnowledgeBase].")
@click.option("--data-dir", metavar="DIR", help="Where kb keeps what it makes [default: ~/.local/share/kb].")
@click.option("--force", is_flag=True, help="Write the configuration file again, with defaults; touch nothing else.")
@json_option("Print init_report.v1.")
@pass_session
def command(session: Session, root: str | None, data_dir: str | None, force: bool, as_json: bool) -> None:
    """Create the configuration, the data directory and the workspace folder; keep what is there."""
    import os

    named = session.config_path or os.environ.get("KB_CONFIG")
    path = Path(expand_variables(named)).absolute() if named else default_path(os.environ)
    settings = list(session.settings)
    if root is not None:
        settings.append(f"workspace.root={Path(root).expanduser().absolute()}")
    if data_dir is not None:
        settings.append(f"storage.data_dir={Path(data_dir).expanduser().absolute()}")
    exists = path.exists() and not force
    own = [] if data_dir or path == default_path(os.environ) else settings_of_its_own(path)
    config = load(str(path), settings) if exists else load(os.devnull, [*own, *settings], {}).with_file(path)
    report = set_up(config, path, force=force)
    if as_json:
        from kb.wire.upkeep.init_report import init_report_v1

        print_json(init_report_v1(report))
        return
    for name, place in (("config", report.config), ("data_dir", report.data_dir), ("root", report.root)):
        click.echo(f"{'created' if report.created[name] else 'kept   '} {place}")
    click.echo(f"opened  {report.sqlite} (schema v{report.schema_version})")
    if exists and settings:
        click.echo("note    the configuration file was kept; --force writes it again with these settings")
    click.echo(f"hint    your own synonyms, if you like: {config.path(config.search.lexicon)}")
    click.echo(f"hint    put notes into {report.root}, then: kb ingest")
