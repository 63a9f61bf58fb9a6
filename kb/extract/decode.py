"""Bytes to text: the first step of every text extractor.

The text is the file's own, character for character; only line ends (`\\r\\n`, lone `\\r`) become `\\n` and NUL becomes
U+FFFD, so that line `n` here is line `n` in an editor. Text that is not NFC stays as it is.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from kb.domain.documents import Warning
from kb.language.hangul import looks_korean

# UTF-32's little-endian mark begins with UTF-16's, so it is tried first.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# UTF-16 text without a mark has a NUL in every second byte of its spaces, digits and line ends; in binary noise, NULs
# are at odd and even places. UTF-16 that is valid UTF-8 too is mostly ASCII: of that, more than half of those bytes are
# NUL, and fewer in UTF-8 with a stray NUL.
_UTF16_SAMPLE_BYTES = 65_536
_UTF16_NUL_SHARE = 0.05
_UTF16_ASCII_NUL_SHARE = 0.5

# Encodings by the names that pages and mails give them, as browsers take these (WHATWG Encoding Standard).
_DECLARED = {
    **dict.fromkeys(
        ("euc-kr", "ks_c_5601-1987", "ksc5601", "cp949", "windows-949", "korean", "x-windows-949"), "cp949"
    ),
    **dict.fromkeys(("iso-8859-1", "latin1", "windows-1252", "us-ascii", "ascii", "cp1252"), "cp1252"),
    **dict.fromkeys(("shift_jis", "shift-jis", "sjis", "windows-31j", "x-sjis"), "cp932"),
    **dict.fromkeys(("gb2312", "gbk", "gb18030"), "gb18030"),
    **{name: name for name in ("euc-jp", "iso-2022-jp", "iso-2022-kr", "big5", "koi8-r", "iso-8859-2", "iso-8859-15")},
    **{f"windows-{page}": f"cp{page}" for page in (1250, 1251, 1253, 1254, 1255, 1256, 1257, 1258)},
}


@dataclass(frozen=True, slots=True)
class Decoded:
    """A file's text with `\\n` line ends, and the name of its encoding."""

    text: str
    encoding: str
    warnings: tuple[Warning, ...] = ()


def decode(data: bytes, declared: str | None = None) -> Decoded:
    """Decodes `data`: Unicode with a byte order mark, UTF-16 without, UTF-8, the declared encoding, or CP949.

    `declared` is the encoding that a page or mail names. Bytes that cannot be decoded become U+FFFD, with a warning.
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _decoded(data[len(mark) :], encoding)
    unmarked = _unmarked_utf16(data)
    if unmarked is not None:
        return _decoded(data, unmarked)
    try:
        return Decoded(_tidy(data.decode("utf-8")), "utf-8")
    except UnicodeDecodeError:
        named = _DECLARED.get((declared or "").lower())
        return _decoded(data, named or ("cp949" if looks_korean(data) else "utf-8"))


def _decoded(data: bytes, encoding: str) -> Decoded:
    try:
        return Decoded(_tidy(data.decode(encoding)), encoding)
    except UnicodeDecodeError as error:
        text = data.decode(encoding, errors="replace")
        note = f"not valid {encoding} at byte {error.start:,}; unreadable bytes were replaced with U+FFFD"
        return Decoded(_tidy(text), encoding, (Warning("encoding_fallback", note),))


def _tidy(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")


def _unmarked_utf16(data: bytes) -> str | None:
    sample = data[:_UTF16_SAMPLE_BYTES]
    if len(data) % 2 or b"\0" not in sample:
        return None
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    encoding = "utf-16-le" if odd > even else "utf-16-be"
    least = _UTF16_ASCII_NUL_SHARE if _is_utf8(data) else _UTF16_NUL_SHARE
    if max(even, odd) <= least * len(sample) / 2 or min(even, odd) * 20 > max(even, odd):
        return None
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return None
    return encoding


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
