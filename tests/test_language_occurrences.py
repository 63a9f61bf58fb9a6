"""One search for a quotation: places in the text as it was given, the same in Python and in SQL."""

from __future__ import annotations

import unicodedata
from typing import get_args

import apsw
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from kb.domain.text import stored_text
from kb.language.occurrences import Folding, folded, occurrences, occurs
from kb.store import queries

# What folds into more or fewer characters stands here beside what does not.
letters = st.text(st.sampled_from("aAbß \n\u00a0.ée\u0301가나ᄀ\u1161\u11a8ＡfﬁΣςİ\ud800"), max_size=40)
foldings = st.sampled_from(get_args(Folding))


def found(quote: str, text: str, folding: Folding) -> list[str]:
    return [text[start:end] for start, end in occurrences(quote, text, folding)]


@pytest.mark.parametrize(
    ("quote", "text", "verbatim", "words"),
    [
        ("Retry", "retry, Retry, RETRY", ["Retry"], ["retry", "Retry", "RETRY"]),
        ("five times", "five\n  times, five times", ["five times"], ["five\n  times", "five times"]),
        ("caf\u00e9", "cafe\u0301 Caf\u00e9", ["cafe\u0301"], ["cafe\u0301", "Caf\u00e9"]),
        ("조각", unicodedata.normalize("NFD", "이 조각은"), *[[unicodedata.normalize("NFD", "조각")]] * 2),
        ("STRASSE", "Straße", [], ["Straße"]),
        ("aa", "aaa", ["aa", "aa"], ["aa", "aa"]),
        (" spaced ", "it is spaced out", [" spaced "], ["spaced"]),
        ("", "nothing is nowhere", [], []),
    ],
)
def test_a_quotation_is_found_as_the_text_writes_it(
    quote: str, text: str, verbatim: list[str], words: list[str]
) -> None:
    assert (found(quote, text, "verbatim"), found(quote, text, "words")) == (verbatim, words)


@given(letters, letters, letters, foldings)
@example("e\u0301", "x", "", "verbatim")
def test_what_is_put_into_a_text_is_found_in_it(before: str, quote: str, after: str, folding: Folding) -> None:
    text = f"{before} {quote} {after}"  # nothing composes across a space
    assert occurs(quote, text, folding)
    assume(folded(quote, folding).strip())
    assert any(folded(quote, folding).strip() in folded(each, folding) for each in found(quote, text, folding))


@given(letters, letters, foldings)
def test_every_place_holds_the_quotation_and_there_is_one_where_it_occurs(
    quote: str, text: str, folding: Folding
) -> None:
    sought = folded(quote, folding) if folding == "verbatim" else folded(quote, folding).strip()
    assume(sought)
    places = list(occurrences(quote, text, folding))
    assert bool(places) == occurs(quote, text, folding)
    for start, end in places:
        held = folded(text[start:end], folding)
        assert sought in held
        assert len(held) <= len(sought) + 2, "at either end the rest of a letter at most, as of ß in two"


@given(letters.filter(stored_text), st.lists(letters, min_size=1, max_size=5))
def test_sql_finds_a_quotation_where_python_does(quote: str, texts: list[str]) -> None:
    """`sql/answer/find_quote.sql` looks in the text as it is kept and in `nfc_text`.

    Of a text in NFD it may find a part of a letter, which is none in Python.
    """
    db = apsw.Connection(":memory:")
    db.execute("CREATE TABLE documents (doc_id, workspace_path, source_path)")
    db.execute("CREATE TABLE chunks (chunk_rowid, doc_id, text, nfc_text, source_spans_json)")
    for number, text in enumerate(texts):
        kept, nfc = text.replace("\ud800", "?"), stored_text(text)
        db.execute("INSERT INTO documents VALUES (?, ?, '')", (number, str(number)))
        db.execute("INSERT INTO chunks VALUES (?, ?, ?, ?, '[]')", (number, number, kept, nfc if nfc != kept else None))
    there = [str(number) for number, text in enumerate(texts) if occurs(quote, text, "verbatim")]
    found = [row.workspace_path for row in queries.find_quote(db, quote=stored_text(quote))]
    assert set(there) <= set(found)
    composed = {str(number) for number, text in enumerate(texts) if stored_text(text) == text}
    assert [path for path in found if path in composed] == [path for path in there if path in composed]
