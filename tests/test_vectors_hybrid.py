"""Search by words and meaning: the statement against an oracle of a few lines, and what users see of it."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from math import log
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import numpy as np
import pytest
from conftest import Ran, Vault, copy_vault, indexed_vault, kb_in, run_kb
from fake_embedder import PRIMARY, FakeModels, Vectors, fake_models
from vaults import EMBEDDING

from kb.config import load
from kb.domain import search as domain
from kb.domain.embeddings import EmbeddingModel, PassageTokens
from kb.domain.filters import SearchFilters
from kb.domain.search import SearchMode, SearchQuery, Term
from kb.embed.passage_tokens import late_score, packed_tokens, unpacked
from kb.operations.opening.base import open_base
from kb.operations.search.search import search as find
from kb.retrieve.index import Index
from kb.retrieve.search import add_maxsim
from kb.store import queries
from kb.store.migrate import migrate
from kb.store.mirror import ensure_mirror, load_vector_functions, write_vectors
from kb.store.sqlfile import SQL_DIR
from kb.wire.schemas import validate

__all__ = ["fake_models"]

DIMENSIONS = 8
MODES: tuple[SearchMode, ...] = ("hybrid", "vector")
WORDS = "amber birch cedar delta ember fjord grove heron".split()
INSERT_DOCUMENT = """
INSERT INTO assets VALUES (:id, '/n', :id, 'markdown', 1, 'c', 'reference', '/n', '2026-01-01T00:00:00Z');
INSERT INTO documents VALUES (
  :id, :id, :id, 'T', :lang, 'markdown', 'primary', 'p', 1, 1, '{}', '{}', '2026', '2026', '/n', 1, 1, 'v', NULL, '[]',
  'workspace', NULL, NULL
);
INSERT INTO chunks (
  chunk_id, doc_id, ordinal, text, heading_path_json, source_spans_json, token_estimate, chunker_version, policy_hash,
  block_ids_json, created_at, lang, heading_text
) VALUES (:id, :id, 0, :text, '[]', '[{"kind":"line","start":1,"end":1}]', 1, 'c', 'h', '[]', '2026', :lang, '');
"""


class Passage(NamedTuple):
    """One chunk of a random corpus; a vector or tokens it has not got yet are None."""

    chunk_id: str
    lang: str
    text: str
    vector: Vectors | None
    tokens: PassageTokens | None


class Question(NamedTuple):
    """A question and the constants of the ranking; `tokens` of a model that gives any."""

    words: tuple[str, ...]
    lang: str
    vector: Vectors
    tokens: Vectors | None
    favoured: tuple[str, ...]
    fusion: str
    words_weight: float = 0.2
    rrf_k: int = 60


def unit(rng: np.random.Generator, near: Vectors | None = None) -> Vectors:
    vector = rng.standard_normal(DIMENSIONS) + (0 if near is None else 1.5 * near)
    return (vector / np.linalg.norm(vector)).astype("<f4")


def random_corpus(seed: int) -> list[Passage]:
    """Up to 80 passages in two languages and none, each language in a direction of its own; some not embedded yet."""
    dice, rng = random.Random(seed), np.random.default_rng(seed)
    towards = {lang: unit(rng) for lang in ("en", "ko", "und")}
    passages = []
    for at in range(dice.choice([0, 1, 2, 7, 30, 80])):
        lang = dice.choices(["en", "ko", "und"], [dice.choice([1, 5]), 5, 0.5])[0]
        vector = unit(rng, towards[lang]) if dice.random() < 0.9 else None
        states = np.stack([unit(rng, towards[lang]) for _ in range(dice.randint(1, 40))])
        tokens = packed_tokens(states) if vector is not None and dice.random() < 0.9 else None
        text = " ".join(dice.choices(WORDS, k=dice.randint(1, 12)))
        passages.append(Passage(f"{dice.getrandbits(64):016x}{at:016x}", lang, text, vector, tokens))
    return passages


def random_question(seed: int, passages: Sequence[Passage] = ()) -> Question:
    dice, rng = random.Random(seed), np.random.default_rng([seed, 1])
    favoured = dice.sample([passage.chunk_id for passage in passages], min(3, len(passages)))
    return Question(
        tuple(dice.sample([*WORDS, "absent"], dice.randint(1, 4))),
        dice.choice(["en", "ko"]),
        unit(rng),
        dice.choice([None, np.stack([unit(rng) for _ in range(dice.randint(1, 9))])]),
        tuple(dice.choice([[], favoured])),
        ("linear", "rrf", "cosine")[seed % 3],
        words_weight=dice.random(),
        rrf_k=dice.choice([1, 60]),
    )


def oracle(passages: list[Passage], asked: Question, bm25: dict[str, float]) -> dict[str, float]:
    """What every candidate scores, by chunk id, where all that words or vectors find are candidates."""
    lexical = bm25 if asked.fusion != "cosine" else {}
    frequency = {word: sum(word in p.text.split() for p in passages) for word in asked.words}
    ceiling = 2.2 * sum(max(1e-6, log((len(passages) - n + 0.5) / (n + 0.5))) for n in frequency.values())
    cosine = {p.chunk_id: float(p.vector @ asked.vector) for p in passages if p.vector is not None}
    found = lexical.keys() | cosine.keys()
    late = {
        p.chunk_id: late_score(asked.tokens, unpacked(p.tokens))
        for p in passages
        if asked.tokens is not None and p.tokens is not None
    }
    of_meaning = late or cosine
    meaning = {c: of_meaning.get(c, min(of_meaning.values(), default=0.0)) for c in found}
    by_words, by_meaning = ranks(lexical), ranks(meaning)
    k = asked.rrf_k
    score = {
        "cosine": lambda c: cosine[c],
        "linear": lambda c: meaning[c] + asked.words_weight * (lexical.get(c, 0) / ceiling) ** 1.5,
        "rrf": lambda c: (
            ((1 / (k + by_words[c]) if c in by_words else 0) + (1 / (k + by_meaning[c]) if c in cosine else 0))
            * (k + 1)
            / 2
        ),
    }[asked.fusion]
    counted = cosine if asked.fusion == "cosine" else found
    return {c: score(c) * (1.15 if c in asked.favoured else 1) for c in counted}


def ranks(scores: dict[str, float]) -> dict[str, int]:
    return {c: at for at, c in enumerate(sorted(scores, key=lambda c: (-scores[c], c)), 1)}


@pytest.fixture(scope="module")
def db() -> apsw.Connection:
    """An empty knowledge base with a vector table."""
    made = apsw.Connection(":memory:")
    migrate(made, "2026-01-01T00:00:00Z")
    load_vector_functions(made)
    add_maxsim(made)
    ensure_mirror(made, EmbeddingModel("model", "1", DIMENSIONS, None), None, "2026-01-01T00:00:00Z")
    return made


@pytest.fixture
def filled(db: apsw.Connection) -> Iterator[Callable[[list[Passage]], apsw.Connection]]:
    """Fills the knowledge base with passages, for one test."""

    def fill(passages: list[Passage]) -> apsw.Connection:
        db.execute("ROLLBACK TO filled")
        for passage in passages:
            db.execute(INSERT_DOCUMENT, {"id": passage.chunk_id, "lang": passage.lang, "text": passage.text})
        numbers = dict(db.execute("SELECT chunk_id, chunk_rowid FROM chunks").fetchall())
        vectors = [(numbers[p.chunk_id], p.lang, p.vector) for p in passages if p.vector is not None]
        write_vectors(
            db, [{"chunk_rowid": rowid, "lang": lang, "embedding": vector.tobytes()} for rowid, lang, vector in vectors]
        )
        kept = [(numbers[p.chunk_id], "model", *p.tokens) for p in passages if p.tokens is not None]
        db.executemany("INSERT INTO chunk_tokens VALUES (?, ?, ?, ?, ?, ?)", kept)
        return db

    db.execute("SAVEPOINT filled")
    yield fill
    db.execute("ROLLBACK TO filled; RELEASE filled")


def statement(
    db: apsw.Connection, asked: Question, *, k: int = 100, depth: int = 100, **more: Any
) -> list[domain.Passage]:
    """The rows of the hybrid statement."""
    words = asked.words if asked.fusion != "cosine" else ()
    params: dict[str, Any] = {
        "fusion": asked.fusion,
        "words_weight": asked.words_weight,
        "rrf_k": asked.rrf_k,
        "recency": 0,
        "today": "2026-07-01",
        "match_expr": " OR ".join(f'"{word}"' for word in words) or '""',
        "bm25_max": Index(db).bm25_max([Term(word) for word in words]),
        "vector": asked.vector.tobytes(),
        "tokens": None if asked.tokens is None else asked.tokens.tobytes(),
        "neighbours_json": None,
        "query_lang": asked.lang,
        "held_json": None,
        "favoured_json": json.dumps(asked.favoured) if asked.favoured else None,
        "doc_ids_json": None,
        "passages_json": None,
        "sought_json": None,
        "depth": depth,
        "k": k,
        "shown": k,
        **more,
    }
    return queries.search_hybrid(db, **params)


def bm25_of(db: apsw.Connection, words: tuple[str, ...]) -> dict[str, float]:
    expression = " OR ".join(f'"{word}"' for word in words)
    return dict(
        db.execute("SELECT chunk_id, -bm25(chunks_fts) FROM chunks_fts WHERE chunks_fts MATCH ?", (expression,))
    )


Filled = Callable[[list[Passage]], apsw.Connection]


@pytest.mark.parametrize("corpus", range(12))
def test_the_statement_agrees_with_the_oracle(corpus: int, filled: Filled) -> None:
    passages = random_corpus(corpus)
    db = filled(passages)
    for seed in range(corpus * 9, corpus * 9 + 9):
        asked = random_question(seed, passages)
        rows = statement(db, asked)
        wanted = oracle(passages, asked, bm25_of(db, asked.words))
        assert {row.chunk_id: row.score for row in rows} == pytest.approx(wanted, abs=1e-5), asked
        order = sorted(rows, key=lambda row: (-row.score, row.retrieval.lexical_rank or 10**9, row.chunk_id))
        assert [row.chunk_id for row in rows] == [row.chunk_id for row in order]
        assert [row.rank for row in rows] == list(range(1, len(rows) + 1))
        assert statement(db, asked, k=3) == rows[:3], "fewer hits are the first of more"
        scores = statement(db, asked, shown=3)
        assert scores[:3] == rows[:3]
        assert [(row.chunk_id, row.score, row.retrieval) for row in scores] == [
            (row.chunk_id, row.score, row.retrieval) for row in rows
        ]
        assert {row.text for row in scores[3:]} <= {""}, "texts are read where they are shown"


@pytest.mark.parametrize("fusion", ["linear", "rrf", "cosine"])
def test_recency_multiplies_the_score_by_the_age_of_the_document(fusion: str, filled: Filled) -> None:
    passages = random_corpus(11)
    db = filled(passages)
    asked = random_question(3, passages)._replace(fusion=fusion)
    off = statement(db, asked)
    db.execute("DELETE FROM document_properties WHERE name = 'date'")
    days = ["2026-07-01", "2026-06-01T09:00:00Z", "2025-07-01", "2027-01-01", "someday"]
    dated = {row.chunk_id: days[at % len(days)] for at, row in enumerate(off)}
    for chunk_id, day in dated.items():
        kind = "date" if day[0] == "2" else "text"
        db.execute("INSERT INTO document_properties VALUES (?, 'date', 0, ?, ?, NULL)", (chunk_id, kind, day))
    assert statement(db, asked) == off, "off, a date changes no bit"
    factors = {"2026-07-01": 1.15, days[1]: 1 + 0.15 / 2, "2025-07-01": 1 + 0.15 / 2 ** (365 / 30), "2027-01-01": 1.15}
    on = statement(db, asked, recency=30)
    if fusion == "cosine":
        assert on == off
        return
    assert all(row.retrieval.recency_factor is None for row in off)
    assert {row.chunk_id: row.retrieval.recency_factor for row in on} == pytest.approx(
        {chunk_id: factors.get(day, 1) for chunk_id, day in dated.items()}
    )
    before = {row.chunk_id: row.score for row in off}
    assert {row.chunk_id: row.score for row in on} == pytest.approx(
        {chunk_id: before[chunk_id] * factors.get(day, 1) for chunk_id, day in dated.items()}
    )
    assert [row.score for row in on] == sorted((row.score for row in on), reverse=True)


@pytest.mark.parametrize("fusion", ["linear", "rrf", "cosine"])
def test_neighbours_from_outside_give_the_rows_of_the_exact_scan(fusion: str, filled: Filled) -> None:
    passages = [passage for passage in random_corpus(11) if passage.vector is not None]
    db = filled(passages)
    asked = random_question(4)._replace(fusion=fusion)
    near = sorted((1 - float(p.vector @ asked.vector), p.chunk_id) for p in passages if p.vector is not None)
    outside = json.dumps([[chunk_id, distance] for distance, chunk_id in near])
    assert statement(db, asked, neighbours_json=outside) == statement(db, asked)
    assert len(statement(db, asked)) == len(passages)


def test_equal_passages_come_in_the_order_of_their_ids(filled: Filled) -> None:
    rng = np.random.default_rng(3)
    vector = unit(rng)
    tokens = packed_tokens(vector[None])
    passages = [Passage(f"{at:032x}", "en", "amber birch", vector, tokens) for at in (5, 3, 9, 1, 7)]
    db = filled(passages)
    for fusion in ("linear", "rrf", "cosine"):
        asked = random_question(1)._replace(fusion=fusion, words=("amber",), lang="en")
        first = statement(db, asked)
        assert [row.chunk_id for row in first] == sorted(passage.chunk_id for passage in passages)
        assert all(statement(db, asked) == first for _ in range(5))


def test_what_only_the_vector_found_counts_its_words_as_well(filled: Filled) -> None:
    rng = np.random.default_rng(5)
    near = unit(rng)
    many = [Passage(f"{at:032x}", "en", "amber", -near, None) for at in range(20)]
    passage = Passage("f" * 32, "en", "amber birch cedar delta ember", near, None)
    db = filled([*many, passage])
    asked = Question(("amber",), "en", near, None, (), "linear")
    (found,) = [row for row in statement(db, asked, depth=10) if row.chunk_id == passage.chunk_id]
    assert found.retrieval.lexical_score == pytest.approx(bm25_of(db, asked.words)[passage.chunk_id])
    assert found.retrieval.lexical_share


# What users see

NOTES = {
    "pump.md": "# Pump\n\nThe pump in the cellar starts when water rises.\n",
    "펌프.md": "# 펌프\n\n지하실 펌프는 물이 차면 돈다.\n",
    "lamp.md": "---\ntags: [light]\n---\n# Lamp\n\nThe lamp above the door has a sensor.\n",
    **{f"filler/{at}.md": f"# Filler {at}\n\nSomething about number {at} and the pump of water.\n" for at in range(30)},
}


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    """The notes, indexed and embedded: copy them to change them."""
    with pytest.MonkeyPatch.context() as patch:
        FakeModels().put_in_place(lambda door, fake: patch.setattr(door, fake))
        made = tmp_path_factory.mktemp("hybrid") / "vault"
        return indexed_vault(made, NOTES, settings=EMBEDDING, mode="hybrid", embed=True)


@pytest.fixture
def own(embedded: Vault, tmp_path: Path) -> Vault:
    """A copy of the notes for one test."""
    return copy_vault(embedded.config.parent, tmp_path / "vault")


def search(vault: Vault, *args: str) -> Ran:
    return run_kb("--config", str(vault.config), "search", *args)


def paths(ran: Ran) -> list[str]:
    return [hit["doc_path"] for hit in ran.json["hits"]]


@pytest.mark.parametrize("mode", ["hybrid", "vector", "lexical"])
@pytest.mark.parametrize("fusion", ["linear", "rrf"])
def test_json_is_valid_in_every_mode(mode: str, fusion: str, embedded: Vault, fake_models: FakeModels) -> None:
    ran = run_kb(
        *("--config", str(embedded.config), "--set", f"search.hybrid_fusion={fusion}"),
        *("search", "pump in the cellar", "--mode", mode, "--json"),
    )
    assert (ran.code, ran.stderr) == (0, "")
    validate("search_response.v1", ran.json)
    first = ran.json["hits"][0]
    assert first["doc_path"] == "pump.md"
    assert first["score_kind"] == {"hybrid": fusion, "vector": "cosine", "lexical": "bm25"}[mode]
    assert first["embedding_model"] == (None if mode == "lexical" else PRIMARY)
    retrieval = first["retrieval"]
    assert retrieval["method"] == mode
    assert (retrieval["lexical_rank"] is None) == (mode == "vector")
    assert (retrieval["vector_rank"] is None) == (mode == "lexical")


def test_recency_is_explained(embedded: Vault, fake_models: FakeModels) -> None:
    kb = kb_in(embedded)
    asked = ("search", "mango kettle", "--explain")
    assert "recency" not in kb(*asked).stdout
    assert "recency_factor" not in kb(*asked, "--json").json["hits"][0]["retrieval"]
    on = ("--set", "search.recency=30")
    assert "date (recency)   times 1." in kb(*on, *asked).stdout
    assert kb(*on, *asked, "--json").json["hits"][0]["retrieval"]["recency_factor"] > 1


def test_a_search_says_the_same_every_time(embedded: Vault, fake_models: FakeModels) -> None:
    answers = [search(embedded, "water pump number", "--k", "40", "--json").stdout for _ in range(3)]
    assert len(set(answers)) == 1


def test_a_passage_that_has_no_vector_yet_is_found_by_its_words(own: Vault, fake_models: FakeModels) -> None:
    (own.root / "late.md").write_text("# Late\n\nThe late heron stands by the pump.\n", encoding="utf-8")
    assert run_kb("--config", str(own.config), "ingest", "--no-embed", "--moved").code == 0
    found = search(own, "late heron", "--k", "40", "--json")
    (late,) = [hit for hit in found.json["hits"] if hit["doc_path"] == "late.md"]
    assert late["retrieval"]["lexical_rank"] == 1
    assert late["retrieval"]["vector_score"] is None
    assert "late.md" not in paths(search(own, "late heron", "--mode", "vector", "--k", "40", "--json"))


def test_filters_leave_only_what_passes_them_and_all_of_it(embedded: Vault, fake_models: FakeModels) -> None:
    for mode in ("hybrid", "vector"):
        tagged = search(embedded, "water in the cellar", "--mode", mode, "--tag", "light", "--json")
        assert paths(tagged) == ["lamp.md"]
        below = search(embedded, "lamp", "--mode", mode, "--path-glob", "filler/**", "--k", "30", "--json")
        assert len(paths(below)) == 30
        assert search(embedded, "lamp", "--mode", mode, "--tag", "none").code == 1


def test_an_ann_index_gives_the_hits_of_the_exact_scan(
    own: Vault, fake_models: FakeModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = load(str(own.config), ())
    questions = [SearchQuery(text, mode, 40) for text in ("pump in the cellar", "지하실 펌프") for mode in MODES]
    with open_base(config, many=True) as session:
        exact = [find(session, question).hits for question in questions]
    monkeypatch.setattr("kb.operations.opening.vectors.ANN_PAYS_ABOVE_CHUNKS", 0)
    assert run_kb("--config", str(own.config), "index", "--ann").code == 0
    with open_base(config, many=True) as session:
        assert [find(session, question).hits for question in questions] == exact
    assert all(len(hits) == len(NOTES) for hits in exact)


def test_mirrors_in_memory_give_the_hits_of_the_scan(
    own: Vault, fake_models: FakeModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kb.operations.opening.vectors._LOAD_MIRROR_AT", 9)
    config = load(str(own.config), ())
    texts, among = ("pump in the cellar", "지하실 펌프"), (SearchFilters(), SearchFilters(path_globs=("filler/**",)))
    questions = [SearchQuery(text, mode, 3, each) for text in texts for mode in MODES for each in among]
    with open_base(config, many=True) as session:
        scanned = [find(session, question) for question in questions]
        with session.reading() as base:
            given = [base.vectors.end(base.vectors.begin(each), 50).neighbours for each in questions]
        assert all(neighbours for neighbours in given), "the mirrors are in memory now"
        assert [find(session, question).hits for question in questions] == [each.hits for each in scanned]
        (own.root / "new.md").write_text("# New\n\nThe pump in the cellar was replaced.\n", encoding="utf-8")
        assert run_kb("--config", str(own.config), "ingest").code == 0
        for _ in range(10):
            assert "new.md" in [hit.doc_path for hit in find(session, questions[0]).hits]


def test_a_question_with_filters_does_not_depend_on_the_ann_index(
    embedded: Vault, fake_models: FakeModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Nothing:
        def nearest(self, query: object, k: int) -> tuple[()]:
            return ()

    monkeypatch.setattr("kb.operations.opening.vectors._ann_table", lambda *args: Nothing())
    with open_base(load(str(embedded.config), ()), many=True) as session:
        assert find(session, SearchQuery("lamp", "vector", 30)).hits == ()
        below = find(session, SearchQuery("lamp", "vector", 30, SearchFilters(path_globs=("filler/**",))))
    assert len(below.hits) == 30


def test_without_vectors_hybrid_answers_by_words_and_says_so(own: Vault, fake_models: FakeModels) -> None:
    bare = run_kb("--config", str(own.config), "--set", "storage.data_dir=bare", "ingest", "--no-embed")
    assert bare.code == 0

    def ask(*args: str) -> Ran:
        return run_kb("--config", str(own.config), "--set", "storage.data_dir=bare", "search", "pump cellar", *args)

    hybrid, lexical = ask("--json"), ask("--mode", "lexical", "--json")
    validate("search_response.v1", hybrid.json)
    assert hybrid.json["hits"] == lexical.json["hits"]
    assert hybrid.code == 0
    assert "kb index --embeddings" in hybrid.json["note"]
    assert lexical.json["note"] is None
    assert "by words only" in ask().stdout + ask().stderr

    vector = ask("--mode", "vector", "--json")
    assert (vector.code, vector.stdout) == (2, "")
    error = json.loads(vector.stderr)
    assert (error["code"], error["hint"]) == ("model_missing", "kb index --embeddings")


def test_an_index_of_another_version_of_the_model_is_searched_by_words(own: Vault, fake_models: FakeModels) -> None:
    primary = fake_models.embedders[PRIMARY]
    primary.model = EmbeddingModel(PRIMARY, "2", 32, 512)
    ran = search(own, "pump", "--mode", "vector", "--json")
    error = json.loads(ran.stderr)
    assert (ran.code, error["code"], error["hint"]) == (2, "other_model", "kb index --embeddings")
    found = search(own, "pump")
    assert (found.code, "by words only: the index was embedded with" in found.stderr) == (0, True)
    assert run_kb("--config", str(own.config), "index", "--embeddings").code == 0
    assert "by words only" not in search(own, "pump").stderr


def test_a_raw_expression_is_obeyed(embedded: Vault, fake_models: FakeModels) -> None:
    ran = search(embedded, "'pump NOT number'", "--json")
    assert set(paths(ran)) == {"pump.md"}
    assert json.loads(search(embedded, "'pump AND'", "--json").stderr)["code"] == "query_syntax"


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="the sqlite3 program is not installed")
@pytest.mark.parametrize(
    "question", [["pump in the cellar"], ["펌프"], ["water", "--mode", "vector", "--k", "4"]], ids=str
)
def test_plain_sqlite3_gives_the_rows_of_kb_search(
    question: list[str], embedded: Vault, fake_models: FakeModels, tmp_path: Path
) -> None:
    without = ("--config", str(embedded.config), "--set", "models.embedding.tokens=false")
    hits = run_kb(*without, "search", *question, "--json").json["hits"]
    rc = tmp_path / "kb.rc"
    assert run_kb("--config", str(embedded.config), "sql", "--rc", str(rc), "--query", *question).code == 0
    statement = tmp_path / "plain.sql"
    kept = (SQL_DIR / "retrieve" / "search_hybrid.sql").read_text(encoding="utf-8")
    statement.write_text(re.sub(r"maxsim\([^)]*\)", "NULL", kept), encoding="utf-8")  # docs/sql.md
    command = ["sqlite3", "-bail", "-json", "-init", str(rc)]
    ran = subprocess.run(command, input=f'.read "{statement}"\n', capture_output=True, text=True, check=True)
    rows = json.loads(ran.stdout)
    assert len(rows) > 3
    assert [(row["rank"], row["chunk_id"]) for row in rows] == [(hit["rank"], hit["chunk_id"]) for hit in hits]
    assert [row["score"] for row in rows] == pytest.approx([hit["score"] for hit in hits], rel=1e-9)
    assert [row["vector_score"] for row in rows] == pytest.approx(
        [hit["retrieval"]["vector_score"] for hit in hits], rel=1e-6
    )
