"""What agents are told of kb: printed, or written into their configuration after it was shown."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from pathlib import Path

import pytest
from conftest import Kb, Vault, run_kb

from kb.mcp.clients import CLIENTS, Client, client_file, launch

pytest.importorskip("mcp", reason="the extra mcp is not installed")


def entry_of(client: str, text: str) -> dict[str, object]:
    held = tomllib.loads(text) if client == "codex" else json.loads(text)
    for key in ("mcpServers", "servers", "mcp_servers", "context_servers"):
        if key in held:
            found: dict[str, object] = held[key]["kb"]
            return found
    raise AssertionError(text)


@pytest.mark.parametrize("client", CLIENTS)
def test_what_is_printed_starts_this_installation(client: Client, kb: Kb, vault: Vault) -> None:
    ran = kb("mcp", "--print-config", client)
    assert ran.code == 0
    entry = entry_of(client, ran.stdout)
    start = launch(vault.config, allow_write=False)
    assert (entry["command"], entry["args"]) == (start.command, list(start.args))
    assert os.path.isabs(start.command)
    assert start.args[-3:] == ("--config", str(vault.config), "mcp")


@pytest.mark.parametrize("client", CLIENTS)
def test_it_is_written_once_and_all_else_stays(client: Client, kb: Kb) -> None:
    path = client_file(client)
    path.parent.mkdir(parents=True, exist_ok=True)
    other = (
        '[mcp_servers.other]\ncommand = "x"\n' if client == "codex" else '{"theme": "dark", "mcpServers": {"o": {}}}'
    )
    path.write_text(other)
    path.chmod(0o640)
    ran = kb("mcp", "install", client, "--yes")
    assert (ran.code, "+" in ran.stdout) == (0, True)
    text = path.read_text()
    assert entry_of_any(text, client)
    held = tomllib.loads(text) if client == "codex" else json.loads(text)
    assert ("other" in held["mcp_servers"]) if client == "codex" else (held["theme"], "o" in held["mcpServers"])
    assert path.stat().st_mode & 0o777 == 0o640
    again = kb("mcp", "install", client, "--yes")
    assert (again.code, "has it already" in again.stdout) == (0, True)
    assert path.read_text() == text


def entry_of_any(text: str, client: str) -> bool:
    held = tomllib.loads(text) if client == "codex" else json.loads(text)
    return any("kb" in value for value in held.values() if isinstance(value, dict))


def test_it_asks_before_it_writes(kb: Kb) -> None:
    path = client_file("cursor")
    ran = kb("mcp", "install", "cursor", stdin="n\n")
    assert (ran.code, path.exists()) == (1, False)
    assert "+" in ran.stdout
    assert kb("mcp", "install", "cursor", stdin="y\n").code == 0
    assert "kb" in json.loads(path.read_text())["mcpServers"]


@pytest.mark.parametrize("held", ["// a comment\n{}", "[]", '{"context_servers": 5}', "\x00"])
def test_a_file_that_is_not_understood_is_not_touched(held: str, kb: Kb) -> None:
    path = client_file("zed")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(held)
    ran = kb("mcp", "install", "zed", "--yes")
    assert (ran.code, "--print-config zed" in ran.stderr) == (2, True)
    assert path.read_text() == held


def test_another_entry_in_toml_is_not_touched(kb: Kb) -> None:
    path = client_file("codex")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('[mcp_servers.kb]\ncommand = "other"\n')
    assert kb("mcp", "install", "codex", "--yes").code == 2
    assert path.read_text() == '[mcp_servers.kb]\ncommand = "other"\n'


def test_a_link_stays_a_link(kb: Kb, tmp_path: Path) -> None:
    path = client_file("gemini")
    path.parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "dotfiles.json").write_text("{}")
    path.symlink_to(tmp_path / "dotfiles.json")
    assert kb("mcp", "install", "gemini", "--yes").code == 0
    assert path.is_symlink()
    assert "kb" in (tmp_path / "dotfiles.json").read_text()


def test_strange_names_come_through(tmp_path: Path) -> None:
    from kb.mcp.clients import Launch, snippet

    start = Launch('/opt/a "b" \\ 한글/kb', ("--config", "/x y/kb.toml", "mcp"))
    assert tomllib.loads(snippet("codex", start))["mcp_servers"]["kb"] == {
        "command": start.command,
        "args": list(start.args),
    }


def test_the_file_is_where_the_client_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert client_file("claude").parts[-4:-1] == ("Library", "Application Support", "Claude")


def test_in_read_only_mode_nothing_is_written(vault: Vault) -> None:
    ran = run_kb("--config", str(vault.config), "--read-only", "mcp", "install", "cursor", "--yes")
    assert ran.code == 2
    assert "read-only mode" in ran.stderr
    assert not client_file("cursor").exists()
