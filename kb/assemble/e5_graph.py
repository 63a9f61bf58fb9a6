"""kb's encoder from the 4-bit weight file of multilingual-e5-small and the trained update: its files and its graph.

The ONNX graph: int8 products, attention in one operator, texts of one length at a time.

The linear layers have int8 weights, one scale per output, and activations quantised to int8 at run time. The embedding
table stays in 4 bits and is unpacked after the gather (48 MB instead of 384). There is no attention mask: a run takes
texts of the same length, mostly one, so nothing is computed for padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kb.assemble.e5_weights import BLOCK_WEIGHTS, E5Weights, Vocabulary, read_weights, with_update
from kb.assemble.onnx_writer import FLOAT, INT64, GraphWriter
from kb.assemble.vocabulary_file import precompiled_charsmap, write_vocabulary
from kb.embed.installed.encoder import MEAN, MODEL_FILE, TOKEN_IDS, TOKENS, WEIGHTS_FILE
from kb.embed.installed.judge import ANSWERS, BEGIN, JUDGE_FILE, JUDGE_WEIGHTS_FILE, SCORE
from kb.embed.installed.vocabulary import VOCABULARY_FILE

Floats = NDArray[np.float32]

CONTRIB = "com.microsoft"
OPSETS = {"": 20, CONTRIB: 1}

# Processors without VNNI add two products of an unsigned and a signed byte in 16 bits, and saturate there. With weights
# of at most 64 they cannot (2 · 255 · 64 < 2¹⁵), so every processor computes the same sums.
LARGEST_WEIGHT = 64
_SMALLEST_SCALE = 1e-12

# A neuron is computed apart where its largest output weight exceeds any other neuron's by this factor.
_APART = 2.0

# A layer norm's outputs are as large as its bias plus this many times its weights; this share of channels is usual.
_DEVIATIONS = 3
_USUAL_CHANNELS = 0.97


class _Hidden(NamedTuple):
    """A tensor that a layer takes, its channels divided by `scales` (float32[hidden]) to fit one int8 scale, or not."""

    divided: str
    scales: Floats | None


def assemble_encoder(
    weight_file: Path, directory: Path, update_file: Path | None, judge_file: Path | None = None
) -> None:
    """Write the encoder's files into `directory`, and the judge's where there is one.

    Without an update they are the base's. Raises: ModelCorrupt when a file cannot be parsed.
    """
    weights = read_weights(weight_file)
    write_pieces(weights.vocabulary, directory)
    merged = weights if update_file is None else with_update(weights, update_file)
    graph = GraphWriter(Path(WEIGHTS_FILE).name)
    (directory / MODEL_FILE).parent.mkdir(parents=True, exist_ok=True)
    (directory / MODEL_FILE).write_bytes(encoder_model(graph, merged))
    (directory / WEIGHTS_FILE).write_bytes(graph.external)
    if judge_file is not None:
        # The table of the vocabulary, most of the weights, is the encoder's.
        graph = GraphWriter(Path(JUDGE_WEIGHTS_FILE).name, placed=graph.placed)
        (directory / JUDGE_FILE).write_bytes(judge_model(graph, with_update(weights, judge_file)))
        (directory / JUDGE_WEIGHTS_FILE).write_bytes(graph.external)


def write_pieces(vocabulary: Vocabulary, directory: Path) -> None:
    """Write the vocabulary into `directory`, in the form that kb maps."""
    charsmap = precompiled_charsmap(vocabulary.replacements)
    scores = vocabulary.scores.tolist()
    path = directory / VOCABULARY_FILE
    write_vocabulary(path, vocabulary.pieces, scores, vocabulary.unknown, charsmap)


def encoder_model(graph: GraphWriter, weights: E5Weights) -> bytes:
    """The ONNX file of the encoder.

    `input_ids` int64[batch, sequence] → `mean` float32[batch, hidden] of the tokens' states, and those states, each
    L2 = 1: `tokens` float32[batch, sequence, hidden].
    """
    states = _last_states(graph, weights)
    graph.tensor("over_tokens", np.array([1]))
    graph.node("ReduceMean", [states, "over_tokens"], MEAN, keepdims=0)
    graph.node("LpNormalization", [states], TOKENS, axis=-1, p=2)
    outputs: list[tuple[str, int, Sequence[str | int]]] = [
        (MEAN, FLOAT, ("batch", weights.sizes.hidden)),
        (TOKENS, FLOAT, ("batch", "sequence", weights.sizes.hidden)),
    ]
    return graph.model([(TOKEN_IDS, INT64, ("batch", "sequence"))], outputs, OPSETS)


def judge_model(graph: GraphWriter, weights: E5Weights) -> bytes:
    """The ONNX file of the judge, an encoder that reads a question and a passage as one text.

    `input_ids` int64[1, sequence], and `begin` int64[1], the place of the passage's first token → `answers`
    float32[1, length], the logit of each of the passage's tokens (all but the last mark) to be part of an answer, and
    `score` float32[1, 1] that the passage answers, of the first token's state and the mean of the passage's states,
    weighted by the softmax of those logits.
    """
    width = weights.sizes.hidden
    states = _last_states(graph, weights)
    for name, values in (("to_end", [-1]), ("to_first", [1]), ("one_row", [1, width]), ("flat_row", [1, -1])):
        graph.tensor(name, np.array(values))
    graph.tensor("token.w", weights.vector("head.token.weight", width, 1))
    graph.tensor("token.b", weights.vector("head.token.bias", 1))
    graph.tensor("score.w", weights.vector("head.score.weight", 2 * width, 1))
    graph.tensor("score.b", weights.vector("head.score.bias", 1))
    passage = graph.node("Slice", [states, BEGIN, "to_end", "index1"], "passage")
    logits = graph.node("Add", [graph.node("MatMul", [passage, "token.w"], "likely"), "token.b"], "logits")
    graph.node("Reshape", [logits, "flat_row"], ANSWERS)
    shares = graph.node("Softmax", [logits], "shares", axis=1)
    weighted = graph.node("Mul", [passage, shares], "weighted")
    mean = graph.node("ReduceSum", [weighted, "index1"], "answer", keepdims=0)
    first = graph.node("Slice", [states, "index0", "to_first", "index1"], "first")
    both = graph.node("Concat", [graph.node("Reshape", [first, "one_row"], "first_row"), mean], "both", axis=1)
    graph.node("Add", [graph.node("MatMul", [both, "score.w"], "scored"), "score.b"], SCORE)
    inputs: list[tuple[str, int, Sequence[str | int]]] = [(TOKEN_IDS, INT64, (1, "sequence")), (BEGIN, INT64, (1,))]
    return graph.model(inputs, [(SCORE, FLOAT, (1, 1)), (ANSWERS, FLOAT, (1, "length"))], OPSETS)


def _last_states(graph: GraphWriter, weights: E5Weights) -> str:
    """The name of the last layer's output: float32[batch, sequence, hidden]."""
    hidden = _Hidden(embedded_tokens(graph, weights), None)
    last = weights.sizes.layers - 1
    for layer in range(weights.sizes.layers):
        attended = _attention(graph, weights, hidden, f"l{layer}.")
        hidden = _feed_forward(graph, weights, attended, f"l{layer}.", divides=layer != last)
    return hidden.divided


