"""What tests of images and recordings share: the fixtures, their truth, and the skips where an engine is missing."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

MEDIA = Path(__file__).parents[1] / "fixtures" / "media"
IMAGES, SPEECH = MEDIA / "images", MEDIA / "speech"
LANGUAGES = "kor+eng"
MODELS = Path(os.environ.get("KB_TEST_MODEL_DIR", "/nonexistent"))


def truth(directory: Path) -> dict[str, Any]:
    """What stands in the files of a fixture directory."""
    value: dict[str, Any] = json.loads((directory / "truth.json").read_text(encoding="utf-8"))
    return value


def _tesseract_reads_korean() -> bool:
    if shutil.which("tesseract") is None or importlib.util.find_spec("pytesseract") is None:
        return False
    listed = subprocess.run(["tesseract", "--list-langs"], capture_output=True, text=True, check=False)
    return {"kor", "eng"} <= set(listed.stdout.split())


needs_pillow = pytest.mark.skipif(importlib.util.find_spec("PIL") is None, reason="Pillow is not installed")
needs_tesseract = pytest.mark.skipif(
    not _tesseract_reads_korean(), reason="tesseract with kor and eng, or pytesseract, is not installed"
)
needs_decoder = pytest.mark.skipif(importlib.util.find_spec("av") is None, reason="PyAV is not installed")
needs_whisper = pytest.mark.skipif(
    not (MODELS / "whisper-base" / "manifest.json").is_file() or importlib.util.find_spec("pywhispercpp") is None,
    reason=f"whisper-base is not installed in {MODELS}, or pywhispercpp is missing",
)
