"""Normalises texts and paths to be compared, stored (NFC, without code points that UTF-8 cannot encode) and shown."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import NewType, TypeAlias

WorkspacePath = NewType("WorkspacePath", str)
"""A path below the workspace root, in the one spelling that kb stores (`to_posix`)."""

Range: TypeAlias = tuple[int, int]
"""The [start, end) characters of a text."""


@cache
def _acts_on_terminals() -> re.Pattern[str]:
    """The pattern of lone surrogates and of characters that move the cursor, colour, set titles or reverse text."""
    return re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: str) -> str:
    """`text` made safe for a terminal: a mark replaces each control character except tabs and line ends."""
    return text if text.isprintable() else _acts_on_terminals().sub("\N{REPLACEMENT CHARACTER}", text)


def plain_line(text: str) -> str:
    """`plain` text on one line, so that names, titles and messages cannot look like further lines of output."""
    return " ".join(plain(text).splitlines())


def stored_text(text: str) -> str:
    """`text` in NFC; lone surrogates (bytes of an argument that are no UTF-8, escapes of JSON) become `?`."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode("utf-8"))


def to_posix(path: str) -> WorkspacePath:
    """`path` below the workspace root in the one spelling that kb stores.

    The path is in NFC, without a leading `./`, double slashes or `.`. A backslash is a character, as in POSIX.
    """
    if not path.isascii():
        path = unicodedata.normalize("NFC", path)
    return WorkspacePath("/".join(part for part in path.split("/") if part not in ("", ".")))


def file_name(path: str) -> str:
    """The name of the file of a stored path, without folders and the name of a source."""
    return path.rpartition("/")[2].rpartition(":")[2]


def start_of(text: str, *, max_words: int, max_bytes: int) -> str:
    """The first words of `text`, at most `max_words` and `max_bytes` of UTF-8 together; a longer first word is cut."""
    if len(text) <= max_words and 4 * len(text) <= max_bytes:
        return text
    start = text[: max_bytes + 1].encode("utf-8", "replace")[:max_bytes].decode("utf-8", "ignore")
    if len(start) < len(text) and not text[len(start)].isspace():
        start = start.rpartition(" ")[0] or start
    words = start.split()
    return start if len(words) <= max_words else " ".join(words[:max_words])


def counted(count: int, noun: str) -> str:
    """A number with its noun: `1 block`, `2,000 blocks`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
