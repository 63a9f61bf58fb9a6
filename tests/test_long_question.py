"""A question of any length: the work it takes has a bound, and ordinary questions are read whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Vault, bounded_work, make_vault, run_kb
from fake_embedder import PRIMARY, FakeModels, fake_models
from hypothesis import given
from hypothesis import strategies as st

from kb.domain.search import Widening
from kb.domain.text import start_of
from kb.operations.opening.vectors import ENCODED_BYTES, ENCODED_WORDS
from kb.retrieve.index import Index
from kb.retrieve.snippet import _window_start
from kb.retrieve.terms import read_query
from kb.store.connection import Connection, open_reader

__all__ = ["fake_models"]

HANGUL = "".join(chr(0xAC00 + (at * 7) % 11_000) for at in range(11_000))
LENGTH = 1_000_000
LONG = {
    "one syllable": "가",
    "one letter": "a ",
    "no space": "x",
    "sentences": "배터리가 전원을 교체하는 센서는 무엇인가? How often does the gateway retry? ",
    "no word twice": HANGUL,
    "pauses": "?! \n",
    "decomposed": "\u1100\u1161",
}
WIDENED = Widening(correct_typos=True, both_scripts=True)


def repeated(text: str, length: int) -> str:
    """`length` characters of `text` over and over."""
    return (text * (length // len(text) + 1))[:length]


@pytest.fixture
def db(vault: Vault) -> Iterator[Connection]:
    """The shared vault, open."""
    opened = open_reader(vault.sqlite)
    yield opened
    opened.close()


@pytest.mark.parametrize("kind", LONG)
def test_a_question_of_any_length_is_read_and_widened_in_bounded_time(kind: str, db: Connection) -> None:
    text = repeated(LONG[kind], LENGTH)
    with bounded_work():
        read_query(Index(db), text)
        read_query(Index(db), text, WIDENED)


@pytest.mark.slow
def test_a_long_question_in_bulk_gives_the_encoders_its_beginning(
    tmp_path: Path, fake_models: FakeModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = make_vault(tmp_path)
    models = ("--set", f"models.embedding.model={PRIMARY}")
    call = ("--config", str(vault.config), "--set", "search.mode=hybrid", *models)
    assert run_kb(*call, "ingest").code == 0
    given: list[str] = []
    for embedder in fake_models.embedders.values():
        encode = embedder.encode

        def listen(text: str, encode: object = encode) -> bytes:
            given.append(text)
            return encode(text)  # type: ignore[operator, no-any-return]

        monkeypatch.setattr(embedder, "encode", listen)
    ordinary = "How long do the batteries last when the power fails, 그리고 언제 교체하나요?"
    questions = [repeated(text, 5_000) for text in LONG.values()]
    lines = "\n".join(json.dumps({"query": text}) for text in (*questions, ordinary))
    for ran in (run_kb(*call, "search", "--bulk", stdin=lines), run_kb(*call, "search", questions[3], "--json")):
        assert ran.code == 0
    assert max(len(text.encode()) for text in given) <= ENCODED_BYTES
    assert max(len(text.split()) for text in given) <= ENCODED_WORDS
    assert given.count(ordinary) == 1
    *long, short = run_kb(*call, "search", "--bulk", stdin=lines).lines
    assert short["response"]["note"] is None
    english = "a long question: only its beginning is compared by meaning"
    said = {item["response"]["note"].split("; ")[0] for item in long}
    assert said == {english, "긴 질문: 앞부분만 의미로 비교"}


@given(st.text(max_size=2_000))
def test_a_beginning_is_within_the_bound_and_a_short_text_is_whole(text: str) -> None:
    start = start_of(text, max_words=ENCODED_WORDS, max_bytes=ENCODED_BYTES)
    assert len(start.encode("utf-8", "replace")) <= ENCODED_BYTES
    assert len(start.split()) <= ENCODED_WORDS
    if len(text.encode("utf-8", "replace")) <= ENCODED_BYTES and len(text.split()) <= ENCODED_WORDS:
        assert start == text


@given(st.lists(st.tuples(st.integers(1, 6), st.sampled_from("abc")), max_size=40), st.integers(1, 30))
def test_the_densest_window_is_the_one_a_plain_count_finds(words: list[tuple[int, str]], room: int) -> None:
    text, matches = "", []
    for length, letter in words:
        text += " "
        matches.append((len(text), len(text) + length))
        text += letter * length
    best_start, best_end, best_count = 0, 0, -1
    for index, (start, end) in enumerate(matches):
        inside = [(a, b) for a, b in matches[index:] if b <= start + room]
        if len({text[a:b] for a, b in inside}) > best_count:
            best_start, best_end = start, inside[-1][1] if inside else end
            best_count = len({text[a:b] for a, b in inside})
    lead = min(room // 6, max(0, best_start + room - best_end))
    assert _window_start(text, matches, room) == max(0, min(best_start - lead, len(text) - room))
