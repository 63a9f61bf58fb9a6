"""Checks which engines can read PDFs, images and recordings, and which grammars can parse source code.

A missing one affects only its files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kb.config import Config
from kb.domain.checks import Check
from kb.domain.plugins import PLUGIN_KINDS, PluginKind
from kb.embed.provider import PLUGIN
from kb.errors import KbError, ModelMissing
from kb.extract.code.grammars import GRAMMARS, lacking_module
from kb.extract.registry import EXTRACTORS
from kb.installation import extra_command
from kb.operations.ingest.requests import extraction_plan
from kb.plugins import find_plugin, installed_plugins


def check_grammars(config: Config) -> Iterator[Check]:
    """Whether source code of every language can be parsed; without a grammar it is cut by paragraphs."""
    lacking = {lang: module for lang in GRAMMARS if (module := lacking_module(lang)) is not None}
    if not lacking:
        yield Check("grammars", True, f"{', '.join(GRAMMARS)} are parsed", needed=False)
        return
    modules = ", ".join(dict.fromkeys(lacking.values()))
    detail = f"{', '.join(lacking)} are cut by paragraphs: {modules} not installed"
    yield Check("grammars", False, detail, extra_command("code"), needed=False)


def check_plugins(config: Config) -> Iterator[Check]:
    """One check per installed or configured plugin: its package, and whether it loads if it is used."""
    embedding, rerank, rag = config.models_embedding, config.rerank, config.rag
    # Of each kind: the plugins in use, and how another one is taken into use.
    kinds: Mapping[PluginKind, tuple[Sequence[str], str]] = {
        "extractor": (config.plugins.extractors, "add {} to plugins.extractors"),
        "chunker": (
            [pair.partition("=")[2] for pair in config.plugins.chunkers],
            "add KIND={} to plugins.chunkers",
        ),
        "embedder": (
            [embedding.model] if embedding.provider == PLUGIN else (),
            'models.embedding.provider = "plugin", models.embedding.model = "{}"',
        ),
        "reranker": (
            [rerank.model] if rerank.provider == PLUGIN else (),
            'rerank.provider = "plugin", rerank.model = "{}"',
        ),
        "claim_judge": (
            [rag.claim_model] if rag.claim_judge == PLUGIN else (),
            'rag.claim_judge = "plugin", rag.claim_model = "{}"',
        ),
    }
    for kind in PLUGIN_KINDS:
        label, (used, how_to_use) = f"plugin_{kind}", kinds[kind]
        installed = {each.name: each for each in installed_plugins(kind)}
        for name in dict.fromkeys((*installed, *used)):
            if name not in used:
                found, use = installed[name], how_to_use.format(name)
                yield Check(label, True, f"{name} of {found.package} {found.version}: installed, not used ({use})")
                continue
            try:
                plugin = find_plugin(kind, name)
                plugin.load()
            except KbError as error:
                yield Check(label, False, error.message, error.hint)
            else:
                yield Check(label, True, f"{name} of {plugin.package} {plugin.version}")


def check_engines(config: Config) -> Iterator[Check]:
    """One check per derived result, or kind of files in parts: its engine, or what to install."""
    settings = extraction_plan(config).settings
    steps = {
        extractor if step.name == "parts" else step.name: step
        for extractor, each in EXTRACTORS.items()
        for step in each.steps
    }
    for name, step in steps.items():
        label = f"engine_{name.replace('-', '_')}"
        try:
            engine = step.load().engine(settings)
        except ModelMissing as error:
            yield Check(label, False, error.message, error.hint, needed=False)
        except KbError as error:
            yield Check(label, False, error.message, error.hint)
        else:
            found = f"{engine.name} {engine.version} ({engine.settings})" if engine else "switched off"
            yield Check(label, engine is not None, found, needed=False)
