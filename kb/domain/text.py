"""Text as kb compares and stores it: one spelling for what looks the same, and nothing UTF-8 cannot hold."""

from __future__ import annotations

import unicodedata


def stored_text(text: str) -> str:
    """`text` in NFC; lone surrogates (bytes of an argument that are no UTF-8, escapes of JSON) become `?`."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode("utf-8"))
