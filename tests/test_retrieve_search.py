"""Lexical search on the vault: what a question is read as, what it finds, in which order, through which filters."""

from __future__ import annotations

import itertools
import math
import random
import unicodedata
from collections.abc import Iterator

import pytest
from conftest import Kb, Vault, indexed_vault
from hypothesis import given
from hypothesis import strategies as st

from kb.answer.pieces import term_weights
from kb.config import load
from kb.domain.filters import SearchFilters
from kb.domain.search import SearchQuery, SearchResult, Term, Widening
from kb.errors import QuerySyntaxError, UsageError
from kb.operations.opening.base import Base, open_base
from kb.operations.search.search import search
from kb.retrieve.index import Index
from kb.retrieve.search import best_by_words, lexical_params
from kb.retrieve.terms import MAX_TERMS, QueryTerms, parted, read_query
from kb.store import queries
from kb.store.connection import Connection, open_reader


@pytest.fixture(scope="module")
def searcher(vault: Vault) -> Iterator[Base]:
    with open_base(load(str(vault.config))) as session:
        yield session


@pytest.fixture(scope="module")
def db(vault: Vault) -> Connection:
    return open_reader(vault.sqlite)


def ask(session: Base, text: str, k: int = 10, **filters: object) -> SearchResult:
    return search(session, SearchQuery(text, "lexical", k, SearchFilters(**filters)))  # type: ignore[arg-type]


def paths(result: SearchResult) -> set[str]:
    return {hit.doc_path for hit in result.hits}


# --- what a question is read as -------------------------------------------------------------------------------------

SYNTAX = [
    *"\"'*^(){}[]:+-~\\,.;%_#\0\n\t ",
    "AND",
    "OR",
    "NOT",
    "NEAR(",
    "NEAR(a b, 3)",
    "text:",
    "{text} :",
    "''",
    '""',
]
TEXTS = ["청킹", "귤", "을", "ᄀ", "한글은", "é", "𝔘", "\u202e", "\ud800", "\udcff", "the", "x" * 300]
fts_pieces = st.sampled_from([*SYNTAX, *TEXTS])
any_text = st.lists(fts_pieces | st.text(max_size=6), max_size=12).map("".join)


@given(any_text)
def test_no_text_is_a_syntax_error(searcher: Base, text: str) -> None:
    stripped = text.replace("\0", " ").strip()
    if len(stripped) > 2 and stripped[0] == stripped[-1] == "'":
        try:
            ask(searcher, text)
        except QuerySyntaxError as error:
            assert error.hint  # noqa: PT017 (a raw expression may be refused or not)
    else:
        ask(searcher, text)


@given(any_text)
def test_any_text_in_a_filter_is_only_text(searcher: Base, text: str) -> None:
    ask(searcher, "gateway", tags_any=(text,), lang=text, media=text)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("gateway", ["gateway"]),
        ("What is the gateway?", ["gateway"]),
        ("to be or not to be", ["to", "be", "or", "not"]),
        ("gateway gateway GATEWAY", ["gateway", "GATEWAY"]),
        ("청킹 규칙은?", ["청킹", "규칙"]),
        ("배터리가 버틴다", ["배터리", "버티"]),
        ("회의에서는", ["회의"]),
        ("gateway를 재시작", ["gateway", "재시작"]),
        ("80 토큰을", ["80", "토큰"]),
        ("don't panic", ["don", "t", "panic"]),
        ("x_b c-d", ["x", "b", "c", "d"]),
        ("?!", []),
        ("", []),
    ],
)
def test_what_a_question_is_searched_by(text: str, terms: list[str], db: Connection) -> None:
    read = read_query(Index(db), text)
    assert list(read.terms) == terms
    assert not read.raw


def test_particles_are_dropped_and_unknown_words_match_as_prefixes(db: Connection) -> None:
    assert read_query(Index(db), "배터리를").match_expr == '"배터리"'
    assert read_query(Index(db), "쀍뛟") == QueryTerms('"쀍뛟" *', (Term("쀍뛟", prefix=True),), ("쀍뛟",), raw=False)
    assert read_query(Index(db), "을").match_expr == '"을" *', "particles alone are searched as they stand"


def test_the_terms_of_a_text_are_read_once_for_a_snapshot_and_each_way_to_widen_them(db: Connection) -> None:
    index = Index(db)
    first = read_query(index, "배터리를")
    assert read_query(index, "배터리를") is first
    assert read_query(index, "배터리를", Widening(False, False, (("배터리", "축전지"),))).match_expr != first.match_expr
    assert read_query(Index(db), "배터리를") is not first


