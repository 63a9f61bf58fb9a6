"""Keys that decide nothing here: those of the original design may say what is so anyway, those of an older kb nothing.

Read when a configuration names one, and by the page that documents the keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class FixedKey(NamedTuple):
    """The value that is accepted, why there is no other, and what to set instead."""

    accepted: bool | int | str
    reason: str
    instead: str


FIXED_KEYS: Mapping[str, FixedKey] = {
    "indexing.max_parallel_embeddings": FixedKey(
        1,
        "one model embeds at a time, on all the cores it is given: two at once take as long and twice the memory",
        "models.embedding.threads",
    ),
    "indexing.watch_filesystem": FixedKey(
        False,
        "nothing of kb stays running; an update reads only what changed",
        "a timer (cron, systemd, launchd) that runs `kb ingest`",
    ),
    "models.embedding.version": FixedKey(
        "v1",
        "the version is the model's own, from its installed files; passages are embedded again when it changes",
        "models.embedding.model",
    ),
}

_ONE_ENCODER = "one encoder finds in every language, and its tokens rank; search.words_weight joins them to words"

GONE_KEYS: Mapping[str, str] = {
    "models.embedding.secondary": _ONE_ENCODER,
    "models.embedding.sentences": _ONE_ENCODER,
    "search.lexical_weight": _ONE_ENCODER,
    "search.cross_lexical_weight": _ONE_ENCODER,
    "search.secondary_weight": _ONE_ENCODER,
    "search.near_slot": _ONE_ENCODER,
    "search.far_slot": _ONE_ENCODER,
    "search.near_margin": _ONE_ENCODER,
    "search.rrf_lexical_weight": "both channels count the same in RRF",
}
"""Keys that an older kb had, and why there is nothing to set any more."""
