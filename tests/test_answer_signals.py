"""The sentence whose words answer scores most; what is quoted stands where it is cited."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import apsw
import pytest

from kb.answer.judging import sentence_words
from kb.answer.quoting import sentence_citation
from kb.answer.words import expectation, folded_term, words_of
from kb.domain.citations import LineCitation, PageCitation, TimeCitation
from kb.domain.search import Passage, Sentence, TermWeight
from kb.language.sentences import sentences
from kb.operations.ask.retrieve import quotable_passages
from kb.store.tokens import indexed_token, stem

HARBOUR = """\
# Harbour

The harbour of Velm was dug by hand. Its lighthouse was built in 1873 by Ada Norrell.
It is 40 metres high because the cliffs hide anything lower. Boats come from Orsk in summer.
"""
FERRY = "The ferry to Velm leaves at noon. A ticket to the lighthouse costs 3 crowns."
TEMPLE = "# 무량사\n\n무량사는 신라 때 지어졌다. 극락전은 1636년에 인조의 명으로 다시 세웠다. 절 앞에는 석등이 있다."


def passage(number: int, text: str, *, title: str = "", line: int = 1) -> Passage:
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
    passages = [passage(1, HARBOUR, title="Harbour"), passage(2, FERRY), passage(3, TEMPLE, title="무량사")]
    scored = [each for given in passages for each in sentence_words(question, weights(*terms), given)]
    best, score = max(scored, key=lambda pair: pair[1])
    assert answer in best.text
    assert 0 < score <= 1.5


def test_a_passage_without_a_sentence_says_nothing() -> None:
    assert sentence_words("ferry", weights("ferry"), passage(1, "# Ferry\n")) == []
    assert len(sentence_words("", [], passage(1, FERRY))) == 2


def test_a_sentence_is_cited_by_its_own_lines() -> None:
    source = "\n" * 6 + HARBOUR
    found = passage(1, HARBOUR, line=7)
    for sentence in sentences(found):
        cited = sentence_citation(found, sentence)
        assert isinstance(cited, LineCitation)
        assert sentence.text in "\n".join(source.split("\n")[cited.start - 1 : cited.end])
    spanning = [sentence_citation(found, each).to_uri() for each in sentences(found)]
    assert spanning == ["notes/1.md#L9", "notes/1.md#L9", "notes/1.md#L10", "notes/1.md#L10"]


def test_what_has_no_lines_is_cited_as_the_passage_is() -> None:
    page = passage(1, FERRY)._replace(cited=PageCitation("a.pdf", 3))
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
