"""Pictures inside documents: which of them are worth reading, and the step `ocr` that reads them as image files.

    a reader's Parts → `listed`: parts.json, with the hash of each picture → the step `ocr`: its text by that hash

A picture that is several times in a file is read and cited where it is first. What was read is cached by the hash, so
that a logo in many files is read once. Files are not trusted: the number and size of pictures is limited, a picture
that cannot be read is noted, and all else of the file is kept.
"""

from __future__ import annotations

import json
import struct
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Protocol, cast
from urllib.parse import unquote

from kb.domain.derived import Inside, OnProgress, Progress, Results, StepJob, result_json
from kb.domain.ids import content_hash
from kb.domain.kinds import PNG, family_of
from kb.domain.text import counted
from kb.errors import EngineFailed, ExtractFailed, KbError
from kb.extract.ocr.tesseract import engine
from kb.extract.parts import PartPicture, Parts, ReadPicture, has_pictures, read_parts
from kb.extract.registry import extractor_of

__all__ = [
    "PartsReader",
    "contents_of",
    "derive",
    "engine",
    "failed_pictures",
    "inline_picture",
    "is_failed",
    "is_needed",
    "listed",
    "picture_results",
    "picture_size",
    "pictures_json",
    "worth_reading",
]

# What is read of one file: pictures with different contents, and bytes of one.
MOST_PICTURES = 500
MOST_PICTURE_BYTES = 50_000_000

# Icons and lines are smaller: in pixels, the least side and the least area.
LEAST_SIDE, LEAST_AREA = 32, 5_000

# Enough to find the size of a JPEG behind its metadata; of other formats it is at the beginning.
_HEAD_BYTES, _SHORT_HEAD_BYTES = 65_536, 32

_JPEG = b"\xff\xd8\xff"
_UNKNOWN = 1 << 20

# How HEIC and AVIF begin, after four bytes.
_HEIF = tuple(b"ftyp" + brand for brand in (b"avif", b"avis", b"heic", b"heix", b"mif1", b"msf1"))

# White space and signs that may be between the first letters of a picture in base64.
_BEFORE_END = 100


class PartsReader(Protocol):
    """A module whose step is `parts`: it gives the parts of a file with the pictures found in it."""

    def read(self, job: StepJob) -> Parts:
        """The parts of the job's file. Raises: KbError."""


def listed(read: Parts, job: StepJob) -> bytes:
    """The parts of a file as JSON, with the pictures worth reading; these are hashed only if OCR is switched on."""
    hashed = job.settings.ocr is not None
    return worth_reading(read, Inside.of(job.data), job.on_progress if hashed else None).to_json()


def worth_reading(read: Parts, inside: Inside, hashing: OnProgress | None = None) -> Parts:
    """The parts with the pictures worth reading, which are hashed if there is something to tell the progress."""
    kept: list[PartPicture] = []
    unread = 0
    names, contents = set[str](), set[str]()
    for found in read.found:
        if found.name in names:
            continue
        names.add(found.name)
        if len(kept) == MOST_PICTURES:
            unread += 1
            continue
        try:
            head = found.read(_SHORT_HEAD_BYTES)
            if not _is_worth_reading(found.read(_HEAD_BYTES) if head.startswith(_JPEG) else head):
                continue
            content = ""
            if hashing is not None:
                hashing(Progress(0, 1))
                content = content_hash(_bytes_of(found.read, inside))
                if content in contents:
                    continue
                contents.add(content)
        except KbError:
            unread += 1
            continue
        kept.append(PartPicture(found.part, content, found.path))
    notes = [f"{counted(unread, 'picture')} in it not read: damaged, too large, or behind the first {MOST_PICTURES}"]
    return read._replace(pictures=tuple(kept), notes=(*read.notes, *notes * bool(unread)))


def is_needed(earlier: Results) -> bool:
    """Whether the file has pictures worth reading."""
    return has_pictures(earlier["parts"])


def derive(job: StepJob) -> bytes:
    """The text of each picture by the hash of its content, as JSON; those in `job.kept` are not read again.

    Hands over the result of each picture, in the same form, as soon as it is read. Raises: ExtractFailed, ModelError.
    """
    wanted = contents_of(job.earlier["parts"])
    results = picture_results(job.kept) if job.kept else {}
    inside = Inside.of(job.data)
    reader = cast(PartsReader, extractor_of(family_of(job.media_type)).steps[0].load())
    for found in reader.read(job).found:
        if wanted <= results.keys():
            break
        try:
            data = _bytes_of(found.read, inside)
        except KbError:
            continue
        content = content_hash(data)
        if content in wanted and content not in results:
            job.on_progress(Progress(len(results), len(wanted)))
            results[content] = _read(data, job, Progress(len(results), len(wanted)))
            job.on_kept(pictures_json({content: results[content]}))
    return pictures_json(results | failed_pictures(wanted - results.keys(), "it is not there any more"))


