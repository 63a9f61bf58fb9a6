"""The pieces an extractive answer is made of, as they are shown."""

from __future__ import annotations

import pytest
from answer_passages import passage

from kb.answer.judging import Excerpt
from kb.answer.quoting import Piece, quote_excerpts, show_excerpts
from kb.domain.citations import Citation, PageCitation, RegionCitation
from kb.domain.search import Passage, Sentence


def test_a_number_in_brackets_that_would_read_as_a_place_of_the_answer_is_in_wide_ones() -> None:
    assert whole(passage(1, "It is so [1], see [3].")) == "It is so ［1］, see [3]. [1]"
    assert whole(passage(1, "x <- matrix[[1]] + a[1] # [1]: \n`[1]`")) == "x <- matrix[[1]] + a[1] # ［1］: \n`[1]` [1]"


LINKED = "The pump is oiled by [[People/Ann Lee|Ann]], see [[Pumps#Oil#Kinds]] and [[Oil#^a1]], never `[[x]]`."
PAGE = "The pump draws water from the moun-\ntain lake, as the\nowner noted."
KOREAN_PAGE = "펌프는 하루 두 번\n확인한다고 주인이\n적었다."


def whole(given: Passage) -> str:
    """The passage as one piece of an answer."""
    quoted = quote_excerpts([Excerpt(given, Sentence(1, 0, len(given.text), given.text), 1.0, given.text)])
    assert quoted.claims[0].quote == given.text
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
    start = TABLE.index(words)
    piece = Piece(passage(1, TABLE), Sentence(1, start, start + len(words), words), 1)
    assert show_excerpts([piece]) == shown


def test_what_only_holds_a_bar_is_no_table() -> None:
    text = "Either a | b\nor c | d.\n"
    piece = Piece(passage(1, text), Sentence(1, 13, 22, text[13:22]), 1)
    assert show_excerpts([piece]) == "or c | d. [1]"


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
    whole = passage(1, text)
    start = text.index(quoted)
    piece = Piece(whole, Sentence(1, start, start + len(quoted), quoted), 1)
    assert show_excerpts([piece]) == shown
