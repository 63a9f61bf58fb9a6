"""Which pieces of a passage are marked as the answer, and what is shown around them."""

from __future__ import annotations

import pytest
from answer_passages import passage

from kb.answer.pieces import SHOWN_CHARS, Excerpt, choose_pieces
from kb.language.sentences import sentences

LIST = """The trip is in May.

Take along:

- a tent
  - pegs
- a stove
- a map

The bus leaves at six.
"""
TABLE = "| port | use |\n| --- | --- |\n| 80 | web |\n| 443 | web, secure |\n| 5432 | database |\n"
CODE = (
    "Change the port as follows:\n\n```bash\nsed -i s/1/2/ a.conf\n\nsystemctl restart db\n```\n\nThen log in again.\n"
)
LABEL = "Bring\n- a rope\n- a lamp\n\nDogs stay at home, the hut has no room for them and the owner is afraid.\n"
ORDER = "We restart the parts in the following order, each alone.\n\n1. database\n2. web\n\nThen log in again.\n"
FAQ = "**Can it be deleted?** No.\n\n**Why is there a gap?** Because a number was taken back. The log has the reason.\n"
PROSE = "The tank holds ninety litres of clean water. " * 4 + "It is red. The pump was bought in 2019 from Heron. "


def chosen(question: str, text: str, *best: str) -> Excerpt:
    """The excerpt where the sentences with these words score best, in this order."""
    given = passage(1, text)
    scores = {words: 1 - at / 20 for at, words in enumerate(best)}
    return choose_pieces(
        question,
        given,
        [
            (each, next((score for words, score in scores.items() if words in each.text), 0.0))
            for each in sentences(given)
        ],
    )


@pytest.mark.parametrize(
    ("question", "text", "best", "piece"),
    [
        ("what were the things to take?", LIST, "a stove", "- a tent\n  - pegs\n- a stove\n- a map"),
        ("준비물은?", LIST, "a stove", "- a tent\n  - pegs\n- a stove\n- a map"),
        ("is there a stove?", LIST, "a stove", "a stove"),
        ("is there a tent?", LIST, "a tent", "a tent\n  - pegs"),
        ("is there anything?", LIST, "Take along", "Take along:\n\n- a tent\n  - pegs\n- a stove\n- a map"),
        ("is there anything?", LABEL, "Bring", "Bring\n- a rope\n- a lamp"),
        ("짐을 차례대로 알려줘", LABEL, "a lamp", "- a rope\n- a lamp"),
        ("which ports are open?", TABLE, "443", TABLE.rstrip()),
        ("is 443 open?", TABLE, "443", "443 | web, secure |"),
        ("is it restarted?", CODE, "systemctl", "sed -i s/1/2/ a.conf\n\nsystemctl restart db"),
        ("is the port changed?", CODE, "Change the port", CODE[: CODE.index("\n\nThen")]),
        ("is it restarted?", ORDER, "following order", ORDER[: ORDER.index("\n\nThen")]),
        (
            "어떻게 켜?",
            "켜는 법은 이렇다.\n\n1. 문을 연다.\n2. 불을 켠다.\n",
            "이렇다",
            "켜는 법은 이렇다.\n\n1. 문을 연다.\n2. 불을 켠다.",
        ),
        ("what do we do on the last day?", LABEL, "a lamp", "- a rope\n- a lamp"),
        ("what is a lamp?", LABEL, "a lamp", "a lamp"),
        ("what does it take?", LABEL, "a lamp", "a lamp"),
        ("몇 버전부터 되나", LABEL, "a lamp", "a lamp"),
        ("is it kept?", FAQ, "Because", "**Why is there a gap?** Because a number was taken back."),
        ("is there a gap?", FAQ, "Why is", "**Why is there a gap?** Because a number was taken back."),
        ("is it red?", PROSE, "It is red", "It is red. The pump was bought in 2019 from Heron."),
    ],
)
def test_a_piece_is_the_whole_of_which_a_sentence_is_a_part(question: str, text: str, best: str, piece: str) -> None:
    assert chosen(question, text, best).pieces[0].text in (piece, f"| {piece}")


@pytest.mark.parametrize(
    ("question", "best", "piece"),
    [
        ("is there a map?", ("a map", "a stove"), "- a tent\n  - pegs\n- a stove\n- a map"),
        ("is there a map?", ("a map", "The bus"), "a map"),
        ("list what to take", ("The bus", "a stove"), "- a tent\n  - pegs\n- a stove\n- a map"),
    ],
)
def test_a_list_is_one_piece_where_two_items_answer_or_where_it_is_asked_for(
    question: str, best: tuple[str, ...], piece: str
) -> None:
    assert chosen(question, LIST, *best).pieces[0].text == piece


def test_a_sentence_that_defines_the_term_is_preferred_where_a_definition_is_asked_for() -> None:
    text = "A scope follows the rules for names.\n\nScopes are a way of grouping packages, and they have owners.\n"
    assert chosen("is a scope long?", text, "A scope follows", "Scopes are").best.text.startswith("A scope follows")
    assert chosen("what is a scope", text, "A scope follows", "Scopes are").best.text.startswith("Scopes are")


def test_two_pieces_are_marked_where_the_second_is_nearly_as_good() -> None:
    text = "The lamp of the cellar is green and hums all day. " * 12
    words = (
        "The pump is oiled in every second week of spring by the owner of the house.",
        "The valve is oiled in autumn, which the owner of the house has never forgotten.",
    )
    excerpt = chosen("when is it oiled?", f"{words[1]} {text}{words[0]}", *words)
    assert [piece.text for piece in excerpt.pieces] == list(words)
    assert len(excerpt.shown) == 2
    assert sum(end - start for start, end in excerpt.shown) <= SHOWN_CHARS + 10  # spaces between sentences
    assert excerpt.alone().text().split("\n") == list(words)
    assert excerpt.brief().text() == words[0]


@pytest.mark.parametrize(("lines", "is_shown"), [(1, True), (12, True), (40, False)])
def test_code_that_the_shown_text_announces_is_shown(lines: int, is_shown: bool) -> None:
    code = "\n".join(f"step{line} --quickly --and --with --care" for line in range(lines))
    text = f"Leave out a folder with the help of two arguments of find. {'It is rarely of use. ' * 12}\n"
    text += f"For instance, run:\n\n```bash\n{code}\n```\n\nNothing else is done.\n"
    excerpt = chosen("how are folders left out?", text, "Leave out a folder", "For instance")
    assert (code in excerpt.text()) is is_shown


@pytest.mark.parametrize(("second", "ranges"), [("443", 1), ("5432", 2)])
def test_pieces_with_nothing_between_them_are_shown_as_one(second: str, ranges: int) -> None:
    excerpt = chosen("is 80 open?", TABLE, "80", second).alone()
    assert len(excerpt.pieces) == 2
    assert len(excerpt.shown) == ranges
