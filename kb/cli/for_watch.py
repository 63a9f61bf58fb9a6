"""The ingest that `kb watch` runs as a process of its own: first the text, then the vectors, in turns with ingests of
what changes meanwhile.

`kb watch` sends SIGUSR1 once it has read that passages are embedded, and takes a change for read when the ingest that
follows says that it scans.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace

from kb.cli.call import Call
from kb.cli.output.printing import print_json, print_json_with_list
from kb.cli.output.progress import ingest_progress, interruptible
from kb.domain.run_handle import RunHandle
from kb.operations.ingest.ingest import ingest, make_room_for_encoder
from kb.operations.ingest.requests import IngestRequest

# How often it is looked whether the ingest of a turn should end: so long Ctrl-C may wait.
_POLL_S = 0.2


def ingest_command_line(call: Call, *options: str) -> list[str]:
    """The command of an ingest for `kb watch` with the configuration of this call."""
    return [sys.executable, "-P", "-m", "kb", *call.same_options(), "ingest", "--json", "--for-watch", *options]


def ingest_for_watch(call: Call, request: IngestRequest) -> int:
    """Ingests text, prints the report, and embeds; returns the exit code.

    Notes of the embedding are a further report without items. Raises: as `ingest` and `embed_in_turns`.
    """
    with interruptible(ingest_progress(as_json=True)) as handle:
        report = ingest(replace(request, embedding=None), handle)
        print_json_with_list(report, report.items)
        code = 2 if report.counts.errors and not report.counts.scanned else 0
        if request.embedding is None or report.aborted or code:
            return code
        make_room_for_encoder()
        from kb.operations.embedding.turns import Turns, embed_in_turns

        turn = _Turn(call, handle)
        turns = Turns(turn.take)
        signal.signal(signal.SIGUSR1, lambda signum, frame: turns.ask())
        try:
            report.notes = embed_in_turns(request.sqlite, request.embedding, handle, turns)
        finally:
            signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # nobody is left to take a turn
        if report.notes:
            print_json(report)
        return turn.code


class _Turn:
    """Ingests of changes by a process of its own, whose memory ends with it. `code`: the exit code of one that failed,
    after which the embedding ends too, and `kb watch` tries again.
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