def test_composition_of_the_question_does_not_matter(db: Connection) -> None:
    for text in ("청킹 규칙은?", "café résumé"):
        assert read_query(Index(db), unicodedata.normalize("NFD", text)) == read_query(Index(db), text)


def test_a_very_long_question_is_cut(db: Connection) -> None:
    many = " ".join(f"word{n} 낱말{n}" for n in range(500))
    assert len(read_query(Index(db), many).terms) == MAX_TERMS


def test_a_raw_expression_is_passed_on(db: Connection, searcher: Base) -> None:
    assert read_query(Index(db), "'gate* NOT zebra'") == QueryTerms("gate* NOT zebra", (), (), raw=True)
    assert paths(ask(searcher, "'heading_path : gateway NOT retries'")) == {"projects/gateway/log.md"}
    assert paths(ask(searcher, "'\"exponential backoff\"'")) == {"projects/gateway/log.md"}
    assert paths(ask(searcher, "'retr*'")) >= {"projects/gateway/log.md", "generated/summary.md"}
    assert read_query(Index(db), "''").raw is False


@pytest.mark.parametrize("raw", ["'AND'", "'\"open'", "'nope : x'", "'a b)'", "'*'", "'NEAR(a'", "'\0'", "'\ud800('"])
def test_a_raw_expression_that_fts5_refuses(raw: str, searcher: Base) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        ask(searcher, raw)
    assert "FTS5" in caught.value.message
    assert "single quotes" in str(caught.value.hint)


# --- what it finds --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("청킹 규칙은?", "chunking.md"),
        ("이웃한 조각", "chunking.md"),
        ("귤", "projects/gateway/meeting #2.md"),
        ("귤을", "projects/gateway/meeting #2.md"),
        ("창고", "projects/gateway/meeting #2.md"),
        ("센서는 언제 교체하나요?", "projects/gateway/meeting #2.md"),
        ("정전", "projects/gateway/log.md"),
        ("정전이 나면", "projects/gateway/log.md"),
        ("정전시", "projects/gateway/log.md"),
        ("retrying", "projects/gateway/log.md"),
        ("naive resume", "projects/notes.md"),
        ("CAFÉ", "projects/notes.md"),
        ("게이트웨이 일지", "projects/gateway/log.md"),  # an alias
        ("색인", "chunking.md"),  # a tag
    ],
)
def test_questions_and_their_first_hit(text: str, first: str, searcher: Base) -> None:
    result = ask(searcher, text)
    assert result.hits
    assert result.hits[0].doc_path == first


@pytest.mark.parametrize("text", ["platypus", "오리너구리", "?!", "", "   ", "''"])
def test_no_hits_is_a_value(text: str, searcher: Base) -> None:
    result = ask(searcher, text)
    assert result.hits == ()
    assert result.query.text == text


def test_every_hit_cites_the_lines_that_hold_its_text(vault: Vault, searcher: Base) -> None:
    hits = ask(searcher, "gateway 청킹 귤 zebra chunk 겹침", k=100).hits
    assert len(hits) >= 6
    for hit in hits:
        lines = (vault.root / hit.doc_path).read_text(encoding="utf-8").split("\n")
        cited = "\n".join(lines[hit.citation.start - 1 : hit.citation.end])
        assert hit.snippet.strip("…")[:30] in " ".join(cited.split())
        assert hit.citation.path == hit.doc_path


def test_hits_are_in_order_of_score_and_numbered_from_one(searcher: Base) -> None:
    hits = ask(searcher, "gateway retries backoff 청킹 chunk", k=100).hits
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(score >= 0 for score in scores)
    assert all(hit.retrieval.lexical_score == hit.score for hit in hits)


@pytest.mark.parametrize("k", [1, 2, 100])
def test_k_bounds_the_hits_and_does_not_change_their_order(k: int, searcher: Base) -> None:
    everything = ask(searcher, "gateway chunk 청킹", k=1000).hits
    assert ask(searcher, "gateway chunk 청킹", k=k).hits == everything[:k]


# --- order and spelling of files that a shared vault does not have ----------------------------------------------------


