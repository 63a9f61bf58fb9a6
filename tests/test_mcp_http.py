"""`kb mcp --http`: agents on this machine that show the token; nobody else, and no page of the web."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from agents import INITIALIZE, command, environment
from conftest import Vault, cpu_limited, kb_in

pytest.importorskip("mcp", reason="the extra mcp is not installed")

import httpx2 as httpx
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from kb.mcp.tools import READING_TOOLS

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
    assert found.structured_content["hits"][0]["citation"].startswith("projects/gateway/log.md#L")
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
    def asked(method: str, *args: str) -> Any:
        return inspected("--cli", *server, "--method", method, *args)

    listed = asked("tools/list")["tools"]
    assert [tool["name"] for tool in listed] == [tool.name for tool in READING_TOOLS]
    call = ("tools/call", "--tool-name", "search", "--tool-arg")
    found = asked(*call, "query=gateway retries", "mode=lexical", "limit=2")
    assert found["structuredContent"]["hits"][0]["citation"].startswith("projects/gateway/log.md#L")
    refused = asked(*call, "query=gateway", "quantity=2")
    assert refused["isError"] is True
    assert "no parameter 'quantity'" in refused["content"][0]["text"]
    read = asked("resources/read", "--uri", "kb://lines/1-3/chunking.md")
    assert "청킹 규칙" in read["contents"][0]["text"]
    prompts = {prompt["name"] for prompt in asked("prompts/list")["prompts"]}
    assert prompts == {"answer_from_my_notes", "what_did_i_decide", "summarise_this_folder"}
