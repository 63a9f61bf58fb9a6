"""Text from documents as an agent may see it: nothing in it that a person would not see.

Terminal sequences, control characters, characters that turn the direction of writing, that have no width, that fill a
syllable with nothing, and the tag characters and variation selectors in which a whole message can be hidden.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar
from urllib.parse import quote

from kb.domain.citations import Citation

C = TypeVar("C", bound=Citation)

_SEQUENCES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and cursor movements
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # titles, links and other strings
    r"|\x1b[ -/]*[0-~]"
)
_HIDDEN = re.compile(
    "["
    r"\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u00ad\u034f\u061c"
    "\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\ud800-\udfff"
    "]"
)
# Braille's blank is printable, and seen by nobody.
_NO_NAME = frozenset(" %()[]{}<>\"'`|\\^\u2800")
_BREAKS = re.compile("[\u2028\u2029]")


def visible(text: str) -> str:
    """`text` without what is hidden in it; its lines stay the lines that they are."""
    if text.isascii() and text.isprintable():
        return text
    return _BREAKS.sub(" ", _HIDDEN.sub("", _SEQUENCES.sub("", text)))


def visible_line(text: str) -> str:
    """The same on one line: a name or a title must not look like more of the result."""
    return " ".join(visible(text).split())


def as_name(uri: str) -> str:
    """A path or citation, percent-encoded where it could be taken for more than a name; `fetch` takes it.

    Blanks, brackets, quotes, and what is not seen: who names a file must not write a line of kb's.
    """
    return "".join(each if _is_of_a_name(each) else quote(each.encode("utf-8", "replace"), safe="") for each in uri)


def _is_of_a_name(char: str) -> bool:
    return char.isprintable() and char not in _NO_NAME and not _HIDDEN.match(char)


def with_plain_path(citation: C) -> C:
    """A citation whose path is a plain name."""
    return citation._replace(path=as_name(citation.path))  # type: ignore[return-value]


def visible_parts(value: Any) -> Any:
    """A JSON value with every text in it visible."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {name: visible_parts(part) for name, part in value.items()}
    return [visible_parts(part) for part in value] if isinstance(value, list) else value
