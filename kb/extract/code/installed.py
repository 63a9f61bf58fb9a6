"""Which grammars are installed, and the label of what they make of source code; no grammar is loaded for it."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

from kb.extract.code.grammars import GRAMMARS

# Bumped whenever the same file would give other units, symbols or references.
_VERSION = "code-v4"


@cache
def _is_installed(module: str) -> bool:
    return find_spec(module) is not None


def lacking_module(lang: str) -> str | None:
    """The module that parsing the language needs and that is not installed; None where nothing is lacking."""
    return next((name for name in ("tree_sitter", GRAMMARS[lang].module) if not _is_installed(name)), None)


def parser_version() -> str:
    """`code-v4`, with the languages that cannot be parsed here: adding a grammar makes another label."""
    lacking = sorted(lang for lang in GRAMMARS if lacking_module(lang) is not None)
    if not lacking:
        return _VERSION
    return f"{_VERSION}-without-{'all' if len(lacking) == len(GRAMMARS) else '-'.join(lacking)}"
