"""The graphs of late interaction, written into the package: `python -m kb.assemble.late_graph`."""

from __future__ import annotations

from pathlib import Path

from kb.assemble.onnx_writer import ELEMENT_TYPES, FLOAT, INT64, GraphWriter
from kb.embed.installed.late_interaction import GRAPH_DIR, PACKED, PLAIN


def late_graph(*, packed: bool) -> bytes:
    """question, rows, passage and least → scores: the mean, over the question, of the best product of each passage.

    `passage` says whose each row is; `least` is what nothing falls below, for every passage and row of the question.
    `packed` rows are as they are kept (`kb.embed.passage_tokens`), with a float16 scale each, and the question is given
    in halves as they are; else all is float32.
    """
    import numpy as np  # no search writes a graph

    graph = GraphWriter()
    graph.tensor("columns", np.array([1], np.int64))
    inputs: list[tuple[str, int, tuple[str | int, ...]]] = [
        ("question", FLOAT, ("asked", "components")),
        ("rows", FLOAT, ("rows", "components")),
        ("passage", INT64, ("rows", 1)),
        ("least", FLOAT, ("passages", "asked")),
    ]
    if packed:
        inputs[:2] = [
            ("question", FLOAT, ("asked", 2, "halves")),
            ("rows", ELEMENT_TYPES["uint8"], ("rows", "halves")),
            ("scales", ELEMENT_TYPES["float16"], ("rows", 1)),
        ]
        graph.tensor("fifteen", np.array([15], np.uint8))
        graph.tensor("four", np.array([4], np.uint8))
        graph.node("BitwiseAnd", ["rows", "fifteen"], "low")
        graph.node("BitShift", ["rows", "four"], "high", direction="RIGHT")
        # Kept values are eight too large: what that adds to a product is taken off.
        graph.tensor("minus_eight", np.array([-8], np.float32))
        graph.tensor("both", np.array([1, 2], np.int64))
        graph.node("ReduceSum", ["question", "both"], "sums", keepdims=0)
        graph.node("Mul", ["sums", "minus_eight"], "less")
        for at, half in enumerate(("first", "second")):
            graph.tensor(f"{half}_half", np.array(at, np.int64))
            graph.node("Gather", ["question", f"{half}_half"], half, axis=1)
        graph.node("Cast", ["low"], "low_values", to=FLOAT)
        graph.node("Cast", ["high"], "high_values", to=FLOAT)
        graph.node("Gemm", ["low_values", "first", "less"], "halves", transB=1)
        graph.node("Gemm", ["high_values", "second", "halves"], "products", transB=1)
        graph.node("Cast", ["scales"], "scale", to=FLOAT)
        products = graph.node("Mul", ["products", "scale"], "scaled")
    else:
        products = graph.node("Gemm", ["rows", "question"], "products", transB=1)
    graph.node("ScatterND", ["least", "passage", products], "best", reduction="max")
    graph.node("ReduceMean", ["best", "columns"], "scores", keepdims=0)
    return graph.model(inputs, [("scores", FLOAT, ("passages",))], {"": 18})


def write_graphs(directory: Path) -> None:
    """Writes both."""
    for name, packed in ((PACKED, True), (PLAIN, False)):
        (directory / name).write_bytes(late_graph(packed=packed))


if __name__ == "__main__":
    write_graphs(GRAPH_DIR)
