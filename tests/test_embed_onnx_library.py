"""The C library of ONNX Runtime: what goes in and comes out, its errors, and that nothing is left behind."""

from __future__ import annotations

import resource
import sys
from array import array
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from kb.assemble.onnx_writer import ELEMENT_TYPES, FLOAT, INT64, GraphWriter
from kb.embed.installed import onnx_library
from kb.embed.installed.onnx_library import Tensor, open_session
from kb.errors import ModelCorrupt, ModelError

OPSETS = {"": 20}


def product(inner: int = 3) -> bytes:
    """x float32[rows, inner] → y = x @ w, w counted from 0."""
    graph = GraphWriter()
    graph.tensor("w", np.arange(inner * 2, dtype=np.float32).reshape(inner, 2))
    graph.node("MatMul", ["x", "w"], "y")
    return graph.model([("x", FLOAT, ("rows", inner))], [("y", FLOAT, ("rows", 2))], OPSETS)


def cast(element: str) -> bytes:
    graph = GraphWriter()
    graph.node("Cast", ["x"], "y", to=FLOAT)
    return graph.model([("x", ELEMENT_TYPES[element], ("rows",))], [("y", FLOAT, ("rows",))], OPSETS)


def floats(rows: int = 2, inner: int = 3) -> Tensor:
    return Tensor("float32", (rows, inner), array("f", range(rows * inner)))


@pytest.mark.parametrize("optimised", [False, True])
def test_a_session_of_bytes_and_one_of_a_file_give_what_numpy_gives(tmp_path: Path, optimised: bool) -> None:
    (tmp_path / "model.onnx").write_bytes(product())
    expected = np.arange(6, dtype=np.float32).reshape(2, 3) @ np.arange(6, dtype=np.float32).reshape(3, 2)
    for model in (product(), tmp_path / "model.onnx"):
        shape, values = open_session(model, optimised=optimised).run({"x": floats()}, "y")
        assert (shape, list(values)) == ((2, 2), expected.ravel().tolist())


@pytest.mark.parametrize("element", ["float32", "uint8", "int64", "float16"])
@pytest.mark.parametrize("form", ["array", "bytes", "view", "read only"])
def test_inputs_of_each_element_type_come_from_any_buffer(element: str, form: str) -> None:
    given = np.arange(5).astype(element)
    data = {"array": given, "bytes": given.tobytes(), "view": memoryview(bytearray(given.tobytes()))}
    read_only = given.copy()
    read_only.flags.writeable = False
    tensor = Tensor(element, (5,), {**data, "read only": read_only}[form])  # type: ignore[arg-type]
    assert list(open_session(cast(element), optimised=False).run({"x": tensor}, "y").values) == [0, 1, 2, 3, 4]


def test_no_rows_are_no_error() -> None:
    session = open_session(product(), optimised=False)
    shape, values = session.run({"x": Tensor("float32", (0, 3), b"")}, "y")
    assert (shape, len(values)) == ((0, 2), 0)


def test_a_graph_that_does_not_load_is_corrupt_and_says_why(tmp_path: Path) -> None:
    (tmp_path / "cut.onnx").write_bytes(product()[:40])
    graph = GraphWriter()
    graph.node("NoSuchOperator", ["x"], "y")
    unknown = graph.model([("x", FLOAT, (1,))], [("y", FLOAT, (1,))], OPSETS)
    for model, told in (
        (tmp_path / "absent.onnx", "absent.onnx"),
        (tmp_path / "cut.onnx", "cut.onnx"),
        (unknown, "NoSuchOperator"),
    ):
        with pytest.raises(ModelCorrupt, match=told):
            open_session(model, optimised=False)


def test_a_run_that_fails_says_what_onnx_runtime_says() -> None:
    session = open_session(product(), optimised=False)
    with pytest.raises(ModelError, match="Got: 4 Expected: 3"):
        session.run({"x": floats(inner=4)}, "y")
    with pytest.raises(ModelError, match="z"):
        session.run({"x": floats()}, "z")
    with pytest.raises(ValueError, match="12 bytes"):
        session.run({"x": Tensor("float32", (2, 3), bytes(12))}, "y")
    assert session.run({"x": floats()}, "y").shape == (2, 2)


def test_an_output_that_is_not_float32_is_an_error() -> None:
    graph = GraphWriter()
    graph.node("Cast", ["x"], "y", to=INT64)
    model = graph.model([("x", FLOAT, (1,))], [("y", INT64, (1,))], OPSETS)
    with pytest.raises(ModelError, match="float32"):
        open_session(model, optimised=False).run({"x": Tensor("float32", (1,), bytes(4))}, "y")


def test_threads_share_a_session() -> None:
    session = open_session(product(), optimised=True)

    def run(at: int) -> list[float]:
        return list(session.run({"x": Tensor("float32", (1, 3), array("f", [at, 0, 0]))}, "y").values)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(run, range(200))) == [[0, at] for at in range(200)]


def test_nothing_is_left_of_3000_runs_failed_ones_and_sessions() -> None:
    """What one run leaves of 4 MB of input and output would be gigabytes."""
    rows = 250_000
    data = array("f", bytes(4 * rows))
    session = open_session(cast("float32"), optimised=False)
    wrong = open_session(product(), optimised=False)

    def run(times: int) -> int:
        for _ in range(times):
            session.run({"x": Tensor("float32", (rows,), data)}, "y")
            with pytest.raises(ModelError):
                wrong.run({"x": Tensor("float32", (rows,), data)}, "y")
            open_session(product(), optimised=False)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024

    before = run(20)
    assert run(3000) - before < 100_000_000


def test_an_installation_without_the_library_says_how_to_mend_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "onnxruntime"
    (package / "capi").mkdir(parents=True)
    (package / "__init__.py").touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "onnxruntime", raising=False)
    onnx_library._library.cache_clear()
    try:
        with pytest.raises(ModelError, match="no library for C") as raised:
            open_session(product(), optimised=False)
        assert "pip install" in str(raised.value.hint)
    finally:
        onnx_library._library.cache_clear()


def test_a_session_needs_neither_numpy_nor_the_package(tmp_path: Path) -> None:
    import subprocess

    (tmp_path / "model.onnx").write_bytes(product())
    code = (
        "import sys; from pathlib import Path; from kb.embed.installed.onnx_library import open_session, Tensor\n"
        f"open_session(Path({str(tmp_path / 'model.onnx')!r}), optimised=False)"
        ".run({'x': Tensor('float32', (1, 3), bytes(12))}, 'y')\n"
        "print([name for name in ('numpy', 'onnxruntime') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
