"""multilingual-e5-small from its 4-bit weight file: an ONNX graph (`e5_graph`), its tokenizer and its settings."""

from __future__ import annotations

from pathlib import Path

from kb.assemble.charsmap import precompiled_charsmap
from kb.assemble.e5_graph import encoder_model
from kb.assemble.e5_weights import E5Weights, read_weights
from kb.assemble.tokenizer_file import UnigramTokenizer, write_json, write_tokenizer
from kb.embed.model_files import MODEL_FILE

WINDOW_TOKENS = 512

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
