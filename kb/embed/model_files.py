"""The encoder that `kb/assemble` makes: its name, its files and their names inside; and who runs others."""

from __future__ import annotations

ENCODER = "kb-encoder-1"
ENCODER_ADAPTER = "encoder"
ASSEMBLED = frozenset({ENCODER})

MODEL_FILE = "onnx/model.onnx"
WEIGHTS_FILE = "onnx/weights.bin"

# The graph's input, and its outputs: the mean of the tokens' states; those states, each L2 = 1.
TOKEN_IDS, MEAN, TOKENS = "input_ids", "mean", "tokens"

# Providers of models that kb does not assemble: what the versions of their models begin with.
HUB, OLLAMA, LLAMA_CPP, PLUGIN = "fastembed", "ollama", "llama_cpp", "plugin"

GGUF_SUFFIX = ".gguf"
