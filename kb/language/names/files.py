"""What the name of a file says: the words it is searched by, and the date in it."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import PurePosixPath

from kb.language.lists import rows

# A year, month and day with or without marks between them, as folders too; the time of day that a note's number has
# behind them (202603091530) is passed over.
_DATE = re.compile(
    r"(?<!\d)((?:19|20)\d{2})"
    r"(?:(\d{2})(\d{2})(?:\d{4}(?:\d{2})?)?|\s?[-._/년 ]\s?(\d{1,2})\s?[-._/월 ]\s?(\d{1,2}))(?!\d)"
)
_WORD = re.compile(r"[^\W_]+")


@functools.lru_cache(maxsize=64)  # an ingest asks a few times for each document
def name_words(workspace_path: str, title: str) -> tuple[str, ...]:
    """What the file's name and its folders add to the words of its title, the name first.

    A name counts although it is the title itself. Names that only repeat a title written in the text (the slug of a
    headline) and names without a letter (`0123`, unless that is a date) add nothing.
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
    """The last date that is written in the path, None without one: `daily/2026-03-09.md`, `2026/03/09.md`."""
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
    """A date as it may be asked for: by digits, in Korean, in English."""
    yield written.isoformat()
    yield f"{written.year}년 {written.month}월 {written.day}일"
    yield f"{rows('calendar')['month'][0].split()[written.month - 1].title()} {written.day}"


def _words(name: str) -> set[str]:
    """The words of a name, folded; numbers left out, which often only order files."""
    return {word.casefold() for word in _WORD.findall(name) if not word.isdigit()}


def _has_letter(name: str) -> bool:
    return any(char.isalpha() for char in name)
