"""Opens the judge of a model's sentences: the language model itself, an NLI model, or a plugin. Off by default.

The judge's verdict is stored next to that of the rules. If the rules find no contradiction, the judge decides.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from typing import NamedTuple

from kb.answer.generated_text import without_thoughts
from kb.answer.prompt import filled, template
from kb.config import Config
from kb.domain.answers import ClaimJudge, Verdict
from kb.domain.checks import Check
from kb.domain.generation import Done, GenerateRequest, LanguageModel, Message
from kb.domain.plugins import SupportJudge
from kb.domain.text import stored_text
from kb.embed.nli import open_nli
from kb.errors import KbError, PluginFailed
from kb.operations.opening.loaded_models import LoadedModels
from kb.plugins import Plugin, find_plugin, told_by

# One word, and the model's thoughts before it.
_REPLY_TOKENS = 400
_SAID: dict[str, Verdict] = {"yes": "support", "no": "contradiction"}


def claim_judge(config: Config, models: LoadedModels, writer: LanguageModel) -> ClaimJudge | None:
    """The configured claim judge; None if none is configured. Raises: ModelMissing, ModelCorrupt, PluginFailed."""
    kind, name = config.rag.claim_judge, config.rag.claim_model
    if kind == "none":
        return None
    if kind == "llm":
        return ModelJudge(f"llm:{writer.model_ref.id}", writer)
    return models.kept("claim judge", (kind, name), lambda: open_judge(config))


def open_judge(config: Config) -> ClaimJudge:
    """Opens the configured NLI model or plugin. Raises: ModelMissing, ModelCorrupt, PluginFailed."""
    name = config.rag.claim_model
    if config.rag.claim_judge == "onnx":
        return open_nli(config.model_dir, config.path(name), config.models_embedding.threads or os.cpu_count() or 1)
    plugin = find_plugin("claim_judge", name)
    return PluginJudge(f"plugin:{plugin.name}:{plugin.version}", plugin, plugin.load())


def check_claim_judge(config: Config) -> list[Check]:
    """Doctor's check that the configured claim judge loads; empty if there is none, or if it is the language model."""
    if config.rag.claim_judge in ("none", "llm"):
        return []
    try:
        return [Check("claim_judge", True, open_judge(config).label)]
    except KbError as error:
        return [Check("claim_judge", False, error.message, error.hint)]


class ModelJudge(NamedTuple):
    """A claim judge that asks a language model for yes or no about each sentence."""

    label: str
    model: LanguageModel

    def judge(self, claim: str, sources: Sequence[str]) -> Verdict:
        """The verdict by the first word of the model's reply; unknown if it is not yes or no. Raises: ModelError."""
        system, user = template("claim-v1")
        shown = "\n\n".join("\n".join(f"| {line}" for line in stored_text(each).splitlines()) for each in sources)
        said = filled(user, sources=shown, claim=" ".join(stored_text(claim).split()))
        request = GenerateRequest((Message("system", system), Message("user", said)), _REPLY_TOKENS)
        parts: list[str] = []
        with closing(self.model.stream(request)) as stream:
            for item in stream:
                if isinstance(item, Done):
                    break
                parts.append(item.text)
        first = without_thoughts("".join(parts)).strip().casefold().partition(" ")[0]
        return _SAID.get(first.strip(".,:;!*\"'\n"), "unknown")


class PluginJudge(NamedTuple):
    """The claim judge of a plugin."""

    label: str
    plugin: Plugin
    brought: SupportJudge

    def judge(self, claim: str, sources: Sequence[str]) -> Verdict:
        """The plugin's verdict. Raises: PluginFailed, also if the plugin returns something else."""
        with told_by(self.plugin, "set rag.claim_judge to none, or tell its author"):
            said: Verdict = self.brought.judge(claim, list(sources))
        if said not in ("support", "contradiction", "unknown"):
            wanted = "it is to say support, contradiction or unknown"
            raise PluginFailed(f"{self.plugin.label} says {str(said)[:40]!r}", wanted)
        return said
