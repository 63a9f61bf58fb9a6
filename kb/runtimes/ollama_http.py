"""One request to an Ollama server and the lines it answers with; every way this can fail is a KbError.

`http.client`, because nothing that streams loads sooner. Whatever the server sends, reading ends: too many bytes, too
long a silence or too long a time close the connection.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from kb.errors import ConfigError, ModelNotPulled, ModelTimeout, ModelUnreachable, PromptTooLong, StreamBroken

_READ_BYTES = 1 << 16
_ANSWER_BYTES = 16 << 20  # of one JSON object: /api/show carries licences and templates
_SHOWN_CHARS = 120


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Time limits for a server: to connect, without a byte, and in all."""

    connect_seconds: float
    silence_seconds: float
    total_seconds: float


@dataclass(frozen=True, slots=True)
class OllamaServer:
    """Where the server is (`http://127.0.0.1:11434`) and how long it may take."""

    endpoint: str
    timeouts: Timeouts

    def ask(self, path: str, body: dict[str, Any] | None, model: str = "") -> dict[str, Any]:
        """The JSON object at `path`. Raises: ModelUnreachable, ModelNotPulled, ModelTimeout, StreamBroken."""
        deadline = monotonic() + self.timeouts.total_seconds
        with self._request(path, body, model, deadline) as (connection, response):
            data = bytearray()
            while part := self._read(connection, response, deadline):
                data += part
                if len(data) > _ANSWER_BYTES:
                    raise StreamBroken(f"{self.endpoint}{path} sent more than {_ANSWER_BYTES >> 20} MB", _IS_OLLAMA)
            return _json_object(data)

    def lines(
        self, path: str, body: dict[str, Any], model: str, most_bytes: int
    ) -> Generator[dict[str, Any], None, None]:
        """The JSON objects that `path` streams, a line each; closing the generator drops the connection.

        Raises: ModelUnreachable, ModelNotPulled, ModelTimeout, PromptTooLong, StreamBroken.
        """
        deadline = monotonic() + self.timeouts.total_seconds
        with self._request(path, body, model, deadline) as (connection, response):
            pending = bytearray()
            read_bytes = 0
            while part := self._read(connection, response, deadline):
                read_bytes += len(part)
                if read_bytes > most_bytes:
                    raise StreamBroken(f"the model's text does not end: {read_bytes} bytes came", _IS_OLLAMA)
                pending += part
                if b"\n" in part:
                    *whole, pending = pending.split(b"\n")
                    for line in whole:
                        if line.strip():
                            yield _json_object(line)
            if pending.strip():
                yield _json_object(pending)

    @contextmanager
    def _request(
        self, path: str, body: dict[str, Any] | None, model: str, deadline: float
    ) -> Iterator[tuple[HTTPConnection, HTTPResponse]]:
        """The connection and its response, the status checked; closed at the end."""
        connection, base = _connection(self.endpoint, self.timeouts.connect_seconds)
        try:
            try:
                connection.connect()
            except OSError as error:
                raise ModelUnreachable(
                    f"no language model server at {self.endpoint}: {error.strerror or error}",
                    "start it with `ollama serve`, or set models.llm.endpoint",
                    details={"endpoint": self.endpoint},
                ) from error
            _limit_silence(connection, self.timeouts.silence_seconds, deadline)
            with self._failures(deadline):
                data = None if body is None else json.dumps(body).encode()
                connection.request("GET" if body is None else "POST", base + path, data, _HEADERS)
                response = connection.getresponse()
            if response.status != 200:
                raise self._refusal(response, self._read(connection, response, deadline), model)
            yield connection, response
        finally:
            connection.close()

    def _read(self, connection: HTTPConnection, response: HTTPResponse, deadline: float) -> bytes:
        """The next bytes; none at the end."""
        _limit_silence(connection, self.timeouts.silence_seconds, deadline)
        with self._failures(deadline):
            return response.read1(_READ_BYTES)

    @contextmanager
    def _failures(self, deadline: float) -> Iterator[None]:
        """Turns exceptions of reading into errors of `kb.errors`."""
        try:
            yield
        except TimeoutError as error:
            if monotonic() >= deadline:
                raise _too_long() from error
            raise ModelTimeout(
                f"{self.endpoint} said nothing for {self.timeouts.silence_seconds:g} s",
                "a large model may take longer to load: raise models.llm.silence_timeout_seconds",
            ) from error
        except IncompleteRead as error:
            raise StreamBroken(f"{self.endpoint} broke off: it ended the connection midway", _IS_OLLAMA) from error
        except (HTTPException, OSError, ValueError) as error:
            raise StreamBroken(f"{self.endpoint} broke off: {error or type(error).__name__}", _IS_OLLAMA) from error

    def _refusal(
        self, response: HTTPResponse, body: bytes, model: str
    ) -> ModelNotPulled | PromptTooLong | StreamBroken:
        """The error for a status other than 200."""
        try:
            told = str(_json_object(body).get("error", ""))
        except StreamBroken:
            told = ""
        if response.status == 404 and model:
            return not_pulled(model)
        if response.status == 400 and "context" in told:
            return PromptTooLong(f"{model}: {told}", "lower rag.max_context_tokens, or raise models.llm.context_tokens")
        return StreamBroken(
            f"{self.endpoint} answered {response.status}" + (f": {_shown(told)}" if told else ""),
            _IS_OLLAMA,
            details={"status": str(response.status)},
        )


