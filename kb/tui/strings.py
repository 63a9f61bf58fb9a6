"""What `kb ui` says, in English and Korean: `words(config)` gives the sentence of a name in `data/strings.tsv`.

Text about an answer is in the language of its question, all other text in `ui.language`, by default that of the locale.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path

from kb.config.keys import Config

Say = Callable[..., str]


def words(config: Config) -> Say:
    """The sentences in the language of the interface."""
    locale = next(filter(None, map(os.environ.get, ("LC_ALL", "LC_MESSAGES", "LANG"))), "")
    named = config.ui.language
    return in_language(named if named != "auto" else "ko" if locale.startswith("ko") else "en")


def in_language(language: str) -> Say:
    """The function that says the sentences of kb ui in one language."""
    return partial(_said, language)


@cache
def strings() -> Mapping[str, tuple[str, str]]:
    """English and Korean by the name."""
    lines = Path(__file__).with_name("data").joinpath("strings.tsv").read_text(encoding="utf-8").splitlines()
    rows = (line.replace("\\n", "\n").split("\t") for line in lines if not line.startswith("#"))
    return {name: (english, korean) for name, english, korean in rows}


def _said(language: str, name: str, *about: object) -> str:
    """A sentence about these values; in English `{s}` ends a noun whose count is the first of them."""
    english, korean = strings()[name]
    return (korean if language == "ko" else english).format(*about, s="" if about[:1] == (1,) else "s")
