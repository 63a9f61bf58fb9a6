"""Plugins of other packages, found by their entry points: extractors, chunkers, embedders, rerankers, judges.

    [project.entry-points."kb.extractors"]
    subtitles = "kb_subtitles:Subtitles"

Nothing is looked for before a configuration names a plugin, and none is loaded that it does not name. A plugin package
imports the types it needs from here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple

from kb.domain.plugins import (
    PLUGIN_KINDS,
    ExtractedText,
    PassageReranker,
    PluginKind,
    SectionChunker,
    SupportJudge,
    TextBlock,
    TextEmbedder,
    TextExtractor,
)
from kb.errors import KbError, ModelMissing, PluginFailed, worded

__all__ = [
    "ExtractedText",
    "PassageReranker",
    "SectionChunker",
    "SupportJudge",
    "TextBlock",
    "TextEmbedder",
    "TextExtractor",
]

_WORDED = {kind: kind.replace("_", " ") for kind in PLUGIN_KINDS}


class Plugin(NamedTuple):
    """A plugin as its package declares it; not loaded."""

    kind: PluginKind
    name: str
    package: str
    version: str
    entry_point: EntryPoint

    @property
    def label(self) -> str:
        """`the extractor subtitles of kb-subtitles 0.1.0`: the name of the plugin in its errors."""
        return f"the {_WORDED[self.kind]} {self.name} of {self.package} {self.version}"

    def load(self) -> Any:
        """Loads and calls the object that the entry point names. Raises: PluginFailed."""
        with told_by(self, "reinstall its package, or take it out of the configuration"):
            return self.entry_point.load()()


def installed_plugins() -> dict[PluginKind, dict[str, Plugin]]:
    """All that are installed, by kind and name; of two with one name the first that Python finds."""
    found: dict[PluginKind, dict[str, Plugin]] = {kind: {} for kind in PLUGIN_KINDS}
    declared = entry_points()  # reads the metadata of all packages
    for kind, named in found.items():
        for each in sorted(declared.select(group=f"kb.{kind}s"), key=lambda each: each.name):
            if (package := each.dist) is not None:
                named.setdefault(each.name, Plugin(kind, each.name, package.name, package.version, each))
    return found


def find_plugin(kind: PluginKind, name: str) -> Plugin:
    """The one called `name`. Raises: ModelMissing where there is none."""
    installed = installed_plugins()[kind]
    if plugin := installed.get(name):
        return plugin
    others = ", ".join(installed)
    known = f"there is {others}" if others else "none is; install its package for the Python that runs kb"
    raise ModelMissing(f"no {_WORDED[kind]} called {name} is installed", f"{known} (kb doctor lists plugins)")


@contextmanager
def told_by(plugin: Plugin, hint: str) -> Iterator[None]:
    """Turns any exception of the plugin into an error with the plugin's name. Raises: PluginFailed."""
    try:
        yield
    except KbError:
        raise
    except (Exception, SystemExit) as error:
        raise PluginFailed(f"{plugin.label} failed ({type(error).__name__}): {worded(error)}", hint) from error