def int8_columns(matrix: Floats) -> tuple[NDArray[np.int8], Floats]:
    """int8[inputs, outputs] and float32[outputs] scales of a float32[outputs, inputs] matrix."""
    scales = np.maximum(np.abs(matrix).max(axis=1) / LARGEST_WEIGHT, _SMALLEST_SCALE).astype(np.float32)
    return np.ascontiguousarray(np.rint(matrix / scales[:, None]).astype(np.int8).T), scales


def channel_scales(weight: Floats, bias: Floats) -> Floats:
    """float32[hidden], powers of two from 1: how far the outputs of a layer norm exceed the usual, by its weights.

    Two or three channels do, mostly at special tokens. The input of a linear layer is divided by these scales and its
    weights are multiplied, so the sums stay and the int8 steps get finer (Xiao et al. 2023, SmoothQuant).
    """
    expected = np.abs(bias) + _DEVIATIONS * np.abs(weight)
    outgrown = np.maximum(expected / np.quantile(expected, _USUAL_CHANNELS), 1)
    scales: Floats = (2 ** np.rint(np.log2(outgrown))).astype(np.float32)
    return scales


def neuron_apart(contract: Floats) -> int | None:
    """The neuron whose output weights are too large for a scale with the others', of float32[hidden, neurons].

    Such a neuron fires at special tokens, up to twenty times as strongly as any other: one scale for all would leave
    the others few steps. This one is multiplied in float32, the others in int8 (Dettmers et al. 2022, LLM.int8()).
    """
    largest = np.abs(contract).max(axis=0)
    first = int(largest.argmax())
    return first if largest[first] > _APART * np.delete(largest, first).max() else None


def embedded_tokens(graph: GraphWriter, weights: E5Weights) -> str:
    """The name of the first layer's input: the tokens' vectors with those of their positions, normalised.

    Adds the constant `flat` too: the shape of tokens by components.
    """
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
    graph.tensor("last_of_three", np.array([2]))
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
    return layer_norm(graph, weights, "embedded", "emb.ln", "embeddings")


