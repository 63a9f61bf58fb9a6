"""What every encoder sees of a text, and the mapped vocabulary, which cuts it exactly as the tokenizer does."""

from __future__ import annotations

import string
import unicodedata
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import models, normalizers, pre_tokenizers

from kb.assemble.vocabulary_file import precompiled_charsmap, write_vocabulary
from kb.embed.installed import vocabulary as vocabulary_module
from kb.embed.installed.vocabulary import UnigramVocabulary, WordTokens, open_vocabulary, word_tokens
from kb.embed.text import encoder_text
from kb.errors import ModelCorrupt


def test_decomposed_hangul_is_composed() -> None:
    assert encoder_text(unicodedata.normalize("NFD", "한국어 café")) == "한국어 café"


def test_nul_is_dropped_and_the_text_after_it_kept() -> None:
    assert encoder_text("before\0after 뒤") == "beforeafter 뒤"


@pytest.mark.parametrize("mark", ["<s>", "</s>", "<pad>", "<unk>", "<mask>"])
def test_marks_in_a_text_are_text(mark: str) -> None:
    assert mark not in encoder_text(f"a {mark} b")
    assert encoder_text(f"a {mark} b").replace(" ", "") == f"a{mark}b"


def test_unpaired_surrogates_become_question_marks() -> None:
    assert encoder_text("한\udc80글") == "한?글"


@given(st.text())
def test_result_is_encodable_and_stable(text: str) -> None:
    once = encoder_text(text)
    once.encode()
    assert encoder_text(once) == once


PIECES = "<s> <pad> </s> <unk> ▁ ▁the ▁th e 한국 ▁한 국어 어 한 국 1 (주)".split()
PIECES += [letter for letter in string.ascii_lowercase if letter not in PIECES] + ["ab", "bc", "abc", "▁ab"]
REPLACEMENTS = {"\n": " ", "\t": " ", "\u200b": " ", "①": "1", "㈜": "(주)", "\u0007": "", "A": "a", "ﬃ": "ffi"}


SCORES = [0.0 if piece.startswith("<") else -1.0 - 0.37 * (index % 7) for index, piece in enumerate(PIECES)]
UNKNOWN = 3


def mapped_vocabulary(path: Path) -> UnigramVocabulary:
    write_vocabulary(path, PIECES, SCORES, UNKNOWN, precompiled_charsmap(REPLACEMENTS))
    return open_vocabulary(path)


def tokenizer_of_the_same() -> tokenizers.Tokenizer:
    made = tokenizers.Tokenizer(models.Unigram(list(zip(PIECES, SCORES, strict=True)), UNKNOWN, False))
    precompiled = normalizers.Precompiled(precompiled_charsmap(REPLACEMENTS))
    spaces = normalizers.Replace(tokenizers.Regex(" {2,}"), " ")
    made.normalizer = normalizers.Sequence([normalizers.NFC(), precompiled, spaces])
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    return made


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[UnigramVocabulary, tokenizers.Tokenizer]:
    return mapped_vocabulary(tmp_path_factory.mktemp("tokenizer") / "vocabulary.bin"), tokenizer_of_the_same()


def test_all_that_use_a_vocabulary_share_its_map_until_the_file_is_another_one(tmp_path: Path) -> None:
    path = tmp_path / "vocabulary.bin"
    mapped_vocabulary(path)
    first = word_tokens(path)
    assert word_tokens(path) is first
    path.unlink()
    write_vocabulary(path, [*PIECES, "another"], [*SCORES, -1.0], UNKNOWN, precompiled_charsmap(REPLACEMENTS))
    assert word_tokens(path) is not first
    with pytest.raises(ModelCorrupt):
        word_tokens(tmp_path / "gone.bin")


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


def test_what_is_remembered_is_bounded(
    both: tuple[UnigramVocabulary, tokenizers.Tokenizer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vocabulary_module, "_MOST_WORDS", 3)
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
    path = tmp_path / "vocabulary.bin"
    mapped_vocabulary(path)
    path.write_bytes(path.read_bytes()[:kept_bytes])
    with pytest.raises(ModelCorrupt):
        open_vocabulary(path)


def test_many_replacements_of_many_lengths(tmp_path: Path) -> None:
    replaced = {chr(code): f"{code:x}"[-2:] for code in (*range(0x80, 0x800, 3), *range(0xAC00, 0xD7A3, 17), 0x1F600)}
    pieces = [*PIECES, *(digit for digit in string.digits if digit not in PIECES)]
    path = tmp_path / "vocabulary.bin"
    write_vocabulary(path, pieces, [-1.0] * len(pieces), UNKNOWN, precompiled_charsmap(replaced))
    mapped = open_vocabulary(path)
    for source, target in replaced.items():
        assert mapped.token_ids(source) == mapped.token_ids(target), hex(ord(source))
