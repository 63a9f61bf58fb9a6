"""Pages of PDFs as pictures and words, made in a separate process and cached by content; pictures for agents."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from threading import Lock

from kb.config import Config
from kb.domain.citations import PageCitation
from kb.domain.derived import DerivedName, ExtractSettings
from kb.domain.ids import content_hash
from kb.domain.kinds import MediaType
from kb.domain.results.fetched import FetchTarget, Picture, Pictures
from kb.domain.results.inspection import DocumentRow
from kb.domain.results.viewing import PageWords
from kb.errors import FileVanished, KbError, ModelMissing, NotFound, UsageError
from kb.extract.ocr.result import read_page_ocr
from kb.extract.pdf.text import load_engine
from kb.extract.pdf.thumbnail import Drawn
from kb.extract.pdf.words import recognised_words
from kb.extract.registry import Step
from kb.extract.steps import StepsDone, Work, derive_steps
from kb.operations.fetch.places import indexed_content
from kb.operations.ingest.requests import extraction_plan
from kb.operations.inspect.view import document_at, view_document
from kb.operations.opening.base import Base
from kb.private import is_read_only
from kb.store.caches import DerivedCache
from kb.store.files import read_artifact
from kb.workers.pool import Limits, Lost, WorkerPool

_PICTURE = Step("thumbnail", "kb.extract.pdf.thumbnail")
_WORDS = Step("page-words", "kb.extract.pdf.words")

# A larger file is not drawn: it would be loaded whole for each page.
_MOST_BYTES = 256_000_000
_WIDTHS = range(16, 8_001)

# A cached result that begins so is no result, but the reason why there is none.
_FAILED = b"\0"


class PdfPages:
    """Draws and reads pages of PDFs one at a time, in a process that the first page starts and `close` ends."""

    def __init__(self, config: Config) -> None:
        plan = extraction_plan(config)
        self._plan = plan
        self._pool: WorkerPool[str] = WorkerPool(1, Limits(plan.memory_bytes, plan.quiet_cpu_s, niceness=0))
        self._cache: DerivedCache | None = None
        self._one = Lock()
        self._is_warm = False

    def warm(self) -> None:
        """Starts the process before the first page is needed; does nothing if the engine is not installed."""
        if self._is_warm:
            return
        with self._one, suppress(ModelMissing):
            _PICTURE.load().engine(ExtractSettings())
            self._is_warm = True
            self._pool.submit("warm", load_engine)

    def thumbnail(self, session: Base, place: str, passage: str | None, *, pixels: int | None = None) -> bytes:
        """A PNG of a passage in a PDF (`place`: its citation, `passage`: its id, if known), `pixels` wide if given.

        Raises: NotFound if the place is not in a PDF or cannot be drawn; FileVanished; ModelMissing.
        """
        view = view_document(session, place, passage)
        citation = view.citation
        if view.document.media_type != "pdf" or not isinstance(citation, PageCitation):
            raise NotFound(f"{place!r} is no place in a PDF", "pictures are drawn of those alone")
        return self._derived(view.document, _PICTURE, Drawn(citation.page, citation.regions, pixels).to_json())

    def picture(self, session: Base, path: str, page: int, pixels: int) -> bytes:
        """A page of a PDF, from 1, as PNG or JPEG, `pixels` wide or less if that is too large.

        Raises: UsageError for a width that no screen has; NotFound if it cannot be drawn; FileVanished; ModelMissing.
        """
        if pixels not in _WIDTHS:
            raise UsageError(f"width: {pixels} is not between {_WIDTHS[0]} and {_WIDTHS[-1]}", "it counts pixels")
        return self._derived(_pdf_at(session, path), _PICTURE, Drawn(page, (), pixels, is_whole=True).to_json())

    def words(self, session: Base, path: str, page: int) -> PageWords:
        """The words of a page, from 1, with their places; for a scanned page, the words that OCR read.

        Raises: NotFound if there is no such page or it cannot be read; FileVanished; ModelMissing.
        """
        document = _pdf_at(session, path)
        recognised = read_artifact(session.config.artifact_dir, document.doc_id, "ocr")
        if recognised and (ocr := read_page_ocr(recognised).get(page)):
            size = view_document(session, path).pages[page - 1]
            return recognised_words(page, size.width, size.height, ocr)
        return PageWords.from_json(self._derived(document, _WORDS, json.dumps(page).encode()))

    def close(self) -> None:
        """Ends the process and trims the cache."""
        self._pool.close()
        if self._cache is not None:
            self._cache.close()

    def _derived(self, document: DocumentRow, step: Step, request: bytes) -> bytes:
        """The result of a step, cached by content; a failure is cached too, so that it is not repeated."""
        engine = step.load().engine(ExtractSettings())
        assert engine is not None
        label = f"{engine.label};{request.decode()}"
        with self._one:
            found = self._known(document.checksum, step.name, label)
            if found is None:
                content, _ = indexed_content(document)
                if content is None:
                    raise FileVanished(
                        f"{document.workspace_path} is not there as it was indexed", "kb ingest reads it again"
                    )
                found = self._run(content, step, request)
                if self._cache is not None:
                    self._cache.put(document.checksum, step.name, label, found)
        if not found or found.startswith(_FAILED):
            reason = found[1:].decode() or "no picture can be made of it"
            raise NotFound(f"{document.workspace_path} cannot be shown here: {reason}", "save it and open it by itself")
        return found

    def _known(self, checksum: str, name: DerivedName, label: str) -> bytes | None:
        if is_read_only():
            return None
        if self._cache is None:
            self._cache = DerivedCache(self._plan.cache, self._plan.cache_bytes)
        return self._cache.get(checksum, name, label)

    def _run(self, data: bytes, step: Step, request: bytes) -> bytes:
        """The result of a step, or `_FAILED` followed by the reason."""
        if len(data) > _MOST_BYTES:
            return _FAILED + f"it has more than {_MOST_BYTES // 1_000_000} MB".encode()
        settings = ExtractSettings(pdf_passwords=self._plan.passwords.needed_for("pdf", data))
        work = Work(MediaType("pdf"), (step,), {step.name: request}, settings)
        reply = self._pool.run(step.name, derive_steps, work, data)
        if isinstance(reply, Lost):
            return _FAILED + f"what draws it {reply.reason}".encode()
        done: StepsDone = reply.value
        return _FAILED + done.error.message.encode() if done.error else done.results[step.name]


def _pdf_at(session: Base, path: str) -> DocumentRow:
    document = document_at(session, path)
    if document.media_type != "pdf":
        raise NotFound(f"{path!r} is no PDF", "pages are shown of those alone")
    return document


MOST_PICTURES = 4
MOST_PICTURE_BYTES = 1_500_000

# Formats that clients can show; TIFF is not among them.
_SHOWN = ("image/png", "image/jpeg", "image/webp", "image/gif")
_PAGE_PIXELS = 1_000


def pictures(session: Base, targets: Sequence[FetchTarget]) -> Pictures:
    """The pictures at these places, at most `MOST_PICTURES`, and the failures; places in texts are left out.

    Raises: UsageError if the configuration does not allow pictures.
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
    """The picture at a place; None if the place is in a text. Raises: NotFound, FileVanished, ModelMissing."""
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
        with closing(PdfPages(session.config)) as pages:
            return Picture(place, "image/png", pages.thumbnail(session, place, None, pixels=_PAGE_PIXELS))
    if document.media_type.startswith("image/"):
        raise NotFound(f"{document.media_type} cannot be shown", "its text can be fetched")
    return None
