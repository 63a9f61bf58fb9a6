"""The facts in the first bytes of a GGUF file, read without llama.cpp: its context, its vectors.

Layout (little-endian, GGUF 2 and 3): magic, version, numbers of tensors and entries; each entry as key, type, value.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import IO, NamedTuple

from kb.errors import ModelCorrupt, ModelMissing

MEAN, CLS, LAST, RANK = 1, 2, 3, 4
"""llama.cpp's numbers of poolings (llama.h, llama_pooling_type). RANK: a head gives one score."""

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_KEY_BYTES = 1 << 16
_ENTRIES = 1 << 16
_STRING, _ARRAY = 8, 9
_FORMATS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}


class GgufFacts(NamedTuple):
    """A model's architecture, the context it was trained for, the dimensions of its vectors and their pooling.

    `dimensions` and `pooling`, llama.cpp's number, are None where the file does not give them.
    """

    architecture: str
    context_tokens: int
    dimensions: int | None = None
    pooling: int | None = None


def read_gguf(path: Path, key: str = "models.llm.gguf") -> GgufFacts:
    """The facts of the file at `path`. `key` is the one of the configuration that names the file.

    Raises: ModelMissing when it is not there, ModelCorrupt when it is no GGUF.
    """
    hint = f"set {key} to a GGUF file"
    try:
        with path.open("rb") as file:
            return _facts(file)
    except FileNotFoundError as error:
        raise ModelMissing(f"no model file at {path}", hint) from error
    except (OSError, ValueError, struct.error) as error:
        raise ModelCorrupt(f"{path} is not a GGUF model: {error}", hint) from error


def _facts(file: IO[bytes]) -> GgufFacts:
    """Reads up to the tokenizer, which writers put last; past it where the context has not come before."""
    architecture, numbers = "", dict[str, float]()
    for _ in range(_entries(file)):
        key = _string(file, _KEY_BYTES)
        (kind,) = struct.unpack("<I", _exactly(file, 4))
        if key.startswith("tokenizer.") and f"{architecture}.context_length" in numbers:
            break
        if key == "general.architecture" and kind == _STRING:
            architecture = _string(file, _KEY_BYTES)
        elif kind in _FORMATS:
            numbers[key] = _number(file, kind)
        else:
            _skip(file, kind)

    def number(name: str) -> int | None:
        value = numbers.get(f"{architecture}.{name}")
        return None if value is None else int(value)

    context_tokens = number("context_length")
    if context_tokens is None:
        raise ValueError("it does not give its context length")
    return GgufFacts(architecture, context_tokens, number("embedding_length"), number("pooling_type"))


def _entries(file: IO[bytes]) -> int:
    """The number of entries that follow. Raises: ValueError for a file that is not GGUF."""
    magic = file.read(4)
    if magic != _MAGIC:
        raise ValueError(f"it begins with {magic!r}")
    version, _, entries = struct.unpack("<IQQ", _exactly(file, 20))
    if version not in _VERSIONS or entries > _ENTRIES:
        raise ValueError(f"version {version} with {entries} entries is unknown")
    return int(entries)


def _skip(file: IO[bytes], kind: int) -> None:
    if kind == _STRING:
        (length,) = struct.unpack("<Q", _exactly(file, 8))
        file.seek(length, 1)
    elif kind == _ARRAY:
        item, count = struct.unpack("<IQ", _exactly(file, 12))
        if item in _FORMATS:
            file.seek(count * struct.calcsize(_FORMATS[item]), 1)
        else:
            for _ in range(count):
                _skip(file, item)
    else:
        _number(file, kind)


def _number(file: IO[bytes], kind: int) -> float:
    if kind not in _FORMATS:
        raise ValueError(f"type {kind} is unknown")
    (value,) = struct.unpack(_FORMATS[kind], _exactly(file, struct.calcsize(_FORMATS[kind])))
    return float(value)


def _string(file: IO[bytes], most_bytes: int) -> str:
    (length,) = struct.unpack("<Q", _exactly(file, 8))
    if length > most_bytes:
        raise ValueError(f"a name of {length} bytes")
    return _exactly(file, length).decode("utf-8", "replace")


def _exactly(file: IO[bytes], count: int) -> bytes:
    data = file.read(count)
    if len(data) != count:
        raise ValueError("it is cut short")
    return data
