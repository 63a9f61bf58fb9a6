"""`kb mcp --http`: agents on this machine that show the token; nobody else, and no page of the web."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from conftest import Vault, cpu_limited, kb_in

pytest.importorskip("mcp", reason="the extra mcp is not installed")

import httpx2 as httpx
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from test_mcp import INITIALIZE, command, environment

ACCEPTS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


class Served(NamedTuple):
    """A server in a process of its own."""

    url: str
    token: str
    process: subprocess.Popen[bytes]

    @property
    def headers(self) -> dict[str, str]:
        return {**ACCEPTS, "Authorization": f"Bearer {self.token}"}


@pytest.fixture(scope="module")
def served(vault: Vault, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("home")
    process = subprocess.Popen(
        cpu_limited(command(vault, "--http")),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(home),
    )
    assert process.stdout is not None
    url = process.stdout.readline().decode().strip()
    token_file = vault.sqlite.parent / "mcp-token"
    assert token_file.stat().st_mode & 0o777 == 0o600
    yield Served(url, token_file.read_text().strip(), process)
    process.send_signal(signal.SIGINT)
    process.wait()
    process.stdout.close()


def post(served: Served, headers: dict[str, str], body: Any = INITIALIZE) -> httpx.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return httpx.post(served.url, headers=headers, content=content, timeout=60)


async def asked(served: Served, *queries: str) -> list[Any]:
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {served.token}"}, timeout=60) as http:
        transport = streamable_http_client(served.url, http_client=http)
        async with Client(transport) as client:
            return [await client.call_tool("search", {"query": query, "limit": 2}) for query in queries]


def test_a_client_with_the_token_is_answered(served: Served) -> None:
    (found,) = asyncio.run(asked(served, "gateway retries"))
    assert found.structured_content["hits"][0]["citation"].startswith("projects/gateway/log.md#L")


def test_it_listens_on_this_machine_alone(served: Served) -> None:
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


@pytest.mark.slow
def test_clients_at_once_get_their_own_answers(served: Served) -> None:
    words = ["gateway", "zebra", "chunk", "배터리"]

    async def run() -> list[list[Any]]:
        return await asyncio.gather(*(asked(served, *([word] * 5)) for word in words))

    firsts = []
    for answers in asyncio.run(run()):
        (cited,) = {json.dumps([hit["citation"] for hit in each.structured_content["hits"]]) for each in answers}
        firsts.append(json.loads(cited)[0].partition("#")[0])
    assert firsts == [
        "generated/summary.md",
        "hostile.md",
        "projects/notes.md",
        "projects/gateway/log.md",
    ]


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
    env = {**environment(tmp_path), "KB_MCP_TOKEN": "of-the-environment"}
    process = subprocess.Popen(
        cpu_limited(command(vault, "--http")), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env
    )
    assert process.stdout is not None
    url = process.stdout.readline().decode().strip()
    headers = {**ACCEPTS, "Authorization": "Bearer of-the-environment"}
    answer = httpx.post(url, headers=headers, json=INITIALIZE, timeout=60)
    process.send_signal(signal.SIGTERM)
    process.wait()
    process.stdout.close()
    assert answer.status_code == 200


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
