"""What a GGUF file says of itself in its first bytes, read without llama.cpp: is it one, and how long is its context?

Layout (little-endian, GGUF 2 and 3): magic, version, number of tensors, number of entries; then each entry as key, type
and value.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from kb.errors import ModelCorrupt, ModelMissing

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_KEY_BYTES = 1 << 16
_ENTRIES = 1 << 16
_STRING, _ARRAY = 8, 9
_FORMATS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """A model's architecture, and the context it was trained for."""

    architecture: str
    context_tokens: int


def read_gguf_header(path: Path) -> GgufHeader:
    """The header of the file at `path`. Raises: ModelMissing when it is not there, ModelCorrupt when it is no GGUF."""
    try:
        with path.open("rb") as file:
            return _header(file)
    except FileNotFoundError as error:
        raise ModelMissing(f"no model file at {path}", "set models.llm.gguf to a GGUF file") from error
    except (OSError, ValueError, struct.error) as error:
        raise ModelCorrupt(f"{path} is not a GGUF model: {error}", "set models.llm.gguf to a GGUF file") from error


@dataclass(frozen=True, slots=True)
class GgufFacts:
    """What a file says of the vectors it makes; `pooling` is llama.cpp's number, None where it says nothing of it."""

    architecture: str
    context_tokens: int
    dimensions: int
    pooling: int | None


MEAN, CLS, LAST, RANK = 1, 2, 3, 4
"""llama.cpp's numbers of poolings (llama.h, llama_pooling_type). RANK: a head gives one score."""


def read_gguf_facts(path: Path, key: str) -> GgufFacts:
    """What the file at `path` says of its vectors. `key` is the configuration's that names it.

    Raises: ModelMissing when it is not there, ModelCorrupt when it is no GGUF.
    """
    hint = f"set {key} to a GGUF file"
    try:
        with path.open("rb") as file:
            found = _numbers(file)
            architecture = str(found["architecture"])
            return GgufFacts(
                architecture,
                int(found[f"{architecture}.context_length"]),
                int(found[f"{architecture}.embedding_length"]),
                int(found[f"{architecture}.pooling_type"]) if f"{architecture}.pooling_type" in found else None,
            )
    except FileNotFoundError as error:
        raise ModelMissing(f"no model file at {path}", hint) from error
    except KeyError as error:
        raise ModelCorrupt(f"{path} says nothing of its {error.args[0]}", hint) from error
    except (OSError, ValueError, struct.error) as error:
        raise ModelCorrupt(f"{path} is not a GGUF model: {error}", hint) from error


def _numbers(file: IO[bytes]) -> dict[str, str | float]:
    """The architecture and all single numbers before the first entry of the tokenizer, which writers put last."""
    found: dict[str, str | float] = {}
    for _ in range(_entries(file)):
        key = _string(file, _KEY_BYTES)
        (kind,) = struct.unpack("<I", _exactly(file, 4))
        if key.startswith("tokenizer."):
            break
        if key == "general.architecture" and kind == _STRING:
            found["architecture"] = _string(file, _KEY_BYTES)
        elif kind in _FORMATS:
            found[key] = _number(file, kind)
        else:
            _skip(file, kind)
    return found


def _header(file: IO[bytes]) -> GgufHeader:
    architecture = ""
    for _ in range(_entries(file)):
        key = _string(file, _KEY_BYTES)
        (kind,) = struct.unpack("<I", _exactly(file, 4))
        if key == "general.architecture" and kind == _STRING:
            architecture = _string(file, _KEY_BYTES)
        elif architecture and key == f"{architecture}.context_length" and kind in _FORMATS:
            return GgufHeader(architecture, int(_number(file, kind)))
        else:
            _skip(file, kind)
    raise ValueError("it says nothing of its context length")


def _entries(file: IO[bytes]) -> int:
    """How many entries follow. Raises: ValueError for what is no GGUF."""
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
