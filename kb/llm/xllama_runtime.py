"""A model in xllamacpp, which has wheels that need no compiler."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from kb.domain.answers.generation import Message
from kb.llm.chat_template import CHATML, ChatTemplate
from kb.llm.runtime import MIN_P, SEEDS, TOP_K, TOP_P, Piece
from kb.runtimes.xllama_server import XllamaServer

_BATCH_TOKENS = 512


class XllamaRuntime:
    """A loaded model and its chat template: `kb.llm.runtime.Runtime`."""

    def __init__(self, server: XllamaServer, template: ChatTemplate) -> None:
        self._server = server
        self._template = template
        self._first = self._tokens("", add_special=True)  # what the model wants before all else, if anything

    def tokens(self, text: str) -> list[int]:
        """The tokens of `text` as plain text."""
        return self._tokens(text) if text else []

    def prompt_tokens(self, messages: Sequence[Message]) -> list[int]:
        """The tokens of the template with the messages in their places. Raises: ModelCorrupt."""
        prompt: list[int] = []
        for part in self._template.parts(messages):
            prompt += self._tokens(part.text, parse_special=not part.is_message)
        first = self._first[:1]
        return prompt if prompt[:1] == first else [*first, *prompt]

    def pieces(
        self, prompt: Sequence[int], most: int, temperature: float, seed: int | None
    ) -> Generator[Piece | None, None, None]:
        """A piece per whole character or token. Raises: StreamBroken."""
        asked = {
            "prompt": list(prompt),
            "n_predict": most,
            "temperature": temperature,
            "top_k": TOP_K,
            "top_p": TOP_P,
            "min_p": MIN_P,
            "cache_prompt": False,
            "stream": True,
            **({} if seed is None else {"seed": seed % SEEDS}),
        }
        with closing(self._server.events("/completion", asked)) as events:
            for event in events:
                if event["stop"] and event["stop_type"] == "eos":
                    yield None
                else:
                    yield Piece(event["content"], event["tokens_predicted"])

    def _tokens(self, text: str, **how: bool) -> list[int]:
        asked = {"content": text, "add_special": False, "parse_special": False, **how}
        found: list[int] = self._server.ask("/tokenize", asked)["tokens"]
        return found


def load_xllama(gguf: Path, context_tokens: int, threads: int) -> XllamaRuntime:
    """The model at `gguf`, loaded. Raises: ModelCorrupt for a file that does not load."""

    def configure(params: Any) -> None:
        params.n_batch = min(_BATCH_TOKENS, context_tokens)

    server = XllamaServer(gguf, context_tokens, threads, configure)
    known = server.ask("/props")
    template = ChatTemplate(gguf, known["chat_template"] or CHATML, known["bos_token"], known["eos_token"])
    return XllamaRuntime(server, template)
