"""Requests to a language model and its reply, piece by piece.

Tuples, not dataclasses: they lie on the path of a cold answer, where each class counts.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Literal, NamedTuple, Protocol, TypeAlias

from kb.domain.on_wire import on_wire

ChatRole = Literal["system", "user", "assistant"]
FinishReason = Literal["stop", "length"]
"""`stop`: the model or a stop string ended the text; `length`: `max_tokens` or the context window did."""


@on_wire(title="ModelV1")
class ModelRef(NamedTuple):
    """The model that answered, and the program that ran it."""

    id: str
    provider: str


class Message(NamedTuple):
    """One turn of the conversation a model is shown."""

    role: ChatRole
    content: str


class GenerateRequest(NamedTuple):
    """One request for generated text. If `seed` is None the provider chooses one; at temperature 0 it has no effect."""

    messages: tuple[Message, ...]
    max_tokens: int
    stop: tuple[str, ...] = ()
    temperature: float = 0.0
    seed: int | None = None


@on_wire(title="UsageV1")
class TokenUsage(NamedTuple):
    """The tokens of an answer; `latency_ms` is the time from the question to the end of the answer."""

    # Of one text: from the request to its last piece.

    prompt_tokens: int = 0
    completion_tokens: int = 0
    latency_ms: int = 0


class TokenChunk(NamedTuple):
    """The next piece of the text: whole characters, never empty, without any stop string."""

    text: str


class Done(NamedTuple):
    """The last item of a stream that ended without an error."""

    finish_reason: FinishReason
    usage: TokenUsage


TokenStream: TypeAlias = Generator[TokenChunk | Done, None, None]


class LanguageModel(Protocol):
    """Generates text. Creating the object is cheap; it loads or connects at its first use."""

    @property
    def model_ref(self) -> ModelRef:
        """The model and who runs it."""

    @property
    def context_tokens(self) -> int:
        """The most tokens that prompt and answer may have together. Raises: ModelError."""

    def count_tokens(self, text: str) -> int:
        """The tokens of `text` alone: counted, or estimated where the provider has no tokenizer. Raises: ModelError."""

    def count_prompt_tokens(self, messages: Sequence[Message]) -> int:
        """The tokens of a whole prompt, chat template included, counted or estimated. Raises: ModelError."""

    def stream(self, request: GenerateRequest) -> TokenStream:
        """Yields the generated text: pieces, then one `Done`. Closing the stream stops the model at its next token.

        Pieces before a failure are yielded. Raises, also midway: ModelUnreachable, ModelNotPulled,
        ModelTimeout, StreamBroken, PromptTooLong, ModelMissing, ModelCorrupt.
        """
