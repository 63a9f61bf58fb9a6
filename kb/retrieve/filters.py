"""Applies filters: the documents and passages that pass, as parameters of the statements; documents of given days.

Operators in a question are filters too, separated by spaces; a minus before one negates it:

    "exact phrase"   -word   word*   /regex/   tag:home   path:notes/**   lang:ko   title:plan

These are text: `C++`, `-19`, `-n`, `a-b`, `/usr/bin/`, `12:30`, `https://…`, `5" pipe`, and an unknown `xyz:`.

A phrase may be in a passage, its headings or the title of its document, in any letter case and white space. It begins
and ends at the edge of a word, except in Korean, Chinese and Japanese, which write words together. A regular expression
matches lines of the passage itself; RE2 runs it in time linear in the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from functools import lru_cache
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias, TypedDict

from kb.domain.filters import FILTERS, Passing, SearchFilters, Sought
from kb.domain.search import DaysAsked, SearchQuery
from kb.domain.text import stored_text
from kb.errors import UsageError
from kb.language.dates import time_span
from kb.store import queries
from kb.store.connection import Connection

# Filters whose values are worked out here; those of all others are parameters of the statement as they are.
_BY_PYTHON = ("tags_any", "path_globs", "sources", "dated", "since", "before", "where")

_EVERY_DOCUMENT = SearchFilters(among_visible=True)


def passing(db: Connection, filters: SearchFilters, *, every: bool = False) -> Passing:
    """The documents and passages that pass the filters. `every`: the question has no words, so all of them are
    candidates.

    Raises: UsageError as `eligible_documents`, and for an invalid regular expression.
    """
    if filters.passing is not None:
        return filters.passing
    documents = eligible_documents(db, filters)
    if not (filters.holds or filters.lacks or every):
        return Passing(documents)
    return passing_passages(db, filters, documents, every=every)


def eligible_documents(db: Connection, filters: SearchFilters) -> str | None:
    """The documents that pass the filters, as a JSON array of ids; None if no filter is on documents.

    Raises: UsageError for an unknown trust level, a malformed glob, or a date that names no days.
    """
    ids = _passing_all(db, filters._replace(holds=(), lacks=(), also=(), never=(), passing=None))
    for each in filters.also:
        among = json.loads(_passing_all(db, each) or "[]")
        ids = _json(among if ids is None else sorted(set(among).intersection(json.loads(ids))))
    for each in filters.never:
        out = set(json.loads(_passing_all(db, each) or "[]"))
        every = ids or _passing_all(db, _EVERY_DOCUMENT) or "[]"
        ids = _json(doc_id for doc_id in json.loads(every) if doc_id not in out)
    return ids


def _passing_all(db: Connection, filters: SearchFilters) -> str | None:
    """The documents that pass filters without `also` or `never`."""
    if filters == SearchFilters():
        return None
    passes = _path_matcher(filters.path_globs)
    dated = _documents_dated(db, filters.dated)
    found = queries.select_eligible_documents(
        db,
        tags_json=_json(_tags_meant(db, filters.tags_any)) if filters.tags_any else None,
        sources_json=_json(each.removesuffix(":") for each in filters.sources) if filters.sources else None,
        where_json=_conditions_json(filters),
        with_paths=int(passes is not None),
        **_texts(filters),
    )
    assert found is not None, "an aggregate is one row"
    if passes is None and dated is None:
        return found.doc_ids_json
    doc_ids: list[str] = json.loads(found.doc_ids_json)
    if found.paths_json is not None and passes is not None:
        doc_ids = [doc_id for doc_id, path in zip(doc_ids, json.loads(found.paths_json), strict=True) if passes(path)]
    return json.dumps(doc_ids if dated is None else [doc_id for doc_id in doc_ids if doc_id in dated])


class DatedDocuments(NamedTuple):
    """The days that a question names, the documents with these dates, and the question without the days' wording."""

    days: DaysAsked
    doc_ids: tuple[str, ...]
    rest: str


def documents_asked_for(db: Connection, text: str, today: date) -> DatedDocuments | None:
    """The documents dated on the days that a question names; None if it names no days."""
    span = time_span(text, today)
    if span is None:
        return None
    found = _documents(db, span.first, span.last)
    days = DaysAsked(span.phrase, span.first.isoformat(), span.last.isoformat(), len(found), span.is_relative)
    return DatedDocuments(days, found, span.rest)


def stored_values(db: Connection, name: str) -> list[str]:
    """The values of a filter that documents have, the commonest first."""
    return [row.value for row in queries.select_filter_values(db, name=name)]


def _tags_meant(db: Connection, tags: Iterable[str]) -> list[str]:
    """The stored tags that equal one of `tags` or are below one of them, in any letter case."""
    wanted = [stored_text(tag).strip("#/ ").casefold() for tag in tags]
    return [
        tag
        for tag in stored_values(db, "tag")
        if any(tag.casefold() == each or tag.casefold().startswith(f"{each}/") for each in wanted)
    ]


def _texts(filters: SearchFilters) -> dict[str, str | None]:
    """The filters whose values need no conversion. Raises: UsageError for a value that is not among the choices."""
    found = {each: getattr(filters, each.field) for each in FILTERS if each.field not in _BY_PYTHON}
    for each, value in found.items():
        if value is not None and each.choices and value not in each.choices:
            what = each.name.replace("_", " ")
            raise UsageError(f"unknown {what} {value!r}", "one of " + ", ".join(each.choices))
    return {each.field: value and stored_text(value) for each, value in found.items()}


