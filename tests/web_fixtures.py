"""A page's server at work on a port of its own, and the browser that is let in by it."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any, NamedTuple
from urllib.parse import urlencode

import uvicorn
from conftest import Vault

from kb.config import load
from kb.operations.inspect.pictures import PdfPages
from kb.operations.opening.base import open_base
from kb.web.guard import Guard, Keys, new_key
from kb.web.serve import page_app


class Answered(NamedTuple):
    """A status, its headers with names in lower case, and the body."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def lines(self) -> list[Any]:
        """The JSON values of the body, one per line."""
        return [json.loads(line) for line in self.body.splitlines()]


class Served(NamedTuple):
    """A server that answers on 127.0.0.1:`port`."""

    port: int
    keys: Keys
    guard: Guard
    renewed: list[str]

    @property
    def address(self) -> str:
        """The address that lets the next browser in."""
        return f"http://127.0.0.1:{self.port}/?token={self.guard.token}"

    @property
    def let_in(self) -> dict[str, str]:
        """The headers of a browser that has been let in."""
        return {"host": f"127.0.0.1:{self.port}", "cookie": f"kb_{self.port}={self.keys.cookie}"}

    def ask(
        self,
        path: str,
        params: Mapping[str, str] | None = None,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: object = None,
    ) -> Answered:
        """What is answered; `headers` in the place of those of a browser that has been let in."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        target = f"{path}?{urlencode(params)}" if params else path
        try:
            connection.putrequest(method, target, skip_host=True)
            data = b"" if body is None else json.dumps(body).encode()
            sent = {
                **(self.let_in if headers is None else headers),
                **({"content-length": str(len(data))} if data else {}),
            }
            for name, value in sent.items():
                connection.putheader(name, value)
            connection.endheaders(data or None)
            answer = connection.getresponse()
            return Answered(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def post(self, path: str, body: object) -> Answered:
        """What a POST of the page is answered."""
        own = {
            **self.let_in,
            "origin": f"http://127.0.0.1:{self.port}",
            "x-kb-csrf": self.keys.csrf,
            "content-type": "application/json",
        }
        return self.ask(path, method="POST", headers=own, body=body)


@contextmanager
def serving(vault: Vault, *settings: str, may_write: bool = False) -> Iterator[Served]:
    """The page's server on a vault, until the block ends."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    port = int(listening.getsockname()[1])
    keys = Keys(new_key(), new_key())
    renewed: list[str] = []
    config = load(str(vault.config), settings)
    with open_base(config, many=True, audience="page") as session, closing(PdfPages(config)) as pages:
        app = page_app(session, pages, keys, port, renewed.append, may_write=may_write)
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield Served(port, keys, app, renewed)
        finally:
            server.should_exit = True
            thread.join()
            listening.close()
