"""Finds the passages that hold the phrases, words and regular expressions of the filters.

A phrase may be in a passage, its headings or the title of its document, in any letter case and white space. It begins
and ends at the edge of a word, except in Korean, Chinese and Japanese, which write words together. A regular expression
matches lines of the passage itself; RE2 runs it in time linear in the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from time import perf_counter
from typing import Any, TypeAlias

from kb.domain.filters import Passing, SearchFilters, Sought
from kb.domain.text import stored_text
from kb.errors import UsageError
from kb.store import queries
from kb.store.connection import Connection

# What a regular expression may be, and take: RE2 needs up to 1.5 s a megabyte for one of so many steps.
MOST_REGEX_CHARS = 200
MOST_REGEX_STEPS = 500
MOST_REGEX_SECONDS = 5.0
_EVERY_TEXT = "%"
_MOST_SHOWN = 32

# What is written without spaces, so that a word is found within another.
_SPACELESS = "\u1100-\u11ff\u3040-\u30ff\u3131-\u318e\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
_WORD_CHAR = rf"[^\W{_SPACELESS}]"

Test: TypeAlias = "Callable[[queries.PassageLike], str | None]"
"""What a passage holds of what is sought; None where it does not."""


def passing_passages(db: Connection, filters: SearchFilters, doc_ids_json: str | None, *, every: bool) -> Passing:
    """The passages that pass the filters, among the documents of `doc_ids_json`.

    `every`: all of them are candidates, even if the filters seek no text. Raises: UsageError.
    """
    tests = [_test(each) for each in filters.holds]
    excluded = set[int]()
    for each in filters.lacks:
        fails = _test(each)
        rows = queries.select_passages_like(db, doc_ids_json=doc_ids_json, pattern=_like([each]))
        excluded.update(row.chunk_rowid for row in rows if fails(row) is not None)
    pattern = _like(filters.holds) if tests else None
    shown = dict.fromkeys(stored_text(each.text) for each in filters.holds if each.kind != "regex")
    kept = []
    for row in queries.select_passages_like(db, doc_ids_json=doc_ids_json, pattern=pattern):
        found = [test(row) for test in tests]
        if row.chunk_rowid not in excluded and None not in found:
            kept.append(row)
            shown.update((each, None) for each in found if each and len(shown) < _MOST_SHOWN)
    is_sought = bool(tests) or every
    return Passing(
        json.dumps(list(dict.fromkeys(row.doc_id for row in kept))),
        json.dumps([row.chunk_rowid for row in kept]),
        json.dumps([row.chunk_rowid for row in kept if not row.is_code]) if is_sought else None,
        json.dumps([row.chunk_rowid for row in kept if row.is_code]) if is_sought else None,
        tuple(shown),
    )


def like_pattern(text: str) -> str:
    """A LIKE pattern for a text in any letter case: LIKE itself ignores the case of ASCII letters only."""
    return "".join(
        "_" if char.lower() != char.upper() and not char.isascii() else f"\\{char}" if char in "%_\\" else char
        for char in stored_text(text)
    )


def _like(sought: Iterable[Sought]) -> str:
    """A LIKE pattern for the longest word that the filters seek."""
    words = (word for each in sought if each.kind != "regex" for word in re.findall(r"\w+", stored_text(each.text)))
    longest = max(words, key=len, default="")
    return f"%{like_pattern(longest)}%" if longest else _EVERY_TEXT


def _test(sought: Sought) -> Test:
    if sought.kind == "regex":
        return _regex(sought.text)
    find = _phrase(sought).search

    def holds(row: queries.PassageLike) -> str | None:
        above: Sequence[str] = json.loads(row.heading_path_json)
        texts = (row.text or "", stored_text(row.title), *map(stored_text, above))
        return "" if find("\0".join(texts).lower()) else None

    return holds


def _regex(text: str) -> Test:
    search = _linear(text).search
    spent_s = 0.0

    def matches(row: queries.PassageLike) -> str | None:
        nonlocal spent_s
        began_s = perf_counter()
        found = search(row.text or "")
        spent_s += perf_counter() - began_s
        if spent_s > MOST_REGEX_SECONDS:
            raise UsageError(
                f"/{text[:80]}/ was stopped: it took more than {MOST_REGEX_SECONDS:g} s before all passages were read",
                "let it read fewer of them (path:, tag:, a phrase in double quotes beside it), or lower its counts",
            )
        return None if found is None else str(found[0])

    return matches


def _phrase(sought: Sought) -> re.Pattern[str]:
    text = " ".join(stored_text(sought.text).lower().split())
    first, last = re.match(_WORD_CHAR, text), re.match(_WORD_CHAR, text[-1:])
    before = rf"(?<!{_WORD_CHAR})" if first else ""
    after = rf"(?!{_WORD_CHAR})" if last and sought.kind == "phrase" else ""
    return re.compile(before + r"\s+".join(map(re.escape, text.split())) + after)


def _linear(text: str) -> Any:
    """Compiles a regular expression that runs in time linear in the text. Raises: UsageError."""
    import re2  # no other question needs it

    if len(text) > MOST_REGEX_CHARS:
        raise _refused(text, f"it has more than {MOST_REGEX_CHARS} characters")
    options = re2.Options()
    options.log_errors = False
    try:
        pattern = re2.compile(f"(?m){stored_text(text)}", options)
    except re2.error as error:
        why = error.args[0]
        raise _refused(text, why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)) from error
    if pattern.programsize > MOST_REGEX_STEPS:
        raise _refused(text, f"it takes {pattern.programsize:,} steps for a character, at most {MOST_REGEX_STEPS}")
    return pattern


def _refused(text: str, why: str) -> UsageError:
    return UsageError(
        f"/{text[:80]}/ is no regular expression that kb can search by: {why}",
        "RE2's syntax: no backreferences, nothing that looks ahead or behind; put a text in double quotes instead",
    )