def contents_of(parts_json: bytes) -> set[str]:
    """The hashes of the pictures worth reading in a file."""
    return {picture.content for picture in read_parts(parts_json).pictures} if has_pictures(parts_json) else set()


def picture_results(ocr_json: bytes) -> dict[str, bytes]:
    """The result of each picture by the hash of its content, in the form that image files have it too."""
    return {content: result_json(value) for content, value in json.loads(ocr_json)["pictures"].items()}


def failed_pictures(contents: Iterable[str], why: str) -> dict[str, bytes]:
    """The results of pictures that cannot be read."""
    return dict.fromkeys(contents, result_json({"failed": why}))


def is_failed(result: bytes) -> bool:
    """Whether a picture could not be read. Such results are not cached."""
    return result.startswith(b'{"failed"')


def pictures_json(results: Mapping[str, bytes]) -> bytes:
    """The results of pictures, by the hashes of their contents, as one result."""
    return result_json({"pictures": {content: json.loads(result) for content, result in results.items()}})


def _read(data: bytes, job: StepJob, progress: Progress) -> bytes:
    """The result of a picture, as that of an image file."""
    from kb.extract import image

    try:
        return image.derive(replace(job, data=data, media_type=PNG, on_progress=lambda _: job.on_progress(progress)))
    except (ExtractFailed, EngineFailed) as error:
        return failed_pictures([""], error.message)[""]


def _bytes_of(read: ReadPicture, inside: Inside) -> bytes:
    """All bytes of a picture. Raises: KbError if it is damaged or too large, or all pictures together are."""
    data = read(MOST_PICTURE_BYTES + 1)
    inside.left_bytes -= len(data)
    if len(data) > MOST_PICTURE_BYTES or inside.left_bytes < 0:
        raise ExtractFailed("the picture is too large", "make it smaller")
    return data


def _is_worth_reading(head: bytes) -> bool:
    size = picture_size(head)
    return size is not None and min(size) >= LEAST_SIDE and size[0] * size[1] >= LEAST_AREA


def inline_picture(address: str) -> ReadPicture | None:
    """What reads the picture in a `data:` address; None for any other address."""
    head, comma, written = address.partition(",")
    if not comma or not head.startswith("data:image/") or not head.endswith(";base64"):
        return None
    return partial(_from_base64, written)


def _from_base64(written: str, most_bytes: int) -> bytes:
    """The first bytes of base64 text, which may be percent-encoded or contain white space. Raises: ExtractFailed."""
    begin = "".join(unquote(written[: 4 * most_bytes + _BEFORE_END]).split())
    try:
        return b64decode(begin[: len(begin) // 4 * 4])[:most_bytes]
    except ValueError as error:
        raise ExtractFailed("the picture is damaged", "save the file again") from error


def picture_size(head: bytes) -> tuple[int, int] | None:
    """Width and height of a picture that begins with `head`, in pixels; large numbers where they are not known yet.

    None for what is no picture of pixels that kb reads (EMF, WMF, SVG).
    """
    if head.startswith(b"\x89PNG\r\n\x1a\n") and len(head) >= 24:
        return cast(tuple[int, int], struct.unpack_from(">II", head, 16))
    if head.startswith((b"GIF87a", b"GIF89a")) and len(head) >= 10:
        return cast(tuple[int, int], struct.unpack_from("<HH", head, 6))
    if head.startswith(b"BM") and len(head) >= 26:
        width, height = struct.unpack_from("<ii", head, 18)
        return abs(width), abs(height)
    if head.startswith(_JPEG):
        return next(_jpeg_sizes(head), (_UNKNOWN, _UNKNOWN))
    is_other = head.startswith((b"II*\0", b"MM\0*")) or head[8:12] == b"WEBP" or head[4:12] in _HEIF
    return (_UNKNOWN, _UNKNOWN) if is_other else None


def _jpeg_sizes(head: bytes) -> Iterator[tuple[int, int]]:
    """The sizes in the frame headers of a JPEG (ITU T.81, B.2.2)."""
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        marker = head[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", head, at + 5)
            yield width, height
        at += 2 + int.from_bytes(head[at + 2 : at + 4], "big")
