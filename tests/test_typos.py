"""A question with a slip of the hand finds what it means, and the result says so."""

from __future__ import annotations

import json
from itertools import chain, islice, product
from pathlib import Path

import pytest
from conftest import Vault, indexed_vault, make_vault, run_kb
from fake_embedder import FakeModels, fake_models
from hypothesis import given
from hypothesis import strategies as st
from ingest_fixtures import Workspace
from vaults import EMBEDDING

from kb.config import load
from kb.domain.search import SearchMode, SearchQuery, SearchResult, Widening
from kb.language.hangul import as_hangul, as_latin, compose, decompose
from kb.language.words import bare_word, letters, one_slip_away, particle_of, slips_between, written_words
from kb.operations.opening.base import open_base
from kb.operations.search.search import search
from kb.retrieve.index import Index
from kb.retrieve.terms import read_query
from kb.store.connection import Connection, open_in_memory, open_reader
from kb.store.migrate import migrate

__all__ = ["fake_models"]

NOTES = {
    "cluster.md": "# Cluster\n\nThe kubernetes scheduler places pods. Authentication uses certificates.\n",
    "gateway.md": "# Gateway\n\nThe gateway retries uploads, then gives the rest of the batch back.\n",
    "sensor.md": "# 센서\n\n데이터베이스 백업은 매일 새벽에 한다. 안녕하세요, 배터리는 겨울에 바꾼다.\n",
    "docker.md": "# 컨테이너\n\n도커를 쓰면 docker image 를 만든다. 안녕.\n",
}


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    made = make_vault(tmp_path_factory.mktemp("typos") / "vault", NOTES)
    ran = run_kb("--config", str(made.config), "ingest", "--no-embed")
    assert ran.code == 0, ran.stderr
    return made


def ask(notes: Vault, text: str, *settings: str, mode: SearchMode = "lexical") -> SearchResult:
    with open_base(load(str(notes.config), settings)) as session:
        return search(session, SearchQuery(text, mode, 10))


def substituted(result: SearchResult) -> list[tuple[str, str, str]]:
    return [(each.asked, each.searched[0], each.reason) for each in result.substitutions]


@pytest.mark.parametrize(
    ("text", "path", "meant"),
    [
        ("kuberentes scheduler", "cluster.md", ("kuberentes", "kubernetes", "spelling")),
        ("authenticaiton", "cluster.md", ("authenticaiton", "authentication", "spelling")),
        ("Kubernetse", "cluster.md", ("Kubernetse", "Kubernetes", "spelling")),
        ("gatewya", "gateway.md", ("gatewya", "gateway", "spelling")),
        ("uplods", "gateway.md", ("uplods", "uploads", "spelling")),
        ("certifcaets", "cluster.md", ("certifcaets", "certificates", "spelling")),
        ("데이터배이스는", "sensor.md", ("데이터배이스는", "데이터베이스는", "spelling")),
        ("밧데리", None, None),
        ("schedulr", "cluster.md", ("schedulr", "scheduler", "spelling")),
        ("certificetes", "cluster.md", ("certificetes", "certificates", "spelling")),
        ("베터리를", "sensor.md", ("베터리를", "배터리를", "spelling")),
        ("dkssud", "docker.md", ("dkssud", "안녕", "keyboard")),
        ("애찯ㄱ", "docker.md", ("애찯ㄱ", "docker", "keyboard")),
        ("ehzjfmf", "docker.md", ("ehzjfmf", "도커를", "keyboard")),
    ],
)
def test_a_slip_finds_what_is_meant(
    text: str, path: str | None, meant: tuple[str, str, str] | None, notes: Vault
) -> None:
    result = ask(notes, text)
    assert substituted(result) == ([meant] if meant else [])
    assert [hit.doc_path for hit in result.hits[:1]] == ([path] if path else [])
    assert not ask(notes, text, "search.correct_typos=false").substitutions


@pytest.mark.parametrize(
    "text",
    [
        "gateway retries",
        "retried",  # another form of a word that is there
        "rust",  # no slip of rest: another letter makes another word of a short one
        "'kuberentes OR scheduler'",
        "k8s sha256 3f9a1c",
        "겨울에는 배터리를 바꾼다",
        "isn't wasn't",
        "platypus",
    ],
)
def test_what_is_no_slip_is_left_alone(text: str, notes: Vault) -> None:
    result = ask(notes, text)
    assert result.substitutions == ()
    assert result.note is None


