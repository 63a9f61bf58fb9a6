"""A model in llama-cpp-python. What the C code logs is dropped: an error says what there is to say."""

from __future__ import annotations

import codecs
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

from kb.domain.answers.generation import Message
from kb.errors import ModelCorrupt, StreamBroken
from kb.llm.chat_template import CHATML, ChatTemplate
from kb.llm.runtime import MIN_P, SEEDS, TOP_K, TOP_P, Piece
from kb.runtimes.llama_log import silence

_BATCH_TOKENS = 512


class LlamaRuntime:
    """A loaded model and its chat template: `kb.llm.runtime.Runtime`."""

    def __init__(self, llama: Any, template: ChatTemplate, is_end: Any) -> None:
        self._llama = llama
        self._template = template
        self._is_end = is_end

    def tokens(self, text: str) -> list[int]:
        """The tokens of `text` as plain text."""
        found: list[int] = self._llama.tokenize(text.encode("utf-8", "replace"), add_bos=False, special=False)
        return found

    def prompt_tokens(self, messages: Sequence[Message]) -> list[int]:
        """The tokens of the template with the messages in their places. Raises: ModelCorrupt."""
        prompt: list[int] = []
        for part in self._template.parts(messages):
            if part.is_message:
                prompt += self.tokens(part.text)
            else:
                prompt += self._llama.tokenize(part.text.encode(), add_bos=False, special=True)
        first = self._llama.token_bos()
        if self._llama._model.add_bos_token() and prompt[:1] != [first]:
            prompt.insert(0, first)
        return prompt

    def pieces(
        self, prompt: Sequence[int], most: int, temperature: float, seed: int | None
    ) -> Generator[Piece | None, None, None]:
        """A piece per token, empty while a character is not whole. Raises: StreamBroken."""
        import llama_cpp

        self._llama.reset()
        self._llama.set_seed(llama_cpp.LLAMA_DEFAULT_SEED if seed is None else seed % SEEDS)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        tokens = self._llama.generate(list(prompt), temp=temperature, top_k=TOP_K, top_p=TOP_P, min_p=MIN_P)
        try:
            for made, token in enumerate(tokens, 1):
                if self._is_end(token):
                    yield None
                    return
                yield Piece(decoder.decode(self._llama.detokenize([token])), made)
                if made == most:
                    return
        except RuntimeError as error:
            raise StreamBroken(f"llama.cpp gave up: {error}", "the model may need more memory than there is") from error
        finally:
            tokens.close()


def load_llama(gguf: Path, context_tokens: int, threads: int) -> LlamaRuntime:
    """The model at `gguf`, loaded. Raises: ModelCorrupt for a file that does not load."""
    import llama_cpp

    silence()
    try:
        llama = llama_cpp.Llama(
            str(gguf),
            n_ctx=context_tokens,
            n_batch=_BATCH_TOKENS,
            n_threads=threads,
            n_threads_batch=threads,
            n_gpu_layers=-1 if llama_cpp.llama_supports_gpu_offload() else 0,
            verbose=False,
        )
    except _load_errors() as error:
        hint = "use another GGUF file, or a newer llama-cpp-python"
        raise ModelCorrupt(f"{gguf} cannot be loaded: {error}", hint) from error
    vocabulary = llama_cpp.llama_model_get_vocab(llama.model)
    written = llama.metadata.get("tokenizer.chat_template", CHATML)
    template = ChatTemplate(gguf, written, _text_of(llama, llama.token_bos()), _text_of(llama, llama.token_eos()))
    return LlamaRuntime(llama, template, lambda token: llama_cpp.llama_vocab_is_eog(vocabulary, token))


def _load_errors() -> tuple[type[Exception], ...]:
    """What loading raises; the library reads the template too, by itself."""
    from jinja2 import TemplateError

    return (TemplateError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RuntimeError, OSError)


def _text_of(llama: Any, token: int) -> str:
    return "" if token < 0 else str(llama.detokenize([token], special=True).decode("utf-8", "replace"))
