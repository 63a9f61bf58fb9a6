"""The encoder as kb assembled it before: 4-bit products with int8 activations, texts in padded batches.

What the encoder of today is compared with, and an ONNX file for runtimes that pad: it has an attention mask.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kb.assemble.e5_graph import CONTRIB, OPSETS, embedded_tokens, layer_norm
from kb.assemble.e5_weights import BLOCK_WEIGHTS, E5Weights, read_weights
from kb.assemble.onnx_writer import FLOAT, INT64, GraphWriter
from kb.embed.installed.native_query import ENGINE_DIRECTORY, WEIGHTS_FILE
from kb.embed.installed.onnx_adapter import PREFIXES
from kb.embed.model_files import MODEL_FILE, TOKENIZER_FILE
from kb.embed.text import encoder_text
from kb.embed.windows import normalised

if TYPE_CHECKING:
    from kb.domain.embeddings import Vectors

BATCH_TOKENS = 1024

_PAD = 1
_MASKED = -1e9
_INT8_ACTIVATIONS = 4  # MatMulNBits accuracy_level


def four_bit_copy(installed: Path, directory: Path) -> Path:
    """`directory`, with the installed model's settings and tokenizer and the 4-bit graph.

    Raises: FileNotFoundError where the model was installed without its weight file (elsewhere than on Linux x86-64).
    """
    weights = read_weights(installed / ENGINE_DIRECTORY / WEIGHTS_FILE)
    for path in installed.glob("*.json"):
        shutil.copy(path, directory)
    (directory / MODEL_FILE).parent.mkdir()
    (directory / MODEL_FILE).write_bytes(four_bit_model(weights))
    return directory


class PaddedEncoder:
    """The 4-bit graph on `threads` cores, texts in batches of at most `BATCH_TOKENS` tokens, padding included."""

    def __init__(self, directory: Path, threads: int) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self._tokenizer = Tokenizer.from_file(str(directory / TOKENIZER_FILE))
        self._session = onnxruntime.InferenceSession(
            str(directory / MODEL_FILE), options, providers=["CPUExecutionProvider"]
        )

    def embed(self, texts: Sequence[str]) -> Vectors:
        """float32[n, hidden], L2 = 1, of texts that fit the window, as passages."""
        import numpy as np

        encodings = self._tokenizer.encode_batch_fast([PREFIXES["passage"] + encoder_text(text) for text in texts])
        ids = [encoding.ids for encoding in encodings]
        means: dict[int, Vectors] = {}
        batch: list[int] = []
        for index in sorted(range(len(ids)), key=lambda index: -len(ids[index])):
            if batch and (len(batch) + 1) * len(ids[batch[0]]) > BATCH_TOKENS:
                means |= zip(batch, self._means([ids[each] for each in batch]), strict=True)
                batch = []
            batch.append(index)
        means |= zip(batch, self._means([ids[each] for each in batch]), strict=True)
        return normalised(np.stack([means[index] for index in range(len(ids))]))

    def _means(self, batch: Sequence[Sequence[int]]) -> Vectors:
        import numpy as np

        padded = np.full((len(batch), max(map(len, batch))), _PAD, dtype=np.int64)
        mask = np.zeros_like(padded)
        for row, ids in enumerate(batch):
            padded[row, : len(ids)], mask[row, : len(ids)] = ids, 1
        (states,) = self._session.run(None, {"input_ids": padded, "attention_mask": mask})
        weights = (mask / mask.sum(axis=1, keepdims=True)).astype(np.float32)
        means: Vectors = (weights[:, None, :] @ states)[:, 0]
        return means


def four_bit_model(weights: E5Weights) -> bytes:
    """The ONNX file: `input_ids`, `attention_mask` int64[batch, sequence] → `last_hidden_state` float32[.., hidden]."""
    graph = GraphWriter()
    hidden = embedded_tokens(graph, weights)
    mask = _attention_mask(graph)
    _shapes(graph, weights)
    last = weights.sizes.layers - 1
    for layer in range(weights.sizes.layers):
        attended = _attention(graph, weights, hidden, mask, f"l{layer}.")
        output = "last_hidden_state" if layer == last else f"l{layer}.output"
        hidden = _feed_forward(graph, weights, attended, f"l{layer}.", output)
    batch = ("batch", "sequence")
    return graph.model(
        [("input_ids", INT64, batch), ("attention_mask", INT64, batch)],
        [("last_hidden_state", FLOAT, (*batch, weights.sizes.hidden))],
        OPSETS,
    )


def _attention_mask(graph: GraphWriter) -> str:
    import numpy as np

    graph.tensor("one", np.array(1, np.float32))
    graph.tensor("masked", np.array(_MASKED, np.float32))
    graph.tensor("head_axes", np.array([1, 2]))
    graph.node("Cast", ["attention_mask"], "seen", to=FLOAT)
    graph.node("Sub", ["one", "seen"], "unseen")
    graph.node("Mul", ["unseen", "masked"], "penalty")
    return graph.node("Unsqueeze", ["penalty", "head_axes"], "mask")


def _shapes(graph: GraphWriter, weights: E5Weights) -> None:
    import numpy as np

    head_width = weights.sizes.hidden // weights.sizes.heads
    graph.tensor("by_head", np.array([0, 0, weights.sizes.heads, head_width]))
    graph.tensor("head_scale", np.array(head_width**-0.5, np.float32))


def _attention(graph: GraphWriter, weights: E5Weights, hidden: str, mask: str, layer: str) -> str:
    width = weights.sizes.hidden
    by_head = {}
    # Keys are laid out transposed, ready for the product with the queries.
    for part, axes in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        projected = _linear(graph, weights, hidden, f"{layer}{part}", width, width)
        split = graph.node("Reshape", [projected, "by_head"], f"{layer}{part}.split")
        by_head[part] = graph.node("Transpose", [split], f"{layer}{part}.by_head", perm=axes)
    products = graph.node("MatMul", [by_head["q"], by_head["k"]], f"{layer}products")
    scores = graph.node("Mul", [products, "head_scale"], f"{layer}scores")
    visible = graph.node("Add", [scores, mask], f"{layer}visible")
    attention = graph.node("Softmax", [visible], f"{layer}attention", axis=-1)
    context = graph.node("MatMul", [attention, by_head["v"]], f"{layer}context")
    joined = graph.node("Transpose", [context], f"{layer}joined", perm=[0, 2, 1, 3])
    flat = graph.node("Reshape", [joined, "flat"], f"{layer}attended")
    output = _linear(graph, weights, flat, f"{layer}ao", width, width)
    residual = graph.node("Add", [hidden, output], f"{layer}residual")
    return layer_norm(graph, weights, residual, f"{layer}aln", f"{layer}normed")


def _feed_forward(graph: GraphWriter, weights: E5Weights, hidden: str, layer: str, output: str) -> str:
    width, inner = weights.sizes.hidden, weights.sizes.feed_forward
    expanded = _linear(graph, weights, hidden, f"{layer}fi", width, inner)
    activated = graph.node("Gelu", [expanded], f"{layer}activated", approximate="none")
    contracted = _linear(graph, weights, activated, f"{layer}fo", inner, width)
    residual = graph.node("Add", [hidden, contracted], f"{layer}fo.residual")
    return layer_norm(graph, weights, residual, f"{layer}oln", output)


def _linear(graph: GraphWriter, weights: E5Weights, source: str, name: str, width: int, outputs: int) -> str:
    import numpy as np

    nibbles, scales = weights.packed(f"{name}.w", outputs, width)
    # MatMulNBits wants neighbouring weights in one byte; the file has weight j beside weight j + 16.
    weight = np.concatenate([nibbles & 15, nibbles >> 4], axis=2)
    graph.tensor(f"{name}.w", weight[:, :, 0::2] | (weight[:, :, 1::2] << 4))
    graph.tensor(f"{name}.scales", scales.astype(np.float32))
    graph.tensor(f"{name}.b", weights.vector(f"{name}.b", outputs))
    product = graph.node(
        "MatMulNBits",
        [source, f"{name}.w", f"{name}.scales"],
        f"{name}.product",
        domain=CONTRIB,
        K=width,
        N=outputs,
        bits=4,
        block_size=BLOCK_WEIGHTS,
        accuracy_level=_INT8_ACTIVATIONS,
    )
    return graph.node("Add", [product, f"{name}.b"], f"{name}.out")
