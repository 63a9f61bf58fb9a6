"""The configuration files of agents: where each is, and the entry that adds kb."""

from __future__ import annotations

import difflib
import json
import os
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from kb.errors import UsageError, write_errors
from kb.private import replace_file, require_writable

Client = Literal["claude", "claude-code", "cursor", "vscode", "codex", "gemini", "zed"]
CLIENTS: tuple[Client, ...] = get_args(Client)

NAME = "kb"


class Launch(NamedTuple):
    """The command of the server, with an absolute path, because agents start it from any folder."""

    command: str
    args: tuple[str, ...]


class _Form(NamedTuple):
    """A client's configuration file on Linux and on macOS, below the home directory, and the key of its servers.

    An entry of a `typed` client says that the server uses standard input and output.
    """

    linux: str
    macos: str
    key: str
    typed: bool = False


_FORMS: Mapping[Client, _Form] = {
    "claude": _Form(
        ".config/Claude/claude_desktop_config.json",
        "Library/Application Support/Claude/claude_desktop_config.json",
        "mcpServers",
    ),
    "claude-code": _Form(".claude.json", ".claude.json", "mcpServers", typed=True),
    "cursor": _Form(".cursor/mcp.json", ".cursor/mcp.json", "mcpServers"),
    "vscode": _Form(
        ".config/Code/User/mcp.json", "Library/Application Support/Code/User/mcp.json", "servers", typed=True
    ),
    "codex": _Form(".codex/config.toml", ".codex/config.toml", "mcp_servers"),
    "gemini": _Form(".gemini/settings.json", ".gemini/settings.json", "mcpServers"),
    "zed": _Form(".config/zed/settings.json", ".config/zed/settings.json", "context_servers"),
}


class Change(NamedTuple):
    """A client's configuration file before (None: no file) and after the change."""

    path: Path
    before: str | None
    after: str

    @property
    def diff(self) -> str:
        """The change as a unified diff; empty for no change."""
        old, new = (self.before or "").splitlines(keepends=True), self.after.splitlines(keepends=True)
        return "".join(difflib.unified_diff(old, new, str(self.path), str(self.path)))


def launch(config_file: Path | None, *options: str, allow_write: bool) -> Launch:
    """The command that starts this installation's server with that configuration and other options of kb."""
    program = Path(sys.executable).parent / "kb"
    start = (str(program),) if program.is_file() else (sys.executable, "-m", "kb")
    config = () if config_file is None else ("--config", str(config_file))
    return Launch(start[0], (*start[1:], *config, *options, "mcp", *(("--allow-write",) if allow_write else ())))


def client_file(client: Client) -> Path:
    """The path of the client's configuration, which may not exist."""
    form = _FORMS[client]
    return Path.home() / (form.macos if sys.platform == "darwin" else form.linux)


def snippet(client: Client, start: Launch) -> str:
    """The text to paste into the client's configuration."""
    if client == "codex":
        return _toml(start)
    return json.dumps({_FORMS[client].key: {NAME: _entry(client, start)}}, indent=2, ensure_ascii=False) + "\n"


def change_for(client: Client, start: Launch) -> Change:
    """The change that adds kb to the client's configuration. Raises: UsageError for a file that cannot be parsed."""
    path = client_file(client)
    before: str | None = None
    try:
        before = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}", _by_hand(client)) from error
    after = (
        _with_toml(client, path, before or "", start) if client == "codex" else _with_json(client, path, before, start)
    )
    return Change(path, before, after)


def apply_change(change: Change) -> None:
    """Replaces the file in one step; a link stays a link. Raises: UsageError, StoreReadOnly."""
    require_writable(str(change.path))
    path = Path(os.path.realpath(change.path))
    now = path.read_text(encoding="utf-8") if path.exists() else None
    if now != change.before:
        raise UsageError(f"{path} has changed meanwhile", "try again")
    with write_errors(path, "make it writable"):
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, change.after.encode(), path.stat().st_mode & 0o777 if path.exists() else 0o600)


def _entry(client: Client, start: Launch) -> dict[str, Any]:
    typed = {"type": "stdio"} if _FORMS[client].typed else {}
    return {**typed, "command": start.command, "args": list(start.args)}


def _by_hand(client: Client) -> str:
    return f"kb mcp --print-config {client} prints what to paste by hand"


def _with_json(client: Client, path: Path, before: str | None, start: Launch) -> str:
    """The file with the entry. Raises: UsageError for a file with comments, or whose JSON is not an object."""
    try:
        held = json.loads(before) if before and before.strip() else {}
    except ValueError as error:
        raise UsageError(f"{path} is not plain JSON ({error})", _by_hand(client)) from error
    key = _FORMS[client].key
    servers = held.get(key, {}) if isinstance(held, dict) else None
    if not isinstance(servers, dict):
        raise UsageError(f"{path} does not hold what {client} keeps there", _by_hand(client))
    if servers.get(NAME) == _entry(client, start) and before is not None:
        return before
    held[key] = {**servers, NAME: _entry(client, start)}
    return json.dumps(held, indent=2, ensure_ascii=False) + "\n"


def _with_toml(client: Client, path: Path, before: str, start: Launch) -> str:
    try:
        held = tomllib.loads(before)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not TOML ({error})", _by_hand(client)) from error
    servers = held.get(_FORMS[client].key, {})
    there = servers.get(NAME) if isinstance(servers, dict) else None
    if there == _entry(client, start):
        return before
    if there is not None:
        raise UsageError(f"{path} has another [mcp_servers.{NAME}]", f"take it out first, or {_by_hand(client)}")
    gap = "" if not before or before.endswith("\n\n") else "\n" if before.endswith("\n") else "\n\n"
    return before + gap + _toml(start)


def _toml(start: Launch) -> str:
    """The table as TOML, whose strings are those of JSON where nothing but ASCII control characters is escaped."""
    args = ", ".join(json.dumps(each, ensure_ascii=False) for each in start.args)
    command = json.dumps(start.command, ensure_ascii=False)
    return f"[{_FORMS['codex'].key}.{NAME}]\ncommand = {command}\nargs = [{args}]\n"
