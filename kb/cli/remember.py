"""Keeps the list just printed, for `kb open N`; says so where it cannot be kept."""

from __future__ import annotations

import sys
from pathlib import Path

from kb.cli.output.printing import echo_folded
from kb.cli.output.terminal import plain_line
from kb.operations.answers.last_shown import Shown, keep_shown
from kb.private import is_read_only


def remember(data_dir: Path, shown: Shown) -> None:
    """Keeps what was shown, after it is on the screen."""
    if is_read_only():
        return
    sys.stdout.flush()
    if note := keep_shown(data_dir, shown):
        echo_folded(plain_line(note), head="note: ", err=True)
