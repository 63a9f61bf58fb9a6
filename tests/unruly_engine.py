"""A step whose engine does what the file's bytes ask for: crash, hang, eat memory. What is no order is read as PDF."""

from __future__ import annotations

import os

from kb.domain.derived import Engine
from kb.domain.steps import ExtractSettings, Job, Progress, Results
from kb.extract import pdf_text


def engine(settings: ExtractSettings) -> Engine:
    return Engine("unruly", "1")


def is_needed(earlier: Results) -> bool:
    return True


def derive(job: Job) -> bytes:
    match job.data:
        case b"crash":
            os.abort()
        case b"leave":
            os._exit(3)
        case b"hang":
            while True:
                pass
        case b"noise":
            raise ZeroDivisionError("an engine's bug")
        case b"memory":
            return bytes(10**12)
    job.on_progress(Progress(1, 1))
    return pdf_text.derive(job)