def _documents_dated(db: Connection, when: str | None) -> frozenset[str] | None:
    """The documents with dates in a given period: a day, a month, `last week`, `2026-11-01..2026-11-15`.

    None without a period. Raises: UsageError for a text that names no days, or a range that ends before it begins.
    """
    if not when:
        return None
    begin, is_range, end = when.partition("..")
    first, last = _days("--dated", begin, when)[0], _days("--dated", end if is_range else begin, when)[1]
    if last < first:
        raise UsageError(f"--dated: {when!r} ends before it begins", "the earlier day comes first")
    return frozenset(_documents(db, first, last))


def _days(option: str, part: str, when: str) -> tuple[date, date]:
    """The first and last day that a text names; `option` and `when` are for the message. Raises: UsageError if it names
    none.
    """
    span = time_span(_led_in(part), date.today())
    if span is None or not span.is_whole:
        examples = "for example 2026-11-12, 2026-11, 2026-11-01..2026-11-15, 'last week', 지난주"
        raise UsageError(
            f"{option}: {when!r} names no days",
            examples if option == "--dated" else examples.replace(" 2026-11-01..2026-11-15,", ""),
        )
    return span.first, span.last


# A condition on a property: its name, how it compares, and the value.
_CONDITION = re.compile(
    r"\s*(?P<name>[^=!<>~]*[^=!<>~\s])\s*(?P<op>[!<>]=|[=<>~])\s*(?P<value>(?![=<>~]).*\S)\s*", re.DOTALL
)
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


class _Condition(TypedDict):
    """A condition as `where_json` holds it; `first` and `last` are the days that the value names."""

    name: str
    op: str
    value: str
    number: float | None
    first: str | None
    last: str | None


def _conditions_json(filters: SearchFilters) -> str | None:
    """The conditions on properties as JSON for the statement; None without any. Raises: UsageError."""
    found = [_condition(written) for written in filters.where]
    for op, option, when in ((">=", "--since", filters.since), ("<", "--before", filters.before)):
        if when:
            first, last = _days(option, when, when)
            found.append(_compared("date", op, when, (first, last)))
    return json.dumps(found, ensure_ascii=False) if found else None


def _condition(written: str) -> _Condition:
    """Parses a condition as it is typed. Raises: UsageError for an invalid one."""
    match = _CONDITION.fullmatch(stored_text(written))
    if match is None:
        raise UsageError(
            f"--where: {written!r} is no condition",
            "for example 'status=done', 'rating>=4', 'due<2026-03', 'tags~part'",
        )
    value = match["value"]
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        value = value[1:-1]
    is_number = _NUMBER.fullmatch(value)
    span = None if is_number and len(value) != len("2026") else time_span(_led_in(value), date.today())
    days = (span.first, span.last) if span is not None and span.is_whole else None
    return _compared(match["name"], match["op"], value, days, float(value) if is_number else None)


def _compared(
    name: str, op: str, value: str, days: tuple[date, date] | None, number: float | None = None
) -> _Condition:
    first, last = (day.isoformat() for day in days) if days else (None, None)
    return {"name": name, "op": op, "value": value, "number": number, "first": first, "last": last}


def _led_in(part: str) -> str:
    """The text, with `in` before a bare year: `time_span` takes a bare year for any number."""
    part = part.strip()
    return f"in {part}" if len(part) == len("2026") and part.isdigit() else part


def _documents(db: Connection, first: date, last: date) -> tuple[str, ...]:
    rows = queries.select_documents_dated(db, first=first.isoformat(), last=last.isoformat())
    return tuple(row.doc_id for row in rows)


# What makes a glob more than the folder that it names, before its `/**`.
_SPECIAL = frozenset("*?[]\\!#\0")


def _path_matcher(globs: tuple[str, ...]) -> Callable[[str], bool] | None:
    """A function that tells whether a path matches one of the globs (gitignore syntax: `*` stays in a folder); None
    without globs.

    Raises: UsageError for a glob that can match nothing.
    """
    if not globs:
        return None
    folders = tuple(stored_text(glob).removesuffix("**") for glob in globs)
    if all(glob.endswith("/**") and glob[0] != "/" and not _SPECIAL.intersection(glob[:-2]) for glob in globs):
        return lambda path: path.startswith(folders)
    from kb.domain.gitignore import MalformedPattern, PathPatterns

    try:
        patterns = PathPatterns(stored_text(glob) for glob in globs)
    except MalformedPattern as error:
        raise UsageError(
            f"--path-glob: {error}", "globs are as in .gitignore, e.g. 'notes/**'; a backslash keeps the next character"
        ) from error
    if not patterns:
        raise UsageError(
            f"--path-glob: {globs[0]!r} is empty or a comment",
            "globs are as in .gitignore; write \\# for a name with #",
        )
    return patterns.matches


def _json(values: Iterable[str]) -> str:
    return json.dumps([stored_text(value) for value in values], ensure_ascii=False)


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

    `every`: all of them are candidates, even if the filters seek no text. Raises: UsageError for an invalid regular
    expression.
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
    """The question with its operators moved into the filters; operators whose words also rank passages stay in the
    text.
    """
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
