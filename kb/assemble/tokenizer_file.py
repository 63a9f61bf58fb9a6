"""A unigram tokenizer in the two forms it is read in: tokenizer.json for many texts, the mapped vocabulary for one."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kb.embed.installed.vocabulary import VOCABULARY_FILE, write_vocabulary
from kb.embed.model_files import TOKENIZER_FILE

_METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}


@dataclass(frozen=True, slots=True)
class UnigramTokenizer:
    """The pieces in id order, their log probabilities, and how text is normalised before it is cut into them.

    `charsmap` is SentencePiece's precompiled character map. `marks` are the ids of the pieces that stand for no text.
    """

    pieces: Sequence[str]
    scores: Sequence[float]
    unknown: int
    first: int
    last: int
    marks: Sequence[int]
    charsmap: bytes
    strips_spaces: bool


def write_tokenizer(directory: Path, tokenizer: UnigramTokenizer) -> None:
    """Write `tokenizer.json` and the mapped vocabulary into `directory`."""
    write_json(directory / TOKENIZER_FILE, _definition(tokenizer))
    write_vocabulary(
        directory / VOCABULARY_FILE,
        tokenizer.pieces,
        tokenizer.scores,
        tokenizer.unknown,
        tokenizer.charsmap,
        strips_spaces=tokenizer.strips_spaces,
    )


def write_json(path: Path, value: object) -> None:
    """Write `value` as UTF-8 JSON."""
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


def _definition(tokenizer: UnigramTokenizer) -> dict[str, object]:
    strip = [{"type": "Strip", "strip_left": True, "strip_right": True}] if tokenizer.strips_spaces else []
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": token,
                "content": tokenizer.pieces[token],
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for token in tokenizer.marks
        ],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "NFC"},
                {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(tokenizer.charsmap).decode()},
                *strip,
                {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
            ],
        },
        "pre_tokenizer": _METASPACE,
        "post_processor": _sentence_ends(tokenizer),
        "decoder": _METASPACE,
        "model": {
            "type": "Unigram",
            "unk_id": tokenizer.unknown,
            "vocab": list(zip(tokenizer.pieces, tokenizer.scores, strict=True)),
            "byte_fallback": False,
        },
    }


def _sentence_ends(tokenizer: UnigramTokenizer) -> dict[str, object]:
    names = {token: tokenizer.pieces[token] for token in (tokenizer.first, tokenizer.last)}
    first, last = ({"SpecialToken": {"id": name, "type_id": 0}} for name in names.values())
    text, other = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    return {
        "type": "TemplateProcessing",
        "single": [first, text, last],
        "pair": [first, text, last, last, other, last],
        "special_tokens": {name: {"id": name, "ids": [token], "tokens": [name]} for token, name in names.items()},
    }
