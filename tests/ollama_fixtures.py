"""tools/ollama_server inside the test process: a scripted model behind the real HTTP."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from select import select
from socket import socket
from threading import Thread
from types import ModuleType
from typing import Any

import pytest

from kb.domain.generation import Done, GenerateRequest, LanguageModel, Message
from kb.llm.language_models import OllamaModel
from kb.runtimes.ollama_http import OllamaServer, Timeouts

Step = dict[str, Any]

QUICK = Timeouts(connect_seconds=5, silence_seconds=5, total_seconds=20)
QUESTION = (Message("system", "Answer briefly."), Message("user", "어디에 있나?"))


def _load() -> ModuleType:
    loader = SourceFileLoader("ollama_server", str(Path(__file__).parents[1] / "tools/ollama_server"))
    spec = spec_from_loader("ollama_server", loader)
    assert spec is not None
    module = module_from_spec(spec)
    sys.modules["ollama_server"] = module  # its annotations are looked up there
    loader.exec_module(module)
    return module


tool = _load()


@contextmanager
def serving(engine: Any) -> Iterator[Any]:
    """The server over `engine`, on a port of its own."""
    with tool.OllamaServer(engine) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def playing(*answers: Sequence[Step], context_tokens: int = 2048) -> Iterator[Any]:
    """A server that plays these answers in turn."""
    with serving(tool.Script(answers, context_tokens=context_tokens)) as server:
        yield server


@contextmanager
def timing_out_at_silence(server: Any) -> Iterator[None]:
    """A reader of the server waits until it is silent, however long that takes, and no longer."""
    port, receive = server.server_address[1], socket.recv_into

    def receive_unless_silent(self: socket, *args: Any) -> int:
        if self.getpeername()[1] == port:
            while not select([self], [], [], 0.01)[0]:
                if server.engine.silent.is_set() and not select([self], [], [], 0)[0]:
                    raise TimeoutError("timed out")
        return receive(self, *args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "recv_into", receive_unless_silent)
        yield


def model_at(server: Any, timeouts: Timeouts = QUICK, context_limit: int = 4096) -> OllamaModel:
    return OllamaModel(OllamaServer(server.endpoint, timeouts), server.engine.name, context_limit)


def asking(text: str = "", **changes: Any) -> GenerateRequest:
    """A request with short defaults."""
    messages = (Message("user", text),) if text else QUESTION
    return GenerateRequest(messages, **{"max_tokens": 16, **changes})


def answer(model: LanguageModel, request: GenerateRequest) -> tuple[str, Done]:
    """The whole text, and how it ended."""
    *pieces, last = model.stream(request)
    assert isinstance(last, Done)
    texts = [piece.text for piece in pieces if not isinstance(piece, Done)]
    assert len(texts) == len(pieces)
    assert all(texts)
    return "".join(texts), last
