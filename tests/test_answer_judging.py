"""What is found is read against its question: the best piece of each passage, how likely it answers, what is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from answer_passages import passage

from kb.answer.judging import (
    COMPARED_SENTENCES,
    EXCERPT_CHARS,
    Excerpt,
    Fitted,
    Judgement,
    judge,
    read_excerpts,
    standing,
)
from kb.answer.quoting import Piece, show_excerpts
from kb.domain.search import RetrievalDetail, Sentence, TermWeight

TERMS = [TermWeight("valve", 3.0), TermWeight("cellar", 2.0)]
QUESTION = "where is the valve of the cellar?"
GREEN = "The valve of the cellar is green."


def excerpts(*texts: str, near: Mapping[str, float] | None = None) -> tuple[Excerpt, ...]:
    """The pieces of passages with these texts, each with less of a score than the one before."""

    def nearness(sentences: Sequence[str]) -> list[float]:
        return [(near or {}).get(sentence, 0.0) for sentence in sentences]

    given = [passage(number, text) for number, text in enumerate(texts, 1)]
    return read_excerpts(QUESTION, TERMS, given, None if near is None else nearness)


def test_the_best_sentence_is_shown_with_its_neighbours() -> None:
    text = "# Cellar\n\nThe lamp hums. The valve of the cellar is behind the door. Turn it twice."
    (only,) = excerpts(text)
    assert only.piece.text == "The lamp hums. The valve of the cellar is behind the door. Turn it twice."
    assert only.best == "The valve of the cellar is behind the door."


def test_a_piece_stays_short_and_goes_on_rather_than_back() -> None:
    filler = "It was cold and it was dark down there that day. "
    text = filler * 20 + "The valve of the cellar is green. " + filler * 20
    (only,) = excerpts(text)
    assert len(only.piece.text) <= EXCERPT_CHARS
    assert only.piece.text.index("The valve") < EXCERPT_CHARS / 2
    assert text[only.piece.start : only.piece.end] == only.piece.text


def test_what_is_near_in_meaning_wins_without_words() -> None:
    turn = "Turn the green wheel to stop the water."
    text = f"Bread is in the box of the cellar. {turn}"
    assert excerpts(text)[0].best == "Bread is in the box of the cellar."
    assert excerpts(text, near={turn: 0.8, "Bread is in the box of the cellar.": 0.4})[0].best == turn


def test_only_sentences_of_the_first_passage_are_compared_and_no_more_than_some() -> None:
    compared: list[str] = []

    def nearness(sentences: Sequence[str]) -> list[float]:
        compared.extend(sentences)
        return [0.5] * len(sentences)

    long = " ".join(f"The lamp number {number} hums." for number in range(40))
    given = [passage(1, f"{long} {GREEN}"), passage(2, "The door is blue.")]
    assert len(read_excerpts(QUESTION, TERMS, given, nearness)) == 2
    assert len(compared) == COMPARED_SENTENCES
    assert GREEN in compared
    assert "The door is blue." not in compared


def found(late: float | None, cosine: float | None = 0.8, words: float = 0.6) -> RetrievalDetail:
    return RetrievalDetail("hybrid", 5.0, 1, cosine, 1, late_score=late, lexical_share=words)


def test_the_first_passage_is_compared_with_the_next_ones_by_what_it_was_found_by() -> None:
    late = standing(found(0.7), [found(0.7), found(0.5), found(0.3), found(None)])
    assert (late.measure, late.score, late.lead) == ("late", 0.7, pytest.approx(0.3))
    cosine = standing(found(None), [found(None), found(None, 0.6), found(0.9, None)])
    assert (cosine.measure, cosine.lead) == ("cosine", pytest.approx(0.2))
    words = standing(found(None, None), [found(None, None)])
    assert (words.measure, words.score, words.lead) == ("words", 0.6, 0.6)
    alone = standing(found(0.7), [found(0.7)])
    assert alone.lead == 0


def judged(monkeypatch: pytest.MonkeyPatch, right: float, *texts: str, about: float = 0.0) -> Judgement:
    """What is made of these passages by models that say the same of all."""

    def model(name: str) -> Fitted:
        bias = about if name.startswith("about") else right
        return Fitted(name, "", {"bias": bias}, {"0.80": 0.4, "0.90": 0.6, "0.95": 0.9})

    monkeypatch.setattr("kb.answer.judging.fitted", model)
    return judge(QUESTION, TERMS, excerpts(*texts), standing(found(0.7), [found(0.7), found(0.5)]))


@pytest.mark.parametrize(
    ("right", "precision", "stands"),
    [(0.5, 0.9, True), (0.3, 0.9, False), (0.3, 0.8, True), (3.0, 0.95, True), (3.0, 0.99, False), (-9.0, 0, True)],
)
def test_kb_stands_by_answers_as_likely_as_the_precision_asks(
    right: float, precision: float, stands: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert judged(monkeypatch, right, GREEN).stands(precision) is stands


def test_a_doubt_makes_an_answer_unsure(monkeypatch: pytest.MonkeyPatch) -> None:
    sure = judged(monkeypatch, 9.0, GREEN)
    assert sure.stands(0.9)
    assert sure.only_doubt(0.9) is None
    doubted = sure._replace(doubt="it denies")
    assert not doubted.stands(0.9)
    assert doubted.only_doubt(0.9) == "it denies"
    assert judged(monkeypatch, -9.0, GREEN)._replace(doubt="it denies").only_doubt(0.9) is None


def test_a_second_piece_belongs_to_an_answer_where_its_passage_scores_nearly_as_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = judged(monkeypatch, 0.0, "The valve is green.", "The cellar is deep.", "A valve leaks.", "Valve and cellar.")
    assert len(made.perhaps()) == 3
    first, second, *_ = made.excerpts
    assert len(made.shown()) == 1
    near = second._replace(passage=second.passage._replace(score=0.99 * first.passage.score))
    assert len(made._replace(excerpts=(first, near)).shown()) == 2


def test_nothing_found_is_not_likely(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = judged(monkeypatch, 9.0, about=9.0)
    assert (nothing.about, nothing.right) == (0.0, 0.0)


def features(question: str, text: str) -> Mapping[str, float]:
    return judge(question, TERMS, excerpts(text), standing(found(0.7), [found(0.7), found(0.5)])).features


def test_the_rarest_word_that_a_passage_lacks_counts_by_its_rarity() -> None:
    assert features(QUESTION, GREEN)["missing"] == 0
    assert features(QUESTION, "The valve is green.")["missing"] == pytest.approx(2 / 3)
    assert features(QUESTION, "The cellar is deep.")["missing"] == 1


def test_a_name_that_stands_nowhere_in_the_passage_counts() -> None:
    text = "The valve of the cellar was bought by Anna."
    assert features("where did Anna buy the valve?", text)["strangers"] == 0
    assert features("where did Bruno buy the valve?", text)["strangers"] == 1


@pytest.mark.parametrize("measure", ["late", "cosine", "words"])
def test_the_shipped_models_know_every_measure_and_prefer_what_scores_more(measure: str) -> None:
    others = [found(0.2, 0.2, 0.1)] * 3
    low, high = (
        found(score if measure == "late" else None, None if measure == "words" else score, score)
        for score in (0.2, 0.9)
    )
    less, more = (judge(QUESTION, TERMS, excerpts(GREEN), standing(each, [each, *others])) for each in (low, high))
    assert less.standing.measure == measure
    assert more.about > less.about
    assert more.right > less.right


def shown(text: str, start: int = 0) -> str:
    return show_excerpts([Piece(passage(1, text), Sentence(1, start, len(text), text[start:]), 1)])


def test_lines_of_mere_markup_are_not_shown() -> None:
    text = "Set it so:\n\n{* ../../docs/one.py hl[3] *}\n\n/// note\n\n<br>\n\nThen restart [3]."
    assert shown(text) == "Set it so:\n\n…\nThen restart [3]. [1]"


def test_code_is_shown_in_a_block_with_its_marker_below() -> None:
    text = "Run:\n\n```sh\nmake x[0]\n```"
    assert shown(text) == f"{text}\n[1]"
    assert shown(text, text.index("make")) == "```\nmake x[0]\n```\n[1]"
