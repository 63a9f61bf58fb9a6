"""Every command and option says what it is for, with examples; shells complete them."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import pytest
from conftest import NOTES, Vault, kb_in, make_vault, run_kb

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
    if path:
        examples = ran.stdout.partition("Examples:\n")[2]
        assert " ".join(("kb", *path)) in re.sub(r"--config \S+ ", "", examples)
    assert all(len(line) <= 100 for line in ran.stdout.splitlines())


# Stands for kb in a shell: keeps what is on its standard input and its arguments, one after the other.
RECORDER = """
kb() {
  { printf '%s\\0' "$(if [ -t 0 ]; then :; else cat; fi)"; printf '%s\\0' "$@"; printf '\\n\\0'; } >> "$RECORD"
}
curl() { echo '# a page'; }
pbpaste() { echo 'x = 1'; }
"""


def examples_of(*path: str, columns: int) -> list[str]:
    """The examples of a command's help, each as it would be copied from a terminal of that width."""
    shown = run_kb(*path, "--help", env={"COLUMNS": str(columns)}).stdout
    lines = shown.partition("Examples:\n" if path else "Korean and English.\n\n")[2].partition("\n\n")[0]
    return re.sub(r"\\\n *", "", lines).splitlines()


def pasted(examples: Sequence[Sequence[str]], home: Path) -> list[list[tuple[str, list[str]]]]:
    """What kb gets of lines that are pasted into a shell: its standard input and its arguments, for each call.

    Each of the examples has a subshell of one shell: to start a shell for each takes longer than all they do.
    """
    for folder in ("sets/cranfield", "sets/squad2", ".config/fish/completions"):
        (home / folder).mkdir(parents=True, exist_ok=True)
    (home / "question.txt").write_text("gateway retries", encoding="utf-8")
    records = [home / f"record-{number}" for number in range(len(examples))]
    for record in records:
        record.write_bytes(b"")
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "EDITOR": "true", "LC_ALL": "C.UTF-8"}
    script = [RECORDER]
    for record, lines in zip(records, examples, strict=True):
        script += ["(", f"RECORD={shlex.quote(str(record))}", *lines, ")"]
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        cwd=home,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "syntax error" not in done.stderr
    assert "command not found" not in re.sub(r"(jq|pbpaste): command not found", "", done.stderr), done.stderr
    calls = [record.read_bytes().decode("utf-8").split("\0\n\0")[:-1] for record in records]
    return [[(call.split("\0")[0], call.split("\0")[1:]) for call in each] for each in calls]


def require_parsed(args: list[str]) -> None:
    """Raises click's error for what a command would not take; runs nothing."""
    context = cli.make_context("kb", list(args))
    while isinstance(context.command, click.Group) and (rest := [*context._protected_args, *context.args]):
        name, command, rest = context.command.resolve_command(context, rest)
        assert command is not None
        context = command.make_context(name, rest, parent=context)


@pytest.mark.parametrize("columns", [60, 100])
def test_every_example_can_be_pasted_into_a_shell_with_its_remark(columns: int, tmp_path: Path) -> None:
    examples = [examples_of(*path, columns=columns) for path, _ in ALL]
    for (path, _), lines, calls in zip(ALL, examples, pasted(examples, tmp_path), strict=True):
        assert len(calls) >= sum(not line.strip().startswith("#") for line in lines) > 0, path
        for _stdin, args in calls:
            assert "#" not in args, args
            require_parsed(args)
        remarks = {word for line in lines for word in re.findall(r"(?:^| )# (.*)", line)}
        assert not remarks & {" ".join(args) for _stdin, args in calls}


# Ids and names of what was made earlier, elsewhere: they are not there, and that is what is said.
ELSEWHERE = ("ret_4a8b", "3f9c02ab", "3f9a2c", "9b4a8c1e", "parse_query", "Foo::bar", "점검")
# What changes no more than an answer kept, needs no terminal and no library.
HARMLESS = (
    *("search", "ask", "answers", "verify", "fetch", "open", "list", "inspect", "schema", "config", "audit"),
    *("completion",),
)


def test_the_examples_that_only_read_do_what_they_say(tmp_path: Path) -> None:
    notes = {
        "notes/kb.md": "# kb\n" + "a line on retry backoff\n" * 40,
        "big.md": "# Big\n" + "gateway retries\n" * 900,
    }
    vault = make_vault(tmp_path, {**NOTES, **notes})
    kb = kb_in(vault)
    assert kb("ingest", "--no-embed").code == 0
    ran = []
    harmless = [path for path, command in ALL if path and path[0] in HARMLESS and not isinstance(command, click.Group)]
    for calls in pasted([examples_of(*path, columns=100) for path in harmless], tmp_path):
        for stdin, args in calls:
            if args[0] not in HARMLESS:
                continue
            args += ["--print"] * (args[0] == "open" and "--print" not in args)
            kb("search", "gateway retries", "--k", "5")
            done = kb("--set", "models.llm.provider=extractive", *args, stdin=stdin, env={"VISUAL": "vim"})
            ran.append(args)
            if done.code not in (0, 1):
                assert set(ELSEWHERE) & set(args), (args, done)
                assert re.search('(error: |message":")(no|nothing) ', done.stderr), (args, done)
    assert len(ran) > 40


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("find", "search"),
        ("serach", "search"),
        ("version", "--version"),
        ("stats", "status"),
        ("lst", "list"),
        ("models instal", "install"),
        ("help serach", "search"),
    ],
)
def test_a_command_that_is_none_is_answered_with_the_one_that_is_meant(typed: str, meant: str) -> None:
    ran = run_kb(*typed.split())
    assert (ran.code, ran.stdout) == (2, "")
    assert f"Did you mean {meant}?" in ran.stderr