def _attention(graph: GraphWriter, weights: E5Weights, hidden: _Hidden, layer: str) -> _Hidden:
    sizes = weights.sizes
    parts = []
    for part in "qkv":
        matrix = weights.matrix(f"{layer}{part}.w", sizes.hidden, sizes.hidden)
        bias = weights.vector(f"{layer}{part}.b", sizes.hidden)
        parts.append(_linear(graph, hidden.divided, f"{layer}{part}", _multiplied(matrix, hidden), bias))
    context = graph.node("MultiHeadAttention", parts, f"{layer}context", domain=CONTRIB, num_heads=sizes.heads)
    matrix, bias = (
        weights.matrix(f"{layer}ao.w", sizes.hidden, sizes.hidden),
        weights.vector(f"{layer}ao.b", sizes.hidden),
    )
    output = _linear(graph, context, f"{layer}ao", matrix, bias)
    residual = graph.node("Add", [output, _whole(graph, hidden)], f"{layer}residual")
    scales = _layer_scales(weights, layer)
    return _Hidden(layer_norm(graph, weights, residual, f"{layer}aln", f"{layer}normed", scales), scales)


def _feed_forward(graph: GraphWriter, weights: E5Weights, hidden: _Hidden, layer: str, *, divides: bool) -> _Hidden:
    width, inner = weights.sizes.hidden, weights.sizes.feed_forward
    expand = _multiplied(weights.matrix(f"{layer}fi.w", inner, width), hidden)
    bias = weights.vector(f"{layer}fi.b", inner).copy()
    contract = weights.matrix(f"{layer}fo.w", width, inner)
    parts = [_whole(graph, hidden)]
    apart = neuron_apart(contract)
    if apart is not None:
        parts.append(_neuron(graph, hidden.divided, f"{layer}apart", expand[apart], bias[apart], contract[:, apart]))
        expand[apart], bias[apart], contract[:, apart] = 0, 0, 0
    expanded = _linear(graph, hidden.divided, f"{layer}fi", expand, bias)
    activated = graph.node("Gelu", [expanded], f"{layer}activated", approximate="none")
    sums = _linear(graph, activated, f"{layer}fo", contract, weights.vector(f"{layer}fo.b", width))
    for index, part in enumerate(parts):
        sums = graph.node("Add", [sums, part], f"{layer}sum{index}")
    # The same channels are outsized after the feed-forward part, by less than its weights indicate.
    scales = _layer_scales(weights, layer).clip(max=2) if divides else None
    return _Hidden(layer_norm(graph, weights, sums, f"{layer}oln", f"{layer}output", scales), scales)


def _layer_scales(weights: E5Weights, layer: str) -> Floats:
    width = weights.sizes.hidden
    return channel_scales(weights.vector(f"{layer}aln.w", width), weights.vector(f"{layer}aln.b", width))


def _multiplied(matrix: Floats, hidden: _Hidden) -> Floats:
    """A matrix for the divided channels: float32[outputs, inputs]."""
    return matrix if hidden.scales is None else matrix * hidden.scales


def _whole(graph: GraphWriter, hidden: _Hidden) -> str:
    """The name of the layer's input without the division."""
    if hidden.scales is None:
        return hidden.divided
    scales = graph.tensor(f"{hidden.divided}.scales", hidden.scales)
    return graph.node("Mul", [hidden.divided, scales], f"{hidden.divided}.whole")


def _neuron(graph: GraphWriter, hidden: str, name: str, expand: Floats, bias: np.float32, contract: Floats) -> str:
    """What one neuron adds to the output: float32[batch, sequence, hidden]."""
    graph.tensor(f"{name}.expand", expand)
    graph.tensor(f"{name}.bias", np.array([bias], np.float32))
    graph.tensor(f"{name}.contract", contract[None, :].copy())
    # A matrix product would be summed in another order where its weights are packed, which would change int8 steps.
    products = graph.node("Mul", [hidden, f"{name}.expand"], f"{name}.products")
    product = graph.node("ReduceSum", [products, "last_of_three"], f"{name}.product")
    expanded = graph.node("Add", [product, f"{name}.bias"], f"{name}.expanded")
    activated = graph.node("Gelu", [expanded], f"{name}.activated", approximate="none")
    return graph.node("Mul", [activated, f"{name}.contract"], f"{name}.out")


def _linear(graph: GraphWriter, source: str, name: str, matrix: Floats, bias: Floats) -> str:
    columns, scales = int8_columns(matrix)
    graph.tensor(f"{name}.w", columns)
    graph.tensor(f"{name}.scales", scales)
    graph.tensor(f"{name}.zeros", np.zeros(len(scales), np.int8))
    graph.tensor(f"{name}.b", bias)
    inputs = [source, f"{name}.w", f"{name}.scales", f"{name}.zeros", f"{name}.b"]
    return graph.node("DynamicQuantizeMatMul", inputs, f"{name}.out", domain=CONTRIB)


def layer_norm(
    graph: GraphWriter, weights: E5Weights, source: str, name: str, output: str, scales: Floats | None = None
) -> str:
    """The name of `source`, float32[batch, sequence, hidden], normalised by the weights called `name`, and divided."""
    for part in (f"{name}.w", f"{name}.b"):
        values = weights.vector(part, weights.sizes.hidden)
        graph.tensor(part, values if scales is None else values / scales)
    inputs = [source, f"{name}.w", f"{name}.b"]
    return graph.node("LayerNormalization", inputs, output, axis=-1, epsilon=weights.sizes.epsilon)
