"""The encoder that `kb/assemble` makes: its name, its files and their names inside; and who runs others."""

from __future__ import annotations

ENCODER = "kb-encoder-1"
ENCODER_ADAPTER = "encoder"
# Of multilingual-e5-small, by which questions are asked until `kb ingest` has embedded again what it embedded.
EARLIER_ADAPTER = "e5"
ASSEMBLED = frozenset({ENCODER})

MODEL_FILE = "onnx/model.onnx"
WEIGHTS_FILE = "onnx/weights.bin"

# The graph's input, and its outputs: the mean of the tokens' states; those states, each L2 = 1.
TOKEN_IDS, MEAN, TOKENS = "input_ids", "mean", "tokens"
# What an earlier graph gives in their place.
STATES = "last_hidden_state"

# Providers of models that kb does not assemble: what the versions of their models begin with.
HUB, OLLAMA, LLAMA_CPP, PLUGIN = "fastembed", "ollama", "llama_cpp", "plugin"

GGUF_SUFFIX = ".gguf"
