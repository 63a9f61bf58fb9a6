"""Steps in a worker whose process is killed where pictures are to be read."""

from __future__ import annotations

import os
import signal

from kb.extract import steps
from kb.extract.registry import OF_PICTURES
from kb.extract.steps import StepsDone, Work
from kb.workers.pool import Tell


def derive_steps(tell: Tell, work: Work, data: bytes) -> StepsDone:
    if work.steps == (OF_PICTURES,):
        os.kill(os.getpid(), signal.SIGKILL)
    return steps.derive_steps(tell, work, data)
