"""The owner's lexicon: groups of words that mean the same, in a TOML file beside the configuration.

synonyms = [
  ["k8s", "kubernetes", "쿠버네티스"],
  ["연차", "휴가", "annual leave"],
]
"""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Any

from kb.config.keys import Config
from kb.config.reading import invalid_file, read_toml

Synonyms = tuple[tuple[str, ...], ...]

MAX_WORD_CHARS = 100
_SHAPE = 'write: synonyms = [["k8s", "kubernetes"], ["연차", "휴가"]]'


def synonyms(config: Config) -> Synonyms:
    """The groups of synonyms in the file as it is now; none where no file exists and none was named.

    Raises: ConfigError for a named file that does not exist, and for a file that is not a lexicon.
    """
    file = config.path(config.search.lexicon)
    try:
        found = os.stat(file)
    except OSError as error:
        if config.origins.get("search.lexicon") is None:
            return ()
        hint = "write it, or leave search.lexicon out of the configuration"
        raise invalid_file(file, error.strerror or str(error), hint) from error
    return _read(file, found.st_mtime_ns, found.st_size)


@functools.lru_cache(maxsize=4)
def _read(file: Path, mtime_ns: int, size: int) -> Synonyms:
    """The groups in a file of that time and size; a long-running process reads the file again when either changes."""
    table = read_toml(file)
    for key in table:
        if key != "synonyms":
            raise invalid_file(file, f"unknown key {key!r}", _SHAPE)
    groups = table.get("synonyms", [])
    if not isinstance(groups, list):
        raise invalid_file(file, "synonyms is not a list of groups", _SHAPE)
    return tuple(_group(file, number, group) for number, group in enumerate(groups, 1))


def _group(file: Path, number: int, group: Any) -> tuple[str, ...]:
    where = f"group {number}"
    if not isinstance(group, list) or not all(isinstance(word, str) for word in group):
        raise invalid_file(file, f"{where} is not a list of words", _SHAPE)
    words = tuple(dict.fromkeys(" ".join(word.split()) for word in group))
    if len(words) < 2:
        raise invalid_file(file, f"{where} has fewer than two different words", _SHAPE)
    for word in words:
        if not any(char.isalnum() for char in word) or len(word) > MAX_WORD_CHARS:
            hint = f"letters or digits, up to {MAX_WORD_CHARS} of them"
            raise invalid_file(file, f"{where}: {word[:40]!r} is no word", hint)
    return words
