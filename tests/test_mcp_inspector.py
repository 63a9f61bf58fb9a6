"""The protocol's own inspector, driven by its command line, speaks with kb over standard input and over HTTP.

`KB_MCP_INSPECTOR` names its program; .ci/run installs it where npm is.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Vault, cpu_limited

from kb.mcp.tools import READING_TOOLS

INSPECTOR = os.environ.get("KB_MCP_INSPECTOR", "")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not INSPECTOR, reason="KB_MCP_INSPECTOR names no inspector; npm installs it"),
]


_TOKEN = "a-token-for-the-inspector-alone"


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def command(vault: Vault, *args: str) -> list[str]:
    return [sys.executable, "-m", "kb", "--config", str(vault.config), "mcp", *args]


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
        path = os.pathsep.join(each for each in sys.path if each)
        told = {"mcpServers": {"kb": {"command": program, "args": args, "env": {"PYTHONPATH": path}}}}
        (tmp_path / "servers.json").write_text(json.dumps(told), encoding="utf-8")
        yield ["--config", str(tmp_path / "servers.json"), "--server", "kb"]
        return
    serving = subprocess.Popen(
        command(vault, "--http", "--port", str(free_port())),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "KB_MCP_TOKEN": _TOKEN},
    )
    assert serving.stdout is not None
    url = serving.stdout.readline().decode().strip()
    yield [url, "--transport", "http", "--header", f"Authorization: Bearer {_TOKEN}"]
    serving.send_signal(signal.SIGINT)
    serving.wait(30)
    serving.stdout.close()


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
