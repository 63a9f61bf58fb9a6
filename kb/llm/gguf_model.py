"""Generates text from a GGUF file in this process; the model loads when its first token is counted or generated.

A prompt is the file's own chat template with the messages inserted as plain text. Each text starts from an empty
cache, so that the same request gives the same tokens, whatever came before.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, perf_counter
from typing import TYPE_CHECKING

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
from kb.errors import ModelError, ModelTimeout, PromptTooLong
from kb.llm.stops import StopStrings
from kb.runtimes.gguf_file import read_gguf

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
        self._gguf = gguf
        self._name = name
        self._limits = limits
        self._context_tokens: int | None = None
        self._runtime: GgufRuntime | None = None
        self._writing = False

    @property
    def model_ref(self) -> ModelRef:
        """The name the model is configured under."""
        return ModelRef(self._name, "llama_cpp")

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
