"""Media types: what a file is, told from its name alone."""

from __future__ import annotations

import re
from typing import Literal, NewType, cast

MediaType = NewType("MediaType", str)
"""`markdown`, `pdf`, `image/<type>`, `audio/<type>` or `code/<lang>`, as `assets.media_type` stores it."""

MediaFamily = Literal["markdown", "pdf", "image", "audio"]
"""A media type without what follows its slash: what one extractor reads and one `--media` names."""

MARKDOWN = MediaType("markdown")
PDF = MediaType("pdf")
PNG = MediaType("image/png")
JPEG = MediaType("image/jpeg")
WEBP = MediaType("image/webp")
GIF = MediaType("image/gif")
TIFF = MediaType("image/tiff")
WAV = MediaType("audio/wav")
MP3 = MediaType("audio/mp3")
M4A = MediaType("audio/m4a")
FLAC = MediaType("audio/flac")
OGG = MediaType("audio/ogg")

MEDIA_FAMILIES: tuple[MediaFamily, ...] = ("markdown", "pdf", "image", "audio")

# What follows the last dot, where it looks like a kind: `notes 1.5 old` and `.bashrc` have none.
_EXTENSION = re.compile(r"(?<=[^/])\.(?!\d+\Z)\w{1,12}\Z")

MEDIA_TYPE_OF_EXTENSION: dict[str, MediaType] = {
    "md": MARKDOWN,
    "markdown": MARKDOWN,
    "mdown": MARKDOWN,
    "mkd": MARKDOWN,
    "pdf": PDF,
    "png": PNG,
    "jpg": JPEG,
    "jpeg": JPEG,
    "webp": WEBP,
    "gif": GIF,
    "tif": TIFF,
    "tiff": TIFF,
    "wav": WAV,
    "mp3": MP3,
    "m4a": M4A,
    "flac": FLAC,
    "ogg": OGG,
}
"""Extension in lower case, without its dot. A media type joins here together with its extractor."""


def media_type_of(name: str) -> MediaType | None:
    """The media type of the file called `name` (a bare name or a path); None if kb cannot read it."""
    stem, dot, extension = name.rpartition(".")
    if not dot or not stem or stem[-1] == "/":
        return None  # no extension: "README", or a hidden file like ".md"
    return MEDIA_TYPE_OF_EXTENSION.get(extension.lower())


def extension_of(name: str) -> str:
    """`.docx` of `Report.DOCX`: a file's kind where no media type is known; empty where the name tells none."""
    match = _EXTENSION.search(name)
    return match[0].lower() if match else ""


def family_of(media_type: MediaType) -> MediaFamily:
    """`image/png` → `image`."""
    return cast(MediaFamily, media_type.partition("/")[0])
