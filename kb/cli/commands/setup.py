"""`kb init`, `config`, `models`, `trust`, `completion` and `help`: what is set up once, and how kb is called."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from kb.cli.call import Call, CommandGroup, HelpContext, json_option, pass_call
from kb.cli.output.printing import confirmed, echo_fields, echo_folded, echo_result, echo_rows, print_json
from kb.cli.output.progress import interruptible, show_progress
from kb.cli.projects import project_above
from kb.config import Config, default_path, expand_variables, load
from kb.config.projects import distrust, is_trusted, project_file, read_project, trust, trusted_projects
from kb.config.vaults import call_of
from kb.config.writing import items, source_table, to_toml, toml_value
from kb.domain.results.upkeep import ConfigReport, ConfigValue, ModelStatus
from kb.domain.text import plain_line
from kb.errors import NotFound, UsageError
from kb.operations.admin.setup import (
    configured_installs,
    install_models,
    model_statuses,
    set_up,
    set_up_project,
    settings_of_its_own,
    verify_models,
)
from kb.operations.embedding.plan import configured_model
from kb.private import require_writable


@click.command(
    "init",
    epilog="""\b
Examples:
  kb init ~/notes
  kb --config ./kb.toml init .             # a knowledge base of its own
  kb init --project                        # the same for whoever works in this folder, in .kb/config.toml
