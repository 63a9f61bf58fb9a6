"""Sentences are ranges of a passage, cut where a reader would cut them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.language.sentences import sentence_ranges


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_ranges(text)]


@pytest.mark.parametrize(
    "sentences",
    [
        ["Rain fell.", "Nobody minded!", "Why not?", "Who knows…", "It was warm."],
        ["Dr. Ames met Mrs. Orr on St. Helena.", "They spoke."],
        ["J. K. Vane and Mary L. Stone wrote it.", "It sold."],
        ["The U.S. Navy left.", "He lived in the U.S.", "The war ended."],
        ["Pi is 3.14 or so.", "Version 2.0.1 reads kb.toml files."],
        ["See No. 5 and Fig. 3 on p. 12.", "The answer was no.", "He left."],
        ["Tools, e.g. Kettle, i.e. a pot, work.", "Others vs. these do not."],
        ["Acme Inc. Ltd. makes it.", "It is run by Acme Inc.", "The rest is new."],
        ["It (see below. Or above.) works.", "So it does."],
        ['"Is it so?" he asked.', '"It is."', "They sat."],
        ["It was found there.[12]", "Then it was lost.[3][4]", "It came back."],
        ["그는 1989년에 태어났다.", "정말일까?", "그렇습니다.", "네!"],
        ["1989. 2. 15. 서울에서 열렸다.", "비가 왔다."],
        ["높이는 3.5 m이다.", "무게는 모른다."],
        ['그는 "모른다." 라고 말했다.', "모두 웃었다."],
        ["그는 말했다(웃으며. 크게.).", "끝이다."],
        ["今日は雨です。", "明日は晴れ！", "終わり。"],
    ],
    ids=lambda sentences: sentences[0],
)
def test_prose_is_cut_between_sentences(sentences: list[str]) -> None:

    assert cut(" ".join(sentences)) == sentences


def test_korean_sentences_with_no_space_between_them_are_cut() -> None:
    assert cut("비가 왔다.그리고 갰다.[1]끝") == ["비가 왔다.", "그리고 갰다.[1]", "끝"]


def test_layout_is_no_part_of_a_sentence() -> None:
    text = """\
# Heading. Not an answer.

Setext heading
--------------

- one. Two here
- [ ] three
1. four
   goes on
> quoted. Again

[^1]: a note

/// tip | Careful
Inside.
///

<!-- hidden. -->
***
"""
    assert cut(text) == ["one.", "Two here", "three", "four\n   goes on", "quoted.", "Again", "a note", "Inside."]


def test_a_table_row_is_one_sentence_and_its_header_none() -> None:
    assert cut("| name | size |\n|---|--:|\n| A. Bee. Cee | 1 |\n| D | 2 |\n\nAfter. Then.") == [
        "| A. Bee. Cee | 1 |",
        "| D | 2 |",
        "After.",
        "Then.",
    ]
    assert cut("name | size\n--- | ---\nA. B. C | 1\n") == ["A. B. C | 1"]
    assert cut("| rows of a. Table cut | x |\n| in two | y |") == ["| rows of a. Table cut | x |", "| in two | y |"]


def test_code_is_quoted_piece_by_piece() -> None:
    lines = "\n".join(f"line {n}. Go" for n in range(10))
    assert cut(f"Run:\n\n```sh\nkb init\nkb ingest\n\nkb search x\n```\n\n~~~~\n{lines}\n~~~~\nDone.") == [
        "Run:",
        "kb init\nkb ingest",
        "kb search x",
        "\n".join(lines.split("\n")[:8]),
        "line 8. Go\nline 9. Go",
        "Done.",
    ]


def test_a_wrapped_line_goes_on_and_a_broken_one_does_not() -> None:
    wrapped = "The committee met for the third time in\nMarch and agreed on nothing at all, which\nsurprised nobody."
    assert cut(wrapped) == [wrapped]
    assert cut("회의 일정\n장소: 서울 강남구 회의실 삼 층") == ["회의 일정", "장소: 서울 강남구 회의실 삼 층"]
    assert cut("First line  \nSecond line that is long") == ["First line", "Second line that is long"]


@given(st.text(alphabet=st.sampled_from("ab AB12.?!…\n \t#>|-`~*()[]\"'가다요。①=:")))
def test_ranges_are_ordered_apart_and_never_blank(text: str) -> None:
    end = 0
    for start, following in sentence_ranges(text):
        assert end <= start < following <= len(text)
        assert text[start:following] == text[start:following].strip()
        end = following


@pytest.mark.parametrize(
    "sentences",
    [
        ["설정은 다음과 같다.", "git config를 쓴다.", "npm은 쓰지 않는다!", "ok"],
        ["heading boundary 우선.", "code block 중간 분할 금지.", "table 가능한 한 유지."],
        ["그는 “모른다.”", "iPhone은 껐다."],
    ],
    ids=lambda sentences: sentences[0],
)
def test_a_sentence_behind_hangul_may_begin_in_lower_case(sentences: list[str]) -> None:
    assert cut(" ".join(sentences)) == sentences


@pytest.mark.parametrize(
    "text",
    [
        "Tools, e.g. kettles, i.e. pots, work.",
        "As of v1.2. note that kb.toml. files stay.",
        "도구, e.g. kettle을 쓴다.",
        "v1.2. note는 그대로다.",
        "설정(kb.toml. 파일. npm 포함)은 남는다.",
    ],
)
def test_a_full_stop_before_lower_case_ends_nothing_else(text: str) -> None:
    assert cut(text) == [text]
