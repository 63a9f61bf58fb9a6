"""Media types: what a file is, told from its name alone."""

from __future__ import annotations

from typing import NewType

MediaType = NewType("MediaType", str)
"""`markdown`, `pdf`, `image/<type>`, `audio/<type>` or `code/<lang>`, as `assets.media_type` stores it."""

MARKDOWN = MediaType("markdown")

MEDIA_TYPE_OF_EXTENSION: dict[str, MediaType] = {
    "md": MARKDOWN,
    "markdown": MARKDOWN,
    "mdown": MARKDOWN,
    "mkd": MARKDOWN,
}
"""Extension in lower case, without its dot. A media type joins here together with its extractor."""


def media_type_of(name: str) -> MediaType | None:
    """The media type of the file called `name` (a bare name or a path); None if kb cannot read it."""
    stem, dot, extension = name.rpartition(".")
    if not dot or not stem or stem[-1] == "/":
        return None  # no extension: "README", or a hidden file like ".md"
    return MEDIA_TYPE_OF_EXTENSION.get(extension.lower())
