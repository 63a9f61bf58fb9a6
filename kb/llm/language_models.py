"""The models that write: a GGUF file in this process, and a model on an Ollama server.

A GGUF file loads when its first token is counted or generated. A prompt is the file's own chat template with the
messages inserted as plain text. Each text starts from an empty cache, so that the same request gives the same tokens,
whatever came before.

On an Ollama server `/api/chat` gives the text, `/api/show` the context length. `truncate` and `shift` are off, so that
a prompt that is too long is an error, not half an answer. Repetition is not penalised: that alters quotations.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any

from kb.domain.generation import (
    Done,
    FinishReason,
    GenerateRequest,
    Message,
    ModelRef,
    TokenChunk,
    TokenStream,
    TokenUsage,
)
from kb.errors import ModelError, ModelTimeout, PromptTooLong, StreamBroken
from kb.runtimes.gguf_file import read_gguf
from kb.runtimes.ollama_http import OllamaServer
from kb.runtimes.token_estimate import estimated_prompt_tokens, estimated_tokens

if TYPE_CHECKING:
    from kb.runtimes.gguf import GgufRuntime


@dataclass(frozen=True, slots=True)
class LlamaLimits:
    """Limits of a model: context (prompt and answer), cores (0 = the physical ones), time for one text."""

    context_tokens: int
    threads: int
    total_seconds: float


class LlamaCppModel:
    """The model in one GGUF file. It generates one text at a time."""

    def __init__(self, gguf: Path, name: str, limits: LlamaLimits) -> None:
        self.model_ref = ModelRef(name, "llama_cpp")
        self._gguf = gguf
        self._name = name
        self._limits = limits
        self._context_tokens: int | None = None
        self._runtime: GgufRuntime | None = None
        self._writing = False

    @property
    def context_tokens(self) -> int:
        """The lower of the configured and the trained context; loads nothing. Raises: ModelError."""
        if self._context_tokens is None:
            self._context_tokens = min(self._limits.context_tokens, read_gguf(self._gguf).context_tokens)
        return self._context_tokens

    def count_tokens(self, text: str) -> int:
        """The tokens of `text` alone, by the model's own tokenizer. Raises: ModelMissing, ModelCorrupt."""
        return len(self._loaded().tokens(text))

    def count_prompt_tokens(self, messages: Sequence[Message]) -> int:
        """The tokens of the whole prompt, exactly. Raises: ModelMissing, ModelCorrupt."""
        return len(self._loaded().prompt_tokens(messages))

    def stream(self, request: GenerateRequest) -> TokenStream:
        """The text as it is generated, then one `Done`; closing the stream stops the model.

        Raises: ModelMissing, ModelCorrupt, PromptTooLong, ModelTimeout, StreamBroken.
        """
        start = perf_counter()
        if self._writing:
            raise ModelError("the model is writing another text", "read that one to its end, or close it, first")
        self._writing = True
        try:
            yield from self._stream(request, start)
        finally:
            self._writing = False

    def _stream(self, request: GenerateRequest, start: float) -> TokenStream:
        deadline = monotonic() + self._limits.total_seconds
        runtime = self._loaded()
        prompt = runtime.prompt_tokens(request.messages)
        room = self.context_tokens - len(prompt)
        if room < 1:
            raise PromptTooLong(
                f"the prompt has {len(prompt)} tokens, and {self._name} reads {self.context_tokens} with its answer",
                "lower rag.max_context_tokens, or use a model with a longer context",
            )
        most = min(request.max_tokens, room)
        stops = StopStrings(request.stop)
        made = 0
        reason: FinishReason = "length"
        for piece in runtime.pieces(prompt, most, request.temperature, request.seed):
            if piece is None:
                reason = "stop"
                break
            made = piece.made
            if text := stops.take(piece.text):
                yield TokenChunk(text)
            if stops.reached:
                reason = "stop"
                break
            if monotonic() > deadline:
                raise ModelTimeout(
                    f"{self._name} took longer than {self._limits.total_seconds:g} s",
                    "raise models.llm.total_timeout_seconds",
                )
        if rest := stops.rest():
            yield TokenChunk(rest)
        yield Done(reason, TokenUsage(len(prompt), made, round(1000 * (perf_counter() - start))))

    def _loaded(self) -> GgufRuntime:
        if self._runtime is None:
            from kb.runtimes.gguf import load_gguf

            # One thread per physical core: threads spin while they wait, so an extra one slows all.
            threads = self._limits.threads or max(1, (os.cpu_count() or 1) // 2)
            self._runtime = load_gguf(self._gguf, self.context_tokens, threads)
        return self._runtime


# One token's line is some 200 bytes; its text alone never comes near this.
_LINE_BYTES = 4096
_LINES_BESIDE_TOKENS = 16


class OllamaModel:
    """A model by its name on the server. `context_limit`: the most tokens of prompt and answer together."""

    def __init__(self, server: OllamaServer, model: str, context_limit: int) -> None:
        self.model_ref = ModelRef(model, "ollama")
        self._server = server
        self._name = model
        self._context_limit = context_limit
        self._context_tokens: int | None = None
        self._correction = 1.0

    @property
    def context_tokens(self) -> int:
        """The lower of the configured and the trained context. Raises: ModelError."""
        if self._context_tokens is None:
            shown = self._server.ask("/api/show", {"model": self._name}, self._name)
            self._context_tokens = min(self._context_limit, trained_context_tokens(shown) or self._context_limit)
        return self._context_tokens

    def count_tokens(self, text: str) -> int:
        """An estimate, scaled up once an answer showed that the model counts more."""
        return round(estimated_tokens(text) * self._correction)

    def count_prompt_tokens(self, messages: Sequence[Message]) -> int:
        """An estimate for a whole prompt, scaled in the same way."""
        return round(estimated_prompt_tokens(messages) * self._correction)

    def stream(self, request: GenerateRequest) -> TokenStream:
        """The text as it is generated, then one `Done`; closing the stream disconnects, and the server stops."""
        start = perf_counter()
        stops = StopStrings(request.stop)
        lines = self._server.lines(
            "/api/chat", self._body(request), self._name, _LINE_BYTES * (request.max_tokens + _LINES_BESIDE_TOKENS)
        )
        tokens = 0
        try:
            for line in lines:
                if "error" in line:
                    raise StreamBroken(f"the server gave up: {line['error']}", "see the server's log")
                if text := stops.take(_content(line)):
                    yield TokenChunk(text)
                ends = bool(line.get("done"))
                tokens += not ends
                if ends and (rest := stops.rest()):
                    yield TokenChunk(rest)
                if ends or stops.reached or tokens >= request.max_tokens + _LINES_BESIDE_TOKENS:
                    # Disconnects from a server that ignores the stop strings and the length.
                    reason: FinishReason = "stop" if stops.reached else _finish_reason(line)
                    yield Done(reason, self._usage(request, line, tokens, start))
                    return
        finally:
            lines.close()
        raise StreamBroken("the server ended the text midway" if tokens else "the server sent no text", "see its log")

    def _body(self, request: GenerateRequest) -> dict[str, Any]:
        options: dict[str, Any] = {
            "num_ctx": self.context_tokens,
            "num_predict": request.max_tokens,
            "temperature": request.temperature,
            "repeat_penalty": 1.0,
        }
        if request.seed is not None:
            options["seed"] = request.seed
        if request.stop:
            options["stop"] = list(request.stop)
        return {
            "model": self._name,
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
            "stream": True,
            "think": False,
            "truncate": False,
            "shift": False,
            "options": options,
        }

    def _usage(self, request: GenerateRequest, last: dict[str, Any], tokens: int, start: float) -> TokenUsage:
        estimated = estimated_prompt_tokens(request.messages)
        counted = last.get("prompt_eval_count")
        if isinstance(counted, int) and counted > 0:
            # Never lowered: a server that cached the beginning of a prompt counts only the rest.
            self._correction = max(self._correction, counted / estimated)
        else:
            counted = round(estimated * self._correction)
        made = last.get("eval_count")
        made = made if isinstance(made, int) and made >= 0 else tokens
        return TokenUsage(counted, made, round(1000 * (perf_counter() - start)))


def trained_context_tokens(shown: dict[str, Any]) -> int | None:
    """The context length in the reply of `/api/show`; None without one."""
    info = shown.get("model_info")
    if not isinstance(info, dict):
        return None
    for key, value in info.items():
        if key.endswith(".context_length") and isinstance(value, int) and value > 0:
            return value
    return None


def _content(line: dict[str, Any]) -> str:
    message = line.get("message", {} if line.get("done") else None)
    content = message.get("content", "") if isinstance(message, dict) else None
    if not isinstance(content, str):
        raise StreamBroken("the server sent a line without text", "see that models.llm.endpoint is an Ollama server")
    return content.encode("utf-8", "replace").decode("utf-8")  # JSON can contain half a surrogate pair; UTF-8 cannot


def _finish_reason(last: dict[str, Any]) -> FinishReason:
    return "stop" if last.get("done") and last.get("done_reason") != "length" else "length"


class StopStrings:
    """Passes on pieces of a text up to the first stop string.

    The end of the text so far is held back while it may be the beginning of a stop string.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = [stop for stop in stops if stop]
        self._held = ""
        self.reached = False

    def take(self, piece: str) -> str:
        """Takes the next piece; returns the text to pass on, and sets `reached` at a stop string."""
        text = self._held + piece
        found = [at for stop in self._stops if (at := text.find(stop)) >= 0]
        if found:
            self.reached = True
            self._held = ""
            return text[: min(found)]
        kept = max((_overlap(text, stop) for stop in self._stops), default=0)
        self._held = text[len(text) - kept :]
        return text[: len(text) - kept]

    def rest(self) -> str:
        """The held-back text, once the text has ended without a stop string."""
        held, self._held = self._held, ""
        return held


def _overlap(text: str, stop: str) -> int:
    """The length of the longest suffix of `text` that is a prefix of `stop`."""
    for length in range(min(len(stop) - 1, len(text)), 0, -1):
        if text.endswith(stop[:length]):
            return length
    return 0
