"""Tiny ONNX models in a hub cache: encoders and a cross-encoder under names that fastembed knows, made here.

A word has a direction of its own in an encoder's table, and a weight of its own in the cross-encoder's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from fastembed import LateInteractionTextEmbedding, TextEmbedding
from fastembed.rerank.cross_encoder import TextCrossEncoder
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from kb.assemble.onnx_writer import FLOAT, INT64, GraphWriter
from kb.embed.hub_models import HUB_DIRECTORY

MARKS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_OPSETS = {"": 17}
_REVISION = "0" * 40

_Inputs: TypeAlias = list[tuple[str, int, Sequence[str | int]]]


def put_encoder(model_dir: Path, name: str, words: Sequence[str]) -> None:
    """An encoder that knows `words` in the place of fastembed's model `name`."""
    _put_encoder(model_dir, _described(TextEmbedding, name), words, _inputs())


def put_token_encoder(model_dir: Path, name: str, words: Sequence[str]) -> None:
    """The same in the place of fastembed's late-interaction model `name`, which reads a mask too."""
    inputs = [*_inputs(), ("attention_mask", INT64, ("batch", "length"))]
    _put_encoder(model_dir, _described(LateInteractionTextEmbedding, name), words, inputs)


def _put_encoder(model_dir: Path, known: Mapping[str, Any], words: Sequence[str], inputs: _Inputs) -> None:
    vocabulary = [*MARKS, *words]
    table = np.random.default_rng(5).standard_normal((len(vocabulary), known["dim"])).astype(np.float32)
    table[: len(MARKS)] *= 0.01
    graph = GraphWriter()
    states = graph.node("Gather", (graph.tensor("table", table), "input_ids"), "last_hidden_state", axis=0)
    shape = ("batch", "length", known["dim"])
    _put(model_dir, known, vocabulary, graph.model(inputs, [(states, FLOAT, shape)], _OPSETS))


def put_cross_encoder(model_dir: Path, name: str, weights: Mapping[str, float]) -> None:
    """A cross-encoder whose logit is the sum of what the words of question and passage weigh."""
    known = _described(TextCrossEncoder, name)
    vocabulary = [*MARKS, *weights]
    table = np.array([[0.0]] * len(MARKS) + [[weight] for weight in weights.values()], dtype=np.float32)
    graph = GraphWriter()
    each = graph.node("Gather", (graph.tensor("table", table), "input_ids"), "each", axis=0)
    axis = graph.tensor("axis", np.array([1], dtype=np.int64))
    logits = graph.node("ReduceSum", (each, axis), "logits", keepdims=0)
    _put(model_dir, known, vocabulary, graph.model(_inputs(), [(logits, FLOAT, ("batch", 1))], _OPSETS))


def put_nli(folder: Path, words: Mapping[str, tuple[float, float, float]], labels: Sequence[str]) -> None:
    """A model whose three logits are the sums of what the words of source and claim weigh."""
    folder.mkdir(parents=True)
    table = np.array([(0.0, 0.0, 0.0)] * len(MARKS) + list(words.values()), dtype=np.float32)
    graph = GraphWriter()
    each = graph.node("Gather", (graph.tensor("table", table), "input_ids"), "each", axis=0)
    axis = graph.tensor("axis", np.array([1], dtype=np.int64))
    logits = graph.node("ReduceSum", (each, axis), "logits", keepdims=0)
    (folder / "model.onnx").write_bytes(graph.model(_inputs(), [(logits, FLOAT, ("batch", 3))], _OPSETS))
    _tokenizer([*MARKS, *words]).save(str(folder / "tokenizer.json"))
    named = {str(at): label for at, label in enumerate(labels)}
    (folder / "config.json").write_text(json.dumps({"id2label": named}), encoding="utf-8")


def _inputs() -> _Inputs:
    return [("input_ids", INT64, ("batch", "length"))]


def _described(kind: Any, name: str) -> dict[str, Any]:
    return next(known for known in kind.list_supported_models() if known["model"] == name)


def _put(model_dir: Path, known: Mapping[str, Any], vocabulary: Sequence[str], onnx: bytes) -> None:
    repository = model_dir / HUB_DIRECTORY / ("models--" + known["sources"]["hf"].replace("/", "--"))
    files = repository / "snapshots" / _REVISION
    (files / known["model_file"]).parent.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(_REVISION, encoding="utf-8")
    (files / known["model_file"]).write_bytes(onnx)
    for extra in known.get("additional_files", ()):
        (files / extra).parent.mkdir(parents=True, exist_ok=True)
        (files / extra).write_bytes(b"")
    _tokenizer(vocabulary).save(str(files / "tokenizer.json"))
    for name, content in (
        ("config.json", {"pad_token_id": 0}),
        ("tokenizer_config.json", {"model_max_length": 512, "pad_token": "[PAD]"}),
        ("special_tokens_map.json", {"pad_token": "[PAD]", "unk_token": "[UNK]", "mask_token": "[MASK]"}),
    ):
        (files / name).write_text(json.dumps(content), encoding="utf-8")


def _tokenizer(vocabulary: Sequence[str]) -> Tokenizer:
    ids = {word: at for at, word in enumerate(vocabulary)}
    made = Tokenizer(WordLevel(ids, unk_token="[UNK]"))
    made.normalizer = Lowercase()
    made.pre_tokenizer = Whitespace()
    made.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(mark, ids[mark]) for mark in ("[CLS]", "[SEP]")],
    )
    return made
