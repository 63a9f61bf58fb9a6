"""Errors: one tree, one code each, and what a user, a program and a log see of them."""

from __future__ import annotations

import inspect
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Kb, Vault, cpu_limited, kb_in, run_kb

from kb import errors
from kb.errors import KbError
from kb.wire.schemas import validate


def subclasses(cls: type[KbError]) -> Iterator[type[KbError]]:
    yield cls
    for child in cls.__subclasses__():
        yield from subclasses(child)


TREE = [cls for cls in subclasses(KbError) if cls.__module__ == errors.__name__]


def test_every_code_is_there_once_and_drawn_in_the_tree() -> None:
    assert len({cls.code for cls in TREE}) == len(TREE)
    drawn = dict(re.findall(r"^[ │├└─]*(\w+) +([a-z_]+)(?:  .*)?$", errors.__doc__ or "", re.MULTILINE))
    assert drawn == {cls.__name__: cls.code for cls in TREE}


def test_no_error_stands_outside_the_tree() -> None:
    assert {cls.__module__ for cls in subclasses(KbError)} == {"kb.errors"}
    assert all(inspect.getdoc(cls) for cls in TREE)


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (["search", "gateway"], 0, ""),
        (["search", "platypus"], 1, ""),
        (["list", "docs", "--lang", "fr"], 1, 'no document has text in the language "fr"; there are en, ko'),
        (["doctor"], 0, ""),  # no model is installed here, and none was asked for
        (["--set", "workspace.root=/nowhere", "doctor"], 3, ""),
        (["search"], 2, "no question"),
        (["search", "  "], 2, "no question"),
        (["search", "'AND'"], 2, "FTS5"),
        (["search", "x", "--k", "0"], 2, "--k"),
        (["search", "x", "--k", "many"], 2, "--k"),
        (["search", "x", "--mode", "magic"], 2, "magic"),
        (["search", "x", "--trust-min", "holy"], 2, "holy"),
        (["search", "x", "--nope"], 2, "--nope"),
        (["inspect", "doc", "zzzz"], 2, "zzzz"),
        (["inspect", "chunk", "not hex"], 2, "not a chunk id"),
        (["inspect", "chunk", "ffffffffffffffff"], 2, "ffffffffffffffff"),
        (["inspect", "doc", ""], 2, "more than one"),
        (["index", "--model", "x"], 2, "goes with --embeddings"),
        (["schema", "--wire", "nope.v1"], 2, "nope.v1"),
        (["completion", "tcsh"], 2, "tcsh"),
        (["ingest", "/usr"], 2, "not below"),
        (["--set", "search.default_k=0", "search", "x"], 2, "between 1 and 1000"),
        (["--set", "nope=1", "config", "show"], 2, "unknown key nope"),
    ],
)
def test_exit_codes_and_where_errors_go(args: list[str], code: int, says: str, kb: Kb) -> None:
    ran = kb(*args)
    assert ran.code == code
    if code == 2:
        assert ran.stdout == ""
        first, *rest = ran.stderr.splitlines()
        assert first.startswith("error: ")
        assert says in first
        assert all(line.startswith("  hint: ") for line in rest)
        assert rest, "an error says what to do about it"
    else:
        assert ran.stderr.strip() == says


def test_an_error_about_thousands_of_arguments_is_short(kb: Kb) -> None:
    ran = kb("inspect", "doc", *map(str, range(20_000)))
    assert (ran.code, ran.stdout) == (2, "")
    assert "unexpected extra arguments" in ran.stderr
    assert "…" in ran.stderr
    assert len(ran.stderr) < 600


def test_an_unhealthy_knowledge_base_is_exit_3(fresh_vault: Vault) -> None:
    ran = kb_in(fresh_vault)("doctor")
    assert (ran.code, ran.stderr) == (3, "")
    assert "✗ sqlite_open" in ran.stdout
    assert "hint: " in ran.stdout
    *_, summary = ran.stdout.splitlines()
    assert re.fullmatch(r"\d+ checks failed(; \d+ optional parts? (is|are) not here \(–\))?\.", summary)


def test_before_the_first_ingest(fresh_vault: Vault) -> None:
    ran = kb_in(fresh_vault)("search", "x", "--json")
    assert ran.code == 2
    assert json.loads(ran.stderr)["code"] == "not_indexed"


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["search", "'AND'", "--json"], "query_syntax"),
        (["search", "--json", "--k", "0", "x"], "invalid_argument"),
        (["inspect", "doc", "zzzz", "--json"], "not_found"),
        (["inspect", "chunk", "zz", "--json"], "invalid_id"),
        (["--config", "/nowhere.toml", "list", "docs", "--json"], "config_not_found"),
        (["--set", "search.default_k=no", "doctor", "--json"], "config_invalid"),
        (["--config", "/nowhere.toml", "search", "--bulk"], "config_not_found"),
        (["search", "x", "--bulk"], "invalid_argument"),
        (["search", "--bulk", "--lang", "ko"], "invalid_argument"),
    ],
)
def test_with_json_an_error_is_one_line_of_json(args: list[str], code: str, kb: Kb) -> None:
    ran = kb(*args)
    assert (ran.code, ran.stdout) == (2, "")
    (line,) = ran.stderr.splitlines()
    error = json.loads(line)
    validate("error.v1", error)
    assert error["code"] == code
    assert error["hint"]


