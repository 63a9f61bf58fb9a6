"""How long until the first token: through kb's adapters against the bare provider, with the same prompt.

Behind HTTP the bare side is one POST on a raw connection, read up to the first line with text; in the process it is
llama-cpp-python's own chat completion. All of it runs in turns on one thread, from an empty cache each time; it needs
`kb models install smollm2` and the extra `llm`, and KB_TEST_MODEL_DIR.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

from benchmarks.installed_models import installed_models
from benchmarks.measurement import Measurement, Table, Target
from kb.assemble.catalogue import GGUF_FILE, SMOLLM2
from kb.domain.generation import GenerateRequest, LanguageModel, Message, TokenChunk
from kb.llm.language_models import LlamaCppModel, LlamaLimits, OllamaModel
from kb.runtimes.ollama_http import OllamaServer, Timeouts

ROUNDS = 9
CONTEXT_TOKENS = 1024
MOST_TIMES_BARE = 1.1

_SYSTEM = "Answer from the passages alone, and name the passage."
_PASSAGES = "\n".join(
    f"[#{number}] The pump of station {number} is serviced every {number + 3} weeks; its log lies in cabinet {number}."
    for number in range(1, 9)
)
MESSAGES = (Message("system", _SYSTEM), Message("user", f"{_PASSAGES}\nWhen is the pump of station 4 serviced?"))
_SERVER = Path(__file__).parents[1] / "tools/ollama_server"


def measure(data: Path | None = None) -> Measurement:
    """Medians of the time to the first token, bare and through kb, in turns."""
    gguf = installed_models() / SMOLLM2 / GGUF_FILE
    inside = LlamaCppModel(gguf, SMOLLM2, LlamaLimits(CONTEXT_TOKENS, 1, 600))
    with _server(gguf) as endpoint:
        behind = OllamaModel(OllamaServer(endpoint, Timeouts(10, 600, 600)), SMOLLM2, CONTEXT_TOKENS)
        # Never HTTP after HTTP: the server would still be ending the text that was hung up on.
        ways: dict[str, Callable[[], None]] = {
            "HTTP, bare": lambda: _first_line(endpoint),
            "in process, bare": _bare_completion(gguf),
            "HTTP, kb": lambda: _first_piece(behind),
            "in process, kb": lambda: _first_piece(inside),
        }
        times_ms = _in_turns(ways)
    medians = {name: statistics.median(times) for name, times in times_ms.items()}
    prompt_tokens = inside.count_prompt_tokens(MESSAGES)
    rows = tuple((name, round(median, 1), round(min(times_ms[name]), 1)) for name, median in medians.items())
    return Measurement(
        "first_token",
        (Table(f"First token of {prompt_tokens} prompt tokens, {SMOLLM2}", ("way", "median ms", "least ms"), rows),),
        tuple(
            Target(f"{way}: kb / bare", _ratio(times_ms, way), "≤", MOST_TIMES_BARE) for way in ("HTTP", "in process")
        ),
        {"prompt_tokens": prompt_tokens, "rounds": ROUNDS, "median_ms": {k: round(v, 1) for k, v in medians.items()}},
    )


def _ratio(times_ms: dict[str, list[float]], way: str) -> float:
    """The median over the rounds of the ratio within one round: what else the machine does meets both sides alike."""
    pairs = zip(times_ms[f"{way}, kb"], times_ms[f"{way}, bare"], strict=True)
    return round(statistics.median(through / bare for through, bare in pairs), 3)


def _in_turns(ways: dict[str, Callable[[], None]]) -> dict[str, list[float]]:
    """Milliseconds of each way in each round; the first round loads and is not counted."""
    times_ms: dict[str, list[float]] = {name: [] for name in ways}
    for round_number in range(ROUNDS + 1):
        for name, run in ways.items():
            start = perf_counter()
            run()
            if round_number:
                times_ms[name].append(1000 * (perf_counter() - start))
    return times_ms


def _first_piece(model: LanguageModel) -> None:
    stream = model.stream(GenerateRequest(MESSAGES, 16))
    piece = next(stream)
    stream.close()
    if not isinstance(piece, TokenChunk):
        raise RuntimeError("the model said nothing")


def _first_line(endpoint: str) -> None:
    body = {
        "model": SMOLLM2,
        "messages": [{"role": message.role, "content": message.content} for message in MESSAGES],
        "options": {"temperature": 0, "num_predict": 16},
    }
    connection = HTTPConnection(urlsplit(endpoint).netloc)
    connection.request("POST", "/api/chat", json.dumps(body))
    response = connection.getresponse()
    while not json.loads(response.readline())["message"]["content"]:
        continue
    connection.close()


def _bare_completion(gguf: Path) -> Callable[[], None]:
    import llama_cpp

    llama = llama_cpp.Llama(str(gguf), n_ctx=CONTEXT_TOKENS, n_threads=1, n_threads_batch=1, verbose=False)
    messages: Any = [{"role": message.role, "content": message.content} for message in MESSAGES]

    def run() -> None:
        llama.reset()
        for part in llama.create_chat_completion(messages, stream=True, temperature=0, max_tokens=16):
            if part["choices"][0]["delta"].get("content"):
                return

    return run


@contextmanager
def _server(gguf: Path) -> Iterator[str]:
    """The endpoint of tools/ollama_server over the model, in a process of its own."""
    options = ["--gguf", str(gguf), "--name", SMOLLM2, "--context-tokens", str(CONTEXT_TOKENS), "--threads", "1"]
    with subprocess.Popen([sys.executable, str(_SERVER), *options], stdout=subprocess.PIPE, text=True) as server:
        try:
            if server.stdout is None or not (line := server.stdout.readline()):
                raise RuntimeError("tools/ollama_server did not start")
            yield line.split()[-1]
        finally:
            server.terminate()
