"""Which sentence of a passage answers a question, what speaks against it, and where it is cited."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import apsw
import pytest
from answer_passages import passage

from kb.answer.judging import Reading, read_sentence
from kb.answer.pieces import sentence_words
from kb.answer.quoting import sentence_citation
from kb.answer.words import expectation, folded_term, words_of
from kb.domain.citations import LineCitation, PageCitation, TimeCitation
from kb.domain.search import Passage, Sentence, TermWeight
from kb.language.sentences import sentences
from kb.operations.ask.retrieve import quotable_passages
from kb.store.tokens import indexed_token, stem

MILL = """\
# Mill

The upper mill on the Tarn was bought by Ewa Lind in 1804. It ground barley for 3 villages.
The oldest wheel turned clockwise. Millers are paid in grain unless the harvest fails.
"""
KILN = "# 가마\n\n가마는 1712년에 처음 지었다. 가마의 불은 사흘 동안 꺼지지 않는다. 굴뚝의 최대 높이는 6미터이다."


def read(question: str, *terms: str) -> Reading:
    """The sentence with most of the terms, read against the question."""
    passages = [passage(1, MILL, headings=["Mill"]), passage(2, KILN, lang="ko", headings=["가마"])]
    weights = [TermWeight(term, 3.0) for term in terms]
    scored = [(given, *each) for given in passages for each in sentence_words(question, weights, given)]
    given, sentence, _ = max(scored, key=lambda each: each[2])
    return read_sentence(question, sentence.text, given)


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("Who bought the upper mill?", ("bought", "upper", "mill")),
        ("In 1804, who bought the mill on the Tarn?", ("1804", "bought", "mill", "Tarn")),
        ("Which way did the oldest wheel turn?", ("way", "oldest", "wheel", "turn")),
        ("When are millers not paid in grain?", ("millers", "paid", "grain", "harvest")),
        ("가마는 언제 처음 지었나?", ("가마", "처음", "짓")),
        ("사흘 동안 꺼지지 않는 것은?", ("사흘", "동안", "꺼지")),
    ],
)
def test_nothing_speaks_against_a_sentence_that_answers(question: str, terms: tuple[str, ...]) -> None:
    found = read(question, *terms)
    if "not paid" not in question:  # "unless" denies in a way that is not read
        assert found == Reading(0, False, False, False)
    assert not found._replace(denied=False).is_doubted


@pytest.mark.parametrize(
    ("question", "terms", "signal"),
    [
        ("Who sold the upper mill?", ("sold", "upper", "mill"), "opposed"),
        ("Who bought the lower mill on the Tarn?", ("bought", "lower", "mill", "Tarn"), "opposed"),
        ("Who bought the mill on the Tarn in 1805?", ("bought", "mill", "Tarn", "1805"), "inexact"),
        ("Which way did the largest wheel turn?", ("way", "largest", "wheel", "turn"), "inexact"),
        ("What did Ewa Brandt buy?", ("Ewa", "Brandt", "buy"), "strangers"),
        ("Who never bought the upper mill?", ("bought", "upper", "mill"), "denied"),
        ("굴뚝의 최소 높이는?", ("굴뚝", "최소", "높이"), "opposed"),
        ("1712년에 짓지 않은 것은?", ("1712", "짓"), "denied"),
    ],
)
def test_what_speaks_against_a_sentence(question: str, terms: tuple[str, ...], signal: str) -> None:
    found = read(question, *terms)
    assert getattr(found, signal) == 1


def test_what_is_asked_for_need_not_be_named() -> None:
    assert read("In which Month was the mill bought?", "mill", "bought").strangers == 0


@pytest.mark.parametrize(
    ("found", "is_doubted"),
    [
        (Reading(0, False, False, False), False),
        (Reading(1, False, False, False), False),
        (Reading(0, True, False, False), False),
        (Reading(0, False, True, False), True),
        (Reading(2, False, False, False), True),
        (Reading(1, True, False, False), True),
        (Reading(0, True, False, True), True),
    ],
)
def test_a_denial_or_two_signs_make_a_doubt(found: Reading, is_doubted: bool) -> None:
    assert found.is_doubted is is_doubted


def test_a_denied_question_is_doubted_unless_the_sentence_denies() -> None:
    given = passage(1, MILL)
    assert read_sentence("What never ground barley?", "It ground barley for 3 villages.", given).is_doubted
    assert not read_sentence("Which mill did not burn?", "The lower mill did not burn.", given).is_doubted


HARBOUR = """\
# Harbour