""",
)
@click.argument("folder", metavar="[DIR]", required=False)
@click.option("--root", metavar="DIR", help="The folder with your notes, as DIR alone [default: ~/KnowledgeBase].")
@click.option("--data-dir", metavar="DIR", help="Folder for the data of kb [default: ~/.local/share/kb].")
@click.option("--project", is_flag=True, help="Write .kb/config.toml into this folder, or DIR, and trust it.")
@click.option("--force", is_flag=True, help="Write the configuration file again, with defaults; touch nothing else.")
@json_option("Print init_report.v1.")
@pass_call
def init_command(
    call: Call, folder: str | None, root: str | None, data_dir: str | None, project: bool, force: bool, as_json: bool
) -> None:
    """Create the configuration, the data directory and the workspace folder; keep what is there."""
    if folder is not None and root is not None:
        raise UsageError("the folder is named twice", f"leave out one of {folder} and --root {root}")
    root = root if folder is None else folder
    if project:
        if data_dir or force or as_json or call.chosen_by:
            raise UsageError("--project takes a folder alone", "its data is below that of your own knowledge base")
        file = set_up_project(os.path.abspath(os.path.expanduser(root or ".")), os.environ)
        echo_folded(plain_line(str(file)), head="created and trusted ")
        echo_folded("say there what is left out, then: kb trust; kb ingest", head="next    ")
        return
    named = call.named
    path = Path(expand_variables(named)).absolute() if named else default_path(os.environ)
    init_at(path, call.settings, root, data_dir, force=force, as_json=as_json)


def init_at(
    path: Path,
    given: Sequence[str],
    root: str | None,
    data_dir: str | None,
    *,
    vault: str | None = None,
    force: bool = False,
    as_json: bool,
) -> None:
    """Sets up the knowledge base of a configuration file, and prints what was made. Raises: UsageError, StoreError."""
    settings = list(given)
    if root is not None:
        settings.append(f"workspace.root={Path(root).expanduser().absolute()}")
    if data_dir is not None:
        settings.append(f"storage.data_dir={Path(data_dir).expanduser().absolute()}")
    if path.exists() and not force:
        _require_same(path, settings, "" if root is None else shlex.quote(root))
        config = load(str(path), settings)
    else:
        own = [] if data_dir or path == default_path(os.environ) else settings_of_its_own(path, vault)
        config = load(os.devnull, [*own, *settings], {})
    config = config.with_file(path)
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
    """Raises UsageError if the file at `path` has other values than `settings`: the file is kept and nothing set up."""
    kept, asked = items(load(str(path))), items(load(str(path), settings))
    differing = [(key, value) for (key, value, _), (_, wanted, _) in zip(kept, asked, strict=True) if value != wanted]
    if differing:
        says = ", ".join(f"{key} = {toml_value(value)}" for key, value in differing)
        raise UsageError(
            f"nothing was changed: {path} is there already and says {says}",
            f"change it there; or for a second knowledge base: kb --config OTHER.toml init {root}".rstrip(),
        )


def _next_steps(config: Config, root: Path) -> Iterator[str]:
    """The commands to run before the first question."""
    kb = call_of(config.file, os.environ)
    wanted = configured_model(config)
    if any(status.name == wanted and not status.installed for status in model_statuses(config)):
        yield f"{kb} models install    (once: passages are found by meaning too)"
    yield f"{kb} ingest" if any(root.iterdir()) else f"put notes into {root}, then: {kb} ingest"


@click.group("config", cls=CommandGroup)
def config_command() -> None:
    """Show the configuration in force: defaults, then file, then KB_<SECTION>_<KEY>, then --set."""


@config_command.command("show", epilog="\b\nExamples:\n  kb config show\n  KB_SEARCH_DEFAULT_K=3 kb config show\n")
@json_option("Print config_report.v1.")
@pass_call
def config_show_command(call: Call, as_json: bool) -> None:
    """Print every key as TOML; a comment says where a value that is not the default came from."""
    _echo_config(call.config, as_json, to_toml(call.config, with_origins=True))


@config_command.command("path", epilog='\b\nExamples:\n  $EDITOR "$(kb config path)"\n')
@json_option("Print config_report.v1.")
@pass_call
def config_path_command(call: Call, as_json: bool) -> None:
    """Print the path of the configuration file, whether it exists or not."""
    _echo_config(call.config, as_json, f"{call.config.file or default_path(os.environ)}\n")


def _echo_config(config: Config, as_json: bool, text: str) -> None:
    """Prints the text, or the whole configuration as JSON."""
    values = {key: ConfigValue(value, origin) for key, value, origin in items(config)}
    echo_result(ConfigReport(config.file, values), as_json, lambda report: click.echo(text, nl=False))


@click.group("models", cls=CommandGroup)
def models_command() -> None:
    """Install and check models. Searches and answers never download anything."""


@models_command.command(
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
def models_install_command(call: Call, names: tuple[str, ...], force: bool, as_json: bool) -> None:
    """Install models: download once, check pinned checksums, resume an interrupted download."""
    wanted = names or configured_installs(call.config)
    if not wanted:
        provider = call.config.models_embedding.provider
        raise UsageError(f"nothing to install (models.embedding.provider = {provider})", "name one: kb models list")
    with interruptible(show_progress()) as handle:
        done = install_models(call.config, wanted, force=force, handle=handle)
    _show_models([status for status in model_statuses(call.config) if status.name in done], as_json)


@models_command.command("list", epilog="\b\nExamples:\n  kb models list\n")
@json_option("Print one model_status.v1 per line.")
@pass_call
def models_list_command(call: Call, as_json: bool) -> None:
    """List the models kb can install, and whether they are there."""
    _show_models(model_statuses(call.config), as_json)


@models_command.command("verify", epilog="\b\nExamples:\n  kb models verify\n")
@click.argument("names", nargs=-1)
@json_option("Print one model_status.v1 per line.")
@pass_call
def models_verify_command(call: Call, names: tuple[str, ...], as_json: bool) -> int:
    """Compare every file of the installed models with its checksum. Exit code 3 when one differs."""
    with interruptible(show_progress()) as handle:
        checked = verify_models(call.config, names, handle)
    _show_models(checked, as_json)
    return 3 if any(status.problem for status in checked) else 0


def _show_models(statuses: Sequence[ModelStatus], as_json: bool) -> None:
    echo_rows(statuses, as_json, _show_model)


def _show_model(status: ModelStatus) -> None:
    mark = "✗" if status.problem else "✓" if status.installed else " "
    used = status.used_as or ("for tests: too small to answer well" if status.purpose == "language" else "")
    kind = f"{status.dimensions} d" if status.dimensions else status.purpose or ""
    head = f"{mark} {status.name:<22} {kind:>8} {f'{status.size_bytes / 1e6:.0f} MB':>7}  "
    echo_folded(f"{status.licence}{f'  ({used})' if used else ''}", head=head)
    if status.problem:
        echo_folded(plain_line(status.problem), head="    ")


@click.command(
    "help",
    epilog="""\b
Examples:
  kb help search            # as kb search --help
  kb help models install
""",
)
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def help_command(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of kb or of one of its commands, as --help does."""
    shown = ctx.find_root()
    for word in words:
        group = shown.command
        if not isinstance(group, click.Group):
            ctx.fail(f"{shown.command_path} has no commands.")
        name, found, _ = group.resolve_command(shown, [word])
        assert found is not None  # it fails where there is none
        shown = HelpContext(found, parent=shown, info_name=name)
    click.echo(shown.get_help(), color=ctx.color)


@click.command(
    "completion",
    epilog="""\b
Examples:
  kb completion bash >> ~/.bashrc
  kb completion zsh >> ~/.zshrc
  kb completion fish > ~/.config/fish/completions/kb.fish
""",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell."""
    complete = get_completion_class(shell)
    assert complete is not None  # click has one for each choice
    click.echo(complete(ctx.find_root().command, {}, "kb", "_KB_COMPLETE").source())


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
