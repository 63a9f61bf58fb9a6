"""Splits names into words: names of files and their dates, names in source code."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from pathlib import PurePosixPath

from kb.language.lists import rows

# A year, month and day with or without separators, as folders too; a time of day after them in a note's number
# (202603091530) is skipped.
_DATE = re.compile(
    r"(?<!\d)((?:19|20)\d{2})"
    r"(?:(\d{2})(\d{2})(?:\d{4}(?:\d{2})?)?|\s?[-._/년 ]\s?(\d{1,2})\s?[-._/월 ]\s?(\d{1,2}))(?!\d)"
)
_WORD = re.compile(r"[^\W_]+")


@functools.lru_cache(maxsize=64)  # an ingest asks a few times for each document
def name_words(workspace_path: str, title: str) -> tuple[str, ...]:
    """The words of the file's name and folders to add to its title's, the name first.

    A name that is the title itself is added. Names that only repeat a title in the text (the slug of a headline) and
    names without a letter (`0123`, unless it is a date) are not.
    """
    path = PurePosixPath(workspace_path)
    said = _words(title)
    written = name_date(workspace_path)
    return tuple(
        dict.fromkeys(
            [
                *(name for name in (path.stem,) if _has_letter(name) and (name == title or not _words(name) <= said)),
                *(_date_words(written) if written else ()),
                *(folder for folder in path.parts[:-1] if _has_letter(folder) and not _words(folder) <= said),
            ]
        )
    )


def name_date(workspace_path: str) -> date | None:
    """The last date that is written in the path (`daily/2026-03-09.md`, `2026/03/09.md`); None without one."""
    found = None
    for match in _DATE.finditer(str(PurePosixPath(workspace_path).with_suffix(""))):
        year, month, day = (int(digits) for digits in match.groups() if digits)
        try:
            found = date(year, month, day)
        except ValueError:
            continue
    return found


def name_timestamp(workspace_path: str) -> str | None:
    """The date in the path as RFC 3339, at midnight UTC."""
    found = name_date(workspace_path)
    return None if found is None else datetime(found.year, found.month, found.day, tzinfo=UTC).strftime("%FT%TZ")


def _date_words(written: date) -> Iterator[str]:
    """A date as people may type it: in digits, in Korean, in English."""
    yield written.isoformat()
    yield f"{written.year}년 {written.month}월 {written.day}일"
    yield f"{rows('calendar')['month'][0].split()[written.month - 1].title()} {written.day}"


def _words(name: str) -> set[str]:
    """The folded words of a name, without numbers, which often only order files."""
    return {word.casefold() for word in _WORD.findall(name) if not word.isdigit()}


def _has_letter(name: str) -> bool:
    return any(char.isalpha() for char in name)


IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|#|-(?=[A-Za-z]))[A-Za-z_$][\w$]*)*", re.ASCII)
_SIMPLE = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_INNER_CAPITAL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")


def parts_of(name: str) -> list[str]:
    """The words of a name in lower case: of camelCase, snake_case, kebab-case and any mixture."""
    return [part.lower() for part in _PART.findall(name)]


def dotted(name: str) -> str:
    """A qualified name in any notation, with only dots: `pkg.(*Foo).Bar`, `ns::Foo::bar`, `src/foo.Foo`."""
    return re.sub(r"::|->|[#/]", ".", re.sub(r"\(\*?|\)", "", name)).strip(".")


def singular(word: str) -> str:
    """An English noun without the s of its plural."""
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def squashed(name: str) -> str:
    """A name without separators, in lower case: the same for every way of writing it."""
    return re.sub(r"[\W_]+", "", name).lower()


def is_identifier_like(name: str) -> bool:
    """Whether a word is written like a name in code: `a_b`, `aB`, `a.b`, `a::b`."""
    return "_" in name.strip("_") or bool(_INNER_CAPITAL.search(name)) or bool(re.search(r"::|->|\w\.\w", name))


def spellings(names: Iterable[str]) -> Iterator[str]:
    """The searchable forms of each name: whole, without separators, and in words."""
    for name in names:
        yield name
        parts = parts_of(name)
        if len(parts) > 1:
            yield squashed(name)
            yield " ".join(parts)


def inner_words(text: str) -> str:
    """The words inside the camelCase names of a text, which a tokenizer would not split; each name once."""
    names = filter(_INNER_CAPITAL.search, dict.fromkeys(_SIMPLE.findall(text)))
    return " ".join(" ".join(parts_of(name)) for name in names)
