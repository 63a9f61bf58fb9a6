"""multilingual-e5-small from its 4-bit weight file: an ONNX graph and a tokenizer.json that any ONNX runtime reads.

The embedding table stays packed and is unpacked after the gather (48 MB instead of 384), the linear layers stay 4-bit
in `MatMulNBits` with int8 activations (as the weight file's own runtime computes them; cosine .9999 with float32).
"""

from __future__ import annotations

from pathlib import Path

from kb.assemble.charsmap import precompiled_charsmap
from kb.assemble.e5_weights import BLOCK_WEIGHTS, E5Weights, read_weights
from kb.assemble.onnx_writer import FLOAT, INT64, GraphWriter
from kb.assemble.tokenizer_file import UnigramTokenizer, write_json, write_tokenizer
from kb.embed.model_files import MODEL_FILE

WINDOW_TOKENS = 512

_CONTRIB = "com.microsoft"
_OPSETS = {"": 20, _CONTRIB: 1}
_MASKED = -1e9
_INT8_ACTIVATIONS = 4  # MatMulNBits accuracy_level
_SPECIAL_NAMES = {
    "bos_token": "<s>",
    "cls_token": "<s>",
    "eos_token": "</s>",
    "sep_token": "</s>",
    "pad_token": "<pad>",
    "unk_token": "<unk>",
    "mask_token": "<mask>",
}


def assemble_e5(weight_file: Path, directory: Path) -> None:
    """Write the encoder's files into `directory` from the 4-bit `weight_file`.

    Raises: ModelCorrupt when the weight file cannot be read as one.
    """
    weights = read_weights(weight_file)
    (directory / MODEL_FILE).parent.mkdir(parents=True, exist_ok=True)
    (directory / MODEL_FILE).write_bytes(encoder_model(weights))
    _write_tokenizer(weights, directory)
    _write_settings(weights, directory)


def _write_tokenizer(weights: E5Weights, directory: Path) -> None:
    vocabulary = weights.vocabulary
    marks = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
    tokenizer = UnigramTokenizer(
        pieces=vocabulary.pieces,
        scores=vocabulary.scores.tolist(),
        unknown=vocabulary.unknown,
        first=vocabulary.bos,
        last=vocabulary.eos,
        marks=[vocabulary.pieces.index(mark) for mark in marks],
        charsmap=precompiled_charsmap(vocabulary.replacements),
        strips_spaces=False,
    )
    write_tokenizer(directory, tokenizer)


def _write_settings(weights: E5Weights, directory: Path) -> None:
    """The files by which fastembed and transformers know the model; kb's own adapters do not read them."""
    sizes = weights.sizes
    config = {
        "model_type": "bert",
        "hidden_size": sizes.hidden,
        "num_hidden_layers": sizes.layers,
        "num_attention_heads": sizes.heads,
        "intermediate_size": sizes.feed_forward,
        "vocab_size": sizes.vocabulary,
        "max_position_embeddings": sizes.positions,
        "pad_token_id": weights.vocabulary.pad,
    }
    settings = {"model_max_length": WINDOW_TOKENS, "tokenizer_class": "XLMRobertaTokenizer", **_SPECIAL_NAMES}
    write_json(directory / "config.json", config)
    write_json(directory / "tokenizer_config.json", settings)
    write_json(directory / "special_tokens_map.json", _SPECIAL_NAMES)


def encoder_model(weights: E5Weights) -> bytes:
    """The ONNX file: `input_ids`, `attention_mask` int64[batch, sequence] → `last_hidden_state` float32[.., hidden]."""
    graph = GraphWriter()
    hidden = _embeddings(graph, weights)
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
        _OPSETS,
    )


def _embeddings(graph: GraphWriter, weights: E5Weights) -> str:
    import numpy as np

    sizes = weights.sizes
    blocks = sizes.hidden // BLOCK_WEIGHTS
    nibbles, scales = weights.packed("emb.word", sizes.vocabulary, sizes.hidden)
    graph.tensor("word.nibbles", nibbles.reshape(sizes.vocabulary, -1))
    graph.tensor("word.scales", scales)
    graph.tensor("blocked", np.array([0, 0, blocks, BLOCK_WEIGHTS // 2]))
    graph.tensor("flat", np.array([0, 0, sizes.hidden]))
    graph.tensor("low_nibble", np.array(15, np.uint8))
    graph.tensor("nibble_bits", np.array(4, np.uint8))
    graph.tensor("nibble_zero", np.array(8, np.float32))
    graph.tensor("last_axis", np.array([3]))
    graph.node("Gather", ["word.nibbles", "input_ids"], "gathered")
    graph.node("Reshape", ["gathered", "blocked"], "pairs")
    graph.node("BitwiseAnd", ["pairs", "low_nibble"], "low")
    graph.node("BitShift", ["pairs", "nibble_bits"], "high", direction="RIGHT")
    graph.node("Concat", ["low", "high"], "unpacked", axis=3)
    graph.node("Cast", ["unpacked"], "unsigned", to=FLOAT)
    graph.node("Sub", ["unsigned", "nibble_zero"], "signed")
    graph.node("Gather", ["word.scales", "input_ids"], "half_scales")
    graph.node("Cast", ["half_scales"], "scales", to=FLOAT)
    graph.node("Unsqueeze", ["scales", "last_axis"], "block_scales")
    graph.node("Mul", ["signed", "block_scales"], "scaled")
    graph.node("Reshape", ["scaled", "flat"], "words")
    # Every token is of type 0, so its vector is folded into the positions.
    positions = weights.vector("emb.pos", sizes.positions, sizes.hidden)
    graph.tensor("positions", positions + weights.vector("emb.type", 2, sizes.hidden)[0])
    for index in range(3):
        graph.tensor(f"index{index}", np.array([index]))
    graph.node("Shape", ["input_ids"], "shape")
    graph.node("Slice", ["shape", "index1", "index2"], "length")
    graph.node("Slice", ["positions", "index0", "length", "index0"], "position")
    graph.node("Add", ["words", "position"], "embedded")
    return _layer_norm(graph, weights, "embedded", "emb.ln", "embeddings")


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
    return _layer_norm(graph, weights, residual, f"{layer}aln", f"{layer}normed")


def _feed_forward(graph: GraphWriter, weights: E5Weights, hidden: str, layer: str, output: str) -> str:
    width, inner = weights.sizes.hidden, weights.sizes.feed_forward
    expanded = _linear(graph, weights, hidden, f"{layer}fi", width, inner)
    activated = graph.node("Gelu", [expanded], f"{layer}activated", approximate="none")
    contracted = _linear(graph, weights, activated, f"{layer}fo", inner, width)
    residual = graph.node("Add", [hidden, contracted], f"{layer}fo.residual")
    return _layer_norm(graph, weights, residual, f"{layer}oln", output)


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
        domain=_CONTRIB,
        K=width,
        N=outputs,
        bits=4,
        block_size=BLOCK_WEIGHTS,
        accuracy_level=_INT8_ACTIVATIONS,
    )
    return graph.node("Add", [product, f"{name}.b"], f"{name}.out")


def _layer_norm(graph: GraphWriter, weights: E5Weights, source: str, name: str, output: str) -> str:
    for part in (f"{name}.w", f"{name}.b"):
        graph.tensor(part, weights.vector(part, weights.sizes.hidden))
    inputs = [source, f"{name}.w", f"{name}.b"]
    return graph.node("LayerNormalization", inputs, output, axis=-1, epsilon=weights.sizes.epsilon)
