"""What is found is read against its question: the best piece of each passage, how likely it answers, what is shown."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from answer_passages import ReadingJudge, passage

from kb.answer.judging import Fitted, Judgement, Standing, judge, question_features, standing
from kb.answer.pieces import SHOWN_CHARS, Excerpt, read_excerpts
from kb.answer.questions import names_topic
from kb.answer.quoting import UNSURE_LINES, quote_briefly, quote_excerpts, show_excerpt
from kb.domain.answers import Evidence
from kb.domain.citations import Citation, PageCitation, RegionCitation
from kb.domain.search import Passage, RetrievalDetail, Sentence, TermWeight

TERMS = [TermWeight("valve", 3.0), TermWeight("cellar", 2.0)]
QUESTION = "where is the valve of the cellar?"
GREEN = "The valve of the cellar is green."


def excerpts(*texts: str) -> tuple[Excerpt, ...]:
    """The pieces of passages with these texts, each with less of a score than the one before."""
    given = [passage(number, text) for number, text in enumerate(texts, 1)]
    return read_excerpts(QUESTION, TERMS, given, None)


def test_the_best_sentence_is_shown_with_its_neighbours() -> None:
    text = "# Cellar\n\nThe lamp hums. The valve of the cellar is behind the door. Turn it twice."
    (only,) = excerpts(text)
    assert only.text() == "The lamp hums. The valve of the cellar is behind the door. Turn it twice."
    assert only.best.text == "The valve of the cellar is behind the door."


def test_a_piece_stays_short_and_goes_on_rather_than_back() -> None:
    filler = "It was cold and it was dark down there that day. "
    text = filler * 20 + "The valve of the cellar is green. " + filler * 20
    (only,) = excerpts(text)
    assert len(only.text()) <= SHOWN_CHARS + 10  # spaces between sentences
    assert only.text().index("The valve") < SHOWN_CHARS / 2
    ((start, end),) = only.shown
    assert text[start:end] == only.text()


TURN = "Turn the green wheel on the left of the door to stop the water at once."


def test_what_a_judge_reads_as_the_answer_wins_without_words() -> None:
    text = f"Bread is in the box of the cellar. {TURN}"
    assert excerpts(text)[0].best.text == "Bread is in the box of the cellar."
    read = read_excerpts(QUESTION, TERMS, [passage(1, text)], ReadingJudge({TURN: 8.0, text: 1.0}))
    assert read[0].best.text == TURN
    assert read[0].logit == (1.0 + 8.0) / 2  # whole, and the piece alone


def test_a_judge_orders_passages_that_score_nearly_as_much() -> None:
    first, near, far = (
        passage(number, text)._replace(score=score)
        for number, (text, score) in enumerate(((GREEN, 0.60), (TURN, 0.58), ("The valve drips.", 0.50)), 1)
    )
    judge = ReadingJudge({GREEN: -1.0, TURN: 3.0, "The valve drips.": 9.0})
    read = read_excerpts(QUESTION, TERMS, [first, near, far], judge)
    assert [each.passage.text for each in read] == [TURN, GREEN, "The valve drips."]
    assert read[0].logit == 3.0
    assert "The valve drips." not in judge.read_texts
    assert len(read_excerpts(QUESTION, TERMS, [first, passage(2, "")], judge)) == 1


def found(words: float) -> RetrievalDetail:
    return RetrievalDetail("hybrid", 5.0, 1, 0.8, 1, late_score=0.7, lexical_share=words)


def test_the_first_passage_is_compared_with_the_next_ones_by_its_words() -> None:
    best = standing(found(0.6), [found(0.6), found(0.5), found(0.3)])
    assert (best.words, best.lead, best.token_lead) == (0.6, pytest.approx(0.2), 0)
    late = [each._replace(late_score=score) for each, score in zip([found(0.6)] * 3, (0.7, 0.5, 0.3), strict=True)]
    assert standing(late[0], late).token_lead == pytest.approx(0.3)
    assert standing(late[1], late).token_lead == pytest.approx(0.1)
    assert standing(found(0.6), [found(0.6)]).lead == 0.6


def judged(monkeypatch: pytest.MonkeyPatch, right: float, *texts: str, about: float = 9.0) -> Judgement:
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
    assert judged(monkeypatch, right, GREEN).state(0, precision) == ("answered" if stands else "unsure", None)


def test_an_answer_is_sure_only_where_the_notes_as_likely_hold_one(monkeypatch: pytest.MonkeyPatch) -> None:
    made = judged(monkeypatch, 9.0, GREEN, about=2.5)  # a likelihood of .924
    states = [made.state(0, precision)[0] for precision in (0.9, 0.95, 0)]
    assert states == ["answered", "unsure", "answered"]
    assert made._replace(names_topic=True).state(0, 0.95)[0] == "answered"


@pytest.mark.parametrize(
    ("question", "is_topic"),
    [
        ("퇴비", True),
        ("마을우물 수질검사", True),
        ("heat pump", True),
        ("연체료 얼마", False),
        ("who paid", False),
        ("마을우물 수질검사 결과", False),
    ],
)
def test_one_or_two_words_that_ask_nothing_name_a_topic(question: str, is_topic: bool) -> None:
    assert names_topic(question) == is_topic


def test_a_doubt_makes_an_answer_unsure(monkeypatch: pytest.MonkeyPatch) -> None:
    sure = judged(monkeypatch, 9.0, GREEN)
    assert sure.state(0, 0.9) == ("answered", None)
    doubted = sure._replace(doubt="it denies")
    assert doubted.state(0, 0.9) == ("unsure", "it denies")
    assert doubted.state(0, 0) == ("answered", None)
    assert judged(monkeypatch, -9.0, GREEN)._replace(doubt="it denies").state(0, 0.9) == ("unsure", None)


def test_what_is_below_the_gate_is_refused_whatever_the_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    made = judged(monkeypatch, 9.0, GREEN, about=0.0)
    assert [made.state(gate, 0)[0] for gate in (0.5, 0.51)] == ["answered", "refused"]


def test_a_likelihood_without_limits_is_the_share_itself() -> None:
    of_code = Judgement(Evidence(0.85, "code", "m-1", 1.0, 0.0, None, 0.85))
    assert [of_code.state(0.5, precision)[0] for precision in (0.85, 0.86)] == ["answered", "unsure"]


def test_a_second_piece_belongs_to_an_answer_where_its_passage_scores_nearly_as_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = judged(monkeypatch, 0.0, "The valve is green.", "The cellar is deep.", "A valve leaks.", "Valve and cellar.")
    assert len(made.perhaps()) == 3
    first, second, *_ = made.excerpts
    assert len(made.shown()) == 1
    near = second._replace(passage=second.passage._replace(score=0.99 * first.passage.score))
    assert len(made._replace(excerpts=(first, near)).shown()) == 2


def test_places_that_a_judge_finds_far_from_an_answer_are_not_near() -> None:
    first, second, third = excerpts(GREEN, "The cellar is deep.", "A valve leaks.")
    best = standing(found(0.7), [found(0.7)])
    assert judge(QUESTION, TERMS, (first, second), best).near() is None
    read = (first._replace(logit=-1.0), second._replace(logit=-4.0), third)
    assert judge(QUESTION, TERMS, read, best).near() == {first.passage.chunk_id}


def test_nothing_found_is_not_likely(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = judged(monkeypatch, 9.0, about=9.0)
    assert (nothing.evidence.value, nothing.evidence.right) == (0.0, 0.0)


def features(question: str, text: str) -> Mapping[str, float]:
    return question_features(question, TERMS, excerpts(text)[0], standing(found(0.7), [found(0.7), found(0.5)]), False)


def test_the_rarest_word_that_a_passage_lacks_counts_by_its_rarity() -> None:
    assert features(QUESTION, GREEN)["missing"] == 0
    assert features(QUESTION, "The valve is green.")["missing"] == pytest.approx(2 / 3)
    assert features(QUESTION, "The cellar is deep.")["missing"] == 1


def test_a_syllable_cut_out_of_a_word_is_held_where_the_word_is_written() -> None:
    cut = [TermWeight("애", 3.0)]
    best = standing(found(0.7), [found(0.7)])
    for text, lack in (("응애가 생기면 물을 뿌린다.", 0.0), ("애를 썼다.", 0.0), ("진딧물이 생긴다.", 1.0)):
        assert question_features("응애", cut, excerpts(text)[0], best, False)["missing"] == lack


def test_places_that_lack_a_word_of_a_topic_are_left_out_where_the_first_has_it() -> None:
    texts = (GREEN, "The valve drips.", "The dog of the cellar sleeps by the valve.")
    for question, shown in (("cellar valve", [0, 2]), (QUESTION, [0, 1, 2])):
        given = excerpts(*texts)
        made = judge(question, TERMS, given, compared(given))
        assert [each.best.text for each in made.perhaps()] == [texts[at] for at in shown]


def test_a_name_that_stands_nowhere_in_the_passage_counts() -> None:
    text = "The valve of the cellar was bought by Anna."
    assert features("where did Anna buy the valve?", text)["strangers"] == 0
    assert features("where did Bruno buy the valve?", text)["strangers"] == 1


@pytest.mark.parametrize(("low", "high"), [((0.2, None), (0.9, None)), ((0.5, -2.0), (0.5, 3.0))])
def test_the_shipped_models_prefer_what_holds_more_words_and_what_reads_as_an_answer(
    low: tuple[float, float | None], high: tuple[float, float | None]
) -> None:
    others = [found(0.1)] * 3
    less, more = (
        judge(
            QUESTION,
            TERMS,
            (excerpts(GREEN)[0]._replace(logit=logit),),
            standing(found(words), [found(words), *others]),
        ).evidence
        for words, logit in (low, high)
    )
    assert more.value > less.value
    assert more.right is not None
    assert less.right is not None
    assert more.right > less.right


def shown(text: str, start: int = 0) -> str:
    whole = Sentence(1, start, len(text), text[start:])
    return show_excerpt(Excerpt(passage(1, text), (whole,), ((start, len(text)),), whole, 1.0), 1, {1})


def test_lines_of_mere_markup_are_not_shown() -> None:
    text = "Set it so:\n\n{* ../../docs/one.py hl[3] *}\n\n/// note\n\n<br>\n\nThen restart [3]."
    assert shown(text) == "Set it so:\n\n…\nThen restart [3]. [1]"


def test_a_line_of_mere_markup_is_no_piece() -> None:
    """It shares the most words with the question, and would be shown as nothing."""
    only = passage(1, "{* ../../docs/torque_specs.py hl[3] *}")
    assert read_excerpts("torque specs", TERMS, [only], None) == ()
    code = "```jinja\n{% torque_specs %}\n```"
    assert "torque_specs" in read_excerpts("torque specs", TERMS, [passage(1, code)], None)[0].pieces[0].text


def test_code_is_shown_in_a_block_with_its_marker_below() -> None:
    text = "Run:\n\n```sh\nmake x[0]\n```"
    assert shown(text) == f"{text}\n[1]"
    assert shown(text, text.index("make")) == "```\nmake x[0]\n```\n[1]"


def test_a_number_in_brackets_that_would_read_as_a_place_of_the_answer_is_in_wide_ones() -> None:
    assert whole(passage(1, "It is so [1], see [3].")) == "It is so ［1］, see [3]. [1]"
    assert whole(passage(1, "x <- matrix[[1]] + a[1] # [1]: \n`[1]`")) == "x <- matrix[[1]] + a[1] # ［1］: \n`[1]` [1]"


LINKED = "The pump is oiled by [[People/Ann Lee|Ann]], see [[Pumps#Oil#Kinds]] and [[Oil#^a1]], never `[[x]]`."
PAGE = "The pump draws water from the moun-\ntain lake, as the\nowner noted."
KOREAN_PAGE = "펌프는 하루 두 번\n확인한다고 주인이\n적었다."


def whole(given: Passage) -> str:
    """The passage as one piece of an answer."""
    return part(given, given.text)


def part(given: Passage, words: str) -> str:
    """The first place of these words in the passage as the piece of an answer, without surroundings."""
    start = given.text.index(words)
    piece = Sentence(1, start, start + len(words), words)
    quoted = quote_excerpts([Excerpt(given, (piece,), ((piece.start, piece.end),), piece, 1.0)])
    assert quoted.claims[0].quote == words
    return quoted.text


def test_links_of_notes_are_shown_as_they_stand() -> None:
    given = passage(1, LINKED)
    assert whole(given) == f"{LINKED} [1]"


def test_links_into_the_web_are_shown_as_they_stand() -> None:
    linked = 'By [ISO](https://x.example/a_(b) "the body") [18033-3](/n) ![a pump](p.png), `[x](y)`. \\\nOiled.'
    given = passage(1, linked)
    assert whole(given) == f"{linked} [1]"


@pytest.mark.parametrize("place", [PageCitation("a.pdf", 2), RegionCitation("a.png", 1, 2, 30, 40)])
def test_the_lines_of_a_page_go_on_as_one_paragraph_and_are_quoted_as_they_stand(place: Citation) -> None:
    given = passage(1, PAGE)._replace(cited=place)
    joined = "The pump draws water from the moun- tain lake, as the owner noted. [1]"
    assert whole(given) == joined
    assert whole(given._replace(text=KOREAN_PAGE)) == "펌프는 하루 두 번 확인한다고 주인이 적었다. [1]"


def test_code_of_a_page_loses_no_character() -> None:
    code = 'Sort it: DF[order(DF$a, DF[["b"]]), ] x[[1]]\n| a |\n<br>\n{% raw %}\nso'
    given = passage(1, code)._replace(cited=PageCitation("a.pdf", 2))
    assert whole(given).split() == [*code.split(), "[1]"]


def test_items_and_rows_of_a_page_keep_their_lines() -> None:
    text = "To oil the pump take:\n- an oil can of\nthe small kind\n2) a cloth\n| a | b |\n| c | d |"
    given = passage(1, text)._replace(cited=PageCitation("a.pdf", 2))
    assert whole(given) == "To oil the pump take:\n- an oil can of the small kind\n2) a cloth\n| a | b |\n| c | d | [1]"


def test_the_lines_of_a_note_stay_as_they_are() -> None:
    assert whole(passage(1, "One\ntwo.")) == "One\ntwo. [1]"


TABLE = "Rates.\n\n| plan | price |\n| --- | ---: |\n| small | 10 |\n| large | 90 |\n\nEnd.\n"


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("| large | 90 |", "| plan | price |\n| --- | ---: |\n| … |\n| large | 90 | [1]"),
        ("large | 90 |", "| plan | price |\n| --- | ---: |\n| … |\n| large | 90 | [1]"),
        ("| small | 10 |", "| plan | price |\n| --- | ---: |\n| small | 10 | [1]"),
        ("| small | 10 |\n| large | 90 |", "| plan | price |\n| --- | ---: |\n| small | 10 |\n| large | 90 | [1]"),
        ("| plan | price |", "| plan | price | [1]"),
        ("End.", "End. [1]"),
    ],
)
def test_a_row_of_a_table_is_shown_below_its_header(words: str, shown: str) -> None:
    assert part(passage(1, TABLE), words) == shown


def test_what_only_holds_a_bar_is_no_table() -> None:
    assert part(passage(1, "Either a | b\nor c | d.\n"), "or c | d.") == "or c | d. [1]"


@pytest.mark.parametrize(
    ("text", "quoted", "shown"),
    [
        ("intro\n\n2. two\n3. three\n", "two\n3. three", "2. two\n3. three [1]"),
        ("- [ ] two\n  more\n", "two\n  more", "- [ ] two\n  more [1]"),
        ("> * two\n> * three\n", "two\n> * three", "* two\n> * three [1]"),
        ("- two\n- three\n", "two", "two [1]"),
        ("one 2. two\n3. three\n", "two\n3. three", "two\n3. three [1]"),
    ],
)
def test_the_first_of_several_items_keeps_its_mark(text: str, quoted: str, shown: str) -> None:
    assert part(passage(1, text), quoted) == shown


def test_an_unsure_answer_is_cut_to_the_best_lines_before_a_place_is_left_out() -> None:
    def of_lines(number: int, lines: int) -> Excerpt:
        text = "\n".join(f"{number} {GREEN} {line}" for line in range(lines))
        whole = Sentence(number, 0, len(text), text)
        return Excerpt(passage(number, text), (whole,), ((0, len(text)),), whole._replace(text=text), 1.0)

    short = [of_lines(number, 3) for number in (1, 2, 3)]
    assert quote_briefly(short) == quote_excerpts(short)
    long = [of_lines(1, 9), of_lines(2, 9), of_lines(3, 9)]
    quoted = quote_briefly(long)
    assert quoted.text.count("\n") < UNSURE_LINES
    assert [each.number for each in quoted.cited] == [1, 2, 3]
    assert quoted.text.count("1 The valve") == 9
    assert quoted.text.count("2 The valve") == 2
    assert len(quote_briefly([of_lines(1, 18), *short[1:]]).cited) == 1


def compared(given: tuple[Excerpt, ...]) -> Standing:
    """How the first excerpt's passage compares with all."""
    scores = [each.passage.retrieval for each in given]
    return standing(scores[0], scores)


def test_a_sentence_that_two_places_have_is_shown_once() -> None:
    found = excerpts(GREEN, f"# Copy\n\n{GREEN}", "The valve drips.", "The cellar is cold.")
    made = judge(QUESTION, TERMS, found, compared(found))
    assert [each.best.text for each in made.perhaps()] == [GREEN, "The valve drips.", "The cellar is cold."]
    longer = excerpts(f"{GREEN} The cellar is cold.", "The cellar is cold.", "The valve drips.")
    made = judge(QUESTION, TERMS, longer, compared(longer))
    assert [each.best.text for each in made.perhaps()] == [GREEN, "The valve drips."]
