"""A question and its hits. Tuples, not dataclasses: they lie on the path of a cold search, where each class counts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal, NotRequired, Protocol

from kb.domain.citations import NARROWED, Citation, CodeCitation, cite
from kb.domain.filters import SearchFilters
from kb.domain.on_wire import Wire, on_wire
from kb.domain.symbols import Repository
from kb.records import NamedTuple

if TYPE_CHECKING:
    from kb.domain.code_hits import CodeFound
    from kb.domain.results.searching import SearchPage, SearchTrace

SearchMode = Literal["lexical", "vector", "hybrid"]
MODES: dict[SearchMode, str] = {"hybrid": "words + meaning", "lexical": "words", "vector": "meaning"}
"""The search modes."""
SubstitutionReason = Literal["spelling", "keyboard", "sound", "pair", "lexicon"]
ScoreKind = Literal["bm25", "cosine", "rrf", "linear", "late", "cross_encoder", "code"]
Fusion = Literal["linear", "rrf"]
Sort = Literal["score", "date"]


class SearchQuery(NamedTuple):
    """A question. `k` is the number of hits; sorted by date, the newest of the candidates with its words come first."""

    text: str
    mode: SearchMode
    k: int
    filters: SearchFilters = SearchFilters()
    sort: Sort = "score"


_EVERYTHING = SearchFilters()


class SearchDefaults(NamedTuple):
    """Defaults for asking and answering a question.

    `context_tokens`: the most tokens of instructions, question and passages together, by the model's count.
    """

    mode: SearchMode
    k: int
    context_tokens: int

    def query(
        self,
        text: str,
        mode: SearchMode | None = None,
        k: int | None = None,
        filters: SearchFilters = _EVERYTHING,
        sort: Sort = "score",
    ) -> SearchQuery:
        """The question with defaults filled in."""
        return SearchQuery(text, mode or self.mode, k or self.k, filters, sort)

    def budget_tokens(self, asked: int | None) -> int:
        """How much a model may be given to read."""
        return self.context_tokens if asked is None else asked


@on_wire(
    title="RetrievalV1",
    fields="""method lexical_score vector_score fusion_score lexical_rank vector_rank secondary_score lexical_share
        vector_share late_score""",
    former="passage_score heading_score sentence_score reading_score",
)
class RetrievalDetail(NamedTuple):
    """Each channel's score and rank (from 1); null where the channel did not find the passage.

    `late_score` is there where the model gives tokens, and `vector_share` is what meaning counted: that, or else the
    cosine. `secondary_score` is null; an older kb had it, and the last four.
    """

    # `lexical_score` is −bm25, `vector_score` a cosine, `late_score` the late interaction with the passage's tokens.
    # `lexical_share` is bm25 / bm25max, what of the question's words the passage has. `fusion_score` is what hits are
    # ranked by; `is_own` whether the passage is in the question's language, or in none where that is English.
    method: SearchMode
    lexical_score: float | None
    lexical_rank: int | None
    vector_score: float | None = None
    vector_rank: int | None = None
    late_score: Annotated[float | None, Wire(type=NotRequired[float | None])] = None
    fusion_score: float | None = None
    lexical_share: float | None = None
    is_own: bool = True

    @property
    def vector_share(self) -> float | None:
        """What meaning counted."""
        return self.vector_score if self.late_score is None else self.late_score

    @property
    def secondary_score(self) -> float | None:
        """Nothing: no second model ranks."""
        return None


class FusionRule(NamedTuple):
    """How words and meaning are joined: the settings of `SearchConfig`, under their names."""

    hybrid_fusion: Fusion
    words_weight: float
    rrf_k: int
    candidate_depth: int


class QueryVectors(NamedTuple):
    """A question as the index's model encodes it: its vector, and its tokens where the model gives any.

    All float32, little-endian, each vector's L2 = 1. `neighbours` are nearest chunks, where more than the table knows
    them.
    """

    vector: bytes
    tokens: bytes | None = None
    neighbours: tuple[tuple[str, float], ...] | None = None


@on_wire(
    "search_hit.v1",
    title="SearchHitV1",
    fields="""rank score score_kind chunk_id doc_id doc_path title heading_path section_label snippet snippet_full_text
        snippet_matches citation retrieval index_version embedding_model chunker_version signature? code_lang?
        repo=repository.name git_branch=repository.branch git_commit=repository.commit git_dirty=repository.is_dirty""",
)
class Passage(NamedTuple):
    """One passage found. `score` ranks; it is not a confidence. `score_kind` says which score.

    `snippet_matches` are the parts of the snippet that match, each as its first character and the one behind its last;
    `signature` and `code_lang` are there for source code; so is `repo` where it is of a git repository, with its
    branch, its commit (40 or 64 hex digits) and whether a tracked file was changed since, as of the last ingest; null:
    unknown.
    """

    # A row of a statement that searches (`sql/retrieve/search_*.sql`); the columns have the names of the fields. One
    # with a default is not in every statement, or is set later, for hits. `text` is the chunk, verbatim. The scores are
    # those of RetrievalDetail. `is_favoured`: the question speaks of the days of its document. `cited` is the part of
    # the chunk that is cited; None: the whole chunk. `defines_json`, `uses_json` and `by_owner` are columns of
    # `search_code.sql`, which explains them. `number` is the n of a marker `[n]` in an answer, from 1.
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
    rank: int = 0
    chunk_rowid: int = 0
    lang: str = ""
    score: float = 0.0
    score_kind: Annotated[
        ScoreKind, Wire(type=Literal["rrf", "bm25", "cosine", "linear", "late", "reading", "cross_encoder", "code"])
    ] = "bm25"
    method: SearchMode = "lexical"
    lexical_score: float | None = None
    lexical_rank: int | None = None
    lexical_share: float | None = None
    vector_score: float | None = None
    vector_rank: int | None = None
    late_score: float | None = None
    fusion_score: float | None = None
    is_own: int = True
    is_favoured: int = False
    repository_json: str | None = None
    defines_json: str = "[]"
    uses_json: str | None = None
    by_owner: int | None = None
    signature: str | None = None
    snippet: str = ""
    snippet_full_text: bool = False
    snippet_matches: tuple[tuple[int, int], ...] = ()
    cited: Citation | None = None
    index_version: str = ""
    embedding_model: str | None = None
    number: int = 0

    @property
    def doc_path(self) -> str:
        """The path of its document below the workspace root."""
        return self.workspace_path

    @property
    def heading_path(self) -> tuple[str, ...]:
        """The headings above it, outermost first."""
        return tuple(json.loads(self.heading_path_json))

    @property
    def citation(self) -> Citation:
        """The place it is cited by. Of a whole chunk of lines, the first character of `text` is on its first line."""
        return self.cited or cite(self.workspace_path, json.loads(self.source_spans_json), self.section_label)

    @property
    def is_cited_by_place(self) -> bool:
        """Whether it is cited by times, regions or parts of a file, which pieces of its text have too."""
        return isinstance(self.citation, NARROWED)

    @property
    def code_lang(self) -> str | None:
        """The language of source code."""
        citation = self.citation
        return citation.lang if isinstance(citation, CodeCitation) else None

    @property
    def repository(self) -> Repository | None:
        """The git repository of source code."""
        return None if self.repository_json is None else Repository(*json.loads(self.repository_json))

    @property
    def commit(self) -> str | None:
        """The commit that its repository was at."""
        return self.repository.commit if self.repository else None

    @property
    def retrieval(self) -> RetrievalDetail:
        """Its scores and ranks."""
        return RetrievalDetail(*(getattr(self, name) for name in RetrievalDetail._fields))


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


class PairScorer(Protocol):
    """A cross-encoder: reads a question and a passage together. Loading one may take seconds."""

    @property
    def label(self) -> str:
        """The name of the scores on the wire: who runs the model, its name and its version."""

    def score(self, question: str, passages: Sequence[str]) -> list[float]:
        """One logit a passage, higher where it answers better; comparable within one question."""


class PairOrder(NamedTuple):
    """`scorer` reorders the first `passages` hits."""

    scorer: PairScorer
    passages: int


class Term(NamedTuple):
    """One search term. `prefix` is set where the index does not know the Korean word whole."""

    text: str
    prefix: bool = False

    def to_match(self) -> str:
        """The term as an FTS5 string, a large number with its commas too.

        The tokenizer folds case, accents and English endings.
        """
        if len(self.text) > 3 and self.text.isdecimal() and self.text[0] != "0":
            return f'("{self.text}" OR "{int(self.text):,}")'
        return f'"{self.text}" *' if self.prefix else f'"{self.text}"'


class Substitution(NamedTuple):
    """Words searched in place of a word that no document has, or beside another, and how they were found.

    A slip of the hand (`spelling`) or in the wrong `keyboard` layout; the word in the other script by its `sound`, or
    as documents `pair` them; a synonym of the owner's `lexicon`.
    """

    asked: str
    searched: tuple[str, ...]
    reason: SubstitutionReason


@on_wire(title="DaysV1", fields="phrase first last documents")
class DaysAsked(NamedTuple):
    """The days a question speaks of (ISO 8601, both included), as it names them, and how many documents are of them.

    What the documents say themselves counts: their frontmatter, a date in their name. `is_relative`: the days are
    counted from today.
    """

    phrase: str
    first: str
    last: str
    documents: int
    is_relative: bool = False


class Widening(NamedTuple):
    """Further words that a question is searched by; `synonyms` are groups of words that mean the same."""

    correct_typos: bool = False
    both_scripts: bool = False
    synonyms: tuple[tuple[str, ...], ...] = ()


class SearchResult(NamedTuple):
    """The hits of one question, with the words it was read as.

    `query.mode` is how it was searched; `note` says why, where that is not how it was asked. `candidates` are what the
    hits by meaning were chosen from; `ranking_version` names what put them in order. `substitutions` are words that
    were searched for in place of the question's own; `read_as` is the question with them, and without
    what names `days`; `searched` are its terms, as they were searched. `ordered_before` are the hits in the order
    before a cross-encoder reordered them; none where none did. `among_notes` are the hits among all that is
    no source code, where some of that came among them; `code` are the hits in source code.
    """

    query: SearchQuery
    terms: tuple[str, ...]
    hits: tuple[Passage, ...]
    index_version: str
    note: str | None = None
    candidates: tuple[Passage, ...] = ()
    ranking_version: str = ""
    substitutions: tuple[Substitution, ...] = ()
    read_as: str = ""
    days: DaysAsked | None = None
    searched: tuple[Term, ...] = ()
    ordered_before: tuple[Passage, ...] = ()
    among_notes: tuple[Passage, ...] | None = None
    code: CodeFound | None = None

    @property
    def note_hits(self) -> tuple[Passage, ...]:
        """The hits among all that is no source code, as many as were asked for."""
        return self.hits if self.among_notes is None else self.among_notes

    @property
    def judged_hits(self) -> tuple[Passage, ...]:
        """The hits in the order that evidence is computed from, whatever order they are shown in."""
        return self.ordered_before or self.note_hits


@on_wire(
    "search_response.v1",
    fields="""query=result.query.text mode=result.query.mode k=result.query.k terms=result.terms hits=result.hits
        index_version=result.index_version ranking_version=result.ranking_version note=result.note
        substitutions=result.substitutions days=result.days next_cursor=page.next_cursor
        corpus_revision=page.corpus_revision trace?""",
)
class SearchResponse(NamedTuple):
    """The hits of one question, best first. `terms` are the words and morphemes it was searched by; `ranking_version`
    names the statements and weights that put the hits in order; `substitutions` are words searched for in place of the
    question's own, or beside them; the documents of `days` are favoured. Where a page was asked for, `next_cursor`
    gives the next one as long as the corpus is still at `corpus_revision`; `trace` is there where it was asked for."""

    result: SearchResult
    page: SearchPage | None = None
    trace: SearchTrace | None = None
