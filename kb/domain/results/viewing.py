"""Results shown to a person: a document as indexed, its file, an answer, and the document counts of filters."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, NamedTuple, NotRequired

from kb.domain.answers import Answer
from kb.domain.citations import Citation
from kb.domain.derived import TranscriptSegment
from kb.domain.embeddings import SlotCoverage
from kb.domain.kinds import MEMBER
from kb.domain.on_wire import Wire, on_wire
from kb.domain.results.inspection import DocumentRow, LinkRow
from kb.domain.search import SearchMode


class DocumentView(NamedTuple):
    """A document to show, at the cited place if there is one.

    `text` is the document's text with line feeds as line ends if it is cited by lines, else None. For other kinds
    `place_text` is the text that an engine read at the place (without a place, all text of a file in parts); `before`
    and `after` are the text around a part of a file (`before` is all of it if there is no such part), `speech` is all
    speech of a recording, and `pages` has the size of each page of a PDF in points, as it is shown. `is_current`: the
    file still has the content that was indexed.
    """

    document: DocumentRow
    citation: Citation | None
    text: str | None
    is_current: bool
    place_text: str | None = None
    speech: tuple[TranscriptSegment, ...] = ()
    pages: tuple[PageSize, ...] = ()
    before: str | None = None
    after: str | None = None

    @property
    def is_gone(self) -> bool | None:
        """True if the file no longer exists, None if it does."""
        places = Path(self.document.source_path), Path(self.document.source_path.partition(MEMBER)[0])
        return None if self.is_current or any(place.exists() for place in places) else True


@on_wire(title="PageSizeV1", fields="width height label?")
class PageSize(NamedTuple):
    """The size of a page, in points, and its label where that is not its number."""

    width: int
    height: int
    label: str | None = None


@on_wire(
    "doc_view.v1",
    title="DocViewV1",
    fields="""document=view.document citation=view.citation html lines place_text=view.place_text
        before=view.before? after=view.after? speech=view.speech pages=view.pages? is_current=view.is_current
        is_gone=view.is_gone?""",
)
class ShownDocument(NamedTuple):
    """A document with its text as HTML without scripts, and the requested place in it.

    `html`: a rendered note, with the lines of each block as `data-from` and `data-to`, or the text of a file in parts
    around the place; null for other kinds. `lines`: the lines of a text, from 1; null for kinds that are not cited by
    lines. For other kinds `place_text` is the text at the place, `before` and `after` the text around a part, `speech`
    the speech of a recording, `pages` the sizes of a PDF's pages. `is_current`: the file has not changed since it was
    indexed; `is_gone`: it no longer exists.
    """

    view: DocumentView
    html: str | None
    lines: list[str] | None


@on_wire("answer_view.v1", fields="answer html")
class ShownAnswer(NamedTuple):
    """An answer with its text as HTML without scripts, rendered like a note; null if that is not possible."""

    answer: Answer
    html: str | None


@on_wire(title="PlacedWordV1")
class PlacedWord(NamedTuple):
    """A word, its length in the reading direction, and the gap to the next word; both in points."""

    text: str
    width: float
    gap: float = 0.0


@on_wire(title="TextLineV1")
class TextLine(NamedTuple):
    """A line of text whose first word starts at (x, y), its upper left corner as it is read, in points.

    It is turned clockwise around that corner by `turn` degrees: 0, 90, 180 or 270. `width`: up to the end of the
    paragraph's longest line.
    """

    x: float
    y: float
    width: float
    height: float
    turn: int
    words: tuple[PlacedWord, ...]


@on_wire("page_words.v1")
class PageWords(NamedTuple):
    """The words of a page (numbered from 1) by lines in reading order, and the size of the page in points."""

    page: int
    width: float
    height: float
    lines: tuple[TextLine, ...]

    def to_json(self) -> bytes:
        """The page as JSON, for the cache."""
        return json.dumps(self, separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, data: bytes) -> PageWords:
        """Reads back what `to_json` wrote."""
        page, width, height, lines = json.loads(data)
        found = ((line, tuple(PlacedWord(*word) for word in words)) for *line, words in lines)
        return cls(page, width, height, tuple(TextLine._make((*line, words)) for line, words in found))


@on_wire(title="FacetValueV1", fields="value documents")
class FacetCount(NamedTuple):
    """A value of a filter, and how many documents have it."""

    facet: str
    value: str
    documents: int


@on_wire("facets.v1", fields="media lang tag folder trust kind code_lang source?")
class Facets(NamedTuple):
    """The values of each filter, the commonest first. A value's count is of documents that pass the other active
    filters.

    `source` is left out if all documents are in the workspace.
    """

    media: list[FacetCount]
    lang: list[FacetCount]
    tag: list[FacetCount]
    folder: list[FacetCount]
    trust: list[FacetCount]
    kind: list[FacetCount]
    code_lang: list[FacetCount]
    source: tuple[FacetCount, ...] = ()

    @classmethod
    def of(cls, counts: Sequence[FacetCount]) -> Facets:
        """Groups counts by their facet."""
        by_facet: dict[str, Any] = {facet: [each for each in counts if each.facet == facet] for facet in cls._fields}
        return cls(**{**by_facet, "source": tuple(by_facet["source"])})


@on_wire("found_counts.v1")
class FoundCounts(NamedTuple):
    """How many documents and passages contain a word of a question, and the values of each filter among them.

    `is_all` is false if the count stopped at its limit, so that there are more.
    """

    documents: int
    passages: int
    is_all: bool
    facets: Facets


@on_wire(title="MonthV1")
class MonthCount(NamedTuple):
    """How many documents of one language and kind are dated in a month."""

    month: str
    lang: str | None
    media: str
    documents: int


@on_wire(title="NamedDocumentV1", fields="doc_path=workspace_path title")
class PathRow(NamedTuple):
    """The path, title and asset of a document."""

    # Of copies, `asset_id` is the content they share.
    workspace_path: str
    title: str
    asset_id: str = ""


@on_wire(title="UnembeddedV1")
class UnembeddedRow(NamedTuple):
    """A document, and how many of its passages have no vector under the primary model (`missing`)."""

    workspace_path: Annotated[str, Wire("doc_path")]
    title: str
    chunks: Annotated[int, Wire("passages")]
    missing: int


@on_wire(fields="doc_path=workspace_path title cosine")
class NearDocument(NamedTuple):
    """A document near another one; `cosine` compares their two nearest passages."""

    doc_id: str
    workspace_path: str
    title: str
    distance: float

    def cosine(self) -> float:
        """1 − `distance`, rounded to four digits."""
        return round(1 - self.distance, 4)


@on_wire(title="BrokenLinkV1")
class BrokenLink(NamedTuple):
    """A link that reaches no document, or no heading or block of one, its `target_path`.

    `nearest` is the document with the most similar name, or with `#` the most similar heading; null for none.
    """

    link: LinkRow
    nearest: str | None


@on_wire("broken_links.v1")
class BrokenLinks(NamedTuple):
    """Links that reach neither a document nor a file, or no heading or block of a note, ordered by note and line."""

    links: tuple[BrokenLink, ...]


@on_wire("near_documents.v1", fields="doc_path near links? backlinks?")
class NearDocuments(NamedTuple):
    """The documents nearest to one document, nearest first, with the links from and to that document."""

    doc_path: str
    near: list[NearDocument]
    links: list[LinkRow] | None = None
    backlinks: list[LinkRow] | None = None


@on_wire("vault_map.v1", fields="months copies=copied unlinked coverage unembedded")
class VaultMap(NamedTuple):
    """Documents by month, groups of files with equal bytes, notes without links, and documents without vectors."""

    months: list[MonthCount]
    copies: list[PathRow]
    unlinked: list[PathRow]
    coverage: list[SlotCoverage]
    unembedded: list[UnembeddedRow]

    def copied(self) -> list[list[PathRow]]:
        """The documents that have equal content, in groups."""
        return [list(group) for _, group in groupby(self.copies, key=lambda each: each.asset_id)]


@on_wire("web_start.v1")
class WebStart(NamedTuple):
    """The defaults of a question and the size of the knowledge base; the page sends `csrf` with every POST.

    `embedded` is how many of the passages have a vector, `command` how a shell calls kb for this base.
    """

    version: str
    csrf: str
    workspace: str
    mode: SearchMode
    k: int
    documents: int
    passages: int
    last_ingest_at: str | None
    may_write: bool
    embedded: Annotated[int | None, Wire(type=NotRequired[int])] = None
    command: Annotated[str | None, Wire(type=NotRequired[str])] = None
