"""`kb init`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import click

from kb.cli.call import Call, json_option, pass_call, print_json
from kb.cli.output.printing import echo_folded
from kb.config import Config, default_path, expand_variables, load
from kb.config.writing import items, toml_value
from kb.errors import UsageError
from kb.operations.admin.models import model_statuses
from kb.operations.admin.setup import set_up, settings_of_its_own
from kb.operations.embedding.plan import configured_model


@click.command(
    "init",
    epilog="""\b
Examples:
  kb init --root ~/notes
  kb --config ./kb.toml init --root .      # a knowledge base of its own
""",
)
@click.option("--root", metavar="DIR", help="The folder with your notes [default: ~/KnowledgeBase].")
@click.option("--data-dir", metavar="DIR", help="Where kb keeps what it makes [default: ~/.local/share/kb].")
@click.option("--force", is_flag=True, help="Write the configuration file again, with defaults; touch nothing else.")
@json_option("Print init_report.v1.")
@pass_call
def command(call: Call, root: str | None, data_dir: str | None, force: bool, as_json: bool) -> None:
    """Create the configuration, the data directory and the workspace folder; keep what is there."""
    named = call.config_path or os.environ.get("KB_CONFIG")
    path = Path(expand_variables(named)).absolute() if named else default_path(os.environ)
    settings = list(call.settings)
    if root is not None:
        settings.append(f"workspace.root={Path(root).expanduser().absolute()}")
    if data_dir is not None:
        settings.append(f"storage.data_dir={Path(data_dir).expanduser().absolute()}")
    exists = path.exists() and not force
    if exists:
        _require_same(path, settings, " ".join(f"--root {shlex.quote(root)}" for root in (root,) if root is not None))
    own = [] if data_dir or path == default_path(os.environ) else settings_of_its_own(path)
    config = load(str(path), settings) if exists else load(os.devnull, [*own, *settings], {}).with_file(path)
    report = set_up(config, path, force=force)
    if as_json:
        print_json(report)
        return
    for name, place in (("config", report.config), ("data_dir", report.data_dir), ("root", report.root)):
        echo_folded(str(place), head="created " if report.created[name] else "kept    ")
    echo_folded(f"{report.sqlite} (schema v{report.schema_version})", head="opened  ")
    echo_folded(f"your own synonyms, if you like: {config.path(config.search.lexicon)}", head="hint    ")
    for step in _next_steps(config, report.root):
        echo_folded(step, head="next    ")


def _require_same(path: Path, settings: list[str], root: str) -> None:
    """Raises UsageError where the file that is there says something else: it is kept, so nothing is set up."""
    kept, asked = items(load(str(path))), items(load(str(path), settings))
    differing = [(key, value) for (key, value, _), (_, wanted, _) in zip(kept, asked, strict=True) if value != wanted]
    if differing:
        says = ", ".join(f"{key} = {toml_value(value)}" for key, value in differing)
        raise UsageError(
            f"nothing was changed: {path} is there already and says {says}",
            f"change it there; or for a second knowledge base: kb --config OTHER.toml init {root}".rstrip(),
        )


def _next_steps(config: Config, root: Path) -> Iterator[str]:
    """What is left to do before the first question."""
    kb = "kb" if config.file in (None, default_path(os.environ)) else f"kb --config {shlex.quote(str(config.file))}"
    wanted = configured_model(config)
    if any(status.name == wanted and not status.installed for status in model_statuses(config)):
        yield f"{kb} models install    (once: passages are found by meaning too)"
    yield f"{kb} ingest" if any(root.iterdir()) else f"put notes into {root}, then: {kb} ingest"
