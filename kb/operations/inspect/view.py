"""Documents for a reader: the indexed text, its HTML, the stored file, and the targets of links."""

from __future__ import annotations

import json
from pathlib import Path
from posixpath import dirname, join, normpath

from kb.domain.citations import Citation, PartCitation, cite, parse_citation
from kb.domain.derived import DERIVED_NAMES, Results, Transcript, TranscriptSegment
from kb.domain.kinds import KINDS, MediaType, kind_of
from kb.domain.results.inspection import DocumentRow
from kb.domain.results.viewing import DocumentView, PageSize
from kb.domain.text import stored_text, to_posix
from kb.errors import FileVanished, InvalidCitation, NotFound
from kb.extract.cited_text import cited_text
from kb.extract.laid import line_text
from kb.extract.parts import Parts, whole_parts
from kb.operations.fetch.places import indexed_content, require_document
from kb.operations.opening.base import Base
from kb.store import queries
from kb.store.files import read_artifact

# How much of a file in parts is shown before and behind the cited part.
_CHARS_BESIDE = 20_000

_HINT = "kb list docs shows what is indexed; kb ingest reads what is new"


def view_document(session: Base, typed: str, passage: str | None = None) -> DocumentView:
    """The document of a stored path or a citation, as it was indexed.

    The id of a `passage` gives a more exact place on a page than the citation. Raises: NotFound; FileVanished if
    neither the file nor kb's copy has the indexed content any more.
    """
    document, citation = _named(session, typed)
    if passage is not None:
        citation = _place_of(session, document, passage) or citation
    content, is_current = indexed_content(document)
    is_lined = kind_of(MediaType(document.media_type)).citation in ("line", "code")
    if not is_lined or isinstance(citation, PartCitation):
        return _media(session, DocumentView(document, citation, None, is_current))
    if content is None:
        raise FileVanished(f"{document.workspace_path} is not there as it was indexed", "kb ingest reads it again")
    return DocumentView(document, citation, line_text(content, document.workspace_path), is_current)


def kept_file(session: Base, path: str) -> tuple[Path, str]:
    """The file with a document's indexed content, and its media type; not for text. Raises: NotFound; FileVanished."""
    document = document_at(session, path)
    kind = kind_of(MediaType(document.media_type)).citation
    if kind in ("line", "code"):
        raise NotFound(f"{path!r} is text", "it is shown by its lines")
    kept = Path(document.storage_path)
    if not kept.is_file():
        raise FileVanished(f"{document.workspace_path} is not there as it was indexed", "kb ingest reads it again")
    return kept, document.media_type


def note_named(session: Base, name: str, linked_from: str) -> DocumentRow:
    """The document that a link in `linked_from` means: the one that the index resolves it to, else a document at that
    path next to `linked_from` or below the root, or the nearest of that name.

    The part of the link after `#` is ignored. Raises: NotFound.
    """
    wanted = to_posix(stored_text(name)).partition("#")[0].strip().lstrip("/")
    if not wanted:
        return document_at(session, linked_from)
    with session.reading() as base:
        from_ids = json.dumps([require_document(base.db, linked_from).doc_id])
        for link in queries.list_links(base.db, from_ids_json=from_ids, to_ids_json=None, broken=0, row_limit=-1):
            if link.target_path is not None and link.target.lstrip("/") == wanted:
                return require_document(base.db, link.target_path)
        source, relative = base.config.sources.place(stored_text(linked_from))
        beside = base.config.sources.stored(source, normpath(join(dirname(relative), wanted)))  # above it: no document
        for spelled in dict.fromkeys((beside, wanted.removeprefix("./"))):
            found = queries.find_notes_named(base.db, name=spelled)
            if found:
                exact = [each for each in found if each.workspace_path in (spelled, f"{spelled}.md")]
                return require_document(base.db, (exact or found)[0].workspace_path)
    raise NotFound(f"no indexed document is called {name!r}", _HINT)


