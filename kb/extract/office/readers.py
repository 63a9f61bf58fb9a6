"""The step `parts` of text documents and presentations that need no engine: the reader of each format."""

from __future__ import annotations

from kb.domain.derived import Engine, ExtractSettings, Progress, StepJob
from kb.extract.books import read_epub, read_mhtml
from kb.extract.diagrams import read_canvas, read_drawio, read_excalidraw
from kb.extract.office.docx import read_docx
from kb.extract.office.odf import read_odp, read_odt
from kb.extract.office.pptx import read_pptx
from kb.extract.office.rtf import read_rtf
from kb.extract.parts import Parts, kb_engine
from kb.extract.pictures import listed

_READERS = {
    "document/docx": read_docx,
    "document/odt": read_odt,
    "document/rtf": read_rtf,
    "document/epub": read_epub,
    "document/mhtml": read_mhtml,
    "document/canvas": read_canvas,
    "document/excalidraw": read_excalidraw,
    "document/drawio": read_drawio,
    "slides/pptx": read_pptx,
    "slides/odp": read_odp,
}


def engine(settings: ExtractSettings) -> Engine:
    """The engine of this step, which is part of kb."""
    return kb_engine("office-v2")


def read(job: StepJob) -> Parts:
    """The parts with the pictures found. Raises: ExtractFailed, FileTooLarge."""
    job.on_progress(Progress(0, 1))
    return _READERS[job.media_type](job.data)


def derive(job: StepJob) -> bytes:
    """The parts as JSON. Raises: ExtractFailed, FileTooLarge."""
    return listed(read(job), job)
