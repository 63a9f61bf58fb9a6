"""The speech model's file: made from a package's weights, every number in its place, and damage told."""

from __future__ import annotations

import io
import json
import struct
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from kb.assemble.whisper import assemble_whisper, mel_filters
from kb.errors import ModelCorrupt
from kb.extract.speech import GGML_FILE

WIDTH, VOCABULARY, LAYERS = 64, 300, 2


def tiny_tensors() -> dict[str, NDArray[np.float16]]:
    """The tensors of a Whisper of two layers, each filled with numbers of its own."""
    random = np.random.default_rng(7)
    shapes: dict[str, tuple[int, ...]] = {
        "decoder/embeddings/weight": (VOCABULARY, WIDTH),
        "decoder/position_encodings/encodings": (8, WIDTH),
        "encoder/position_encodings/encodings": (16, WIDTH),
        "encoder/conv1/weight": (WIDTH, 80, 3),
        "encoder/conv1/bias": (WIDTH,),
        "encoder/conv2/weight": (WIDTH, WIDTH, 3),
        "encoder/conv2/bias": (WIDTH,),
    }

    def linear(name: str, rows: int, columns: int) -> None:
        shapes[f"{name}/weight"], shapes[f"{name}/bias"] = (rows, columns), (rows,)

    def norm(name: str) -> None:
        shapes[f"{name}/layer_norm/gamma"] = shapes[f"{name}/layer_norm/beta"] = (WIDTH,)

    for side in ("encoder", "decoder"):
        norm(side)
        for layer in range(LAYERS):
            base = f"{side}/layer_{layer}"
            norm(f"{base}/ffn")
            linear(f"{base}/ffn/linear_0", 4 * WIDTH, WIDTH)
            linear(f"{base}/ffn/linear_1", WIDTH, 4 * WIDTH)
            norm(f"{base}/self_attention")
            linear(f"{base}/self_attention/linear_0", 3 * WIDTH, WIDTH)
            linear(f"{base}/self_attention/linear_1", WIDTH, WIDTH)
            if side == "decoder":
                norm(f"{base}/attention")
                linear(f"{base}/attention/linear_0", WIDTH, WIDTH)
                linear(f"{base}/attention/linear_1", 2 * WIDTH, WIDTH)
                linear(f"{base}/attention/linear_2", WIDTH, WIDTH)
    return {name: random.standard_normal(shape).astype("<f2") for name, shape in shapes.items()}


def ctranslate2(tensors: dict[str, NDArray[np.float16]]) -> bytes:
    """The tensors as a `model.bin`, with one small setting among them as the real file has."""

    def text(value: str) -> bytes:
        return struct.pack("<H", len(value) + 1) + value.encode() + b"\0"

    parts = [struct.pack("<I", 6), text("WhisperSpec"), struct.pack("<II", 3, len(tensors) + 1)]
    parts += [text("decoder/num_heads"), struct.pack("<BBI", 0, 2, 2), b"\1\0"]
    for name, tensor in tensors.items():
        parts += [text(name), struct.pack(f"<B{tensor.ndim}I", tensor.ndim, *tensor.shape)]
        parts += [struct.pack("<BI", 4, tensor.nbytes), tensor.tobytes()]
    return b"".join(parts)


