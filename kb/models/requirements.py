"""The packages and programs that engines need beside kb, and how to install them."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from importlib.util import find_spec
from typing import NamedTuple

from kb.errors import ModelMissing

# The package that brings a module, where it has another name.
_PACKAGE_OF = {"PIL": "pillow", "av": "PyAV", "python_calamine": "python-calamine"}

_TESSERACT_HINT = (
    "Debian, Ubuntu: apt install tesseract-ocr tesseract-ocr-kor    macOS: brew install tesseract tesseract-lang"
)


class Lack(NamedTuple):
    """Something that is not installed, and how to install it."""

    name: str
    hint: str


def lacking_packages(modules: Sequence[str], extra: str) -> list[Lack]:
    """Those of `modules` that are not installed; kb's optional part `extra` installs them. Imports nothing."""
    from kb.installation import extra_command

    absent = [module for module in modules if find_spec(module) is None]
    return [Lack(_PACKAGE_OF.get(module, module), extra_command(extra)) for module in absent]


def lacking_tesseract(languages: Sequence[str] = ()) -> list[Lack]:
    """The program tesseract if it is not on the PATH, or else those of its `languages` that are missing."""
    if shutil.which("tesseract") is None:
        return [Lack("the program tesseract", _TESSERACT_HINT)]
    return [Lack(f"tesseract's data for {language}", _TESSERACT_HINT) for language in languages]


def require(needed_by: str, lacks: Sequence[Lack]) -> None:
    """Raises ModelMissing where anything is lacking."""
    if lacks:
        raise missing(needed_by, lacks)


def missing(needed_by: str, lacks: Sequence[Lack]) -> ModelMissing:
    """The error that names everything that is lacking at once: `PDF files need pymupdf, which is not installed`."""
    names = [lack.name for lack in lacks]
    listed = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    verb = "is" if len(names) == 1 else "are"
    hints = dict.fromkeys(lack.hint for lack in lacks)
    return ModelMissing(f"{needed_by} need {listed}, which {verb} not installed", "; ".join(hints))
