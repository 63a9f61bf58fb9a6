"""How many tokens a text takes: by the vocabulary of the configured embedding model, or estimated without one.

Which model reads the text in the end is not known here; the vocabulary of 250,000 pieces that the default model has
counts Korean and English about as the larger language models do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kb.config import Config
from kb.errors import KbError
from kb.operations.session.loaded_models import LoadedModels

ESTIMATE = "estimate"


class TokenCounter(NamedTuple):
    """What counts (the name of a model, or `estimate`) and the function that does."""

    name: str
    count: Callable[[str], int]


def token_counter(config: Config, models: LoadedModels) -> TokenCounter:
    """The counter of a configuration; the vocabulary is mapped, not loaded."""
    from kb.models.manifest import manifest_bytes

    name = config.models_embedding.model
    mark = manifest_bytes(models.model_dir, name)
    return models.kept(f"token counter {name}", mark, lambda: _counter(config, models))


def _counter(config: Config, models: LoadedModels) -> TokenCounter:
    from kb.embed.installed.vocabulary import VOCABULARY_FILE, WordTokens, open_vocabulary
    from kb.models.manifest import read_installed

    name = config.models_embedding.model
    try:
        read_installed(models.model_dir, name)
        tokens = WordTokens(open_vocabulary(models.model_dir / name / VOCABULARY_FILE))
    except KbError:
        from kb.chunk.tokens import estimate_tokens

        return TokenCounter(ESTIMATE, estimate_tokens)
    return TokenCounter(name, lambda text: len(tokens.token_ids(text.encode("utf-8", "replace").decode("utf-8"))))
