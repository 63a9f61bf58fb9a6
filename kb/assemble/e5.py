"""kb's encoder, from the 4-bit weight file of multilingual-e5-small and the trained update."""

from __future__ import annotations

from pathlib import Path

from kb.assemble.e5_graph import encoder_model
from kb.assemble.e5_weights import Vocabulary, read_weights, with_update
from kb.assemble.vocabulary_file import precompiled_charsmap, write_vocabulary
from kb.embed.installed.encoder import MODEL_FILE, WEIGHTS_FILE
from kb.embed.installed.vocabulary import VOCABULARY_FILE

WINDOW_TOKENS = 512
UPDATE_FILE = Path(__file__).parent / "data/encoder_update.npz"


def assemble_encoder(weight_file: Path, directory: Path, update_file: Path | None = UPDATE_FILE) -> None:
    """Write the encoder's files into `directory`; without an update they are the base's.

    Raises: ModelCorrupt when a file cannot be read as what it should be.
    """
    weights = read_weights(weight_file)
    write_pieces(weights.vocabulary, directory)
    merged = weights if update_file is None else with_update(weights, update_file)
    graph, large = encoder_model(merged, Path(WEIGHTS_FILE).name)
    (directory / MODEL_FILE).parent.mkdir(parents=True, exist_ok=True)
    (directory / MODEL_FILE).write_bytes(graph)
    (directory / WEIGHTS_FILE).write_bytes(large)


def write_pieces(vocabulary: Vocabulary, directory: Path) -> None:
    """Write the vocabulary in the form that kb maps into `directory`."""
    charsmap = precompiled_charsmap(vocabulary.replacements)
    scores = vocabulary.scores.tolist()
    path = directory / VOCABULARY_FILE
    write_vocabulary(path, vocabulary.pieces, scores, vocabulary.unknown, charsmap)
