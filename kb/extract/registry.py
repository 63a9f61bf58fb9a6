"""Media type to extractor: where a new kind of file is plugged in.

An extractor's module is imported when its first file is met, so that asking for a version or searching loads no parser.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

from kb.domain.documents import Document
from kb.domain.ids import AssetId
from kb.domain.media import MARKDOWN
from kb.domain.paths import WorkspacePath


class Extract(Protocol):
    """Reads one file's bytes into a document; raises `ExtractFailed` where there is nothing to keep."""

    def __call__(self, data: bytes, *, workspace_path: WorkspacePath, asset_id: AssetId) -> Document:
        """The document in `data`."""
        ...


@dataclass(frozen=True, slots=True)
class Extractor:
    """One media type's extractor: what its documents are versioned by, and where it lives."""

    media_type: str
    parser_version: str
    module: str
    function: str

    def load(self) -> Extract:
        """The extracting function; its module and parser are imported on the first call."""
        return cast(Extract, getattr(import_module(self.module), self.function))


# `parser_version` repeats the module's own constant, which cannot be read without importing its parser.
_EXTRACTORS = (Extractor(MARKDOWN, "markdown-it-4-v1", "kb.extract.markdown", "extract_markdown"),)

EXTRACTORS: dict[str, Extractor] = {extractor.media_type: extractor for extractor in _EXTRACTORS}
