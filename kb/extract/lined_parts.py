"""The step `parts` of web pages and notebooks: the pictures in them, without any text."""

from __future__ import annotations

from kb.domain.derived import Engine, ExtractSettings, StepJob
from kb.extract.notebook import notebook_pictures
from kb.extract.page import page_pictures, read_page
from kb.extract.parts import Parts, kb_engine
from kb.extract.pictures import listed


def engine(settings: ExtractSettings) -> Engine:
    """The engine of this step, which is part of kb."""
    return kb_engine("pictures-v1")


def read(job: StepJob) -> Parts:
    """The pictures found. Raises: ExtractFailed."""
    is_page = job.media_type == "html"
    return Parts((), found=page_pictures(read_page(job.data, "").hypertext) if is_page else notebook_pictures(job.data))


def derive(job: StepJob) -> bytes:
    """The pictures as JSON. Raises: ExtractFailed."""
    return listed(read(job), job)