def test_a_word_in_quotes_is_no_slip(notes: Vault) -> None:
    result = ask(notes, '"kuberentes" scheduler')
    assert (result.hits, result.substitutions) == ((), ())


WORDS = {
    "english.md": "# Words\n\nleather heading plane decode forget root early instance political cmake rate gardens\n",
    "korean.md": "# 낱말\n\n분산 서버의 숙소, 인수 시험, 온라인 매장.\n\n"
    "해시도 만든다. 이용하는 사람에게 잘 알려져 있다. 거절로 끝난다.\n",
}


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return indexed_vault(tmp_path_factory.mktemp("words") / "vault", WORDS)


@pytest.mark.parametrize(
    "word",
    "weather heating planet decade forged robot yearly insurance politician cake crate "
    "부산 민수 오프라인 재시도 이용자 알려줘 저절로".split(),
)
def test_a_word_that_the_documents_lack_is_not_taken_for_its_neighbour(word: str, words: Vault) -> None:
    assert substituted(ask(words, word)) == []


def test_the_unknown_word_is_searched_beside_what_it_is_taken_for(notes: Vault) -> None:
    read = read_query(Index(open_reader(notes.sqlite)), "kuberentes scheduler", Widening(correct_typos=True))
    assert read.match_expr == '"kubernetes" OR "scheduler" OR "kuberentes"'
    assert read.terms == ("kubernetes", "scheduler")
    assert read.corrected == "kubernetes scheduler"
    assert [term.text for term in read.searched] == ["kubernetes", "scheduler"], "no share of BM25 for an absent word"


def test_the_note_is_in_the_language_of_the_question(notes: Vault) -> None:
    assert ask(notes, "kuberentes").note == 'searched for "kubernetes" instead of "kuberentes"'
    assert ask(notes, "데이터배이스").note == '"데이터배이스" 대신 "데이터베이스" 검색'


def test_every_way_of_asking_says_what_was_searched_for(notes: Vault) -> None:
    config = ("--config", str(notes.config))
    expected = [{"asked": "gatewya", "searched": ["gateway"], "reason": "spelling"}]
    shown = run_kb(*config, "search", "gatewya", "--json")
    assert shown.json["substitutions"] == expected
    assert shown.json["query"] == "gatewya"
    filtered = run_kb(*config, "search", "gatewya", "--path-glob", "gate*", "--json")
    assert [hit["doc_path"] for hit in filtered.json["hits"]] == ["gateway.md"]
    assert filtered.json["substitutions"] == expected
    (line,) = run_kb(*config, "search", "--bulk", stdin=json.dumps({"query": "gatewya"}) + "\n").lines
    assert line["response"]["substitutions"] == expected
    assert 'searched for "gateway" instead of "gatewya"' in run_kb(*config, "search", "gatewya").stderr
    answer = run_kb(*config, "ask", "What does the gatewya retry?", "--json", "--provider", "extractive").json
    assert answer["question"] == "What does the gatewya retry?"
    assert answer["search_query"] == "What does the gateway retry?"
    assert 'searched for "gateway" instead of "gatewya"' in answer["notes"][0]


def test_a_hybrid_question_is_encoded_as_it_stands_unless_typed_in_another_layout(
    tmp_path: Path, fake_models: FakeModels
) -> None:
    made = indexed_vault(tmp_path / "vault", NOTES, settings=EMBEDDING, embed=True)
    meant, slipped, keys = (ask(made, text, mode="hybrid") for text in ("안녕", "gatewya uploads", "dkssud"))
    assert slipped.query.mode == "hybrid"
    assert [hit.retrieval.vector_score for hit in keys.hits] == [hit.retrieval.vector_score for hit in meant.hits]
    plain = ask(made, "gatewya uploads", "search.correct_typos=false", mode="hybrid")
    scores = [{hit.chunk_id: hit.retrieval.vector_score for hit in result.hits} for result in (slipped, plain)]
    assert scores[0] == scores[1]
    assert substituted(slipped) == [("gatewya", "gateway", "spelling")]


