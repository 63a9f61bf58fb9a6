"""The engines of a run, each looked up once; the extractors and chunkers of plugins; PDF passwords.

Passwords are fetched for the first encrypted file, and passed through a pipe to the process that reads it. No message,
log, report or command line contains one.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kb.config import Config
from kb.domain.derived import NOT_DERIVED, DerivedName, Engine, ExtractSettings, labelled_version, read_labels
from kb.domain.documents import PluginChunker
from kb.domain.kinds import KINDS, Kind, Kinds, MediaFamily, plugin_kind
from kb.errors import ConfigError, KbError, ModelError, PasswordNeeded, PluginFailed
from kb.extract.registry import Step, extractor_of
from kb.operations.compute.plan import HERE, ComputePlan
from kb.operations.opening.exposure import no_path
from kb.plugins import find_plugin, told_by

_EXTENSION = re.compile(r"[a-z0-9_]{1,12}")
_NAME = re.compile(r"[a-z][a-z0-9_.-]*")
_PLUGIN_HINT = "take it out of the configuration, or tell its author"

# The key in the unencrypted trailer of an encrypted PDF (ISO 32000 §7.6.1).
_ENCRYPTED = b"/Encrypt"

# A person may have to type the key of a password store.
_COMMAND_TIMEOUT_S = 300


class PdfPasswords:
    """The configured passwords, and those that the configured command prints. The command runs at most once."""

    def __init__(self, listed: Sequence[str], command: str) -> None:
        self._listed = tuple(listed)
        self._command = command
        self._fetched: tuple[str, ...] | PasswordNeeded | None = None

    @property
    def are_given(self) -> bool:
        """Whether passwords or a command are configured."""
        return bool(self._listed or self._command)

    def needed_for(self, family: MediaFamily, data: bytes) -> tuple[str, ...]:
        """The passwords to try on a file; empty if it is no encrypted PDF.

        Raises: PasswordNeeded if the command fails.
        """
        if family != "pdf" or _ENCRYPTED not in data:
            return ()
        if self._fetched is None:
            try:
                self._fetched = _printed(self._command) if self._command else ()
            except PasswordNeeded as error:
                self._fetched = error
        if isinstance(self._fetched, PasswordNeeded):
            raise self._fetched
        return (*self._listed, *self._fetched)


def _printed(command: str) -> tuple[str, ...]:
    """The lines that a command prints. Its error output is dropped, as it may contain a password."""
    hint = "run the command of extract.pdf_passwords_command by hand, and see that it prints a password a line"
    try:
        words = shlex.split(command)
        words[0] = str(Path(words[0]).expanduser())
        ran = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_COMMAND_TIMEOUT_S,
            check=False,
        )
    except (OSError, ValueError, IndexError, subprocess.SubprocessError):
        raise PasswordNeeded("the PDF is encrypted, and the command for its password cannot be run", hint) from None
    if ran.returncode:
        raise PasswordNeeded(
            f"the PDF is encrypted, and the command for its password ended with code {ran.returncode}", hint
        )
    return tuple(filter(None, ran.stdout.decode("utf-8", "replace").splitlines()))


@dataclass(frozen=True, slots=True)
class ExtractionPlan:
    """The kinds of files to read, the settings and limits of engines, and the cluster, if any.

    `kept_here` tells which paths never go to the cluster.
    """

    families: tuple[MediaFamily, ...]
    settings: ExtractSettings
    passwords: PdfPasswords
    processes: int
    quiet_cpu_s: int
    memory_bytes: int
    cache: Path
    cache_bytes: int
    compute: ComputePlan = HERE
    kept_here: Callable[[str], bool] = no_path


@dataclass(slots=True)
class Engines:
    """The engines of one run under its settings. An engine is looked up for the first file that needs it."""

    settings: ExtractSettings
    missing: dict[Step, ModelError] = field(default_factory=dict)
    _found: dict[Step, Engine | None] = field(default_factory=dict)

    def engine_of(self, step: Step) -> Engine | None:
        """The engine of a step; None if it is switched off or not usable (`missing` then says why)."""
        if step not in self._found:
            try:
                self._found[step] = step.load().engine(self.settings)
            except ModelError as error:
                self.give_up(step, error)
        return self._found[step]

    def give_up(self, step: Step, error: ModelError) -> None:
        """Does not use the step's engine for the rest of the run, because of `error`."""
        self._found[step] = None
        self.missing[step] = error

    def lacked_by(self, family: MediaFamily) -> list[Step]:
        """The steps whose missing engines prevent reading files of that family at all; empty if it can be read."""
        if self.can_read(family):
            return []
        lacking = [step for step in extractor_of(family).steps if step in self.missing]
        return [step for step in lacking if step.is_required] or lacking

    def can_read(self, family: MediaFamily, without: frozenset[DerivedName] = frozenset()) -> bool:
        """Whether files of that family need no engine or have a usable one; results `without` do not count.

        All required engines must be usable, and at least one engine.
        """
        steps = extractor_of(family).steps
        found = {step: self.engine_of(step) for step in steps if step.name not in without}
        return not steps or (any(found.values()) and all(engine for step, engine in found.items() if step.is_required))

    def are_those_of(
        self, family: MediaFamily, parser_version: str, without: frozenset[DerivedName] = frozenset()
    ) -> bool:
        """Whether today's engines would give a document the same parser version, `without` some results.

        The results of an engine that is no longer installed count as current, since it cannot derive them again.
        """
        extractor = extractor_of(family)
        base, labels = read_labels(parser_version)
        steps = {step.name: step for step in extractor.steps}
        return base == extractor.parser_version and all(
            name in steps and (label == NOT_DERIVED if name in without else self._is_current(steps[name], label))
            for name, label in labels.items()
        )

    def parser_version(self, family: MediaFamily, without: frozenset[DerivedName] = frozenset()) -> str:
        """The parser version that today's engines give to documents of that family, `without` some results."""
        extractor = extractor_of(family)
        engines = {step.name: self.engine_of(step) for step in extractor.steps if step.name not in without}
        labels = {name: engine.label if engine else NOT_DERIVED for name, engine in engines.items()}
        return labelled_version(extractor.parser_version, labels)

    def _is_current(self, step: Step, label: str) -> bool:
        engine = self.engine_of(step)
        if engine is None:
            return label == NOT_DERIVED or step in self.missing
        return label == engine.label


