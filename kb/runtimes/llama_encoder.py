"""A GGUF encoder or cross-encoder in llama-cpp-python: one text, or one pair, a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kb.errors import ModelCorrupt, ModelError, PromptTooLong
from kb.runtimes.llama_log import silence
from kb.runtimes.pair_form import texts_of

_RERANK_TEMPLATE = "tokenizer.chat_template.rerank"


class LlamaEncoder:
    """A loaded file."""

    library = "llama-cpp-python"

    def __init__(self, path: Path, pooling: int, tokens: int, threads: int) -> None:
        """Loads it. Raises: ModelCorrupt for a file that does not load."""
        import llama_cpp

        silence()
        try:
            self._llama: Any = llama_cpp.Llama(
                str(path),
                n_ctx=tokens,
                n_batch=tokens,
                n_ubatch=tokens,
                n_threads=threads,
                n_threads_batch=threads,
                embedding=True,
                pooling_type=pooling,
                verbose=False,
            )
        except (RuntimeError, ValueError, OSError) as error:
            hint = "use another GGUF file, or a newer llama-cpp-python"
            raise ModelCorrupt(f"{path} cannot be loaded: {error}", hint) from error
        self._tokens = tokens
        self._library: Any = llama_cpp
        self._vocabulary = llama_cpp.llama_model_get_vocab(self._llama.model)

    def embed(self, text: str) -> list[float]:
        """The vector of a text, not normalised."""
        tokens = self._llama.tokenize(text.encode(), add_bos=True, special=False)
        return self._run(tokens, self._library.llama_model_n_embd(self._llama.model))

    def score(self, question: str, passage: str) -> float:
        """The logit of a pair, which is put together as llama.cpp's own server does it."""
        template = self._llama.metadata.get(_RERANK_TEMPLATE)
        if template:
            pieces = texts_of(template, question, passage)
            tokens = [token for piece, marks in pieces for token in self._plain(piece, marks=marks)]
        else:
            tokens = self._pair(self._plain(question), self._plain(passage))
        return self._run(tokens, 1)[0]

    def _pair(self, question: Sequence[int], passage: Sequence[int]) -> list[int]:
        library, vocabulary = self._library, self._vocabulary
        separator = library.llama_vocab_sep(vocabulary)
        end = library.llama_vocab_eos(vocabulary)
        ends = [separator if end < 0 else end] if library.llama_vocab_get_add_eos(vocabulary) else []
        first = [library.llama_vocab_bos(vocabulary)] if library.llama_vocab_get_add_bos(vocabulary) else []
        between = [separator] if library.llama_vocab_get_add_sep(vocabulary) else []
        return [*first, *question, *ends, *between, *passage, *ends]

    def _plain(self, text: str, *, marks: bool = False) -> list[int]:
        found: list[int] = self._llama.tokenize(text.encode(), add_bos=False, special=marks)
        return found

    def _run(self, tokens: Sequence[int], count: int) -> list[float]:
        """The first `count` numbers that the tokens give. Raises: PromptTooLong, ModelError."""
        if len(tokens) > self._tokens:
            raise PromptTooLong(f"{len(tokens)} tokens, and the model reads {self._tokens}")
        batch, context = self._llama._batch, self._llama._ctx
        batch.reset()
        batch.add_sequence(tokens, 0, True)
        try:
            context.kv_cache_clear()
            context.decode(batch)
        except RuntimeError as error:
            raise ModelError(f"llama.cpp gave up: {error}", "the model may need more memory than there is") from error
        values = self._library.llama_get_embeddings_seq(context.ctx, 0)
        if not values:
            raise ModelError("llama.cpp gave no vector", "see that models.embedding.pooling suits the model")
        found: list[float] = values[:count]
        return found
