"""Universal Sentence Encoder of random weights: one text without numpy, many with it, the same vectors."""

from __future__ import annotations

import ctypes
import json
import os
import sys
from array import array
from pathlib import Path

import numpy as np
import pytest

from kb.embed.installed import blas as blas_module
from kb.embed.installed.blas import Blas, open_blas
from kb.embed.installed.use_adapter import open_network
from kb.embed.installed.use_files import CHUNKS, DIMENSIONS, LAYERS_FILE, LAYERS_INDEX, ORDERS, TABLE_FILE
from kb.embed.installed.use_single import open_single_network
from kb.errors import ModelCorrupt

PIECES = 90
FEATURES = 1280
SHAPES: dict[str, tuple[int, ...]] = {
    "scale": (CHUNKS,),
    "lo": (CHUNKS,),
    "ln_g": (FEATURES,),
    "ln_b": (FEATURES,),
    "cnn_W": (FEATURES, DIMENSIONS),
    "cnn_b": (DIMENSIONS,),
    "eps": (1,),
    "proj": (DIMENSIONS, 768),
    "proj_b": (768,),
    "proj_g": (768,),
    "proj_ln_b": (768,),
    **{f"w{layer}_{order}": (order, 256, 256) for order in ORDERS for layer in (1, 2)},
    **{f"b{layer}_{order}": (256,) for order in ORDERS for layer in (1, 2)},
    "d0": (512, 320),
    "d1": (320, 320),
    "d2": (320, 512),
    "d3": (512, 512),
    "p1": (512, 320),
    "p3": (320, 512),
}


@pytest.fixture(scope="module")
def blas() -> Blas:
    found = open_blas()
    if found is None:
        pytest.skip("no BLAS library that kb knows")
    return found


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of an encoder of random weights, small enough that no layer saturates."""
    directory = tmp_path_factory.mktemp("use")
    rng = np.random.default_rng(5)
    (directory / TABLE_FILE).write_bytes(rng.integers(0, 64, PIECES * DIMENSIONS, dtype=np.uint8).tobytes())
    layers = {name: rng.normal(size=shape) / np.sqrt(shape[-1]) for name, shape in SHAPES.items()}
    layers["scale"], layers["eps"] = np.full(CHUNKS, 0.05), np.array([1e-3])
    (directory / LAYERS_FILE).write_bytes(b"".join(layer.astype("<f4").tobytes() for layer in layers.values()))
    (directory / LAYERS_INDEX).write_text(json.dumps(SHAPES))
    return directory


@pytest.mark.slow
@pytest.mark.parametrize("length", [2, 3, 5, 40])
def test_one_text_without_numpy_is_the_text_with_it(length: int, model: Path, blas: Blas) -> None:
    ids = np.random.default_rng(length).integers(0, PIECES, length).tolist()
    single = np.frombuffer(open_single_network(model, blas).encode(ids), "<f4")
    np.testing.assert_allclose(single, open_network(model).encode([ids])[0], atol=1e-5)
    assert float(np.linalg.norm(single)) == pytest.approx(1, abs=1e-6)


@pytest.mark.skipif(sys.platform == "darwin", reason="numpy brings no library of its own there")
def test_a_process_that_has_numpy_multiplies_on_one_thread(model: Path) -> None:
    (library,) = Path(np.__file__).parents[1].glob("numpy.libs/libscipy_openblas64_*.so")
    blas = ctypes.CDLL(str(library))
    blas.scipy_openblas_set_num_threads64_(2)
    open_network(model)
    assert blas.scipy_openblas_get_num_threads64_() == 1


def test_weights_cut_short_are_an_error(model: Path, blas: Blas, tmp_path: Path) -> None:
    for name in (TABLE_FILE, LAYERS_FILE, LAYERS_INDEX):
        content = (model / name).read_bytes()
        (tmp_path / name).write_bytes(content[:-4] if name == LAYERS_FILE else content)
    with pytest.raises(ModelCorrupt, match="cannot be read"):
        open_single_network(tmp_path, blas)


@pytest.mark.parametrize("first_row", [0, 2])
def test_a_product_is_added(first_row: int, blas: Blas) -> None:
    rng = np.random.default_rng(1)
    left, right, total = (rng.normal(size=shape).astype("f4") for shape in ((5, 3), (3, 4), (3, 4)))
    result = array("f", total.ravel())
    blas.add_product(
        array("f", left.ravel()), (ctypes.c_float * 12)(*right.ravel()), result, rows=3, first_row=first_row
    )
    expected = total + left[first_row : first_row + 3] @ right
    np.testing.assert_allclose(np.array(result).reshape(3, 4), expected, rtol=1e-5)


def test_rows_outside_the_matrix_are_refused(blas: Blas) -> None:
    with pytest.raises(ValueError, match="not in 6 values"):
        blas.add_product(array("f", [0.0] * 6), (ctypes.c_float * 6)(), array("f", [0.0] * 4), rows=2, first_row=1)


def test_the_library_leaves_the_environment_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    for before in ("7", None):
        if before is None:
            monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
        else:
            monkeypatch.setenv("OPENBLAS_NUM_THREADS", before)
        open_blas()
        assert os.environ.get("OPENBLAS_NUM_THREADS") == before


def test_a_machine_without_the_library_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas_module, "find_spec", lambda name: None)
    monkeypatch.setattr(blas_module.sys, "platform", "linux")
    assert open_blas() is None
    monkeypatch.setattr(blas_module.sys, "platform", "darwin")
    monkeypatch.setattr(blas_module, "_ACCELERATE", "/nowhere/Accelerate")
    assert open_blas() is None