@dataclass(frozen=True, slots=True)
class IngestPlugins:
    """All kinds of files, including those of plugins, and the plugins' chunkers; `failures` are errors by plugin name.

    `uncut` are families whose chunker failed to load: their stored documents stay unchanged.
    """

    kinds: Kinds = KINDS
    chunkers: Mapping[str, PluginChunker] = field(default_factory=dict)
    failures: Mapping[str, KbError] = field(default_factory=dict)
    uncut: frozenset[str] = frozenset()

    @property
    def include(self) -> tuple[str, ...]:
        """The patterns of the files that configured extractors read."""
        own = set(KINDS.spellings())
        return tuple(f"**/{spelling}" for spelling in self.kinds.spellings() if spelling not in own)

    def notes(self) -> Iterator[str]:
        """The notes of an ingest about missing plugins."""
        for error in self.failures.values():
            yield f"{error.message} ({error.hint}); what is stored of its files stays"

    def is_lacking(self, parser_version: str) -> bool:
        """Whether a document with that parser version was made by a plugin that is not available now."""
        label = read_labels(parser_version)[1].get("plugin-text")
        return label is not None and label.rpartition("-")[0] in self.failures


NO_PLUGINS = IngestPlugins()


def ingest_plugins(config: Config) -> IngestPlugins:
    """Loads the configured plugins; errors are in `failures`."""
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
    with told_by(plugin, _PLUGIN_HINT):
        extensions = tuple(str(each) for each in extractor.extensions)
    if name in kinds.families or not _NAME.fullmatch(name):
        raise PluginFailed(f"{plugin.label} is called as no extractor can be", _PLUGIN_HINT)
    for extension in extensions:
        if not _EXTENSION.fullmatch(extension) or kinds.type_of(f"a.{extension}") is not None:
            raise PluginFailed(f"{plugin.label} asks for files that end in .{extension}: not its own", _PLUGIN_HINT)
    return plugin_kind(name, extensions)


def _chunker(family: str, name: str, kinds: Kinds) -> PluginChunker:
    """The chunker called `name`, for files of that family. Raises: ModelMissing, PluginFailed, ConfigError."""
    cited_by_lines = [kind.family for kind in kinds.kinds if kind.citation == "line"]
    if family not in cited_by_lines:
        raise ConfigError(f"plugins.chunkers: {family!r} is none of {', '.join(cited_by_lines)}", "write KIND=CHUNKER")
    plugin = find_plugin("chunker", name)
    chunker = plugin.load()
    with told_by(plugin, _PLUGIN_HINT):
        cuts = tuple(chunker.kinds)
    if family not in cuts:
        raise PluginFailed(f"{plugin.label} cuts {', '.join(cuts)}, not {family}", _PLUGIN_HINT)
    return PluginChunker(plugin.label, f"{plugin.name}-{plugin.version}", chunker)
