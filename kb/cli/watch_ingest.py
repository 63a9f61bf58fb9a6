"""The ingest that `kb watch` runs in a separate process: first the text, then the vectors, with turns for changes.

When a file changes while passages are embedded, `kb watch` sends SIGUSR1. Once the ingest that follows reports that it
scans, `kb watch` takes the change as read.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from kb.cli.call import Call
from kb.cli.output.printing import print_json, print_json_with_list
from kb.cli.output.progress import ingest_progress, interruptible
from kb.domain.results.ingest import IngestReport
from kb.domain.run_handle import RunHandle
from kb.operations.embedding.plan import EmbeddingPlan
from kb.operations.ingest.ingest import ingest, make_room_for_encoder, return_freed_memory
from kb.operations.ingest.requests import IngestRequest

if TYPE_CHECKING:
    from kb.operations.embedding.turns import Turns

NOT_TAKEN = 75
"""The exit code of a process that was asked for a turn but had nothing left to embed (EX_TEMPFAIL of sysexits.h)."""

# How often the ingest of a turn checks whether it is canceled, and so how long Ctrl-C may take.
_POLL_S = 0.2


def ingest_command_line(call: Call, *options: str) -> list[str]:
    """The command of an ingest for `kb watch` with the configuration of this call: JSON, and errors in words."""
    return [sys.executable, "-P", "-m", "kb", *call.same_options(), "ingest", "--for-watch", *options]


def ingest_for_watch(call: Call, request: IngestRequest) -> int:
    """Ingests text, prints the report, and embeds; then again for files of slow engines. Returns the exit code.

    Notes of the embedding are a further report without items. Raises: as `ingest` and `embed_in_turns`.
    """
    from kb.operations.embedding.turns import Turns  # kb watch itself needs none

    with interruptible(ingest_progress(as_json=True)) as handle:
        turn = _Turn(call, handle)
        turns = Turns(turn.take)
        signal.signal(signal.SIGUSR1, lambda signum, frame: turns.ask())
        report = _ingest_and_embed(request, request.embedding, handle, turns)
        if report.slow_left and not handle.is_canceled():
            report = _ingest_and_embed(replace(request, embedding=None), request.embedding, handle, turns)
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # it would end the process otherwise
        failed = 2 if report.counts.errors and not report.counts.scanned else 0
        return turn.code or failed or (NOT_TAKEN if turns.is_asked else 0)


def _ingest_and_embed(
    request: IngestRequest, plan: EmbeddingPlan | None, handle: RunHandle, turns: Turns
) -> IngestReport:
    """Ingests, then embeds as `plan` says, if there is one."""
    report = ingest(request, handle)
    print_json_with_list(report, report.items)
    if plan is None or report.aborted:
        return report
    from kb.operations.embedding.turns import embed_in_turns

    make_room_for_encoder()
    report.notes = embed_in_turns(request.sqlite, plan, handle, turns)
    return_freed_memory()
    if report.notes:
        print_json(report)
    return report


class _Turn:
    """Runs an ingest of changes in a separate process, whose memory is freed when it ends.

    `code` is the exit code of an ingest that failed; the embedding then ends too, and `kb watch` tries again.
    """

    def __init__(self, call: Call, handle: RunHandle) -> None:
        self.code = 0
        self._call, self._handle = call, handle

    def take(self) -> None:
        """Ingests the text of what has changed; ends early if the work is canceled."""
        process = subprocess.Popen(ingest_command_line(self._call, "--no-embed"))
        while process.returncode is None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_POLL_S)
            if self._handle.is_canceled() and process.returncode is None:
                process.terminate()
                process.wait()
        if process.returncode not in (0, 130):
            self.code = process.returncode
            self._handle.cancel()
