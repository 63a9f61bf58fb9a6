"""Passages are ranked by reading their sentences and headings; both languages are compared by margins."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import apsw
import pytest
from conftest import Ran, Vault, make_vault, run_kb
from fake_embedder import PRIMARY, SECONDARY, FakeModels, fake_models, hashed_words

from kb.domain.candidates import Candidate, Ranked, ReadFigures
from kb.domain.passages import TermWeight
from kb.domain.reranking import Question
from kb.retrieve.hybrid import shown_first
from kb.retrieve.reader import candidate_features, int8_vector
from kb.retrieve.second_look import looked_through
from kb.retrieve.weights import Weights
from kb.store.rows.sentence_queries import ReadCandidate
from kb.store.vectors.vector_tables import load_vector_functions

__all__ = ["fake_models"]

NOTES = {
    "boiler.md": "# Boiler\n\nThe boiler hums.\n\nBleed the radiators every autumn before frost.\n",
    "garden.md": "# Garden\n\nWater the beans daily.\n",
    **{f"filler/{at}.md": f"# Filler {at}\n\nNothing but number {at} stands here.\n" for at in range(8)},
}


@pytest.fixture
def vault(tmp_path: Path, fake_models: FakeModels) -> Vault:
    made = make_vault(tmp_path / "vault", NOTES)
    configured = made.config.read_text(encoding="utf-8").replace('mode = "lexical"', 'mode = "hybrid"')
    models = f'cache_dir = "cache"\n[models.embedding]\nmodel = "{PRIMARY}"\nsecondary = "{SECONDARY}"\n'
    made.config.write_text(configured + models, encoding="utf-8")
    ingest(made)
    return made


def ingest(vault: Vault, *settings: str) -> None:
    ran = run_kb("--config", str(vault.config), *settings, "ingest")
    assert ran.code == 0, ran.stderr


def search(vault: Vault, *settings: str, question: str = "bleed radiators before frost") -> Ran:
    return run_kb("--config", str(vault.config), *settings, "search", question, "--explain", "--json")


def sentences(vault: Vault, path: str) -> list[str]:
    """The texts that have sentence vectors, of one document."""
    db = apsw.Connection(str(vault.sqlite), flags=apsw.SQLITE_OPEN_READONLY)
    rows = db.execute(
        "SELECT substr(c.text, s.start_char + 1, s.end_char - s.start_char) FROM chunk_sentences AS s "
        "JOIN chunks AS c USING (chunk_rowid) JOIN documents AS d USING (doc_id) "
        "WHERE d.workspace_path = ? AND s.position > 0 ORDER BY c.ordinal, s.position",
        (path,),
    )
    return [text for (text,) in rows]


def count(vault: Vault) -> int:
    db = apsw.Connection(str(vault.sqlite), flags=apsw.SQLITE_OPEN_READONLY)
    return int(db.execute("SELECT count(*) FROM chunk_sentences").fetchall()[0][0])


def vectors(vault: Vault) -> list[tuple[bytes]]:
    db = apsw.Connection(str(vault.sqlite), flags=apsw.SQLITE_OPEN_READONLY)
    return db.execute("SELECT vector FROM chunk_sentences ORDER BY vector").fetchall()


def test_each_sentence_has_a_vector_at_its_place(vault: Vault) -> None:
    assert sentences(vault, "boiler.md") == ["The boiler hums.", "Bleed the radiators every autumn before frost."]


def test_a_changed_passage_has_the_vectors_of_its_sentences_of_today(vault: Vault) -> None:
    before = count(vault)
    (vault.root / "boiler.md").write_text("# Boiler\n\nIt was sold.\n", encoding="utf-8")
    ingest(vault)
    assert sentences(vault, "boiler.md") == ["It was sold."]
    assert count(vault) == before - 1


def test_a_sentence_that_was_embedded_once_is_not_embedded_again(vault: Vault, fake_models: FakeModels) -> None:
    encoder = fake_models.embedders[SECONDARY]
    encoder.texts.clear()
    changed = NOTES["boiler.md"].replace("hums", "is loud")
    (vault.root / "boiler.md").write_text(changed, encoding="utf-8")
    ingest(vault)
    embedded = [text for text in encoder.texts if "\n" not in text]  # without the passage
    assert embedded == ["The boiler is loud."]
    before, at_first = encoder.texts.copy(), vectors(vault)
    vault.sqlite.unlink()
    ingest(vault)
    assert (encoder.texts, vectors(vault)) == (before, at_first)


def test_another_second_model_reads_anew_and_none_reads_nothing(vault: Vault) -> None:
    whole = count(vault)
    ingest(vault, "--set", "models.embedding.sentences=false")
    assert count(vault) == 0
    assert {hit["score_kind"] for hit in search(vault).json["hits"]} == {"linear"}
    ingest(vault)
    assert count(vault) == whole
    assert {hit["score_kind"] for hit in search(vault).json["hits"]} == {"reading"}


def test_reading_says_what_it_went_by(vault: Vault) -> None:
    hits = search(vault).json["hits"]
    assert hits[0]["doc_path"] == "boiler.md"
    best = hits[0]["retrieval"]
    exact = hashed_words("bleed radiators before frost", 16) @ hashed_words(
        "Bleed the radiators every autumn before frost.", 16
    )
    assert best["sentence_score"] == pytest.approx(exact, abs=0.01)
    assert [hit["retrieval"]["reading_score"] for hit in hits] == sorted(
        (hit["retrieval"]["reading_score"] for hit in hits), reverse=True
    )
    assert sum(hit["score"] for hit in hits) <= 1 + 1e-9


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("zzqx wvvk", "no passage has any of these words"),
        ("귤갸갹 쀍뗡", "이 낱말이 나오는 곳은 없음"),
        ("zzqx radiators", None),
        ("bleed radiators before frost", None),
    ],
)
def test_that_no_word_was_found_is_said(question: str, says: str | None, vault: Vault) -> None:
    found = search(vault, question=question).json
    assert found["hits"] != []
    assert (says in found["note"]) if says else found.get("note") is None


def test_int8_keeps_the_direction() -> None:
    vector = hashed_words("some words of a sentence", 64)
    db = apsw.Connection(":memory:")
    load_vector_functions(db)
    distance = db.execute(
        "SELECT vec_distance_cosine(vec_int8(?), vec_int8(?))",
        (int8_vector(vector.tobytes()), int8_vector((vector * 3).tobytes())),
    ).fetchall()[0][0]
    assert distance == pytest.approx(0, abs=1e-4)


def candidate(rank: int, lang: str, cosine: float | None, words: float = 0.0) -> Candidate:
    return Candidate(
        *(rank, rank, str(rank), "d", "p", "s", "t", "[]", None, "text", "[]", "v", lang, 0.5, None, None),
        *(cosine, None, None, int(lang == "ko"), words, 0.5, None),
    )


def features(candidates: Sequence[Candidate], use: Sequence[float | None] = ()) -> list[dict[str, float]]:
    cosines = use or [0.2] * len(candidates)
    read = [ReadCandidate(each.chunk_rowid, cosine, 0.2, 0.2) for each, cosine in zip(candidates, cosines, strict=True)]
    return candidate_features(Question("a text", (TermWeight("text", 2.0), TermWeight("other", 6.0))), candidates, read)


@pytest.mark.parametrize(
    ("languages", "k", "shown"),
    [
        ("ko*12 en*4", 10, [1, 2, 3, 4, 5, 6, 7, 13, 14, 15]),
        ("ko*12 en*4", 12, [1, 2, 3, 4, 5, 6, 7, 13, 14, 15, 8, 9]),
        ("ko*12 en*4", 5, [1, 2, 3, 4, 5]),
        ("ko*2 en*1 ko*9 en*1", 10, [1, 2, 3, 4, 5, 6, 7, 8, 13, 9]),
        ("ko*7 en*3 ko*2", 10, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        ("en*12 ko*2", 10, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        ("ko*12", 10, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        ("ko*1 en*1", 10, [1, 2]),
    ],
)
def test_where_both_languages_are_found_both_are_among_the_first_ten(languages: str, k: int, shown: list[int]) -> None:
    runs = [part.split("*") for part in languages.split()]
    langs = [lang for lang, count in runs for _ in range(int(count))]
    ranked = [Ranked(candidate(at, lang, None)) for at, lang in enumerate(langs, 1)]
    assert [each.candidate.rank for each in shown_first(ranked, k)] == shown


def test_a_language_is_compared_with_itself_alone() -> None:
    korean = [candidate(at, "ko", cosine) for at, cosine in enumerate((0.90, 0.88, 0.88), 1)]
    english = [candidate(at, "en", cosine) for at, cosine in enumerate((0.80, 0.74, 0.74), 4)]
    found = features([*korean, *english])
    assert found[0]["own.e5"] == pytest.approx(20 * 0.02)
    assert found[3]["other.e5"] == pytest.approx(20 * 0.06)
    assert features(korean)[0]["own.e5"] == pytest.approx(found[0]["own.e5"])


def test_a_language_that_means_what_is_asked_leads() -> None:
    both = [candidate(at, lang, 0.9) for at, lang in enumerate(("ko", "ko", "ko", "en", "en", "en"), 1)]
    found = features(both, use=(0.2, 0.1, 0.1, 0.6, 0.5, 0.5))
    assert [each.get("other.use_lead") for each in found] == [None] * 3 + [pytest.approx(5 * 0.4)] * 3
    assert found[3]["other.sentence_lead"] == 0


@pytest.mark.parametrize("use", [(0.2, 0.2, None, None), (None, None, 0.6, 0.5)])
def test_no_language_leads_while_another_has_no_vectors(use: Sequence[float | None]) -> None:
    both = [candidate(at, lang, 0.9) for at, lang in enumerate(("ko", "ko", "en", "en"), 1)]
    assert not any(name.endswith("_lead") for each in features(both, use) for name in each)


def test_the_fewer_words_are_found_the_more_meaning_counts() -> None:
    without = features([candidate(1, "ko", 0.9), candidate(2, "ko", 0.8)])
    with_words = features([candidate(1, "ko", 0.9, words=0.75), candidate(2, "ko", 0.8)])
    assert without[0]["own.e5_by_meaning"] == pytest.approx(without[0]["own.e5"])
    assert with_words[0]["own.e5_by_meaning"] == pytest.approx(0.25 * with_words[0]["own.e5"])


def test_a_passage_without_a_vector_counts_as_the_least_similar_one() -> None:
    found = features([candidate(1, "ko", 0.9), candidate(2, "ko", None), candidate(3, "ko", 0.7)])
    assert found[1]["own.e5"] == found[2]["own.e5"]


def test_the_share_of_a_question_that_stands_in_the_title_counts() -> None:
    named = candidate(1, "ko", 0.9)._replace(title="The text")
    assert [each["own.title"] for each in features([named, candidate(2, "ko", 0.9)])] == [3 * 0.25, 0]


def look(*texts: str, langs: Sequence[str] = ("ko", "ko", "ko")) -> list[Ranked]:
    """Three candidates by a second look for the word "valve"; each was less likely than the one before."""
    ranked = [
        Ranked(candidate(at, lang, 0.9)._replace(text=text), ReadFigures(0.1 * at, 0.0, 0.0, 3.0 - at, 0.5**at))
        for at, (text, lang) in enumerate(zip(texts, langs, strict=True), 1)
    ]
    question = Question("where is the valve?", (TermWeight("valve", 3.0),))
    weights = Weights("s", {"own_terms": 2.0}), Weights("l", {"logit": 1.0, "sentence": 2.0})
    return looked_through(question, ranked, {}, *weights)


def test_a_second_look_puts_the_passage_first_whose_sentence_answers() -> None:
    found = look("Green.", "Round.", "The valve is behind the door.")
    assert [each.candidate.rank for each in found] == [3, 1, 2]
    assert [each.read and each.read.share for each in found] == [0.5, 0.25, 0.125], "the places keep their shares"
    assert found[0].read is not None
    assert found[0].read.passage == pytest.approx(0.3), "a passage keeps its own cosines"


def test_a_second_look_leaves_the_other_language_where_it_stands() -> None:
    found = look("Green.", "Round.", "The valve is behind the door.", langs=("ko", "en", "ko"))
    assert [each.candidate.rank for each in found] == [3, 2, 1]
    found = look("Green.", "Round.", "The valve is behind the door.", langs=("ko", "en", "en"))
    assert [each.candidate.rank for each in found] == [1, 2, 3]


def test_a_second_look_without_weights_changes_nothing() -> None:
    ranked = look("Green.", "Round.", "The valve is behind the door.")
    none = Weights("none", {})
    assert looked_through(Question("x", ()), ranked, {}, none, none) == ranked
