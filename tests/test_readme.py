"""The README and the page on daily use do what they say: commands run, the list of directories is whole.

KB_TEST_MODEL_DIR names installed models; with them the session shown is compared line by line.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

from kb.cli.main import cli

CHECKOUT = Path(__file__).resolve().parents[1]
README = (CHECKOUT / "README.md").read_text(encoding="utf-8")
USING = (CHECKOUT / "docs/using.md").read_text(encoding="utf-8")
MODELS = Path(os.environ.get("KB_TEST_MODEL_DIR", Path.home() / ".cache/kb-test/models"))


def section(title: str) -> str:
    """The text below a heading."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", README + USING, re.MULTILINE | re.DOTALL)
    assert found, title
    return found[1]


def blocks(text: str, language: str) -> list[str]:
    """The code blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


class Home:
    """A home directory of its own, with `kb` on its PATH."""

    def __init__(self, path: Path) -> None:
        self.path = path
        programs = path / "programs"
        programs.mkdir(parents=True)
        (programs / "kb").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kb "$@"\n', encoding="utf-8")
        (programs / "kb").chmod(0o755)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("KB_", "XDG_"))}
        libraries = os.pathsep.join([str(CHECKOUT), *(path for path in sys.path if path)])
        self.env = kept | {
            "HOME": str(path),
            "PATH": f"{programs}:{os.environ.get('PATH', os.defpath)}",
            "PYTHONPATH": libraries,
            "VISUAL": "vim",
        }

    def run(self, script: str, **env: str) -> str:
        """What a shell prints for a script that must not fail."""
        done = subprocess.run(
            ["bash", "-e", "-c", script],
            env=self.env | env,
            cwd=self.path,
            text=True,
            capture_output=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home with two folders of notes, the first of them indexed as the README says."""
    made = Home(tmp_path / "home")
    for name in ("notes", "work"):
        (made.path / name / "projects").mkdir(parents=True)
        (made.path / name / "projects" / "a.md").write_text(f"# Budget\n\nThe budget of {name}.\n", encoding="utf-8")
    made.run("kb init ~/notes && kb ingest --no-embed")
    return made


def test_every_command_and_option_shown_exists() -> None:
    shown = [*blocks(README + USING, "sh"), *blocks(README, "console")]
    lines = [line for block in shown for line in block.splitlines()]
    called = [line for line in lines if re.match(r"(\$ )?kb ", line)]
    assert len(called) > 15
    for line in called:
        words = shlex.split(line.removeprefix("$ "), comments=True)
        command: click.Command = cli
        known = {"--help"}
        for word in words[1:]:
            known |= {name for option in command.params for name in option.opts}
            if isinstance(command, click.Group) and word in command.list_commands(click.Context(command)):
                found = command.get_command(click.Context(command), word)
                assert found is not None
                command = found
            elif word.startswith("--"):
                assert word in known | {name for option in command.params for name in option.opts}, line
        assert command is not cli, line


@pytest.mark.slow
def test_updating_works_as_described(home: Home) -> None:
    (script,) = blocks(section("Keeping it up to date"), "sh")
    shown = home.run(script)
    assert shown.count("1 unchanged") == 4


@pytest.mark.slow
def test_a_moved_vault_is_found_at_its_new_place(home: Home) -> None:
    (script,) = blocks(section("Moving and renaming a vault"), "sh")
    assert "0 new, 0 updated" in home.run(script)
    assert (
        home.run("kb search budget --mode lexical; kb open 1 --print")
        .splitlines()[-1]
        .endswith(f"{home.path}/knowledge/projects/a.md")
    )


@pytest.mark.slow
def test_several_vaults_stay_apart(home: Home) -> None:
    (script,) = blocks(section("Several vaults"), "sh")
    assert "The budget of work" in home.run(script)
    assert "The budget of notes" in home.run("kb search budget")
    assert (
        home.run("mv ~/.config/kb/vaults/work.removed ~/.config/kb/vaults/work; KB_VAULT=work kb list docs").count("\n")
        == 1
    )


