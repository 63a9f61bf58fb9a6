"""What is found is read against its question: the best piece of each passage, how likely it answers, what is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from answer_passages import passage

from kb.answer.judging import EXCERPT_CHARS, Excerpt, Judgement, JudgingWeights, judge, read_excerpts
from kb.answer.pieces import Piece, show_excerpts
from kb.domain.candidates import Candidate, Ranked, ReadFigures
from kb.domain.passages import Passage, Sentence, TermWeight
from kb.retrieve.weights import Weights

TERMS = [TermWeight("valve", 3.0), TermWeight("cellar", 2.0)]
QUESTION = "where is the valve of the cellar?"
SENTENCE = Weights("s", {"own_terms": 2.0, "cosine": 1.0})


def found(passages: Sequence[Passage], sentence: float = 0.5, words: float = 0.6) -> list[tuple[Ranked, Passage]]:
    """The passages in their order, each half as likely as the one before."""
    ranked = []
    for at, each in enumerate(passages, 1):
        candidate = Candidate(
            *(at, at, each.chunk_id, each.doc_id, each.doc_path, each.source_path, each.title, "[]", None, each.text),
            *("[]", "v", each.lang, 0.5, None, None, 0.85, at, None, 1, words, 0.85, None),
        )
        ranked.append((Ranked(candidate, ReadFigures(0.4, 0.2, sentence, 3.0 - at, 0.5**at)), each))
    return ranked


def excerpts(*texts: str, cosines: Mapping[tuple[int, int], float] | None = None) -> tuple[Excerpt, ...]:
    given = found([passage(number, text) for number, text in enumerate(texts, 1)])
    return read_excerpts(QUESTION, TERMS, given, cosines or {}, SENTENCE)


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
    text = "Bread is in the box. Turn the green wheel to stop the water."
    at = text.index("Turn")
    (only,) = excerpts(text, cosines={(1, 0): 0.1, (1, at): 0.8})
    assert only.best == "Turn the green wheel to stop the water."


def weights(about: float, right: float) -> JudgingWeights:
    return JudgingWeights(
        SENTENCE,
        Weights("a", {"bias": about}),
        Weights("r", {"bias": right}),
        Weights("r", {"0.80": 0.4, "0.90": 0.6, "0.95": 0.9}),
    )


def judged(right: float, *texts: str) -> Judgement:
    pieces = excerpts(*texts)
    return judge(QUESTION, pieces, [each.ranked for each in pieces], TERMS, {}, weights(0.0, right))


@pytest.mark.parametrize(
    ("right", "precision", "stands"),
    [(0.5, 0.9, True), (0.3, 0.9, False), (0.3, 0.8, True), (3.0, 0.95, True), (3.0, 0.99, False), (-9.0, 0, True)],
)
def test_kb_stands_by_answers_as_likely_as_the_precision_asks(right: float, precision: float, stands: bool) -> None:
    assert judged(right, "The valve of the cellar is green.").stands(precision) is stands


def test_a_doubt_makes_an_answer_unsure() -> None:
    sure = judged(9.0, "The valve of the cellar is green.")
    assert sure.stands(0.9)
    assert sure.only_doubt(0.9) is None
    doubted = sure._replace(doubt="it denies")
    assert not doubted.stands(0.9)
    assert doubted.only_doubt(0.9) == "it denies"
    assert judged(-9.0, "The valve of the cellar is green.")._replace(doubt="it denies").only_doubt(0.9) is None


def test_a_second_piece_belongs_to_an_answer_where_it_is_nearly_as_likely() -> None:
    made = judged(0.0, "The valve is green.", "The cellar is deep.", "A valve leaks.", "Valve and cellar.")
    assert len(made.shown()) == 2
    assert len(made.perhaps()) == 3
    far = made.excerpts[1]
    assert far.ranked.read is not None
    less = far._replace(ranked=far.ranked._replace(read=far.ranked.read._replace(share=0.01)))
    assert len(made._replace(excerpts=(made.excerpts[0], less)).shown()) == 1


def test_nothing_found_is_not_likely() -> None:
    nothing = judge(QUESTION, (), [], TERMS, {}, weights(9.0, 9.0))
    assert (nothing.about, nothing.right) == (0.0, 0.0)


@pytest.mark.parametrize(("mean", "spread", "standing"), [(0.8, 0.02, 2.5), (0.85, 0.1, 0.0), (0.9, 0.05, -1.0)])
def test_nearness_is_compared_with_what_questions_about_nothing_reach(
    mean: float, spread: float, standing: float
) -> None:
    pieces = excerpts("The valve of the cellar is green.")
    background = {("passage", "en"): (mean, spread)}
    made = judge(QUESTION, pieces, [each.ranked for each in pieces], TERMS, background, weights(0.0, 0.0))
    assert made.features["nearness"] == pytest.approx(standing)


def features(question: str, *texts: str) -> Mapping[str, float]:
    pieces = excerpts(*texts)
    return judge(question, pieces, [each.ranked for each in pieces], TERMS, {}, weights(0.0, 0.0)).features


def test_the_rarest_word_that_a_passage_lacks_counts_by_its_rarity() -> None:
    assert features(QUESTION, "The valve of the cellar is green.")["missing"] == 0
    assert features(QUESTION, "The valve is green.")["missing"] == pytest.approx(2 / 3)
    assert features(QUESTION, "The cellar is deep.")["missing"] == 1


def test_a_name_that_stands_nowhere_in_the_passage_counts() -> None:
    text = "The valve of the cellar was bought by Anna."
    assert features("where did Anna buy the valve?", text)["strangers"] == 0
    assert features("where did Bruno buy the valve?", text)["strangers"] == 1


def test_pieces_of_one_document_count_together() -> None:
    pieces = excerpts("The valve is green.", "The cellar is deep.")
    other = pieces[1]._replace(passage=pieces[1].passage._replace(doc_id=pieces[0].passage.doc_id))
    apart = judge(QUESTION, pieces, [], TERMS, {}, weights(0.0, 0.0)).features["share"]
    together = judge(QUESTION, (pieces[0], other), [], TERMS, {}, weights(0.0, 0.0)).features["share"]
    assert together == pytest.approx(apart + 0.25)


def shown(text: str, start: int = 0) -> str:
    whole = passage(1, text)
    return show_excerpts([Piece(whole, Sentence(1, start, len(text), text[start:]), len(text), 1)])


def test_lines_of_mere_markup_are_not_shown() -> None:
    text = "Set it so:\n\n{* ../../docs/one.py hl[3] *}\n\n/// note\n\n<br>\n\nThen restart [3]."
    assert shown(text) == "Set it so:\n\n…\nThen restart [3]. [1]"


def test_code_is_shown_in_a_block_with_its_marker_below() -> None:
    text = "Run:\n\n```sh\nmake x[0]\n```"
    assert shown(text) == f"{text}\n[1]"
    assert shown(text, text.index("make")) == "```\nmake x[0]\n```\n[1]"
