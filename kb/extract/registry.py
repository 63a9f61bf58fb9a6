"""Media type to extractor: where a new kind of file is plugged in.

A text file is read by one function. A file that needs an engine goes through steps, each of which derives a result, and
a function that builds the document from the results. Modules are imported when their first file is met, so that asking
for a version or searching loads no parser and no engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import NamedTuple, Protocol, cast

from kb.domain.derived import DerivedName
from kb.domain.documents import Document
from kb.domain.ids import AssetId
from kb.domain.media import MediaFamily
from kb.domain.paths import WorkspacePath
from kb.domain.steps import Assemble, StepModule


class Extract(Protocol):
    """Reads one file's bytes into a document; raises `ExtractFailed` where there is nothing to keep."""

    def __call__(self, data: bytes, *, workspace_path: WorkspacePath, asset_id: AssetId) -> Document:
        """The document in `data`."""
        ...


@dataclass(frozen=True, slots=True)
class Extractor:
    """One text type's extractor: what its documents are versioned by, and where it lives."""

    parser_version: str
    module: str
    function: str

    def load(self) -> Extract:
        """The extracting function; its module and parser are imported on the first call."""
        return cast(Extract, getattr(import_module(self.module), self.function))


class Step(NamedTuple):
    """One result that is derived from a file, and the module that derives it (`kb.domain.steps`).

    Without one that `is_required` there is no document at all.
    """

    name: DerivedName
    module: str
    is_required: bool = False

    def load(self) -> StepModule:
        """The step's module; its engine is imported when it derives."""
        return cast(StepModule, import_module(self.module))


@dataclass(frozen=True, slots=True)
class SteppedExtractor:
    """One family's extractor by engines: its steps in order, and the function that builds the document."""

    parser_version: str
    steps: tuple[Step, ...]
    module: str
    function: str

    def load(self) -> Assemble:
        """The assembling function."""
        return cast(Assemble, getattr(import_module(self.module), self.function))


# `parser_version` repeats the module's own constant, which cannot be read without importing its parser.
EXTRACTORS: dict[MediaFamily, Extractor] = {
    "markdown": Extractor("markdown-it-4-v4", "kb.extract.markdown.document", "extract_markdown"),
}

STEPPED_EXTRACTORS: dict[MediaFamily, SteppedExtractor] = {
    "pdf": SteppedExtractor(
        "pdf-v1",
        (Step("pdf-text", "kb.extract.pdf.text", is_required=True), Step("ocr", "kb.extract.pdf.ocr")),
        "kb.extract.pdf.document",
        "assemble_pdf",
    ),
    "image": SteppedExtractor(
        "image-v1",
        (Step("ocr", "kb.extract.image.ocr"), Step("caption", "kb.llm.caption")),
        "kb.extract.image.document",
        "assemble_image",
    ),
    "audio": SteppedExtractor(
        "audio-v1",
        (Step("transcript", "kb.extract.audio.speech", is_required=True),),
        "kb.extract.audio.document",
        "assemble_audio",
    ),
}