@pytest.mark.slow
def test_uninstalling_leaves_the_notes_and_nothing_else(home: Home) -> None:
    home.run("kb --debug search budget; kb ask budget --provider extractive || true")
    kept = sorted(path for path in home.path.rglob("*") if {"notes", "work"} & {*path.relative_to(home.path).parts})
    (script,) = blocks(section("Where things are, and uninstalling"), "sh")
    home.run(script)
    left = sorted(path for path in home.path.rglob("*") if "programs" not in path.parts and path.is_file())
    assert left == [path for path in kept if path.is_file()]


@pytest.mark.slow
def test_the_line_for_cron_keeps_the_index_up_to_date(home: Home) -> None:
    (line,) = blocks(section("Keeping it up to date"), "crontab")
    every, command = line.split()[:5], " ".join(line.split()[5:])
    assert every == ["*/10", "*", "*", "*", "*"]
    installed = home.path / ".venvs/kb/bin"
    installed.mkdir(parents=True)
    (installed / "kb").symlink_to(home.path / "programs/kb")
    (home.path / "notes/late.md").write_text("# Late\n\nA late budget.\n", encoding="utf-8")
    bare = f'env -i HOME="$HOME" PYTHONPATH="$PYTHONPATH" sh -c {shlex.quote(command)}'
    assert home.run(bare).startswith("1 new, ")


def test_the_three_commands_index_the_notes(home: Home) -> None:
    (block,) = [block for block in blocks(section("Install"), "sh") if "kb init" in block]
    lines = [line.split("#")[0].strip() for line in block.splitlines()]
    assert lines == ["kb init ~/notes", "kb models install", "kb ingest"]
    shutil.rmtree(home.path / ".local")
    shutil.rmtree(home.path / ".config")
    settings = {"KB_STORAGE_MODEL_DIR": str(MODELS)} if _has_models() else {"KB_MODELS_EMBEDDING_PROVIDER": "none"}
    run = [line for line in lines if _has_models() or line != "kb models install"]
    assert "1 new, " in home.run("\n".join(run), **settings)


def test_each_extra_and_program_that_installing_names_exists() -> None:
    extras = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    named = {extra for listed in re.findall(r"pip install '\.\[([a-z,]+)\]'", README) for extra in listed.split(",")}
    assert named == {"pdf", "office", "ocr", "audio", "cluster", "gguf", "code", "mcp", "ui", "web"}
    assert named <= set(extras)
    for script in blocks(section("Install"), "sh"):
        assert subprocess.run(["bash", "-n", "-c", script], check=False).returncode == 0, script
        for program in re.findall(r"^\./(\S+)", script, re.MULTILINE):
            assert os.access(CHECKOUT / program, os.X_OK), program


def _has_models() -> bool:
    return (MODELS / "kb-encoder-1").is_dir()


@pytest.mark.skipif(not (MODELS / "kb-encoder-1").is_dir(), reason=f"no models in {MODELS}")
def test_the_session_shown_is_what_is_seen(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    shutil.copytree(CHECKOUT / "fixtures/vault", home.path / "fixtures/vault")
    (session,) = blocks(section("What it looks like"), "console")
    for call in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]:
        command, _, expected = call.partition("\n")
        lines = [line for line in expected.splitlines() if line and not line.startswith("#")]
        seen = [
            steady(line)
            for line in home.run(f"{command} || test $? -eq 1", KB_STORAGE_MODEL_DIR=str(MODELS)).splitlines()
        ]
        wanted = [steady(line) for line in lines if line != "…"]
        assert wanted == [line for line in seen if line in wanted], f"{command}: {seen}"
        if "…" not in lines:
            assert wanted == seen, f"{command}: {seen}"


def steady(line: str) -> str:
    """A line without what differs from run to run and from processor to processor."""
    line = re.sub(r"\d+(\.\d+)? (ms|s)\b", "<time>", line)
    line = re.sub(r"\bfts-[0-9a-f]{8}/kiwi-\S+", "<index>", line)
    return re.sub(r"(?<![\d.])[01]\.\d\d(?!\d)", "<score>", line)
