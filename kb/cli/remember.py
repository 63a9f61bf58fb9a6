"""Keeps the list that is printed, for `kb open N`; says so where it cannot be kept."""

from __future__ import annotations

from pathlib import Path

from kb.cli.output.printing import echo_folded
from kb.cli.output.terminal import plain_line
from kb.operations.answers.last_shown import Shown, keep_shown
from kb.private import is_read_only


def remember(data_dir: Path, shown: Shown) -> None:
    """Keeps what is about to be shown: who reads it may go away (`kb search … | head -1`) before it is all printed."""
    if is_read_only():
        return
    if note := keep_shown(data_dir, shown):
        echo_folded(plain_line(note), head="note: ", err=True)
