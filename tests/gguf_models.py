"""Tiny GGUF models made here: a BERT of one layer over a few words, as an encoder and as a cross-encoder.

Attention looks at every token alike, so a vector is of all words of a text, and a score of all words of a pair.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

MARKS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
DIMENSIONS, CONTEXT_TOKENS = 32, 64
MEAN, CLS, LAST, RANK = 1, 2, 3, 4

_HEADS, _INNER = 2, 32
_UINT32, _FLOAT32, _BOOL, _STRING, _ARRAY = 4, 6, 7, 8, 9
_ALIGNED_BYTES = 32

Floats = NDArray[np.float32]


def write_encoder(path: Path, words: Sequence[str], pooling: int = MEAN) -> None:
    """An encoder that knows `words`, each in a direction of its own."""
    table = np.random.default_rng(3).standard_normal((len(MARKS) + len(words), DIMENSIONS)).astype(np.float32)
    _write(path, words, pooling, _layer(table))


def write_cross_encoder(path: Path, weights: Mapping[str, float]) -> None:
    """A cross-encoder in whose score each word of a pair has its weight."""
    table = np.random.default_rng(3).standard_normal((len(MARKS) + len(weights), DIMENSIONS)).astype(np.float32)
    table[:, 0] = [0.0] * len(MARKS) + list(weights.values())
    head = np.zeros((1, DIMENSIONS), np.float32)
    head[0, 0] = 4.0
    scored = {
        "cls.weight": np.eye(DIMENSIONS, dtype=np.float32),
        "cls.bias": np.zeros(DIMENSIONS, np.float32),
        "cls.output.weight": head,
        "cls.output.bias": np.zeros(1, np.float32),
    }
    _write(path, list(weights), RANK, _layer(table) | scored)


def _layer(table: Floats) -> dict[str, Floats]:
    """The tensors by name: words as they are in `table`, one layer whose attention is the mean over all tokens."""
    same, nothing = np.eye(DIMENSIONS, dtype=np.float32), np.zeros((DIMENSIONS, DIMENSIONS), np.float32)
    tensors = {
        "token_embd.weight": table,
        "position_embd.weight": np.zeros((CONTEXT_TOKENS, DIMENSIONS), np.float32),
        "token_types.weight": np.zeros((2, DIMENSIONS), np.float32),
    }
    layer = {"attn_q": nothing, "attn_k": nothing, "attn_v": same, "attn_output": 3 * same}
    layer |= {
        "ffn_up": np.zeros((_INNER, DIMENSIONS), np.float32),
        "ffn_down": np.zeros((DIMENSIONS, _INNER), np.float32),
    }
    for name, weight in layer.items():
        tensors |= {f"blk.0.{name}.weight": weight, f"blk.0.{name}.bias": np.zeros(len(weight), np.float32)}
    for norm in ("token_embd_norm", "blk.0.attn_output_norm", "blk.0.layer_output_norm"):
        tensors |= {f"{norm}.weight": np.ones(DIMENSIONS, np.float32), f"{norm}.bias": np.zeros(DIMENSIONS, np.float32)}
    return tensors


def _write(path: Path, words: Sequence[str], pooling: int, tensors: Mapping[str, Floats]) -> None:
    tokens = [*MARKS, *(f"\u2581{word}" for word in words)]
    entries = [
        _entry("general.architecture", _STRING, _text("bert")),
        _entry("general.name", _STRING, _text("tiny")),
        *(
            _entry(f"bert.{key}", _UINT32, struct.pack("<I", value))
            for key, value in (
                ("context_length", CONTEXT_TOKENS),
                ("embedding_length", DIMENSIONS),
                ("feed_forward_length", _INNER),
                ("block_count", 1),
                ("attention.head_count", _HEADS),
                ("pooling_type", pooling),
            )
        ),
        _entry("bert.attention.layer_norm_epsilon", _FLOAT32, struct.pack("<f", 1e-12)),
        _entry("bert.attention.causal", _BOOL, b"\0"),
        _entry("tokenizer.ggml.model", _STRING, _text("bert")),
        _entry(
            "tokenizer.ggml.tokens", _ARRAY, struct.pack("<IQ", _STRING, len(tokens)) + b"".join(map(_text, tokens))
        ),
        *(
            _entry(f"tokenizer.ggml.{key}", _UINT32, struct.pack("<I", value))
            for key, value in (
                ("token_type_count", 2),
                ("padding_token_id", 0),
                ("unknown_token_id", 1),
                ("bos_token_id", 2),
                ("cls_token_id", 2),
                ("eos_token_id", 3),
                ("seperator_token_id", 3),
            )
        ),
    ]
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(entries)) + b"".join(entries)
    data = bytearray()
    for name, values in tensors.items():
        sizes = values.shape[::-1]
        head += _text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, 0, len(data))
        data += values.astype("<f4").tobytes()
        data += bytes(-len(data) % _ALIGNED_BYTES)
    path.write_bytes(head + bytes(-len(head) % _ALIGNED_BYTES) + data)


def _entry(key: str, kind: int, value: bytes) -> bytes:
    return _text(key) + struct.pack("<I", kind) + value


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def entry(key: str, kind: int, value: bytes) -> bytes:
    return struct.pack("<Q", len(key)) + key.encode() + struct.pack("<I", kind) + value


def string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def gguf(*entries: bytes, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, 0, len(entries)) + b"".join(entries)


ARCHITECTURE = entry("general.architecture", 8, string("llama"))


CONTEXT = entry("llama.context_length", 4, struct.pack("<I", 8192))
