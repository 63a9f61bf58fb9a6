"""The parts of the language-model adapters that need no model: stop strings, token estimates, GGUF headers."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.domain.generation import Message
from kb.errors import ModelCorrupt, ModelMissing
from kb.llm.stops import StopStrings
from kb.runtimes.gguf_file import GgufFacts, read_gguf
from kb.runtimes.token_estimate import estimated_prompt_tokens, estimated_tokens


def read_through(pieces: Sequence[str], stops: Sequence[str]) -> list[str]:
    """What a reader sees, piece by piece."""
    filter_ = StopStrings(stops)
    seen = []
    for piece in pieces:
        seen.append(filter_.take(piece))
        if filter_.reached:
            return seen
    return [*seen, filter_.rest()]


@given(st.lists(st.text("abc", max_size=4)), st.lists(st.text("abc", min_size=1, max_size=3), max_size=3))
def test_the_text_ends_at_the_first_stop_string_however_it_is_cut(pieces: list[str], stops: list[str]) -> None:
    text = "".join(pieces)
    # The first that is complete ends the text; what stands before its beginning has been given on.
    ends = [(text.index(stop) + len(stop), text.index(stop)) for stop in stops if stop in text]
    seen = "".join(read_through(list(text), stops))
    assert not any(stop in seen for stop in stops)
    if ends:
        completed = min(end for end, _ in ends)
        assert seen == text[: min(start for end, start in ends if end == completed)]
    else:
        assert seen == text
    assert "".join(read_through(pieces, stops)) in (text[:length] for length in range(len(text) + 1))


def test_what_may_begin_a_stop_string_is_held_back_and_no_more() -> None:
    assert read_through(["a<", "b<|", "end", "|>c"], ["<|end|>"]) == ["a", "<b", "", ""]
    assert read_through(["a<", "b"], ["<|end|>"]) == ["a", "<b", ""]


def test_an_empty_stop_string_stops_nothing() -> None:
    assert "".join(read_through(["a", "b"], [""])) == "ab"


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("", 0, 0),
        ("The quick brown fox jumps over the lazy dog.", 10, 16),
        ("internationalization", 3, 6),
        ("센서 교체 주기는 삼십 일이다.", 13, 22),
        ("2024-11-05", 5, 11),
        ("\n\n\n", 1, 4),
        ("🙂🙂", 4, 8),
    ],
)
def test_the_estimate_lies_on_the_high_side_of_what_tokenizers_count(text: str, least: int, most: int) -> None:
    assert least <= estimated_tokens(text) <= most


def test_a_prompt_counts_what_its_template_adds() -> None:
    alone = estimated_tokens("a question")
    assert estimated_prompt_tokens([Message("user", "a question")]) >= alone + 8


def entry(key: str, kind: int, value: bytes) -> bytes:
    return struct.pack("<Q", len(key)) + key.encode() + struct.pack("<I", kind) + value


def string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def gguf(*entries: bytes, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, 0, len(entries)) + b"".join(entries)


ARCHITECTURE = entry("general.architecture", 8, string("llama"))
CONTEXT = entry("llama.context_length", 4, struct.pack("<I", 8192))
WORDS = entry("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, 2) + string("a") + string("한"))
SCORES = entry("tokenizer.ggml.scores", 9, struct.pack("<IQ", 6, 2) + struct.pack("<2f", 1, 2))
FLAG = entry("general.flag", 7, b"\1")


@pytest.mark.parametrize("version", [2, 3])
def test_a_header_is_read_past_entries_of_every_kind(version: int, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf(FLAG, ARCHITECTURE, WORDS, SCORES, CONTEXT, version=version))
    assert read_gguf(path) == GgufFacts("llama", 8192)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"GG",
        b"# A note\n\nnot a model",
        b"GGUF",
        gguf(ARCHITECTURE, CONTEXT, version=99),
        gguf(ARCHITECTURE, CONTEXT)[:-2],
        gguf(ARCHITECTURE),
        gguf(CONTEXT),
        gguf(entry("x", 77, b""), ARCHITECTURE, CONTEXT),
        gguf(struct.pack("<Q", 1 << 60)),
        gguf(entry("x", 8, struct.pack("<Q", 1 << 62)), ARCHITECTURE, CONTEXT),
        gguf(entry("x", 9, struct.pack("<IQ", 8, 1 << 62)), ARCHITECTURE, CONTEXT),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 62),
    ],
    ids=range(13),
)
def test_what_is_no_gguf_says_so(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "notes.gguf"
    path.write_bytes(content)
    with pytest.raises(ModelCorrupt, match=r"notes\.gguf is not a GGUF model") as caught:
        read_gguf(path)
    assert caught.value.hint


def test_a_file_that_is_not_there_and_one_that_is_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing):
        read_gguf(tmp_path / "absent.gguf")
    with pytest.raises(ModelCorrupt):
        read_gguf(tmp_path)
