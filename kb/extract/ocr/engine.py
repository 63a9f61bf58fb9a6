"""The engine of the steps that recognise text: tesseract as it is installed, and how kb uses it."""

from __future__ import annotations

from kb.domain.derived import Engine, ExtractSettings
from kb.extract.ocr.recognise import ENGINE, METHOD_VERSION
from kb.extract.ocr.tesseract import check_languages, tesseract_version


def engine(settings: ExtractSettings) -> Engine | None:
    """tesseract, as it is installed, with its languages. Raises: ModelMissing."""
    if settings.ocr is None:
        return None
    check_languages(settings.ocr.languages)
    return Engine(ENGINE, f"{tesseract_version()}-{METHOD_VERSION}", settings.ocr.languages)
