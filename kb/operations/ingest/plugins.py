"""The extractors and chunkers of other packages that a configuration names, as an ingest uses them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kb.config import Config
from kb.domain.chunks import PluginChunker
from kb.domain.derived import read_labels
from kb.domain.kinds import KINDS, Kind, Kinds, plugin_kind
from kb.errors import ConfigError, KbError, PluginFailed
from kb.plugins import find_plugin, told_by

_EXTENSION = re.compile(r"[a-z0-9_]{1,12}")
_NAME = re.compile(r"[a-z][a-z0-9_.-]*")
_HINT = "take it out of the configuration, or tell its author"


@dataclass(frozen=True, slots=True)
class IngestPlugins:
    """All kinds of files, those of plugins included, and who cuts which; `failures` are of plugins by their names.

    `uncut` are the families whose chunker is lacking: their files stay as they are stored.
    """

    kinds: Kinds = KINDS
    chunkers: Mapping[str, PluginChunker] = field(default_factory=dict)
    failures: Mapping[str, KbError] = field(default_factory=dict)
    uncut: frozenset[str] = frozenset()

    @property
    def include(self) -> tuple[str, ...]:
        """The patterns of the files that extractors were named for."""
        own = set(KINDS.spellings())
        return tuple(f"**/{spelling}" for spelling in self.kinds.spellings() if spelling not in own)

    def notes(self) -> Iterator[str]:
        """What an ingest says of the plugins that it does without."""
        for error in self.failures.values():
            yield f"{error.message} ({error.hint}); what is stored of its files stays"

    def is_lacking(self, parser_version: str) -> bool:
        """Whether a document with that parser version was made by an extractor that cannot be asked now."""
        label = read_labels(parser_version)[1].get("plugin-text")
        return label is not None and label.rpartition("-")[0] in self.failures


NO_PLUGINS = IngestPlugins()


def ingest_plugins(config: Config) -> IngestPlugins:
    """The plugins that the configuration names, loaded; one that cannot be is among the failures."""
    if not config.plugins.extractors and not config.plugins.chunkers:
        return NO_PLUGINS
    kinds, failures = KINDS, dict[str, KbError]()
    for name in config.plugins.extractors:
        try:
            kinds = kinds.and_kind(_kind(name, kinds))
        except KbError as error:
            failures[name] = error
    chunkers: dict[str, PluginChunker] = {}
    uncut: set[str] = set()
    for pair in config.plugins.chunkers:
        family, _, name = pair.partition("=")
        try:
            chunkers[family] = _chunker(family, name, kinds)
        except KbError as error:
            failures[pair] = error
            uncut.add(family)
    return IngestPlugins(kinds, chunkers, failures, frozenset(uncut))


def _kind(name: str, kinds: Kinds) -> Kind:
    """The kind of files that the extractor called `name` reads. Raises: ModelMissing, PluginFailed."""
    plugin = find_plugin("extractor", name)
    extractor = plugin.load()
    with told_by(plugin, _HINT):
        extensions = tuple(str(each) for each in extractor.extensions)
    if name in kinds.families or not _NAME.fullmatch(name):
        raise PluginFailed(f"{plugin.label} is called as no extractor can be", _HINT)
    for extension in extensions:
        if not _EXTENSION.fullmatch(extension) or kinds.type_of(f"a.{extension}") is not None:
            raise PluginFailed(f"{plugin.label} asks for files that end in .{extension}: not its own", _HINT)
    return plugin_kind(name, extensions)


def _chunker(family: str, name: str, kinds: Kinds) -> PluginChunker:
    """The chunker called `name`, for files of that family. Raises: ModelMissing, PluginFailed, ConfigError."""
    cited_by_lines = [kind.family for kind in kinds.kinds if kind.citation == "line"]
    if family not in cited_by_lines:
        raise ConfigError(f"plugins.chunkers: {family!r} is none of {', '.join(cited_by_lines)}", "write KIND=CHUNKER")
    plugin = find_plugin("chunker", name)
    chunker = plugin.load()
    with told_by(plugin, _HINT):
        cuts = tuple(chunker.kinds)
    if family not in cuts:
        raise PluginFailed(f"{plugin.label} cuts {', '.join(cuts)}, not {family}", _HINT)
    return PluginChunker(plugin.label, f"{plugin.name}-{plugin.version}", chunker)
