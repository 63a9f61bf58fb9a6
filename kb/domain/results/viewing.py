"""What a person looks at: a document as it was indexed, the file behind it, and how many documents a filter leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

from kb.domain.citations import Citation
from kb.domain.embeddings import SlotCoverage
from kb.domain.ingest.derived import TranscriptSegment
from kb.domain.results.inspection import DocumentDetail

FacetName = Literal["media", "lang", "tag", "folder", "trust", "kind", "code_lang"]


class DocumentView(NamedTuple):
    """A document to be shown, at the place that is cited, if one is.

    `text` is its own text with `\\n` line ends, for what is cited by lines; else None. Of other kinds `place_text` is
    what an engine read at the place, and `speech` all that is said in a recording. `is_current`: the file still has the
    content that was indexed.
    """

    document: DocumentDetail
    citation: Citation | None
    text: str | None
    is_current: bool
    place_text: str | None = None
    speech: tuple[TranscriptSegment, ...] = ()


class KeptFile(NamedTuple):
    """The content of a document as it was indexed, as a file: kb's copy, or the file itself where that is too large."""

    path: Path
    media_type: str


class FacetCount(NamedTuple):
    """How many documents have that value of a facet."""

    facet: str
    value: str
    documents: int


class MonthCount(NamedTuple):
    """How many documents of that kind and language are of a month."""

    month: str
    lang: str | None
    media: str
    documents: int


class CopyRow(NamedTuple):
    """A document whose file has the same bytes as another's; `asset_id` is the content they share."""

    asset_id: str
    workspace_path: str
    title: str


class PathRow(NamedTuple):
    """A document, by its path."""

    workspace_path: str
    title: str


class UnembeddedRow(NamedTuple):
    """A document of which `missing` of its `chunks` have no vector."""

    workspace_path: str
    title: str
    chunks: int
    missing: int


class NearDocument(NamedTuple):
    """A document near another one; `distance` is 1 − cosine of the nearest two of their passages."""

    doc_id: str
    workspace_path: str
    title: str
    distance: float


class VaultMap(NamedTuple):
    """What a list of documents does not show: their spread over time, copies, loose notes, what is not embedded."""

    months: list[MonthCount]
    copies: list[CopyRow]
    unlinked: list[PathRow]
    coverage: list[SlotCoverage]
    unembedded: list[UnembeddedRow]