@pytest.mark.parametrize("text", ["a = [", "schema_version = 9", 'a.b.c = "x"\n' + ".".join("k" * 20) + " = 1"])
def test_a_configuration_that_cannot_be_read_is_named_for_programs(text: str, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    error = json.loads(run_kb("--config", str(file), "list", "docs", "--json").stderr)
    assert (error["code"], error["details"]) == ("config_invalid", {"path": str(file)})


def test_a_setting_that_cannot_be_is_named_for_programs(kb: Kb) -> None:
    for flag in ("search.default_k=no", "chunking.overlap_tokens=900", "chunking.target_tokens=x"):
        ran = kb("--set", flag, "list", "docs", "--json")
        assert json.loads(ran.stderr)["details"] == {"key": flag.partition("=")[0]}


def test_verbose_shows_what_caused_an_error(kb: Kb) -> None:
    assert "caused by" not in kb("search", "'AND'").stderr
    assert "  caused by: SQLError: fts5" in kb("--verbose", "search", "'AND'").stderr


def test_messages_do_not_carry_control_characters(kb: Kb) -> None:
    for ran in (kb("inspect", "doc", "a\x1b[31m\nerror: fake"), kb("inspect", "doc", "\udcff\x9b")):
        assert ran.code == 2
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", ran.stderr)
        assert len(ran.stderr.splitlines()) == 2


def kb_process(*args: str | bytes, vault: Vault, stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[bytes]:
    """Runs kb on the vault in a process of its own."""
    command = [sys.executable, "-m", "kb", "--config", str(vault.config), *args]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.run(cpu_limited(command), env=env, stdout=stdout, stderr=subprocess.PIPE, check=False)


def test_debug_writes_a_log_with_statements_and_tracebacks(vault: Vault, tmp_path: Path) -> None:
    done = kb_process("--set", f"storage.log_dir={tmp_path / 'logs'}", "--debug", "search", "'AND'", vault=vault)
    assert done.returncode == 2
    (log,) = (tmp_path / "logs").glob("kb-*.log")
    assert str(log) in done.stderr.decode("utf-8")
    written = log.read_text(encoding="utf-8")
    assert re.search(r"DEBUG sql \d+\.\d\d ms SELECT", written)
    assert "Traceback (most recent call last)" in written
    assert "Traceback" not in done.stderr.decode("utf-8")


def test_a_debug_log_that_cannot_be_written_is_an_error(vault: Vault, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = kb_process("--set", f"storage.log_dir={tmp_path / 'file'}", "--debug", "list", "docs", vault=vault)
    assert done.returncode == 2
    assert done.stderr.startswith(b"error: ")
    assert b"Traceback" not in done.stderr


def test_a_question_that_is_no_utf8_is_answered(vault: Vault) -> None:
    done = kb_process("search", b"platypus \xff", vault=vault)
    assert (done.returncode, done.stderr) == (1, b"")
    done = kb_process("search", b"gateway \xff", "--json", vault=vault)
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["query"] == "gateway \udcff"


def test_a_reader_that_goes_away_is_no_error(vault: Vault) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        done = kb_process("list", "docs", vault=vault, stdout=write_end)
    finally:
        os.close(write_end)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_document_is_named_by_its_path_from_where_one_stands(
    vault: Vault, kb: Kb, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = vault.root
    whole = kb("inspect", "doc", "projects/gateway/log.md", "--json").json["document"]
    monkeypatch.chdir(root / "projects")
    for typed in ("gateway/log.md", "./gateway/../gateway/log.md", str(root / "projects/gateway/log.md")):
        assert kb("inspect", "doc", typed, "--json").json["document"] == whole
    gone = str(root / "nowhere.md")
    assert f"no document '{gone}'" in kb("inspect", "doc", gone).stderr


def test_an_ingest_that_was_stopped_ends_with_130(fresh_vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    from kb.operations.ingest import ingest

    scan = ingest.files_to_read

    def interrupted(run: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        return scan(run)

    monkeypatch.setattr(ingest, "files_to_read", interrupted)
    ran = kb_in(fresh_vault)("ingest", "--no-embed")
    assert (ran.code, ran.stdout.startswith("stopped: ")) == (130, True)


def test_ctrl_c_ends_a_command_with_130(kb: Kb, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("kb.cli.commands.search.search", interrupted)
    ran = kb("search", "gateway")
    assert (ran.code, ran.stdout, ran.stderr) == (130, "", "aborted\n")