def tokenizer() -> bytes:
    vocabulary = {"!": 0, "Ġthe": 1, "íķľ": 2, "<|endoftext|>": 3}  # "!", " the", "한"
    added = [{"id": 3, "content": "<|endoftext|>"}]
    return json.dumps({"model": {"vocab": vocabulary}, "added_tokens": added}).encode()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A directory with the weights in two parts, and the tokenizer."""
    data = ctranslate2(tiny_tensors())
    (tmp_path / "part1").write_bytes(data[:5000])
    (tmp_path / "part2").write_bytes(data[5000:])
    (tmp_path / "tokenizer.json").write_bytes(tokenizer())
    return tmp_path


def assemble(package: Path) -> bytes:
    assemble_whisper([package / "part1", package / "part2"], package / "tokenizer.json", package)
    return (package / GGML_FILE).read_bytes()


def read_ggml(data: bytes) -> tuple[tuple[int, ...], list[bytes], dict[str, NDArray[np.generic]]]:
    """The hyperparameters, tokens and tensors of a ggml file, read as whisper.cpp reads it."""
    file = io.BytesIO(data)

    def ints(count: int) -> tuple[int, ...]:
        return struct.unpack(f"<{count}i", file.read(4 * count))

    header = ints(12)
    bands, bins = ints(2)
    file.read(4 * bands * bins)
    tokens = [file.read(ints(1)[0]) for _ in range(ints(1)[0])]
    tensors: dict[str, NDArray[np.generic]] = {}
    while file.tell() < len(data):
        rank, length, kind = ints(3)
        shape = tuple(reversed(ints(rank)))
        name = file.read(length).decode()
        dtype = np.dtype("<f2" if kind else "<f4")
        content = file.read(int(np.prod(shape)) * dtype.itemsize)
        tensors[name] = np.frombuffer(content, dtype).reshape(shape)
    return header, tokens, tensors


def test_every_tensor_stands_under_its_new_name(package: Path) -> None:
    header, tokens, made = read_ggml(assemble(package))
    source = tiny_tensors()
    assert header == (0x67676D6C, VOCABULARY, 16, WIDTH, 1, LAYERS, 8, WIDTH, 1, LAYERS, 80, 1)
    assert tokens == [b"!", b" the", "한".encode()]
    assert np.array_equal(made["decoder.token_embedding.weight"], source["decoder/embeddings/weight"])
    fused = source["decoder/layer_1/self_attention/linear_0/weight"]
    assert np.array_equal(made["decoder.blocks.1.attn.value.weight"], fused[2 * WIDTH :])
    memory = source["decoder/layer_0/attention/linear_1/weight"]
    assert np.array_equal(made["decoder.blocks.0.cross_attn.key.weight"], memory[:WIDTH])
    assert np.array_equal(made["encoder.conv1.bias"][:, 0], source["encoder/conv1/bias"].astype("<f4"))
    assert np.array_equal(made["encoder.ln_post.bias"], source["encoder/layer_norm/beta"].astype("<f4"))


def test_keys_have_no_bias_and_small_tensors_are_single_precision(package: Path) -> None:
    _, _, made = read_ggml(assemble(package))
    assert not [name for name in made if name.endswith("key.bias")]
    assert {str(tensor.dtype) for name, tensor in made.items() if name.endswith("bias")} == {"float32"}
    assert made["encoder.positional_embedding"].dtype == np.float32
    assert made["encoder.conv2.weight"].dtype == np.float16


def test_filters_have_equal_area_and_cover_the_spectrum() -> None:
    filters = mel_filters()
    assert filters.shape == (80, 201)
    assert filters.dtype == np.float32
    bin_hz = 8000 / 200
    assert np.allclose(filters[40:].sum(axis=1) * bin_hz, 1, atol=0.07)
    assert (filters[:, 1:-1].sum(axis=0) > 0).all()
    assert np.isclose(filters[0, 1], 0.02486259, atol=1e-6)  # the first figure of OpenAI's own table


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: b"\7" + data[1:], lambda data: b""])
def test_damaged_weights_are_told(package: Path, damage: object) -> None:
    data = damage(ctranslate2(tiny_tensors()))  # type: ignore[operator]
    (package / "part1").write_bytes(data)
    (package / "part2").write_bytes(b"")
    with pytest.raises(ModelCorrupt, match="speech model"):
        assemble(package)


def test_a_tokenizer_with_gaps_is_told(package: Path) -> None:
    (package / "tokenizer.json").write_text('{"model": {"vocab": {"a": 0, "b": 2}}, "added_tokens": []}')
    with pytest.raises(ModelCorrupt, match="gaps"):
        assemble(package)