def pulled_models(server: OllamaServer) -> dict[str, str]:
    """The models the server has: name → digest. Raises: ModelUnreachable, ModelTimeout, StreamBroken."""
    models = server.ask("/api/tags", None).get("models")
    if not isinstance(models, list):
        raise StreamBroken("the server's list of models cannot be read", "see that models.llm.endpoint is Ollama")
    known = (model for model in models if isinstance(model, dict) and "name" in model)
    return {str(model["name"]): str(model.get("digest", "unknown")) for model in known}


def require_pulled(pulled: Mapping[str, str], model: str) -> str:
    """The digest of `model`, whose name without a tag means `latest`. Raises: ModelNotPulled."""
    digest = pulled.get(model if ":" in model.rpartition("/")[2] else f"{model}:latest")
    if digest is None:
        raise not_pulled(model)
    return digest


def not_pulled(model: str) -> ModelNotPulled:
    """The error for a model that the server does not have."""
    return ModelNotPulled(f"the server does not have the model {model}", f"ollama pull {model}")


_HEADERS = {"Content-Type": "application/json", "Accept": "application/x-ndjson"}
_IS_OLLAMA = "see that models.llm.endpoint is an Ollama server, and its log"


def _connection(endpoint: str, connect_seconds: float) -> tuple[HTTPConnection, str]:
    """A connection not yet opened, and the path before `/api`. Raises: ConfigError."""
    try:
        parts = urlsplit(endpoint)
        host, port = parts.hostname, parts.port
        kind = {"http": HTTPConnection, "https": HTTPSConnection}[parts.scheme if host else ""]
    except (ValueError, KeyError) as error:
        message = f"models.llm.endpoint is not a URL: {endpoint!r}"
        raise ConfigError(message, "example: http://127.0.0.1:11434") from error
    return kind(str(host), port, timeout=connect_seconds), parts.path.rstrip("/")


def _limit_silence(connection: HTTPConnection, silence_seconds: float, deadline: float) -> None:
    """Sets how long the next read may wait. Raises: ModelTimeout at the deadline."""
    left = deadline - monotonic()
    if left <= 0:
        raise _too_long()
    if connection.sock is not None:  # a response that closes after itself has taken the socket along
        connection.sock.settimeout(min(silence_seconds, left))


def _too_long() -> ModelTimeout:
    return ModelTimeout("the model took longer than it was given", "raise models.llm.total_timeout_seconds")


def _json_object(line: bytes | bytearray) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise StreamBroken(
            f"the server sent what is no JSON: {_shown(line.decode('utf-8', 'replace'))}", _IS_OLLAMA
        ) from error
    if not isinstance(value, dict):
        raise StreamBroken(f"the server sent no JSON object: {_shown(str(value))}", _IS_OLLAMA)
    return value


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…")
