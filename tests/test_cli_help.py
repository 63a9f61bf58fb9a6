"""Every command and option says what it is for, with examples; shells complete them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest
from conftest import run_kb

from kb.cli.main import COMMANDS, cli


def commands(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None, name
            yield from commands(child, (*path, name))


ALL = list(commands(cli))
ids = [" ".join(path) or "kb" for path, _ in ALL]


def test_there_are_commands() -> None:
    assert {path[0] for path, _ in ALL if path} == set(COMMANDS)


@pytest.mark.parametrize(("path", "command"), ALL, ids=ids)
def test_every_command_and_option_has_help(path: tuple[str, ...], command: click.Command) -> None:
    assert command.help is not None
    assert command.help.split("\n")[0].rstrip(".").strip()
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help, f"{option.name} of kb {' '.join(path)}"
            assert option.help.endswith((".", "].")), option.help


@pytest.mark.parametrize(("path", "command"), ALL, ids=ids)
def test_help_is_shown_with_examples_that_name_the_command(path: tuple[str, ...], command: click.Command) -> None:
    ran = run_kb(*path, "--help")
    assert (ran.code, ran.stderr) == (0, "")
    assert run_kb(*path, "-h").stdout == ran.stdout
    if not isinstance(command, click.Group):
        examples = ran.stdout.partition("Examples:\n")[2]
        assert " ".join(("kb", *path)) in re.sub(r"--config \S+ ", "", examples)
    assert all(len(line) <= 100 for line in ran.stdout.splitlines())


def test_the_options_of_the_examples_exist() -> None:
    for path, command in ALL:
        examples = (command.epilog or "").partition("Examples:")[2]
        known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
        known |= {"--help", "--config", "--set"}
        for line in examples.splitlines():
            ours = re.split(r"[|;>]|   ", line.strip())[0]
            if ours.startswith("kb "):
                assert set(re.findall(r"(?<=\s)--[a-z-]+", ours)) <= known, f"kb {' '.join(path)}: {line}"


def test_without_a_command_help_is_shown() -> None:
    ran = run_kb()
    assert ran.code == 2
    assert "Usage: kb" in ran.stderr
    assert all(name in ran.stderr for name in COMMANDS)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str) -> None:
    ran = run_kb("completion", shell)
    assert (ran.code, ran.stderr) == (0, "")
    assert f"_KB_COMPLETE={shell}_complete" in ran.stdout
    if shutil.which(shell):
        assert subprocess.run([shell, "-n"], input=ran.stdout, text=True, check=False).returncode == 0


def test_a_shell_gets_its_completions() -> None:
    env = os.environ | {"_KB_COMPLETE": "bash_complete", "COMP_WORDS": "kb in", "COMP_CWORD": "1"}
    env["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run([sys.executable, "-m", "kb"], env=env, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    names = ["init", "ingest", "ingest-file", "inspect", "index"]
    assert done.stdout.splitlines() == [f"plain,{name}" for name in names]
