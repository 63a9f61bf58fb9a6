"""Agents that speak with `kb mcp` by the SDK's own client: in this process, or with a server in one of its own."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest
from conftest import Vault

from kb.config import load
from kb.operations.answers.audit import AuditLog
from kb.operations.opening.base import open_base

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from kb.mcp.server import build_server
from kb.mcp.tools import READING_TOOLS, ToolSpec

T = TypeVar("T")
Talk = Callable[[Client], Awaitable[T]]

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "by hand", "version": "1"},
    },
}


def command(vault: Vault, *args: str) -> list[str]:
    """`kb mcp` on a vault."""
    return [sys.executable, "-m", "kb", "--config", str(vault.config), "mcp", *args]


def environment(home: Path) -> dict[str, str]:
    """What its process needs, and a home directory."""
    return {"HOME": str(home), "PATH": os.defpath, "PYTHONPATH": os.pathsep.join(each for each in sys.path if each)}


def here(
    vault: Vault,
    talk: Talk[T],
    tools: Sequence[ToolSpec] = READING_TOOLS,
    *,
    audit: bool = False,
    structured: bool = True,
    **options: Any,
) -> T:
    """What a client gets of a server in this process; `options` are the client's.

    Results have a structured part unless not `structured`, because a test reads fields more easily than text.
    """

    async def run() -> T:
        config = load(str(vault.config), ("exposure.structured_to_mcp=true",) if structured else ())
        log = AuditLog(config) if audit else None
        try:
            with open_base(config, many=True, audience="agent") as session:
                async with Client(build_server(session, tools, audit=log), **options) as client:
                    try:
                        return await talk(client)
                    except MCPError as error:  # the client would wrap it in groups
                        failed = error
        finally:
            if log is not None:
                log.close()
        raise failed

    return asyncio.run(run())


def called(vault: Vault, *calls: tuple[str, dict[str, Any]], audit: bool = False) -> list[Any]:
    """The results of calls of one client, one behind the other."""

    async def talk(client: Client) -> list[Any]:
        return [await client.call_tool(tool, arguments) for tool, arguments in calls]

    return here(vault, talk, audit=audit)


def call(vault: Vault, tool: str, **arguments: Any) -> Any:
    """The result of one call."""
    (result,) = called(vault, (tool, arguments))
    return result


def text_of(result: Any) -> str:
    """What a person would read of a result."""
    text: str = result.content[0].text
    return text


def without_marks(text: str) -> str:
    """A result with the same marks as any other: they are random."""
    return re.sub(r"(?<=<<)[0-9a-f]{6}|\b[0-9a-f]{6}(?=>>)", "mark", text)