@pytest.fixture(scope="module")
def odd_searcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Base]:
    twins = {f"twins/{name}.md": f"# {name}\n\nThe same zebra.\n" for name in "abcdefgh"}
    decomposed = {"nfd.md": unicodedata.normalize("NFD", "# 온실\n\n환기창은 더우면 열린다. Un résumé.\n")}
    made = indexed_vault(tmp_path_factory.mktemp("odd"), {**twins, **decomposed})
    with open_base(load(str(made.config))) as session:
        yield session


def test_equal_scores_are_ordered_by_chunk_id(odd_searcher: Base) -> None:
    hits = ask(odd_searcher, "zebra").hits
    assert len({hit.score for hit in hits}) == 1
    assert [hit.chunk_id for hit in hits] == sorted(hit.chunk_id for hit in hits)
    assert len(hits) == 8
    assert ask(odd_searcher, "zebra", k=3).hits == hits[:3]


@pytest.mark.parametrize("text", ["환기창", "환기창은 언제 열리나요?", "온실", "resume", "résumé"])
def test_a_file_in_decomposed_letters_is_found(text: str, odd_searcher: Base) -> None:
    hits = ask(odd_searcher, text).hits
    assert [hit.doc_path for hit in hits] == ["nfd.md"]


# --- filters ----------------------------------------------------------------------------------------------------------

LOG, MEETING, READING = "projects/gateway/log.md", "projects/gateway/meeting #2.md", "projects/notes.md"
EVERYWHERE = "gateway 청킹 귤 zebra cafe 회의"
ALL = {"chunking.md", LOG, MEETING, READING, "generated/summary.md", "hostile.md"}

FILTERS: list[tuple[dict[str, object], set[str]]] = [
    ({}, ALL),
    ({"tags_any": ("회의",)}, {LOG}),
    ({"tags_any": ("#회의",)}, {LOG}),
    ({"tags_any": (unicodedata.normalize("NFD", "회의"),)}, {LOG}),
    ({"tags_any": ("회의", "규칙")}, {LOG, "chunking.md"}),
    ({"tags_any": ("회",)}, set()),
    ({"tags_any": ("INFRA",)}, {LOG}),
    ({"lang": "ko"}, {"chunking.md", MEETING, LOG}),
    ({"lang": "KO"}, {"chunking.md", MEETING, LOG}),
    ({"lang": "fr"}, set()),
    ({"path_globs": ("*.md",)}, ALL),  # without a slash it matches names, as in .gitignore
    ({"path_globs": ("/*.md",)}, {"chunking.md", "hostile.md"}),
    ({"path_globs": ("projects/*.md",)}, {READING}),
    ({"path_globs": ("projects/**",)}, {LOG, MEETING, READING}),
    ({"path_globs": ("/projects/**",)}, {LOG, MEETING, READING}),
    ({"path_globs": ("project/**",)}, set()),
    ({"path_globs": ("projects/",)}, {LOG, MEETING, READING}),
    ({"path_globs": ("**/log.md", "hostile.*")}, {LOG, "hostile.md"}),
    ({"path_globs": ("projects/*/*.md", "!**/log.md")}, {MEETING}),
    ({"path_globs": ("nope/**",)}, set()),
    ({"trust_min": "primary"}, ALL - {LOG, "generated/summary.md"}),
    ({"trust_min": "secondary"}, ALL - {"generated/summary.md"}),
    ({"trust_min": "generated"}, ALL),
    ({"media": "markdown"}, ALL),
    ({"media": "image"}, set()),
    ({"media": "mark"}, set()),
]


@pytest.mark.parametrize(("filters", "expected"), FILTERS)
def test_each_filter(filters: dict[str, object], expected: set[str], searcher: Base) -> None:
    assert paths(ask(searcher, EVERYWHERE, k=100, **filters)) == expected


def test_filters_together_hold_all_at_once(searcher: Base) -> None:
    for (one, found), (two, also_found) in itertools.combinations(FILTERS, 2):
        if not set(one) & set(two):
            together = paths(ask(searcher, EVERYWHERE, k=100, **one, **two))
            assert together == found & also_found, (one, two)


def test_filters_do_not_change_scores(searcher: Base) -> None:
    free = {hit.chunk_id: hit.score for hit in ask(searcher, EVERYWHERE, k=100).hits}
    for hit in ask(searcher, EVERYWHERE, k=100, lang="ko", trust_min="primary").hits:
        assert free[hit.chunk_id] == hit.score


