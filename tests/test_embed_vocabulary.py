"""The mapped vocabulary cuts text exactly as the tokenizer that reads the same definition."""

from __future__ import annotations

import json
import string
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from kb.assemble.charsmap import precompiled_charsmap
from kb.assemble.tokenizer_file import UnigramTokenizer, write_tokenizer
from kb.embed.installed import word_tokens
from kb.embed.installed.vocabulary import VOCABULARY_FILE, UnigramVocabulary, open_vocabulary
from kb.embed.installed.word_tokens import WordTokens
from kb.embed.model_files import TOKENIZER_FILE
from kb.errors import ModelCorrupt

PIECES = [
    "<s>",
    "<pad>",
    "</s>",
    "<unk>",
    "▁",
    "▁the",
    "▁th",
    "e",
    "한국",
    "▁한",
    "국어",
    "어",
    "한",
    "국",
    "1",
    "(주)",
]
PIECES += [letter for letter in string.ascii_lowercase if letter not in PIECES] + ["ab", "bc", "abc", "▁ab"]
REPLACEMENTS = {"\n": " ", "\t": " ", "\u200b": " ", "①": "1", "㈜": "(주)", "\u0007": "", "A": "a", "ﬃ": "ffi"}


def small_tokenizer(*, strips_spaces: bool) -> UnigramTokenizer:
    scores = [0.0 if piece.startswith("<") else -1.0 - 0.37 * (index % 7) for index, piece in enumerate(PIECES)]
    charsmap = precompiled_charsmap(REPLACEMENTS)
    return UnigramTokenizer(PIECES, scores, 3, 0, 2, (0, 1, 2, 3), charsmap, strips_spaces)


@pytest.fixture(scope="module", params=[False, True], ids=["keeps spaces", "strips spaces"])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[UnigramVocabulary, object]:
    directory = tmp_path_factory.mktemp("tokenizer")
    write_tokenizer(directory, small_tokenizer(strips_spaces=request.param))
    mapped = open_vocabulary(directory / VOCABULARY_FILE)
    return mapped, tokenizers.Tokenizer.from_file(str(directory / TOKENIZER_FILE))


@given(st.text(alphabet="abcthe한국어①㈜Aﬃ \n\u200b\u0007다😀", max_size=30))
def test_same_ids_as_the_tokenizer(both: tuple[UnigramVocabulary, tokenizers.Tokenizer], text: str) -> None:
    mapped, tokenizer = both
    assert mapped.token_ids(text) == tokenizer.encode(text, add_special_tokens=False).ids


@given(st.text(alphabet="abcthe한국어①㈜Aﬃ▁  \n\r\t\u200b\u0007다😀", max_size=30))
def test_words_cut_one_by_one_are_those_of_the_whole_text(
    both: tuple[UnigramVocabulary, tokenizers.Tokenizer], text: str
) -> None:
    mapped, _ = both
    words = WordTokens(mapped)
    assert words.token_ids(text) == mapped.token_ids(text)
    assert words.token_ids(text) == mapped.token_ids(text), "from what is remembered"


@given(st.text(alphabet="abcthe한국어①㈜Aﬃ▁1(주)다😀", max_size=30))
def test_pieces_that_cannot_be_are_not_looked_for_and_nothing_else(
    both: tuple[UnigramVocabulary, tokenizers.Tokenizer], text: str
) -> None:
    mapped, _ = both
    longest = mapped.longest_by_beginning()
    word = mapped.replaced(text.encode())
    assert mapped.segmented(word, longest) == mapped.segmented(word)


def test_the_longest_piece_by_its_beginning(both: tuple[UnigramVocabulary, tokenizers.Tokenizer]) -> None:
    mapped, _ = both
    longest = mapped.longest_by_beginning()
    assert longest[ord("a") << 8 | ord("b")] == len("abc")
    assert longest[ord("b") << 8 | ord("c")] == len("bc")
    assert longest[ord("q") << 8 | ord("q")] == 1
    assert longest["한".encode()[0] << 8 | "한".encode()[1]] == len("한국".encode())


def test_what_is_remembered_is_bounded(
    both: tuple[UnigramVocabulary, tokenizers.Tokenizer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_tokens, "_MOST_WORDS", 3)
    mapped, _ = both
    words = WordTokens(mapped)
    text = "the " + " ".join("abc"[at % 3] * (at % 5) for at in range(40)) + " the"
    assert words.token_ids(text) == mapped.token_ids(text)
    assert len(words._known) <= 3


def test_likeliest_segmentation_wins(both: tuple[UnigramVocabulary, tokenizers.Tokenizer]) -> None:
    mapped, _ = both
    assert [PIECES[token] for token in mapped.token_ids("the ㈜")] == ["▁the", "▁", "(주)"]


def test_neighbouring_unknowns_are_one(both: tuple[UnigramVocabulary, tokenizers.Tokenizer]) -> None:
    mapped, _ = both
    assert [PIECES[token] for token in mapped.token_ids("a☃☃☃b")][-3:] == ["a", "<unk>", "b"]


@pytest.mark.parametrize("kept_bytes", [0, 10, 200, -1])
def test_cut_file_is_corrupt(tmp_path: Path, kept_bytes: int) -> None:
    write_tokenizer(tmp_path, small_tokenizer(strips_spaces=False))
    path = tmp_path / VOCABULARY_FILE
    path.write_bytes(path.read_bytes()[:kept_bytes])
    with pytest.raises(ModelCorrupt):
        open_vocabulary(path)


def test_many_replacements_of_many_lengths(tmp_path: Path) -> None:
    replaced = {chr(code): f"{code:x}"[-2:] for code in (*range(0x80, 0x800, 3), *range(0xAC00, 0xD7A3, 17), 0x1F600)}
    tokenizer = small_tokenizer(strips_spaces=False)
    pieces = [*PIECES, *(digit for digit in string.digits if digit not in PIECES)]
    write_tokenizer(
        tmp_path,
        UnigramTokenizer(pieces, [-1.0] * len(pieces), 3, 0, 2, (), precompiled_charsmap(replaced), False),
    )
    assert tokenizer.pieces == PIECES
    mapped = open_vocabulary(tmp_path / VOCABULARY_FILE)
    for source, target in replaced.items():
        assert mapped.token_ids(source) == mapped.token_ids(target), hex(ord(source))
    assert json.loads((tmp_path / TOKENIZER_FILE).read_bytes())["model"]["type"] == "Unigram"
