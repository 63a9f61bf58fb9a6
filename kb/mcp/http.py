"""The server over HTTP, on this machine alone; a request needs the token and must not come from a web page.

Any program of this machine, and any page that a browser shows, can send requests to 127.0.0.1. So a request is
answered only where it is addressed to this server by name (`Host`: a foreign name that resolves to 127.0.0.1 is
refused), is from no foreign page (`Origin`), and has the token, which lies in a file that its owner alone can read.
"""

from __future__ import annotations

import os
import secrets
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
from kb.errors import write_errors
from kb.mcp.server import build_server, tools_for
from kb.operations.answers.audit import AuditLog
from kb.operations.opening.base import open_base
from kb.operations.serving import HOST, listen, load_models
from kb.private import require_writable

PATH = "/mcp"
DEFAULT_PORT = 7412
TOKEN_VARIABLE = "KB_MCP_TOKEN"

_IDLE_S = 1800


class TokenGuard:
    """Refuses requests without the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request with the token on."""
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
    """The server as an ASGI application for that port of this machine."""
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
    """Serves until it is interrupted. `tell` gets the address and the file of the token once it listens.

    Raises: UsageError for a port that is taken; StoreReadOnly where the token cannot be stored.
    """
    tools = tools_for(allow_write=allow_write)
    token, file = _token(config.mcp_token)
    with closing(listen(port, DEFAULT_PORT)) as listening, open_base(config, many=True, audience="agent") as session:
        at = listening.getsockname()[1]
        load_models(session)
        with closing(AuditLog(config, session.models)) as audit:
            app = http_app(build_server(session, tools, audit), token, at)
            settings = uvicorn.Config(app, log_level="error", access_log=False, server_header=False)
            tell(f"http://{HOST}:{at}{PATH}", file)
            uvicorn.Server(settings).run(sockets=[listening])


def _token(path: Path) -> tuple[str, Path | None]:
    """The token and its file, made where there is none; the token of the environment, if set, has none."""
    given = os.environ.get(TOKEN_VARIABLE, "").strip()
    if given:
        return given, None
    try:
        kept = path.read_text(encoding="ascii").strip()
        if kept:
            return kept, path
    except (OSError, ValueError):
        pass
    require_writable(f"{path}, which would keep a token,")
    made = secrets.token_urlsafe(32)
    with write_errors(path, f"or set {TOKEN_VARIABLE}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
            file.write(made + "\n")
    return made, path
