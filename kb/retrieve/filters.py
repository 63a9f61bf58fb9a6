"""Finds the documents that pass the filters, as parameters of the statements, and the documents of given days."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from datetime import date
from typing import NamedTuple, TypedDict

from kb.domain.filters import FILTERS, Passing, SearchFilters
from kb.domain.search import DaysAsked
from kb.domain.text import stored_text
from kb.errors import UsageError
from kb.language.dates import time_span
from kb.retrieve.passages import passing_passages
from kb.store import queries
from kb.store.connection import Connection

# Filters whose values are worked out here; those of all others are parameters of the statement as they are.
_BY_PYTHON = ("tags_any", "path_globs", "sources", "dated", "since", "before", "where")

_EVERY_DOCUMENT = SearchFilters(among_visible=True)


def passing(db: Connection, filters: SearchFilters, *, every: bool = False) -> Passing:
    """The documents and passages that pass the filters; `every`: a question without words, so all are candidates.

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
    first, last = _days("dated", begin, when)[0], _days("dated", end if is_range else begin, when)[1]
    if last < first:
        raise UsageError(f"dated: {when!r} ends before it begins", "the earlier day comes first")
    return frozenset(_documents(db, first, last))


def _days(name: str, part: str, when: str) -> tuple[date, date]:
    """The first and last day that a text names; `name` and `when` are for the message. Raises: UsageError."""
    span = time_span(_led_in(part), date.today())
    if span is None or not span.is_whole:
        examples = "for example 2026-11-12, 2026-11, 2026-11-01..2026-11-15, 'last week', 지난주"
        raise UsageError(
            f"{name}: {when!r} names no days",
            examples if name == "dated" else examples.replace(" 2026-11-01..2026-11-15,", ""),
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
    for op, name, when in ((">=", "since", filters.since), ("<", "before", filters.before)):
        if when:
            first, last = _days(name, when, when)
            found.append(_compared("date", op, when, (first, last)))
    return json.dumps(found, ensure_ascii=False) if found else None


def _condition(written: str) -> _Condition:
    """Parses a condition as it is typed. Raises: UsageError for an invalid one."""
    match = _CONDITION.fullmatch(stored_text(written))
    if match is None:
        raise UsageError(
            f"where: {written!r} is no condition",
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
    """A function that tells whether a path matches one of the globs (gitignore syntax); None without globs.

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
            str(error), "globs are as in .gitignore, e.g. 'notes/**'; a backslash keeps the next character"
        ) from error
    if not patterns:
        raise UsageError(
            f"the glob {globs[0]!r} is empty or a comment",
            "globs are as in .gitignore; write \\# for a name with #",
        )
    return patterns.matches


def _json(values: Iterable[str]) -> str:
    return json.dumps([stored_text(value) for value in values], ensure_ascii=False)
