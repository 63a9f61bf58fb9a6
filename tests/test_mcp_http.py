"""How agents reach kb: what is written into their configuration; and `kb mcp --http`, by the token alone."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2 as httpx
import pytest
from agents import INITIALIZE, command, environment, text_of
from conftest import Kb, Vault, cpu_limited, kb_in, run_kb
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from kb.mcp.clients import CLIENTS, client_file, launch
from kb.mcp.tools import READING_TOOLS

pytest.importorskip("mcp", reason="the extra mcp is not installed")


def entry_of(client: str, text: str) -> dict[str, object]:
    held = tomllib.loads(text) if client == "codex" else json.loads(text)
    for key in ("mcpServers", "servers", "mcp_servers", "context_servers"):
        if key in held:
            found: dict[str, object] = held[key]["kb"]
            return found
    raise AssertionError(text)


@pytest.mark.parametrize("client", CLIENTS)
def test_what_is_printed_starts_this_installation(client: str, kb: Kb, vault: Vault) -> None:
    ran = kb("mcp", "--print-config", client)
    assert ran.code == 0
    entry = entry_of(client, ran.stdout)
    start = launch(vault.config, allow_write=False)
    assert (entry["command"], entry["args"]) == (start.command, list(start.args))
    assert os.path.isabs(start.command)
    assert start.args[-3:] == ("--config", str(vault.config), "mcp")


def test_what_is_printed_keeps_the_options_of_the_call(kb: Kb) -> None:
    ran = kb("--read-only", "--set", "search.mode=lexical", "mcp", "--print-config", "claude")
    args = entry_of("claude", ran.stdout)["args"]
    assert args[-4:] == ["--read-only", "--set", "search.mode=lexical", "mcp"]  # type: ignore[index]


@pytest.mark.parametrize("client", CLIENTS)
def test_it_is_written_once_and_all_else_stays(client: str, kb: Kb) -> None:
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


pytest.importorskip("mcp", reason="the extra mcp is not installed")


ACCEPTS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


class Served(NamedTuple):
    """A server in a process of its own."""

    url: str
    token: str

    @property
    def headers(self) -> dict[str, str]:
        return {**ACCEPTS, "Authorization": f"Bearer {self.token}"}


@contextmanager
def started(vault: Vault, home: Path, how: signal.Signals, *args: str, **env: str) -> Iterator[str]:
    """The address that a server's process printed; it is ended by a signal."""
    program = cpu_limited(command(vault, "--http", *args))
    surroundings = {**environment(home), **env}
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=surroundings) as process:
        assert process.stdout is not None
        yield process.stdout.readline().decode().strip()
        process.send_signal(how)


@pytest.fixture(scope="module")
def served(vault: Vault, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with started(vault, tmp_path_factory.mktemp("home"), signal.SIGINT) as url:
        token_file = vault.sqlite.parent / "mcp-token"
        assert token_file.stat().st_mode & 0o777 == 0o600
        yield Served(url, token_file.read_text().strip())


def post(served: Served, headers: dict[str, str], body: Any = INITIALIZE) -> httpx.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return httpx.post(served.url, headers=headers, content=content, timeout=60)


async def asked(served: Served, *queries: str) -> list[Any]:
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {served.token}"}, timeout=60) as http:
        transport = streamable_http_client(served.url, http_client=http)
        async with Client(transport) as client:
            return [await client.call_tool("search", {"query": query, "limit": 2}) for query in queries]


def test_a_client_of_this_machine_with_the_token_is_answered(served: Served) -> None:
    (found,) = asyncio.run(asked(served, "gateway retries"))
    assert "1. projects/gateway/log.md#L" in text_of(found)
    assert served.url.startswith("http://127.0.0.1:")
    assert served.url.endswith("/mcp")


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({}, 200),
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Basic TOKEN"}, 401),
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example:80"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Content-Type": "text/plain"}, 400),
    ],
)
def test_who_is_answered(changed: dict[str, str], status: int, served: Served) -> None:
    headers = served.headers | {name: value.replace("TOKEN", served.token) for name, value in changed.items()}
    answer = post(served, headers)
    assert answer.status_code == status
    if status != 200:
        assert served.token not in answer.text


@pytest.mark.parametrize("body", [b"", b"\x00\xff", b"[1, 2", b'{"jsonrpc": "2.0"}', b"[" * 50_000])
def test_garbage_is_an_error_and_the_server_goes_on(body: bytes, served: Served) -> None:
    answer = post(served, served.headers, body)
    assert 400 <= answer.status_code < 500
    assert "Traceback" not in answer.text
    assert post(served, served.headers).status_code == 200


