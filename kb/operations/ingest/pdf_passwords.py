"""The passwords of encrypted PDFs, fetched when the first such file is met and handed to the process that reads it.

They go through the pipe with the file. No message, log, report or command line holds one.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from kb.domain.kinds import MediaFamily
from kb.errors import PasswordNeeded

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
