"""Passages of an answer: retrieved chunks, whole and verbatim, and their sentences."""

from __future__ import annotations

from kb.domain.citations import Citation
from kb.domain.search import RetrievalDetail
from kb.records import NamedTuple


class Passage(NamedTuple):
    """A retrieved chunk. `number` is its place among those an answer may use, from 1: the n of a marker `[n]`.

    `text` is the chunk verbatim, so its first character is on the first line of `citation`. `score` is the
    search's ranking signal; `commit` is that of the repository that source code was of. `spans_json` are the moments or
    regions that the text is of, where it is cited by such, as they are stored; else empty.
    """

    number: int
    chunk_id: str
    doc_id: str
    doc_path: str
    source_path: str
    title: str
    heading_path: tuple[str, ...]
    section_label: str | None
    lang: str
    text: str
    citation: Citation
    score: float
    retrieval: RetrievalDetail
    commit: str | None = None
    spans_json: str = ""


class Sentence(NamedTuple):
    """A sentence of a passage, verbatim: the characters `start`..`end` (exclusive) of the passage's text."""

    passage: int
    start: int
    end: int
    text: str


class TermWeight(NamedTuple):
    """A question's term, as it was searched, and its inverse document frequency (≥ 0) in the index."""

    term: str
    idf: float