def test_a_word_that_is_near_no_command_of_a_group_is_answered_with_all_of_them() -> None:
    assert "no command 'xyz'. There are: docs, properties, sources, symbols, tags." in run_kb("list", "xyz").stderr


@pytest.mark.parametrize("words", [(), ("search",), ("models", "install")], ids=" ".join)
def test_kb_help_shows_what_help_shows(words: tuple[str, ...]) -> None:
    ran = run_kb("help", *words)
    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout == run_kb(*words, "--help").stdout
    assert "kb search has no commands" in run_kb("help", "search", "x").stderr


@pytest.mark.parametrize("command", ["search", "ask", "list docs", "list symbols", "sql"])
def test_filters_stand_under_headings_of_their_own(command: str) -> None:
    shown = run_kb(*command.split(), "--help").stdout
    sections = re.finditer(r"(?m)^([A-Z][a-z ]+):\n((?:  .*\n)+)", shown)
    under = {each[1]: set(re.findall(r"(?m)^  (--[a-z-]+)", each[2])) for each in sections}
    assert {"--tag", "--lang", "--path-glob", "--dated"} <= under["Filters"]
    assert under["Filters for code"] == {"--symbol", "--kind", "--code-lang", "--repo"}
    assert "--json" in under["Output"]
    assert not {"--tag", "--repo", "--json"} & under["Options"]


@pytest.mark.parametrize("short", ["-k", "-n", "--limit"])
def test_short_options_count_hits_and_rows(short: str, vault: Vault) -> None:
    kb = kb_in(vault)
    assert kb("search", "gateway", short, "2").stdout == kb("search", "gateway", "--k", "2").stdout
    assert kb("list", "docs", "-n", "2").stdout.count("\n") == 2


def test_errors_of_options_are_one_line_in_plain_words(vault: Vault) -> None:
    kb = kb_in(vault)
    assert "'abc' is not a valid whole number" in kb("search", "x", "--k", "abc").stderr
    assert "Choose from: vectors, index, answers, everything\n" in kb("reset").stderr


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


def runs_completion() -> bool:
    """Whether there is a bash as new as click's completion needs (4.4)."""
    asked = "(( BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404 ))"
    return shutil.which("bash") is not None and subprocess.run(["bash", "-c", asked], check=False).returncode == 0


needs_bash = pytest.mark.skipif(not runs_completion(), reason="no bash from 4.4 on")


def completed(vault: Vault, line: str) -> list[str]:
    """What bash would put in for the last word of a line, which may be empty."""
    program = vault.config.parent / "programs/kb"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kb "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    words = " ".join(shlex.quote(word) for word in f"kb --config {vault.config} {line}".split(" "))
    script = run_kb("completion", "bash").stdout + (
        f"COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); "
        'complete() { :; }; compopt() { :; }; _kb_completion kb; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    env = os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
    env["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(["bash", "-c", script], env=env, text=True, capture_output=True, check=False)
    assert done.stderr == ""
    return done.stdout.strip().splitlines()


@needs_bash
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("search --tag 회", ["회의"]),
        ("search --lang ", ["en", "ko"]),
        ("search --media mark", ["markdown"]),
        ("list docs --path-glob pro", ["projects/\\*\\*", "projects/gateway/\\*\\*"]),
        ("fetch chu", ["chunking.md"]),
        ("forget --tag 회", ["회의"]),
        ("forget --path-glob generated", ["generated/\\*\\*"]),
        ("forget chu", ["chunking.md"]),
        ("inspect doc projects/gateway/m", ["projects/gateway/meeting\\ \\#2.md"]),
        ("inspect doc gen", ["generated/summary.md"]),
        ("models install kb-", ["kb-encoder-1"]),
        ("--set search.default_", ["search.default_k="]),
        ("schema --wire search_h", ["search_hit.v1"]),
        ("help sea", ["search"]),
        ("search --mode h", ["hybrid"]),
    ],
)
def test_a_shell_is_offered_values(line: str, offered: list[str], vault: Vault) -> None:
    assert sorted(completed(vault, line)) == offered


@needs_bash
def test_a_shell_is_offered_what_was_shown_and_asked(fresh_vault: Vault) -> None:
    kb = kb_in(fresh_vault)
    assert kb("ingest", "--no-embed").code == 0
    kb("ask", "정전이 나면 배터리가 얼마나 버티나?", "--provider", "extractive", "--session", "점검")
    [answer] = kb("answers", "list", "--json").lines
    assert completed(fresh_vault, "answers show ret_") == [answer["trace_id"]]
    assert completed(fresh_vault, "ask --session 점") == ["점검"]
    assert completed(fresh_vault, "sessions show ") == ["점검"]
    assert completed(fresh_vault, "open ")[:2] == ["1", "projects/gateway/log.md\\#L20"]


@needs_bash
def test_a_shell_is_offered_nothing_and_no_error_where_nothing_is_indexed(fresh_vault: Vault) -> None:
    assert completed(fresh_vault, "search --tag ") == []
    assert completed(fresh_vault, "open rec") == []