def test_an_unknown_trust_level_is_named(searcher: Base) -> None:
    with pytest.raises(UsageError, match="holy"):
        ask(searcher, "x", trust_min="holy")


# On the command line a kind of file that kb does not read is an error.
@pytest.mark.parametrize(("filters", "expected"), [each for each in FILTERS if each[0] != {"media": "mark"}])
def test_listing_takes_the_same_filters(filters: dict[str, object], expected: set[str], kb: Kb) -> None:
    options = {"tags_any": "--tag", "lang": "--lang", "path_globs": "--path-glob", "trust_min": "--trust-min"}
    words: list[str] = []
    for name, value in filters.items():
        for word in [value] if isinstance(value, str) else value:  # type: ignore[attr-defined]
            words += [options.get(name, "--media"), word]
    ran = kb("list", "docs", "--json", *words)
    assert {line["doc_path"] for line in ran.lines} == expected
    assert ran.code == (0 if expected else 1)


# --- the statements ---------------------------------------------------------------------------------------------------


def test_a_word_counts_in_a_sentence_as_in_bm25_and_something_where_every_passage_has_it(db: Connection) -> None:
    terms = [Term("the"), Term("retries"), Term("platypus")]
    rarities = {each.term: each.idf for each in term_weights(Index(db), terms)}
    of_bm25 = {term.text: (Index(db).bm25_max([term]) or 0) / 2.2 for term in terms}
    for term in ("retries", "platypus"):
        assert rarities[term] == pytest.approx(math.log1p(math.exp(of_bm25[term])))
    assert 0.1 < rarities["the"] < rarities["retries"] < rarities["platypus"]


COMMON_WORDS = ("gateway", "backup", "청킹")
RARE_WORDS = tuple(f"{name}{number}" for name in ("heron", "otter", "lynx") for number in range(5))


@pytest.fixture(scope="module")
def unevenly_worded(tmp_path_factory: pytest.TempPathFactory) -> Connection:
    """An index of 120 passages: three words are in most of them, each of the others in four or five."""
    chance = random.Random(7)
    notes = {}
    for number in range(120):
        words = [word for word in COMMON_WORDS if chance.random() < 0.8] + chance.choices(RARE_WORDS, k=number % 2)
        chance.shuffle(words)
        notes[f"{number}.md"] = f"# {number}\n\n" + " ".join(words * chance.randint(1, 3)) + "\n"
    made = indexed_vault(tmp_path_factory.mktemp("uneven"), notes)
    return open_reader(made.sqlite)


def test_passages_with_a_rare_word_are_asked_for_first_and_the_hits_are_those_of_all_words(
    unevenly_worded: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kb.retrieve.terms.COMMON_CHUNKS", 60)
    db = unevenly_worded
    asked = []
    statement = queries.search_lexical
    monkeypatch.setattr(
        "kb.retrieve.search.queries.search_lexical",
        lambda db, **params: asked.append(params["both_expr"]) or statement(db, **params),
    )
    answered_by_parts = asked_again = 0
    for rare, common in itertools.product(itertools.combinations(RARE_WORDS[::2], 2), COMMON_WORDS):
        read = read_query(Index(db), f"{rare[0]} {common} {rare[1]} gateway")
        parts = parted(Index(db), read)
        assert parts is not None
        for k in (3, 10):
            params = lexical_params(db, SearchQuery("", "lexical", k), read)
            params["match_expr"] = parts.whole_expr
            del asked[:]
            found = best_by_words(db, params, parts)
            assert found == statement(db, **params, both_expr=None)
            answered_by_parts += len(asked) == 1
            asked_again += len(asked) == 2
    assert answered_by_parts > 20
    assert asked_again > 20


def test_a_question_is_not_parted_where_nothing_is_won(
    unevenly_worded: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = Index(unevenly_worded)
    assert parted(index, read_query(index, "heron1 gateway")) is None, "an index as small as this has no common word"
    monkeypatch.setattr("kb.retrieve.terms.COMMON_CHUNKS", 60)
    parts = parted(index, read_query(index, "heron1 gateway"))
    assert parts is not None
    assert (parts.rare_expr, parts.common_expr) == ('"heron1"', '"gateway"')
    assert parted(index, read_query(index, "heron1")) is None, "no common word"
    assert parted(index, read_query(index, "gateway backup")) is None, "no rare word"
    assert parted(index, read_query(index, "'heron1 OR gateway'")) is None, "a raw expression is asked as it is"
