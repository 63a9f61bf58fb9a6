"""A question and its hits. Tuples, not dataclasses: they lie on the path of a cold search, where each class counts.

Neither this file nor those it imports have `from __future__ import annotations`, which makes texts of annotations:
`NamedTuple` would compile the text of every field.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, NotRequired, Protocol

from kb.domain.citations import NARROWED, Citation, CodeCitation, cite
from kb.domain.filters import SearchFilters
from kb.domain.on_wire import Wire, on_wire
from kb.domain.symbols import Repository
from kb.domain.text import Range

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
    """A question. `k` is the number of hits. Sorted by date, those candidates that have its words come newest first.

    `judged`: the judge decides which of two hits that score nearly the same comes first.
    """

    text: str
    mode: SearchMode
    k: int
    filters: SearchFilters = SearchFilters()
    sort: Sort = "score"
    judged: bool = False


_EVERYTHING = SearchFilters()


class SearchDefaults(NamedTuple):
    """Defaults for searching and answering a question.

    `context_tokens`: the most tokens of instructions, question and passages together, as the model counts them.
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
        """The question with defaults filled in, for somebody who waits for the best first hit."""
        return SearchQuery(text, mode or self.mode, k or self.k, filters, sort, judged=True)

    def budget_tokens(self, asked: int | None) -> int:
        """How many tokens a model may be given to read: `asked`, or the default if that is None."""
        return self.context_tokens if asked is None else asked


@on_wire(
    title="RetrievalV1",
    fields="""method lexical_score vector_score fusion_score lexical_rank vector_rank secondary_score lexical_share
        vector_share late_score recency_factor? judge_logit?""",
    former="passage_score heading_score sentence_score reading_score",
)
class RetrievalDetail(NamedTuple):
    """The score and rank (from 1) of a passage in each channel; null if the channel did not find the passage.

    `late_score` is set if the model gives tokens. `vector_share` is the score by meaning that counted: `late_score`,
    else the cosine. `secondary_score` and the last four fields of the schema are null: only an older kb set them.
    `recency_factor`, set with `search.recency`, is what the score was multiplied by for the document's date.
    `judge_logit` is the judge's score that the passage answers, null unless it read the passage.
    """

    # `lexical_score` is −bm25, `vector_score` a cosine, `late_score` the late interaction with the passage's tokens.
    # `lexical_share` is bm25 / bm25max, what of the question's words the passage has. `fusion_score` is what hits are
    # ranked by; `is_own` whether the passage is in the question's language, or in none where that is English;
    # `is_favoured` whether the question speaks of the days of its document.
    method: SearchMode = "lexical"
    lexical_score: float | None = None
    lexical_rank: int | None = None
    vector_score: float | None = None
    vector_rank: int | None = None
    late_score: Annotated[float | None, Wire(type=NotRequired[float | None])] = None
    fusion_score: float | None = None
    lexical_share: float | None = None
    is_own: bool = True
    is_favoured: bool = False
    recency_factor: float | None = None
    judge_logit: float | None = None

    @property
    def vector_share(self) -> float | None:
        """The score by meaning that counted: `late_score`, else the cosine."""
        return self.vector_score if self.late_score is None else self.late_score

    @property
    def secondary_score(self) -> float | None:
        """Always None: no second model ranks."""
        return None


class FusionRule(NamedTuple):
    """How scores by words and by meaning are combined: settings of `SearchConfig`, under the same names."""

    hybrid_fusion: Fusion
    words_weight: float
    rrf_k: int
    candidate_depth: int
    recency: int


class QueryVectors(NamedTuple):
    """A question as the index's model encodes it: its vector, and its tokens if the model gives tokens.

    All are float32, little-endian, each vector with L2 = 1. `neighbours` are the nearest chunks with their distances,
    if they were found outside of the SQL statement, in memory or by an ANN index.
    """

    vector: bytes
    tokens: bytes | None = None
    neighbours: tuple[tuple[str, float], ...] | None = None


class Snippet(NamedTuple):
    """A piece of a chunk on one line, with code on separate lines. `matches`: [start, end) characters of `text`."""

    text: str = ""
    full_text: bool = False
    matches: tuple[Range, ...] = ()


@on_wire(
    "search_hit.v1",
    title="SearchHitV1",
    fields="""rank score score_kind chunk_id doc_id doc_path title heading_path section_label snippet
        snippet_full_text=shown.full_text snippet_matches=shown.matches citation retrieval index_version embedding_model
        chunker_version signature? code_lang? vault?
        repo=repository.name git_branch=repository.branch git_commit=repository.commit git_dirty=repository.is_dirty""",
)
class Passage(NamedTuple):
    """One passage that a search found. Hits are ranked by `score`, which is no confidence; `score_kind` names the
    score.

    `snippet_matches` are the matching parts of the snippet: start and end (exclusive) in characters. `signature` and
    `code_lang` are set for source code, `repo` for a file of a git repository, with its branch, its commit (40 or 64
    hex digits) and whether a tracked file had changed, all as of the last ingest; null means unknown. `vault` is set
    where several vaults were searched.
    """

    # A row of a statement that searches (`sql/retrieve/search_*.sql`); the columns have the names of the fields. One
    # with a default is not in every statement, or is set later, for hits. `text` is the chunk, verbatim. `cited` is the
    # part of the chunk that is cited; None: the whole chunk. `number` is the n of a marker `[n]` in an answer, from 1.
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
    retrieval: RetrievalDetail = RetrievalDetail()
    repository_json: str | None = None
    signature: str | None = None
    shown: Snippet = Snippet()
    cited: Citation | None = None
    index_version: str = ""
    embedding_model: str | None = None
    number: int = 0
    vault: str | None = None

    @property
    def doc_path(self) -> str:
        """The stored path of the document."""
        return self.workspace_path

    @property
    def heading_path(self) -> tuple[str, ...]:
        """The headings above the passage, outermost first."""
        return tuple(json.loads(self.heading_path_json))

    @property
    def citation(self) -> Citation:
        """The cited place: a part of the chunk, or the whole chunk. The first character of `text` is on the whole
        chunk's first line.
        """
        return self.cited or cite(self.workspace_path, json.loads(self.source_spans_json), self.section_label)

    @property
    def is_cited_by_place(self) -> bool:
        """Whether the passage is cited by times, regions or parts of a file, so that each piece of its text has its own
        place.
        """
        return isinstance(self.citation, NARROWED)

    @property
    def code_lang(self) -> str | None:
        """The programming language; None if the passage is not source code."""
        citation = self.citation
        return citation.lang if isinstance(citation, CodeCitation) else None

    @property
    def repository(self) -> Repository | None:
        """The git repository of the file; None if the passage is not source code of one."""
        return None if self.repository_json is None else Repository(*json.loads(self.repository_json))

    @property
    def commit(self) -> str | None:
        """The commit of the file's repository; None without one."""
        return self.repository.commit if self.repository else None

    @property
    def snippet(self) -> str:
        """The shown piece of the passage, of which `shown` tells more."""
        return self.shown.text


