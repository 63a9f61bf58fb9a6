"""The server over HTTP, on this machine alone: who asks shows the token, and comes from no page of the web.

Any program of this machine, and any page that a browser shows, can send requests to 127.0.0.1. So a request is
answered only where it is addressed to this server by name (`Host`: a foreign name that resolves to 127.0.0.1 is
refused), is from no foreign page (`Origin`), and has the token, which lies in a file that its owner alone can read.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable
from contextlib import closing
from hmac import compare_digest
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server.lowlevel.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from kb.config import Config
from kb.errors import StoreReadOnly, UsageError
from kb.mcp.server import build_server, tools_for, warm
from kb.operations.answers.audit import AuditLog
from kb.operations.session.session import open_session
from kb.writable import require_writable

PATH = "/mcp"
HOST = "127.0.0.1"
DEFAULT_PORT = 7412
TOKEN_FILE = "mcp-token"
TOKEN_VARIABLE = "KB_MCP_TOKEN"

_IDLE_S = 1800


class TokenGuard:
    """Answers nobody who does not show the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hands on what may pass."""
        if scope["type"] == "http":
            shown = dict(scope["headers"]).get(b"authorization", b"")
            scheme, _, token = shown.partition(b" ")
            if scheme.lower() != b"bearer" or not compare_digest(token.strip(), self._token):
                refused = PlainTextResponse(
                    "show the token: Authorization: Bearer …\n", 401, {"WWW-Authenticate": 'Bearer realm="kb"'}
                )
                await refused(scope, receive, send)
                return
        await self._app(scope, receive, send)


def http_app(server: Server[Any], token: str, port: int) -> ASGIApp:
    """The server as an application that listens on that port of this machine."""
    names = [f"{host}:{port}" for host in (HOST, "localhost")]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True, allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names]
    )
    app = server.streamable_http_app(
        streamable_http_path=PATH, transport_security=security, session_idle_timeout=_IDLE_S
    )
    return TokenGuard(app, token)


def serve_http(
    config: Config, port: int | None, tell: Callable[[str, Path | None], None], *, allow_write: bool
) -> None:
    """Serves until it is interrupted. `tell` takes the address and the file with the token, once it can be asked.

    Raises: UsageError where the port is taken; StoreReadOnly where no token can be kept.
    """
    tools = tools_for(allow_write=allow_write)
    token, file = _token(config.data_dir)
    with closing(_bound(port)) as listening, open_session(config, many=True, audience="agent") as session:
        at = listening.getsockname()[1]
        warm(session)
        with closing(AuditLog(config, session.models)) as audit:
            app = http_app(build_server(session, tools, audit), token, at)
            settings = uvicorn.Config(app, log_level="error", access_log=False, server_header=False)
            tell(f"http://{HOST}:{at}{PATH}", file)
            uvicorn.Server(settings).run(sockets=[listening])


def _bound(port: int | None) -> socket.socket:
    """A socket on that port; on the usual one, or any that is free, where none is named."""
    wanted = (DEFAULT_PORT, 0) if port is None else (port,)
    failed: OSError | None = None
    for each in wanted:
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, each))
            listening.listen(128)  # who is told the address may come before the server does
        except OSError as error:
            listening.close()
            failed = error
        else:
            return listening
    assert failed is not None
    raise UsageError(f"port {port} cannot be listened on: {failed.strerror}", "choose another with --port") from failed


def _token(data_dir: Path) -> tuple[str, Path | None]:
    """The token and the file it lies in; the one of the environment, where that has one."""
    given = os.environ.get(TOKEN_VARIABLE, "").strip()
    if given:
        return given, None
    path = data_dir / TOKEN_FILE
    try:
        kept = path.read_text(encoding="ascii").strip()
        if kept:
            return kept, path
    except (OSError, ValueError):
        pass
    require_writable(f"{path}, which would keep a token,")
    made = secrets.token_urlsafe(32)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
            file.write(made + "\n")
    except OSError as error:
        raise StoreReadOnly(f"{path} cannot be written: {error.strerror}", f"or set {TOKEN_VARIABLE}") from error
    return made, path
