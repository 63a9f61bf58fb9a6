"""Pictures: pages of PDFs, drawn in a separate process and cached by content; images and pages for agents."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from threading import Lock

from kb.config import Config
from kb.domain.citations import PageCitation
from kb.domain.derived import ExtractSettings
from kb.domain.ids import content_hash
from kb.domain.kinds import MediaType
from kb.domain.results.fetched import FetchTarget, Picture, Pictures
from kb.errors import FileVanished, KbError, NotFound, UsageError
from kb.extract.pdf.thumbnail import Drawn, engine
from kb.extract.registry import Step
from kb.extract.steps import Work, derive_steps
from kb.operations.ingest.requests import extraction_plan
from kb.operations.inspect.view import kept_file, view_document
from kb.operations.opening.base import Base
from kb.private import is_read_only
from kb.store.caches import DerivedCache
from kb.workers.pool import Done, Limits, WorkerPool

_STEP = Step("thumbnail", "kb.extract.pdf.thumbnail")

# A larger file is not drawn: it would be loaded whole for one small picture.
_MOST_BYTES = 64_000_000


class Thumbnails:
    """Draws thumbnails one at a time, in a process that starts with the first and ends with `close`."""

    def __init__(self, config: Config) -> None:
        plan = extraction_plan(config)
        self._plan = plan
        self._pool: WorkerPool[str] = WorkerPool(1, Limits(plan.memory_bytes, plan.quiet_cpu_s))
        self._cache: DerivedCache | None = None
        self._one = Lock()

    def draw(self, session: Base, place: str, passage: str | None, *, pixels: int | None = None) -> bytes:
        """A PNG of the place of a passage in a PDF; `place` is its citation.

        `pixels`: the width of a readable picture.

        Raises: NotFound for a place that is not in a PDF or cannot be drawn; FileVanished; ModelMissing.
        """
        view = view_document(session, place, passage)
        citation = view.citation
        if view.document.media_type != "pdf" or not isinstance(citation, PageCitation):
            raise NotFound(f"{place!r} is no place in a PDF", "pictures are drawn of those alone")
        path, _ = kept_file(session, view.document.workspace_path)
        drawn = Drawn(citation.page, citation.regions, pixels)
        label = f"{engine(ExtractSettings()).label};{drawn.to_json().decode()}"
        with self._one:
            picture = self._known(view.document.checksum, label)
            if picture is None:
                if path.stat().st_size > _MOST_BYTES:
                    raise NotFound(f"{place!r} is of a file too large to be drawn small", "open it")
                data = path.read_bytes()
                if content_hash(data) != view.document.checksum:
                    raise FileVanished(f"{place!r} is not there as it was indexed", "kb ingest reads it again")
                picture = self._drawn(data, drawn)
                self._keep(view.document.checksum, label, picture)
        if not picture:
            raise NotFound(f"{place!r} cannot be drawn", "open it")
        return picture

    def close(self) -> None:
        """Ends the drawing process and trims the cache."""
        self._pool.close()
        if self._cache is not None:
            self._cache.close()

    def _known(self, checksum: str, label: str) -> bytes | None:
        if is_read_only():
            return None
        if self._cache is None:
            self._cache = DerivedCache(self._plan.cache, self._plan.cache_bytes)
        return self._cache.get(checksum, "thumbnail", label)

    def _keep(self, checksum: str, label: str, picture: bytes) -> None:
        if self._cache is not None:
            self._cache.put(checksum, "thumbnail", label, picture)

    def _drawn(self, data: bytes, drawn: Drawn) -> bytes:
        """The picture; b"" for a file that cannot be drawn, which is cached too, so that it is not tried again."""
        work = Work(MediaType("pdf"), (_STEP,), {"thumbnail": drawn.to_json()}, ExtractSettings())
        reply = self._pool.run("thumbnail", derive_steps, work, data)
        picture: bytes = reply.value.results.get("thumbnail", b"") if isinstance(reply, Done) else b""
        return picture


MOST_PICTURES = 4
MOST_PICTURE_BYTES = 1_500_000

# Formats that clients can show; TIFF is not among them.
_SHOWN = ("image/png", "image/jpeg", "image/webp", "image/gif")
_PAGE_PIXELS = 1_000


def pictures(session: Base, targets: Sequence[FetchTarget]) -> Pictures:
    """The pictures at these places, at most `MOST_PICTURES`, and the failures; a place that is text is left out.

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


def _picture(session: Base, place: str) -> Picture | None:
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
        with closing(Thumbnails(session.config)) as thumbnails:
            return Picture(place, "image/png", thumbnails.draw(session, place, None, pixels=_PAGE_PIXELS))
    if document.media_type.startswith("image/"):
        raise NotFound(f"{document.media_type} cannot be shown", "its text can be fetched")
    return None
