"""The language of a text, and the places of a quotation in it."""

from __future__ import annotations

import unicodedata
from typing import get_args

import apsw
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from kb.domain.text import stored_text
from kb.language.detect import detect_language, passage_language, query_language
from kb.language.occurrences import Folding, folded, occurrences, occurs
from kb.store import queries

ENGLISH = (
    "The index is rebuilt when the tokenizer changes, and the old rows are removed in the same transaction so that a "
    "reader never sees half of it. "
)
GERMAN = (
    "Der Index wird neu gebaut, sobald sich der Zerteiler ändert, und alte Zeilen werden dabei gelöscht, damit niemand "
    "einen halben Zustand sieht; danach läuft alles weiter. "
)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (ENGLISH, "en"),
        ("색인은 토크나이저가 바뀌면 다시 만든다.", "ko"),
        ("SQLite FTS5에서 tokenizer를 unicode61로 바꾸면 index를 rebuild 해야 한다.", "ko"),
        ("```python\nimport os\nfor name in os.listdir():\n    print(name)\n```\n폴더의 파일을 모두 출력한다.", "ko"),
        ("자세한 내용은 [여기](https://example.com/a/very/long/path/to/the/documentation/page)를 본다.", "ko"),
        (ENGLISH + "The Korean word for it is 색인.", "en"),
        ("インデックスを作り直す必要があります。", "ja"),
        ("索引需要重新建立。", "zh"),
        ("Индекс строится заново.", "und"),
        ("MongoDB setup", "en"),
        (GERMAN, "und"),
        ("", "und"),
        ("1 + 2 = 3 ...", "und"),
        (unicodedata.normalize("NFD", "색인은 다시 만든다."), "ko"),
    ],
)
def test_detect(text: str, language: str) -> None:
    assert detect_language(text) == language


def test_only_the_beginning_is_judged() -> None:
    assert detect_language(ENGLISH * 200 + "색인은 다시 만든다. " * 5000) == "en"


@pytest.mark.parametrize(
    ("passage", "document", "language"),
    [
        ("`kb index --rebuild-fts`", "ko", "ko"),
        ("OK", "ko", "ko"),
        (ENGLISH, "ko", "en"),
        ("색인은 토크나이저가 바뀌면 언제나 다시 만들어야 한다.", "en", "ko"),
        (GERMAN, "de", "de"),
        (ENGLISH, "en", "en"),
    ],
)
def test_passage(passage: str, document: str, language: str) -> None:
    assert passage_language(passage, document) == language


@pytest.mark.parametrize(
    ("query", "language"),
    [
        ("한", "ko"),
        ("sqlite 색인", "ko"),
        ("fts5 rebuild", "en"),
        ("ㅋㅋ", "ko"),
        ("索引", "zh"),
        ("索引を作る", "ja"),
        ("", "en"),
        ("é", "en"),
    ],
)
def test_query(query: str, language: str) -> None:
    assert query_language(query) == language


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
