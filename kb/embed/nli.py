"""A cross-encoder that judges whether one text follows from another (natural language inference), by ONNX Runtime.

The model is a folder, below the model directory or anywhere, as published: `model.onnx` (or `onnx/model.onnx`),
`tokenizer.json`, and `config.json` with `id2label`. Nothing is fetched.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from kb.embed.text import encoder_text
from kb.errors import ModelCorrupt, ModelMissing
from kb.private import unreported

Verdict = Literal["support", "contradiction", "unknown"]

_MODEL_FILES = ("model.onnx", "onnx/model.onnx")
_WINDOW_TOKENS = 512
_SURE = 0.5
_DIGEST_CHARS = 12


class OnnxNli(NamedTuple):
    """A model in memory; `labels` are the verdicts of its outputs, in order."""

    label: str
    labels: tuple[Verdict, ...]
    session: Any
    tokenizer: Any

    def judge(self, claim: str, sources: Sequence[str]) -> Verdict:
        """Support where a source entails the claim, contradiction where one contradicts it and none entails it."""
        verdicts = {self._verdict(encoder_text(source), encoder_text(claim)) for source in sources}
        return next((each for each in ("support", "contradiction") if each in verdicts), "unknown")

    def _verdict(self, source: str, claim: str) -> Verdict:
        import numpy as np

        encoded = self.tokenizer.encode(source, claim)
        values = {
            "input_ids": encoded.ids,
            "attention_mask": encoded.attention_mask,
            "token_type_ids": encoded.type_ids,
        }
        asked = {each.name: np.array([values[each.name]], dtype=np.int64) for each in self.session.get_inputs()}
        logits = self.session.run(None, asked)[0][0].astype(np.float64)
        shares = np.exp(logits - logits.max())
        best = int(shares.argmax())
        return self.labels[best] if shares[best] / shares.sum() >= _SURE else "unknown"


def open_nli(model_dir: Path, named: Path, threads: int) -> OnnxNli:
    """The model in `model_dir/<last part of named>`, else in `named`. Raises: ModelMissing, ModelCorrupt."""
    folder = next((each for each in (model_dir / named.name, named) if each.is_dir()), None)
    path = None if folder is None else next((folder / f for f in _MODEL_FILES if (folder / f).is_file()), None)
    if folder is None or path is None:
        raise ModelMissing(
            f"there is no {_MODEL_FILES[0]} in {named} or {model_dir / named.name}",
            "set rag.claim_model to the folder of a model, or rag.claim_judge to none",
        )
    labels = _labels(folder)
    tokenizer, session = _loaded(folder, path, threads)
    known = {"input_ids", "attention_mask", "token_type_ids"}
    if not {each.name for each in session.get_inputs()} <= known:
        raise ModelCorrupt(f"{path} does not take pairs of texts", _HINT)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:_DIGEST_CHARS]
    return OnnxNli(f"onnx:{folder.name}:{digest}", labels, session, tokenizer)


_HINT = "rag.claim_model is to be a model for natural language inference (NLI), as ONNX"


def _labels(folder: Path) -> tuple[Verdict, ...]:
    """The verdicts of the outputs, by `id2label`. Raises: ModelMissing, ModelCorrupt."""
    try:
        named = json.loads((folder / "config.json").read_text(encoding="utf-8"))["id2label"]
        words = [str(named[str(at)]).casefold() for at in range(len(named))]
    except FileNotFoundError as error:
        raise ModelMissing(f"{folder} has no config.json", _HINT) from error
    except (ValueError, KeyError, TypeError) as error:
        raise ModelCorrupt(f"config.json in {folder} names no labels (id2label)", _HINT) from error
    labels = tuple(_verdict_of(word) for word in words)
    if "support" not in labels:
        raise ModelCorrupt(f"none of the labels of {folder.name} is entailment: {', '.join(words)}", _HINT)
    return labels


def _verdict_of(label: str) -> Verdict:
    if label.startswith("entail"):
        return "support"
    return "contradiction" if label.startswith("contradict") else "unknown"


def _loaded(folder: Path, path: Path, threads: int) -> tuple[Any, Any]:
    with unreported():
        import onnxruntime
        from onnxruntime.capi import onnxruntime_pybind11_state as failures
    from tokenizers import Tokenizer

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    try:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except (failures.Fail, failures.InvalidProtobuf, failures.InvalidGraph) as error:
        raise ModelCorrupt(f"{path} does not load: {error}", _HINT) from error
    except Exception as error:  # the tokenizer's library raises nothing more exact
        raise ModelCorrupt(f"tokenizer.json in {folder} does not load: {error}", _HINT) from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(_WINDOW_TOKENS, strategy="only_first")
    return tokenizer, session
