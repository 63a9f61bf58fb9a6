"""The models that `kb/assemble` makes for these adapters, by name, and what their files are called."""

from __future__ import annotations

E5_SMALL = "multilingual-e5-small"
USE_MULTILINGUAL = "use-multilingual-v3"
ASSEMBLED = frozenset({E5_SMALL, USE_MULTILINGUAL})

MODEL_FILE = "onnx/model.onnx"
TOKENIZER_FILE = "tokenizer.json"
