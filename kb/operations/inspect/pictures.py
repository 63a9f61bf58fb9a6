"""Pictures for agents that asked for them: images as they are, and the cited part of a PDF's page, drawn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kb.domain.citations import PageCitation
from kb.domain.ids import content_hash
from kb.domain.results.fetched import FetchTarget, Picture, Pictures
from kb.errors import FileVanished, KbError, NotFound, UsageError
from kb.operations.inspect.thumbnails import drawing
from kb.operations.inspect.view import view_document
from kb.operations.session.session import Session

MOST_PICTURES = 4
MOST_PICTURE_BYTES = 1_500_000

# What clients can show; a TIFF they cannot.
_SHOWN = ("image/png", "image/jpeg", "image/webp", "image/gif")
_PAGE_PIXELS = 1_000


def pictures(session: Session, targets: Sequence[FetchTarget]) -> Pictures:
    """The pictures at these places, at most `MOST_PICTURES`; of what is no picture nothing, and why where it fails.

    Raises: UsageError where the configuration does not allow them.
    """
    if not session.config.exposure.images_to_mcp:
        raise UsageError("pictures are not given to agents here", "their owner can set exposure.images_to_mcp = true")
    found: list[Picture] = []
    failures: list[str] = []
    for target in targets:
        place = target.place if target.page is None else f"{target.place}#page={target.page}"
        try:
            picture = _picture(session, place)
        except KbError as error:
            failures.append(f"{place}: {error.message}")
            continue
        if picture is None:
            continue
        if len(found) == MOST_PICTURES:
            failures.append(f"{place}: {MOST_PICTURES} pictures at once are given at most")
        elif len(picture.data) > MOST_PICTURE_BYTES:
            failures.append(f"{place}: {len(picture.data) / 1e6:.1f} MB, above {MOST_PICTURE_BYTES / 1e6:.1f} MB")
        else:
            found.append(picture)
    return Pictures(tuple(found), tuple(failures))


def _picture(session: Session, place: str) -> Picture | None:
    """The picture at a place; None where there is text. Raises: NotFound, FileVanished, ModelMissing."""
    view = view_document(session, place)
    document = view.document
    if document.media_type in _SHOWN:
        kept = Path(document.storage_path)
        if not kept.is_file() or kept.stat().st_size > MOST_PICTURE_BYTES:
            raise NotFound(f"larger than {MOST_PICTURE_BYTES / 1e6:.1f} MB, or not there", "open it")
        data = kept.read_bytes()
        if content_hash(data) != document.checksum:
            raise FileVanished("not there as it was indexed", "kb ingest reads it again")
        return Picture(document.workspace_path, document.media_type, data)
    if document.media_type == "pdf" and isinstance(view.citation, PageCitation):
        with drawing(session.config) as thumbnails:
            return Picture(place, "image/png", thumbnails.draw(session, place, None, pixels=_PAGE_PIXELS))
    if document.media_type.startswith("image/"):
        raise NotFound(f"{document.media_type} cannot be shown", "its text can be fetched")
    return None
