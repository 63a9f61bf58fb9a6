"""The step `ocr` for images: a file's bytes → the recognised lines of its pictures, as `ocr.json`."""

from __future__ import annotations

from kb.domain.derived import Job, Progress, Results
from kb.extract.image.file import frames
from kb.extract.ocr.engine import engine
from kb.extract.ocr.recognise import recognise
from kb.extract.ocr.recognised_pages import page_ocr_json

__all__ = ["derive", "engine", "is_needed"]


def is_needed(earlier: Results) -> bool:
    """Always: what an image says is in its pixels."""
    return True


def derive(job: Job) -> bytes:
    """The lines of every picture in the file, by its number from 1. Raises: ExtractFailed."""
    assert job.settings.ocr is not None
    languages = job.settings.ocr.languages
    pages = {}
    for number, frame in enumerate(frames(job.data), 1):
        job.on_progress(Progress(number - 1, number))
        pages[number] = recognise(frame.grey, frame.to_original, frame.size, languages)
    return page_ocr_json(pages)