class Sentence(NamedTuple):
    """A sentence of a passage, verbatim: the characters `start`..`end` (exclusive) of the passage's text."""

    passage: int
    start: int
    end: int
    text: str


class TermWeight(NamedTuple):
    """A search term of a question, and its inverse document frequency in the index (≥ 0)."""

    term: str
    idf: float


class PairScorer(Protocol):
    """A cross-encoder: reads a question and a passage together. Loading one may take seconds."""

    @property
    def label(self) -> str:
        """The name of the scores in JSON: who runs the model, its name and its version."""

    def score(self, question: str, passages: Sequence[str]) -> list[float]:
        """One logit for each passage, higher for a better answer; only logits of one question are comparable."""


class PairOrder(NamedTuple):
    """`scorer` reorders the first `passages` hits."""

    scorer: PairScorer
    passages: int


class Term(NamedTuple):
    """One search term. `prefix` is set if the index does not have the Korean word as a whole."""

    text: str
    prefix: bool = False

    def to_match(self) -> str:
        """The term as an FTS5 string; for a large number also the form with commas.

        FTS5's tokenizer folds case, accents and English endings.
        """
        if len(self.text) > 3 and self.text.isdecimal() and self.text[0] != "0":
            return f'("{self.text}" OR "{int(self.text):,}")'
        return f'"{self.text}" *' if self.prefix else f'"{self.text}"'


class Substitution(NamedTuple):
    """Words that are searched instead of a word that no document has, or in addition to a word, and how they were
    found.

    The reason is a typing error (`spelling`), the wrong `keyboard` layout, the word in the other script by its `sound`
    or as documents `pair` both, or a synonym of the owner's `lexicon`.
    """

    asked: str
    searched: tuple[str, ...]
    reason: SubstitutionReason


@on_wire(title="DaysV1", fields="phrase first last documents")
class DaysAsked(NamedTuple):
    """The days that a question names (ISO 8601, both included), its wording, and how many documents are dated so.

    A document's date is the one in its frontmatter or name. `is_relative`: the days are counted from today.
    """

    phrase: str
    first: str
    last: str
    documents: int
    is_relative: bool = False


class Widening(NamedTuple):
    """Which further words a question is searched by; `synonyms` are groups of words with the same meaning."""

    correct_typos: bool = False
    both_scripts: bool = False
    synonyms: tuple[tuple[str, ...], ...] = ()


class SearchResult(NamedTuple):
    """The hits of one question, with the words by which it was searched.

    `query.mode` is how it was searched; `note` says why if that differs from the request. `candidates` are the scores
    of all passages from which hits by meaning were chosen, best first. `ranking_version` names the statements and
    weights of the ranking. `substitutions` are words that replace words of the question or are added to them; `read_as`
    is the question with these words and without the wording of `days`; `searched` are its search terms.
    `ordered_before` are the hits before a cross-encoder reordered them, empty without one. `among_notes` are the hits
    among everything but source code, None if no source code was merged; `code` are the hits in source code.
    """

    query: SearchQuery
    terms: tuple[str, ...]
    hits: tuple[Passage, ...]
    index_version: str
    note: str | None = None
    candidates: tuple[RetrievalDetail, ...] = ()
    ranking_version: str = ""
    substitutions: tuple[Substitution, ...] = ()
    read_as: str = ""
    days: DaysAsked | None = None
    searched: tuple[Term, ...] = ()
    ordered_before: tuple[Passage, ...] = ()
    among_notes: tuple[Passage, ...] | None = None
    code: "CodeFound | None" = None

    @property
    def note_hits(self) -> tuple[Passage, ...]:
        """The hits among everything but source code, at most as many as were requested."""
        return self.hits if self.among_notes is None else self.among_notes

    @property
    def judged_hits(self) -> tuple[Passage, ...]:
        """The hits in the order from which evidence is computed, whatever order is shown."""
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
    names the statements and weights of the ranking; `substitutions` are words searched instead of the question's words
    or in addition; documents of the `days` are favoured. If a page was requested, `next_cursor` gives the next one as
    long as the corpus has the same `corpus_revision`. `trace` is given on request.
    """

    result: SearchResult
    page: "SearchPage | None" = None
    trace: "SearchTrace | None" = None
