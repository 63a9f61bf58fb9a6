"""The step `ocr` for images: a file's bytes → the recognised lines of its pictures, as `ocr.json`."""

from __future__ import annotations

from kb.domain.derived import Engine
from kb.domain.steps import ExtractSettings, Job, Progress, Results
from kb.extract.image_file import frames
from kb.extract.ocr import ENGINE, METHOD_VERSION, recognise
from kb.extract.pdf_document import page_ocr_json
from kb.extract.tesseract import check_languages, tesseract_version


def engine(settings: ExtractSettings) -> Engine | None:
    """tesseract, as it is installed, with its languages. Raises: ModelMissing."""
    if settings.ocr is None:
        return None
    check_languages(settings.ocr.languages)
    return Engine(ENGINE, f"{tesseract_version()}-{METHOD_VERSION}", settings.ocr.languages)


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
