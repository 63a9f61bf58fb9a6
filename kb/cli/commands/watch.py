"""`kb watch`: a process that stays, so that calls of kb need not start from nothing."""

from __future__ import annotations

import signal
import sys
from contextlib import suppress

import click

from kb.cli.call import Call, pass_call
from kb.cli.calls import answer_calls, only_watch
from kb.cli.entry import config_path
from kb.cli.output.printing import echo_folded
from kb.domain.text import plain_line
from kb.errors import UsageError


@click.command("watch", epilog="\b\nExamples:\n  kb watch                     # until Ctrl-C\n")
@pass_call
def watch_command(call: Call) -> None:
    """Run kb search, ask, fetch and open of other terminals in a process that has loaded kb already.

    Such calls print the same as without it, sooner. Models are loaded at the first call, and dropped after ten minutes
    without one.
    """
    if sys.platform != "linux":
        raise UsageError("kb watch runs on Linux only", "elsewhere each call of kb starts by itself")
    config = config_path(str(call.config.file) if call.config.file else None)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with suppress(KeyboardInterrupt), only_watch(config) as listening:
        echo_folded(plain_line(config), head="watching, for calls with the configuration ")
        answer_calls(listening, config)
