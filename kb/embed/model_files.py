"""The models that `kb/assemble` makes for these adapters, what their files are called, and who runs the others."""

from __future__ import annotations

E5_SMALL = "multilingual-e5-small"
USE_MULTILINGUAL = "use-multilingual-v3"
ASSEMBLED = frozenset({E5_SMALL, USE_MULTILINGUAL})

MODEL_FILE = "onnx/model.onnx"
TOKENIZER_FILE = "tokenizer.json"

# Providers of models that kb does not assemble: what the versions of their models begin with.
HUB, OLLAMA, LLAMA_CPP, PLUGIN = "fastembed", "ollama", "llama_cpp", "plugin"

GGUF_SUFFIX = ".gguf"
