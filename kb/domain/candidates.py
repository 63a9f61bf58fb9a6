"""What a search may show: passages with every channel's figures, and what reading them adds."""

from __future__ import annotations

from kb.records import NamedTuple


class Candidate(NamedTuple):
    """A passage that a channel found, `rank` by the fusion rule: a row of `sql/retrieve/search_hybrid.sql`.

    `lexical_score` is −bm25, `vector_score` and `secondary_score` are cosines, None where that channel says nothing.
    """

    rank: int
    chunk_rowid: int
    chunk_id: str
    doc_id: str
    workspace_path: str
    source_path: str
    title: str
    heading_path_json: str
    section_label: str | None
    text: str
    source_spans_json: str
    chunker_version: str
    lang: str
    fusion_score: float
    lexical_score: float | None
    lexical_rank: int | None
    vector_score: float | None
    vector_rank: int | None
    secondary_score: float | None
    is_own: int
    lexical_share: float
    vector_share: float
    nearness: float | None


class ReadFigures(NamedTuple):
    """What reading a passage against the question gave: cosines under the secondary model, and the judgement.

    `passage` is that of the whole passage, `heading` that of its title and headings, `sentence` that of its best
    sentence. `logit` is the weighted sum of all figures; `share` is the passage's part, in [0, 1], of what speaks for
    all candidates (softmax of the logits).
    """

    passage: float
    heading: float
    sentence: float
    logit: float
    share: float


class Ranked(NamedTuple):
    """A candidate in its place; `read` None where it was not read.

    `is_favoured`: its document is of the days the question speaks of.
    """

    candidate: Candidate
    read: ReadFigures | None = None
    is_favoured: bool = False
