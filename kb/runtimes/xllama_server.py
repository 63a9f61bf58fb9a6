"""llama.cpp's own server inside this process, by xllamacpp.

It listens on a free port of 127.0.0.1, which cannot be switched off; a random key keeps others out.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kb.errors import ModelCorrupt, StreamBroken

_EVENT = b"data: "
_GAVE_UP = "the model may need more memory than there is"


class XllamaServer:
    """A loaded file. `server` is asked without HTTP; what it has no function for is asked by its port."""

    def __init__(self, path: Path, tokens: int, threads: int, configure: Callable[[Any], None]) -> None:
        """Loads the file with a context of so many tokens. Raises: ModelCorrupt for one that does not load."""
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.n_ctx = tokens
        params.n_parallel = 1
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        self._key = secrets.token_urlsafe()
        params.api_keys = [self._key]
        params.endpoint_slots = params.endpoint_props = params.ui = params.warmup = False
        params.verbosity = -1
        configure(params)
        try:
            self.server: Any = xllamacpp.Server(params)
        except (RuntimeError, ValueError, OSError) as error:
            hint = "use another GGUF file, or a newer xllamacpp"
            raise ModelCorrupt(f"{path} cannot be loaded: {error}", hint) from error

    def ask(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """The JSON object at `path`. Raises: StreamBroken."""
        with self._answer(path, body) as response:
            found: dict[str, Any] = json.loads(response.read())
            return found

    def events(self, path: str, body: dict[str, Any]) -> Generator[dict[str, Any], None, None]:
        """The JSON objects that `path` streams; closing the generator hangs up, which ends the work for them.

        Raises: StreamBroken.
        """
        with self._answer(path, body) as response:
            for line in response:
                if line.startswith(_EVENT):
                    yield json.loads(line.removeprefix(_EVENT))

    @contextmanager
    def _answer(self, path: str, body: dict[str, Any] | None) -> Generator[HTTPResponse, None, None]:
        connection = HTTPConnection(urlsplit(self.server.listening_address).netloc)
        with closing(connection):
            try:
                data = None if body is None else json.dumps(body).encode()
                headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
                connection.request("GET" if body is None else "POST", path, data, headers)
                response = connection.getresponse()
                if response.status != 200:
                    raise StreamBroken(f"llama.cpp gave up: {_message(response.read())}", _GAVE_UP)
                yield response
            except (OSError, HTTPException, ValueError) as error:
                raise StreamBroken(f"llama.cpp gave up: {error}", _GAVE_UP) from error


def _message(answered: bytes) -> str:
    """What an error says."""
    error = json.loads(answered).get("error", {})
    return str(error.get("message", error))
