"""A step whose engine does what the file's bytes ask for: crash, hang, eat memory. What is no order is read as PDF.

A `long` file is read in three parts. Its first run hangs after the second; one that goes on notes what it was given.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time

from kb.domain.derived import Engine, ExtractSettings, Progress, StepJob
from kb.errors import ExtractFailed, ModelCorrupt
from kb.extract.pdf import text as pdf_text
from kb.extract.pdf.pages import PdfPage, PdfText

STARVED = b"starved until a byte comes through "
_served: list[str] = []  # what this process has read


def engine(settings: ExtractSettings) -> Engine:
    return Engine("unruly", "1")


def derive(job: StepJob) -> bytes:
    match job.data:
        case b"crash":
            os.abort()
        case b"leave":
            os._exit(3)
        case b"hang":
            while True:
                pass
        case b"long":
            _read_long(job)
        case b"noise":
            raise ZeroDivisionError("an engine's bug")
        case b"child hangs":
            subprocess.run([sys.executable, "-c", "while True: pass"], check=True)
        case starved if starved.startswith(STARVED):  # as a process does that gets no processor
            with open(starved.removeprefix(STARVED), "rb") as released:
                released.read(1)
        case b"killed":
            tempfile.mkdtemp(prefix="kb-ocr-")
            os.kill(os.getpid(), signal.SIGKILL)
        case b"holds a folder":
            tempfile.mkdtemp(prefix="kb-ocr-")
            job.on_progress(Progress(1, 2))
            while True:
                time.sleep(1)
        case b"worn" if _served:
            raise MemoryError
        case b"wordless":
            raise AssertionError
        case b"unloadable":
            raise ImportError("libunruly.so.2: cannot open shared object file")
        case b"damaged model":
            raise ModelCorrupt("the model unruly is damaged", "install it again")
        case b"memory":
            return bytes(10**12)
    _served.append(job.media_type)
    job.on_progress(Progress(1, 1))
    if job.data == b"worn" or job.data.startswith(STARVED):
        return PdfText(pages=(PdfPage(None, 595, 842, True, "Read all the same.", ()),)).to_json()
    return pdf_text.derive(job)


def _read_long(job: StepJob) -> None:
    """Raises what it was given, or hangs with two parts of three done."""
    if job.kept is not None:
        raise ExtractFailed(f"goes on after {job.kept.decode()}", "it was told to")
    for so_far in (b"one", b"one two"):
        job.on_kept(so_far)
        job.on_progress(Progress(len(so_far.split()), 3))
    while True:
        pass
