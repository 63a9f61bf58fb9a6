"""What a run reads files with: its engines, asked once, and the passwords of encrypted PDFs.

Passwords are fetched when the first such file is met, and go through the pipe to the process that reads it. No message,
log, report or command line holds one.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kb.domain.derived import NOT_DERIVED, DerivedName, Engine, ExtractSettings, read_labels
from kb.domain.kinds import MediaFamily
from kb.errors import ModelError, PasswordNeeded
from kb.extract.registry import Step, extractor_of

# What an encrypted PDF says of itself in the clear, in its trailer (ISO 32000 §7.6.1).
_ENCRYPTED = b"/Encrypt"

# Asking a person for the key of a password store takes a while.
_COMMAND_TIMEOUT_S = 300


class PdfPasswords:
    """The passwords of the configuration, and those that its command prints; the command runs once at most."""

    def __init__(self, listed: Sequence[str], command: str) -> None:
        self._listed = tuple(listed)
        self._command = command
        self._fetched: tuple[str, ...] | PasswordNeeded | None = None

    def needed_for(self, family: MediaFamily, data: bytes) -> tuple[str, ...]:
        """The passwords to try on a file; none where it is no encrypted PDF.

        Raises: PasswordNeeded where the command fails.
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
    """The lines a command prints. What it says of itself is not passed on: it may hold a password."""
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
    """Which files are read, by which engines, and what those may take."""

    families: tuple[MediaFamily, ...]
    settings: ExtractSettings
    passwords: PdfPasswords
    processes: int
    quiet_cpu_s: int
    memory_bytes: int
    cache: Path
    cache_bytes: int


@dataclass(slots=True)
class Engines:
    """The engines of one run under its settings. An engine is asked for when the first file needs it."""

    settings: ExtractSettings
    missing: dict[Step, ModelError] = field(default_factory=dict)
    _found: dict[Step, Engine | None] = field(default_factory=dict)

    def engine_of(self, step: Step) -> Engine | None:
        """The step's engine; None where it is switched off, or cannot be used (then `missing` says why)."""
        if step not in self._found:
            try:
                self._found[step] = step.load().engine(self.settings)
            except ModelError as error:
                self.give_up(step, error)
        return self._found[step]

    def give_up(self, step: Step, error: ModelError) -> None:
        """Does without the step's engine for the rest of the run: it cannot be used, as `error` says."""
        self._found[step] = None
        self.missing[step] = error

    def lacked_by(self, family: MediaFamily) -> list[Step]:
        """The steps whose missing engines keep files of that family from being read at all; none if they are read."""
        if self.can_read(family):
            return []
        lacking = [step for step in extractor_of(family).steps if step in self.missing]
        return [step for step in lacking if step.is_required] or lacking

    def can_read(self, family: MediaFamily) -> bool:
        """Whether files of that family can be read at all: without engines, or by those that are here.

        All that they cannot do without must be here, and at least one.
        """
        steps = extractor_of(family).steps
        found = {step: self.engine_of(step) for step in steps}
        return not steps or (any(found.values()) and all(found[step] for step in steps if step.is_required))

    def are_those_of(
        self, family: MediaFamily, parser_version: str, without: frozenset[DerivedName] = frozenset()
    ) -> bool:
        """Whether a document with that parser version would be derived the same way now, `without` some results.

        An engine that is not installed any more makes nothing again: what it derived is better than nothing.
        """
        extractor = extractor_of(family)
        base, labels = read_labels(parser_version)
        steps = {step.name: step for step in extractor.steps}
        return base == extractor.parser_version and all(
            name in steps and (label == NOT_DERIVED if name in without else self._is_current(steps[name], label))
            for name, label in labels.items()
        )

    def label_of(self, name: DerivedName, family: MediaFamily) -> str:
        """What makes that result, for people: `tesseract 5.3.0`."""
        step = next(step for step in extractor_of(family).steps if step.name == name)
        engine = self.engine_of(step)
        return f"{engine.name} {engine.version}" if engine else name

    def _is_current(self, step: Step, label: str) -> bool:
        engine = self.engine_of(step)
        if engine is None:
            return label == NOT_DERIVED or step in self.missing
        return label == engine.label
