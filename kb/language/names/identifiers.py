"""Names in source code as the words they are made of: `parseHTTPRequest` → parse, HTTP, Request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|#|-(?=[A-Za-z]))[A-Za-z_$][\w$]*)*", re.ASCII)
_SIMPLE = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_INNER_CAPITAL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")


def parts_of(name: str) -> list[str]:
    """The words of a name in lower case: of camelCase, snake_case, kebab-case and any mixture."""
    return [part.lower() for part in _PART.findall(name)]


def dotted(name: str) -> str:
    """A qualified name, however it is written, with dots alone: `pkg.(*Foo).Bar`, `ns::Foo::bar`, `src/foo.Foo`."""
    return re.sub(r"::|->|[#/]", ".", re.sub(r"\(\*?|\)", "", name)).strip(".")


def singular(word: str) -> str:
    """An English noun without the s of its plural."""
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def squashed(name: str) -> str:
    """A name without the marks between its words, in lower case: the same for every way of writing it."""
    return re.sub(r"[\W_]+", "", name).lower()


def is_identifier_like(name: str) -> bool:
    """Whether a word is written as only names in code are: `a_b`, `aB`, `a.b`, `a::b`."""
    return "_" in name.strip("_") or bool(_INNER_CAPITAL.search(name)) or bool(re.search(r"::|->|\w\.\w", name))


def spellings(names: Iterable[str]) -> Iterator[str]:
    """Each name whole, without its marks, and in words: what it is searched by."""
    for name in names:
        yield name
        parts = parts_of(name)
        if len(parts) > 1:
            yield squashed(name)
            yield " ".join(parts)


def inner_words(text: str) -> str:
    """The words inside the camelCase names of a text, which a tokenizer takes for one word each; each name once."""
    names = filter(_INNER_CAPITAL.search, dict.fromkeys(_SIMPLE.findall(text)))
    return " ".join(" ".join(parts_of(name)) for name in names)
