"""A model on an Ollama server, over its HTTP API: `/api/chat` for text, `/api/show` for the context length.

`truncate` and `shift` are off, so that a prompt that is too long is an error, not an answer to half the passages. The
penalty on repetition is off, because it alters quotations.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

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
from kb.errors import StreamBroken
from kb.llm.stops import StopStrings
from kb.runtimes.ollama_http import OllamaServer
from kb.runtimes.token_estimate import estimated_prompt_tokens, estimated_tokens

# One token's line is some 200 bytes; its text alone never comes near this.
_LINE_BYTES = 4096
_LINES_BESIDE_TOKENS = 16


class OllamaModel:
    """A model by its name on the server. `context_limit`: the most tokens of prompt and answer together."""

    def __init__(self, server: OllamaServer, model: str, context_limit: int) -> None:
        self._server = server
        self._name = model
        self._context_limit = context_limit
        self._context_tokens: int | None = None
        self._correction = 1.0

    @property
    def model_ref(self) -> ModelRef:
        """The model's name on the server."""
        return ModelRef(self._name, "ollama")

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
            "/api/chat",
            self._body(request),
            self._name,
            _LINE_BYTES * (request.max_tokens + _LINES_BESIDE_TOKENS),
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
