"""A GGUF file that makes vectors, or scores of pairs, in this process: by llama-cpp-python, else by xllamacpp.

Both are llama.cpp; the second has wheels that need no compiler. Which one runs a file changes nothing but rounding.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from kb.errors import ModelCorrupt, ModelMissing
from kb.installation import extra_command
from kb.runtimes.gguf import CLS, LAST, MEAN, RANK, GgufFacts, read_gguf_facts

MOST_TOKENS = 2048
"""What is encoded at once at most; passages have some 500 tokens."""

_POOLINGS = {"mean": MEAN, "cls": CLS, "last": LAST}


class GgufEncoder(Protocol):
    """A loaded file."""

    library: str

    def embed(self, text: str) -> list[float]:
        """The vector of a text, not normalised. Raises: PromptTooLong, ModelError."""

    def score(self, question: str, passage: str) -> float:
        """The logit of a pair. Raises: PromptTooLong, ModelError."""


def encoder_facts(path: Path, key: str) -> GgufFacts:
    """What the encoder at `path` says of itself. Raises: ModelMissing; ModelCorrupt where it makes no vectors."""
    facts = read_gguf_facts(path, key)
    if facts.pooling == RANK:
        raise ModelCorrupt(f"{path} is a cross-encoder: it gives scores, not vectors", "set rerank.model to it")
    return facts


def window_tokens(facts: GgufFacts) -> int:
    """What is encoded at once."""
    return min(facts.context_tokens, MOST_TOKENS)


def open_gguf_encoder(path: Path, pooling: str, threads: int) -> GgufEncoder:
    """The encoder at `path`. `pooling` empty: as the file says, else the mean. Raises: ModelMissing, ModelCorrupt."""
    facts = encoder_facts(path, "models.embedding.model")
    wanted = _POOLINGS[pooling] if pooling else facts.pooling or MEAN
    return _opened(path, wanted, window_tokens(facts), threads)


def open_gguf_cross_encoder(path: Path, threads: int) -> GgufEncoder:
    """The cross-encoder at `path`. Raises: ModelMissing; ModelCorrupt where the file has no head that scores."""
    facts = read_gguf_facts(path, "rerank.model")
    if facts.pooling != RANK:
        raise ModelCorrupt(f"{path} is no cross-encoder: it says nothing of rank pooling", "set rerank.model to one")
    return _opened(path, RANK, window_tokens(facts), threads)


def _opened(path: Path, pooling: int, tokens: int, threads: int) -> GgufEncoder:
    if find_spec("llama_cpp") is not None:
        from kb.runtimes.llama_encoder import LlamaEncoder

        return LlamaEncoder(path, pooling, tokens, threads)
    if find_spec("xllamacpp") is not None:
        from kb.runtimes.xllama_encoder import XllamaEncoder

        return XllamaEncoder(path, pooling, tokens, threads)
    raise ModelMissing("neither llama-cpp-python nor xllamacpp is installed", extra_command("gguf"))
