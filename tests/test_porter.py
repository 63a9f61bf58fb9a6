"""The stems that sentences are compared by are those of the lexical index."""

from __future__ import annotations

import re
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.language.porter import stem
from kb.language.words import folded_term
from kb.store.connection import Connection
from kb.store.tokens import indexed_token

REPOSITORY = Path(__file__).parents[1]
ENDINGS = (
    "s es ies sses ed eed ing ated ational tional enci anci izer logi bli alli entli eli ousli ization ation ator alism"
    " iveness fulness ousness aliti iviti biliti ical ness icate iciti ful ative alize al ance ence er ic able ible ant"
    " ement ment ent ion sion tion ou ism ate iti ous ive ize e ll y ying"
).split()


@pytest.fixture(scope="module")
def db() -> Connection:
    return apsw.Connection(":memory:")


def written_in_the_repository() -> list[str]:
    pages = [*(REPOSITORY / "docs").glob("*.md"), *(REPOSITORY / "kb").rglob("*.py")]
    return sorted({word for page in pages for word in re.findall(r"[a-z0-9]+", page.read_text("utf-8").lower())})


def test_every_word_of_the_repository_has_the_stem_of_the_index(db: Connection) -> None:
    words = written_in_the_repository()
    assert len(words) > 5_000
    assert [word for word in words if stem(word) != indexed_token(db, word)] == []


@given(st.text("aeiouybcdflmnrstvwxz", max_size=8), st.sampled_from(ENDINGS), st.sampled_from(["", "s", "ed", "ing"]))
def test_any_word_has_the_stem_of_the_index(db: Connection, beginning: str, ending: str, behind: str) -> None:
    word = beginning + ending + behind
    assert stem(word) == indexed_token(db, word)


@pytest.mark.parametrize("word", ["café", "Élysées", "RESUMÉS", "naïvely", "1990s", "retries", "y", "it", "a" * 70])
def test_a_term_is_folded_as_the_index_folds_it(word: str, db: Connection) -> None:
    assert folded_term(word) == indexed_token(db, word)
