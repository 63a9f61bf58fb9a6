"""Parses the operators of a question into filters.

They are separated by spaces; a minus before one negates it:

    "exact phrase"   -word   word*   /regex/   tag:home   path:notes/**   lang:ko   title:plan

These are text: `C++`, `-19`, `-n`, `a-b`, `/usr/bin/`, `12:30`, `https://…`, `5" pipe`, and an unknown `xyz:`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from kb.domain.filters import FILTERS, SearchFilters, Sought
from kb.domain.search import SearchQuery
from kb.domain.text import stored_text

# A question without any of these has no operator, and pays for no pattern.
_SIGNS = ('"', "*", "/", ":", "-")
_MOST = 32  # operators that are read in one question; what follows is text
_MOST_CHARS = 1_000  # of a phrase
_ENDS = ".,;:?!"  # what ends a sentence, not a word

_FILTERS = {each.operator: each for each in FILTERS if each.operator}


@lru_cache(maxsize=1)
def _operator() -> re.Pattern[str]:
    return re.compile(
        rf"""(?<!\S)(?P<minus>-(?=[^\W\d_]|["/]))?
        (?: (?P<field>{"|".join(_FILTERS)}):(?:"(?P<quoted>[^"]+)"|(?P<value>[^\s"]\S*))
        |   "(?P<phrase>[^"]*[^"\s][^"]*)"(?!,\ line\ \d)
        |   /(?P<regex>(?![\s*])(?:[^/\\\n]|\\.)+)(?<!\s)/(?P<flag>i?)(?!\S)
        |   (?P<prefix>\w[\w.-]*)\*(?!\S)
        |   (?P<word>(?<=-)[^\s"]+) )""",
        re.VERBOSE | re.IGNORECASE,
    )


def with_operators(query: SearchQuery) -> SearchQuery:
    """The question with its operators as filters; operators whose words also rank passages stay in the text."""
    text, filters = query.text, query.filters
    if filters.as_text:
        return query._replace(filters=filters._replace(as_text=False))
    if not any(sign in text for sign in _SIGNS) or text.strip()[:1] == text.strip()[-1:] == "'":
        return query
    text = stored_text(text)
    read: dict[str, dict[object, None]] = {name: {} for name in ("holds", "lacks", "also", "never")}
    rest: list[str] = []
    end = 0
    for found in _operator().finditer(text):
        sought = _filter_of(found) or _sought_in(found)
        if sought is None or sum(map(len, read.values())) >= _MOST:
            continue
        stays = isinstance(sought, Sought) and sought.kind != "regex" and not found["minus"]
        rest += [text[end : found.start()], found[0] if stays else ""]
        end = found.end()
        names = ("also", "never") if isinstance(sought, SearchFilters) else ("holds", "lacks")
        read[names[bool(found["minus"])]][sought] = None
    if not rest:
        return query
    changes: dict[str, Any] = {
        name: tuple(dict.fromkeys((*getattr(filters, name), *each))) for name, each in read.items() if each
    }
    return query._replace(text=" ".join("".join([*rest, text[end:]]).split()), filters=filters._replace(**changes))


def _filter_of(found: re.Match[str]) -> SearchFilters | None:
    if found["field"] is None:
        return None
    named = _FILTERS[found["field"].lower()]
    value = found["quoted"] or (found["value"] if named.field == "path_globs" else found["value"].rstrip(_ENDS))
    change: dict[str, Any] = {named.field: (value,) if named.many else value}
    return SearchFilters(**change) if value.strip() else None


def _sought_in(found: re.Match[str]) -> Sought | None:
    if (phrase := found["phrase"]) is not None:
        phrase = " ".join(phrase.split())
        return Sought(phrase.rstrip(_ENDS) or phrase) if len(phrase) <= _MOST_CHARS else None
    if found["regex"] is not None:
        return Sought(f"(?i){found['regex']}" if found["flag"] else found["regex"], "regex")
    word = found["prefix"] or (found["word"] or "").rstrip(_ENDS)
    if len(word) < 2 and word.isascii():
        return None
    return Sought(word, "prefix" if found["prefix"] else "phrase")