def test_words_go_with_the_document_that_has_them(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.write("a.md", "# One\n\nzebra gateway\n")
    workspace.write("b.md", "# Two\n\ngateway\n")
    workspace.ingest()
    assert dict(workspace.query("SELECT letters, documents FROM words")) == {
        "gateway": 2,
        "one": 1,
        "two": 1,
        "zebra": 1,
    }
    (workspace.root / "a.md").unlink()
    workspace.write("b.md", "# Two\n\ngateways\n")
    workspace.ingest()
    assert dict(workspace.query("SELECT letters, documents FROM words")) == {"gateways": 1, "two": 1}


def test_what_words_are_kept() -> None:
    assert written_words(["Café ÉTÉ x_bee 도커를 도커는 sha256abc a1b2", "f" * 40]) == [
        "bee",
        "cafe",
        "ete",
        "ㄷㅗㅋㅓ",
    ]


@pytest.mark.parametrize(
    ("word", "bare", "particle"),
    [
        ("도커를", "도커", "를"),
        ("라즈베리파이", "라즈베리파이", ""),
        ("파이썬으로", "파이썬", "으로"),
        ("서울로", "서울", "로"),
        ("쿼리가", "쿼리", "가"),
        ("은이", "은이", ""),
    ],
)
def test_a_particle_is_told_from_the_end_of_a_word(word: str, bare: str, particle: str) -> None:
    assert (bare_word(word), particle_of(word)) == (bare, particle)


@given(st.text(st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3), max_size=8))
def test_jamo_write_the_syllables_they_came_from(text: str) -> None:
    assert compose(decompose(text)) == text
    latin = as_latin(text)
    assert latin is not None
    assert as_latin(compose(decompose(text))) == latin


def test_both_layouts() -> None:
    assert as_hangul("dkssud") == "안녕"
    assert as_latin("ㅏㅕㅠㄷ구ㄷㅅㄷㄴ") == "kubernetes"
    assert as_hangul("kubernetes") is None


@given(st.text("abc", max_size=6), st.text("abc", max_size=6), st.integers(1, 2))
def test_slips_are_counted_as_by_the_definition(one: str, other: str, most: int) -> None:
    def distance(at: int, place: int) -> int:
        if not at or not place:
            return at + place
        same = one[at - 1] == other[place - 1]
        best = min(distance(at - 1, place) + 1, distance(at, place - 1) + 1, distance(at - 1, place - 1) + (not same))
        if at > 1 and place > 1 and one[at - 1] == other[place - 2] and one[at - 2] == other[place - 1]:
            best = min(best, distance(at - 2, place - 2) + 1)
        return best

    expected = distance(len(one), len(other))
    assert slips_between(one, other, most) == (expected if expected <= most else None)
    assert (other in one_slip_away(one)) == (expected == 1)


SYLLABLES = "ka ro ti mun sel par don kri sta vo len gra mi tor ba che".split()
KOREAN_SYLLABLES = "가나다라마바사아자차카타파하고노도로모보소오조초구누두루무부수우주강난당랑망방상앙장"


@pytest.fixture(scope="module")
def large() -> Connection:
    """An index of 36,000 words in both scripts."""
    latin = (product(SYLLABLES, repeat=count) for count in (2, 3))
    longer = islice(product(SYLLABLES, repeat=5), 0, None, 60)
    korean = (product(KOREAN_SYLLABLES[:24], repeat=count) for count in (2, 3))
    words = {"".join(each) for each in chain(*latin, longer, *korean)}
    assert len(words) >= 36_000
    db = open_in_memory()
    migrate(db, "2026-01-01T00:00:00Z")
    with db:
        ordered = sorted({letters(word) for word in words})  # an index is filled fastest in its own order
        db.executemany("INSERT INTO words (letters, documents) VALUES (?, 1)", ((each,) for each in ordered))
    return db


@pytest.mark.parametrize("text", ["karotimunxselpar", "kramotor", "stavxo", "가나닭라마", "고노돌"])
def test_an_unknown_word_is_looked_up_without_reading_all(text: str, large: Connection) -> None:
    thousands_of_steps = 0

    def count() -> bool:
        nonlocal thousands_of_steps
        thousands_of_steps += 1
        return False

    large.set_progress_handler(count, 1000)
    try:
        read_query(Index(large), text, Widening(correct_typos=True))
    finally:
        large.set_progress_handler(None)
    assert thousands_of_steps < 30, "reading every word takes several steps for each"
