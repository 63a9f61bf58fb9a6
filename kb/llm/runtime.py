"""What a GGUF model does that is loaded in this process: text to tokens, a prompt to an answer."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import NamedTuple, Protocol

from kb.domain.answers.generation import Message

TOP_K, TOP_P, MIN_P = 40, 0.9, 0.0
"""How the next token is drawn above temperature 0: as Ollama has it."""
SEEDS = 1 << 32


class Piece(NamedTuple):
    """A piece of the answer, in whole characters, and how many tokens have been made so far."""

    text: str
    made: int


class Runtime(Protocol):
    """A loaded model and its chat template."""

    def tokens(self, text: str) -> list[int]:
        """The tokens of `text` as plain text: no mark inside it is one."""

    def prompt_tokens(self, messages: Sequence[Message]) -> list[int]:
        """The tokens of the template with the messages in their places. Raises: ModelCorrupt."""

    def pieces(
        self, prompt: Sequence[int], most: int, temperature: float, seed: int | None
    ) -> Generator[Piece | None, None, None]:
        """The pieces of an answer of `most` tokens at most; None when the model ends it; closing it stops the model.

        Each text starts from an empty cache. Raises: StreamBroken.
        """