def test_a_body_without_end_is_refused(served: Served) -> None:
    assert post(served, served.headers, b" " * (5 << 20)).status_code == 413


def test_a_client_that_disappears_leaves_the_others_alone(served: Served) -> None:
    with httpx.Client(headers=served.headers, timeout=60) as client:
        first = client.post(served.url, json=INITIALIZE)
        session = {"Mcp-Session-Id": first.headers["mcp-session-id"]}
        call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "ask", "arguments": {}}}
        with client.stream("POST", served.url, headers=session, json=call):
            pass  # gone before the answer
    assert len(asyncio.run(asked(served, "gateway"))) == 1


@pytest.mark.slow
def test_a_token_of_the_environment_is_taken(vault: Vault, tmp_path: Path) -> None:
    with started(vault, tmp_path, signal.SIGTERM, KB_MCP_TOKEN="of-the-environment") as url:
        served = Served(url, "of-the-environment")
        assert post(served, served.headers).status_code == 200


def test_no_token_is_made_in_read_only_mode(fresh_vault: Vault) -> None:
    ran = kb_in(fresh_vault)("--read-only", "mcp", "--http")
    assert (ran.code, "KB_MCP_TOKEN" in ran.stderr + str(ran.stdout)) == (2, False)
    assert "read-only mode" in ran.stderr
    assert not (fresh_vault.sqlite.parent / "mcp-token").exists()


def test_a_port_that_is_taken_and_one_without_http(vault: Vault, served: Served) -> None:
    kb = kb_in(vault)
    port = served.url.rpartition(":")[2].partition("/")[0]
    ran = kb("mcp", "--http", "--port", port)
    assert (ran.code, f"port {port} cannot be listened on" in ran.stderr) == (2, True)
    assert kb("mcp", "--port", "7500").code == 2
    assert os.path.exists(vault.sqlite)


# The protocol's own inspector, driven by its command line; .ci/run installs it where npm is.
INSPECTOR = os.environ.get("KB_MCP_INSPECTOR", "")


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def inspected(*args: str) -> Any:
    """What the inspector prints of one request."""
    done = subprocess.run(
        cpu_limited([INSPECTOR, *args]), text=True, capture_output=True, check=False, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.fixture(params=["stdio", "http"])
def server(request: pytest.FixtureRequest, vault: Vault, tmp_path: Path) -> Iterator[list[str]]:
    """What tells the inspector of kb."""
    if request.param == "stdio":
        program, *args = command(vault)
        told = {"mcpServers": {"kb": {"command": program, "args": args, "env": environment(tmp_path)}}}
        (tmp_path / "servers.json").write_text(json.dumps(told), encoding="utf-8")
        yield ["--config", str(tmp_path / "servers.json"), "--server", "kb"]
        return
    with started(vault, tmp_path, signal.SIGINT, "--port", str(free_port()), KB_MCP_TOKEN="of-the-inspector") as url:
        yield [url, "--transport", "http", "--header", "Authorization: Bearer of-the-inspector"]


@pytest.mark.slow
@pytest.mark.skipif(not INSPECTOR, reason="KB_MCP_INSPECTOR names no inspector; npm installs it")
def test_tools_resources_and_prompts_are_listed_and_called(server: list[str]) -> None:
    """Each way lists and calls; what the ways have in common is asked by one of them."""

    def asked(method: str, *args: str) -> Any:
        return inspected("--cli", *server, "--method", method, *args)

    listed = asked("tools/list")["tools"]
    assert [tool["name"] for tool in listed] == [tool.name for tool in READING_TOOLS]
    call = ("tools/call", "--tool-name", "search", "--tool-arg")
    found = asked(*call, "query=gateway retries", "mode=lexical", "limit=2")
    assert "structuredContent" not in found
    assert "projects/gateway/log.md#L" in found["content"][0]["text"]
    if "--config" in server:  # by stdio, where each request starts kb
        return
    refused = asked(*call, "query=gateway", "quantity=2")
    assert refused["isError"] is True
    assert "no parameter 'quantity'" in refused["content"][0]["text"]
    read = asked("resources/read", "--uri", "kb://lines/1-3/chunking.md")
    assert "청킹 규칙" in read["contents"][0]["text"]
    prompts = {prompt["name"] for prompt in asked("prompts/list")["prompts"]}
    assert prompts == {"answer_from_my_notes", "what_did_i_decide", "summarise_this_folder"}