def _media(session: Base, view: DocumentView) -> DocumentView:
    """The view with the derived text at the place, or that of a whole recording."""
    artifacts, doc_id = session.config.artifact_dir, view.document.doc_id
    derived = {name: data for name in DERIVED_NAMES if (data := read_artifact(artifacts, doc_id, name))}
    speech: tuple[TranscriptSegment, ...] = ()
    if "transcript" in derived:
        speech = Transcript.from_json(json.loads(derived["transcript"])).segments
    if "parts" in derived:
        return _in_parts(view, whole_parts(derived))
    text = None if view.citation is None else cited_text(view.citation, b"", derived)
    return view._replace(place_text=text, speech=speech, pages=_pages(derived))


def _in_parts(view: DocumentView, parts: Parts) -> DocumentView:
    """The view with the text of the cited part and of the parts around it; without a place, the text of all parts. For
    a place that the file does not have, all of its text is `before`.
    """
    if view.citation is None:
        return view._replace(place_text=parts.laid_out[0])
    found = parts.around(view.citation) if isinstance(view.citation, PartCitation) else None
    if found is None:
        return view._replace(before=parts.laid_out[0][:_CHARS_BESIDE])
    before, text, after = found
    return view._replace(place_text=text, before=before[-_CHARS_BESIDE:], after=after[:_CHARS_BESIDE])


def _pages(derived: Results) -> tuple[PageSize, ...]:
    if "pdf-text" not in derived:
        return ()
    pages = enumerate(json.loads(derived["pdf-text"])["pages"], 1)
    return tuple(
        PageSize(page["width"], page["height"], page["label"] if page["label"] != str(number) else None)
        for number, page in pages
    )


def _place_of(session: Base, document: DocumentRow, chunk_id: str) -> Citation | None:
    """The place of a passage in the document; None if the passage no longer exists."""
    with session.reading() as base:
        chunk = queries.select_chunk(base.db, chunk_id=chunk_id)
    if chunk is None or chunk.doc_id != document.doc_id:
        return None
    return cite(document.workspace_path, json.loads(chunk.source_spans_json), chunk.section_label)


def _named(session: Base, typed: str) -> tuple[DocumentRow, Citation | None]:
    """The document of a path, which may contain a `#`, and None; else the document of a citation, and the citation."""
    try:
        return document_at(session, typed), None
    except NotFound:
        try:
            citation = parse_citation(typed)
        except InvalidCitation:
            citation = None
        if citation is None:
            raise
        return document_at(session, citation.path), citation


def document_at(session: Base, path: str) -> DocumentRow:
    """The document with that stored path. Raises: NotFound, also if it is hidden."""
    with session.reading() as base:
        return require_document(base.db, path)


def rendered(view: DocumentView) -> str | None:
    """A note, a notebook or the text of a file in parts as HTML without scripts; None for other or long texts."""
    from kb.extract.html import MAX_CHARS, note_html, notebook_html, rows_html
    from kb.extract.notebook import notebook_cells

    if kind_of(MediaType(view.document.media_type)).citation == "part":
        text = f"{view.before or ''}{view.place_text or ''}{view.after or ''}"
        return rows_html(text) if len(text) <= MAX_CHARS else None
    if view.document.media_type == "notebook":
        content, _ = indexed_content(view.document)
        return None if content is None else notebook_html(notebook_cells(content))
    return note_html(view.text) if view.text is not None and view.document.media_type == "markdown" else None


def line_html(view: DocumentView) -> list[str] | None:
    """Each line of the text as HTML, from line 1; None if the document is not cited by lines."""
    if view.text is None:
        return None
    from kb.extract.html import highlighted_lines

    if view.document.media_type == "markdown":
        return highlighted_lines(view.text, "markdown")
    kind = KINDS.type_of(view.document.workspace_path)
    language = kind.language if kind is not None else None
    return highlighted_lines(view.text, language)