The harbour of Velm was dug by hand. Its lighthouse was built in 1873 by Ada Norrell.
It is 40 metres high because the cliffs hide anything lower. Boats come from Orsk in summer.
"""
FERRY = "The ferry to Velm leaves at noon. A ticket to the lighthouse costs 3 crowns."
TEMPLE = "# 무량사\n\n무량사는 신라 때 지어졌다. 극락전은 1636년에 인조의 명으로 다시 세웠다. 절 앞에는 석등이 있다."


def titled(number: int, text: str, *, title: str = "", line: int = 1) -> Passage:
    path = f"notes/{number}.md"
    spans = json.dumps([{"kind": "line", "start": line, "end": line + text.count("\n")}])
    found = Passage(f"c{number}", "d", path, path, title, "[]", None, text, spans, "")
    return found._replace(lang="en", score=0.5, number=number)


def weights(*terms: str, idf: float = 3.0) -> list[TermWeight]:
    return [TermWeight(term, idf) for term in terms]


@pytest.mark.parametrize(
    ("question", "terms", "answer"),
    [
        ("When was the lighthouse of Velm built?", ("lighthouse", "Velm", "built"), "1873"),
        ("Why is it so high above the cliffs?", ("high", "cliffs"), "because"),
        ("Where do boats come from?", ("boats", "come"), "Orsk"),
        ("How much is a ticket?", ("ticket",), "3 crowns"),
        ("극락전은 언제 다시 세웠나?", ("극락전", "다시", "세우"), "1636년"),
        ("석등은 어디에 있나?", ("석등",), "석등이 있다"),
    ],
)
def test_the_sentence_that_answers_stands_first(question: str, terms: tuple[str, ...], answer: str) -> None:
    passages = [titled(1, HARBOUR, title="Harbour"), titled(2, FERRY), titled(3, TEMPLE, title="무량사")]
    scored = [each for given in passages for each in sentence_words(question, weights(*terms), given)]
    best, score = max(scored, key=lambda pair: pair[1])
    assert answer in best.text
    assert 0 < score <= 1.5


def test_a_passage_without_a_sentence_says_nothing() -> None:
    assert sentence_words("ferry", weights("ferry"), titled(1, "# Ferry\n")) == []
    assert len(sentence_words("", [], titled(1, FERRY))) == 2


def test_a_sentence_is_cited_by_its_own_lines() -> None:
    source = "\n" * 6 + HARBOUR
    found = titled(1, HARBOUR, line=7)
    for sentence in sentences(found):
        cited = sentence_citation(found, sentence)
        assert isinstance(cited, LineCitation)
        assert sentence.text in "\n".join(source.split("\n")[cited.start - 1 : cited.end])
    spanning = [sentence_citation(found, each).to_uri() for each in sentences(found)]
    assert spanning == ["notes/1.md#L9", "notes/1.md#L9", "notes/1.md#L10", "notes/1.md#L10"]


def test_what_has_no_lines_is_cited_as_the_passage_is() -> None:
    page = titled(1, FERRY)._replace(cited=PageCitation("a.pdf", 3))
    assert sentence_citation(page, sentences(page)[1]) == PageCitation("a.pdf", 3)


@pytest.mark.parametrize(
    ("term", "text", "stands"),
    [
        ("located", "The location is secret", True),
        ("Café", "a CAFE\u0301 in town", True),
        ("art", "an article", False),
        ("1989", "1989년에", True),
        ("석등", "석등이 있다", True),
        ("절", "절 앞에", True),
        ("절", "좌절했다", False),
    ],
)
def test_a_term_is_found_in_its_forms(term: str, text: str, stands: bool) -> None:
    assert words_of(text).has(folded_term(term)) is stands


@pytest.mark.parametrize(
    ("question", "sentence", "met"),
    [
        ("When did it end?", "It ended in 1873.", True),
        ("When did it end?", "It ended early.", False),
        ("Who dug it?", "It was dug by Norrell.", True),
        ("Who was Norrell?", "That was Norrell.", False),
        ("몇 명이 왔나?", "모두 40명이 왔다.", True),
        ("몇 명이 왔나?", "아무도 오지 않았다.", False),
        ("What is it?", "It is 1873.", False),
    ],
)
def test_a_question_expects_a_kind_of_answer(question: str, sentence: str, met: bool) -> None:
    expected = expectation(words_of(question).words)
    assert expected.is_met_by(sentence, words_of(sentence).words) is met


def spoken() -> Passage:
    """A passage of a recording, cited as a whole."""
    spans = json.dumps(SPANS)
    return Passage("c", "d", "a.mp3", "/v/a.mp3", "a", "[]", None, SPOKEN, spans, "media-place-v1", lang="en", number=1)


def test_a_passage_of_a_recording_is_cited_whole_though_the_hit_names_a_moment() -> None:
    hit = spoken()._replace(cited=TimeCitation("a.mp3", 5_910, 8_700))
    whole = quotable_passages(apsw.Connection(":memory:"), [hit])["c"]
    assert whole.citation.to_uri() == "a.mp3#t=0.6,43.62"


SPOKEN = "We met at nine. Ann opens the warehouse. She does it at six."
SPANS = [
    {"kind": "time", "start_ms": 600, "end_ms": 5_000, "char_start": 100, "char_end": 115},
    {"kind": "time", "start_ms": 5_910, "end_ms": 8_700, "char_start": 116, "char_end": 140},
    {"kind": "time", "start_ms": 9_000, "end_ms": 43_620, "char_start": 141, "char_end": 160},
]


@pytest.mark.parametrize(
    ("quote", "cited"),
    [
        ("Ann opens the warehouse.", "a.mp3#t=5.91,8.7"),
        ("Ann opens the warehouse. She does it at six.", "a.mp3#t=5.91,43.62"),
        (SPOKEN, "a.mp3#t=0.6,43.62"),
    ],
)
def test_a_recording_is_cited_as_widely_as_it_is_quoted(quote: str, cited: str) -> None:
    start = SPOKEN.index(quote)
    assert sentence_citation(spoken(), Sentence(1, start, start + len(quote), quote)).to_uri() == cited


@pytest.mark.parametrize("word", ["café", "Élysées", "RESUMÉS", "naïvely", "1990s", "retries", "y", "it", "a" * 70])
def test_a_term_is_folded_as_the_index_folds_it(word: str) -> None:
    assert folded_term(word) == indexed_token(apsw.Connection(":memory:"), word)


def test_a_stem_is_of_the_whole_word_and_found_from_any_thread() -> None:
    words = ["red-houses", "walked twice", "running", ""]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(stem, words)) == ["red-hous", "walked twic", "run", ""]
