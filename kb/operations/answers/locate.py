"""Where a citation points: the file, whether it is still the one that was indexed, and the text that is there."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from kb.domain.citations import Citation
from kb.domain.derived import DERIVED_NAMES
from kb.domain.ids import content_hash
from kb.domain.text import stored_text
from kb.errors import NotFound
from kb.extract.cited_text import cited_text
from kb.operations.session.session import Session
from kb.store import queries
from kb.store.artifacts import read_artifact


class Located(NamedTuple):
    """A cited place. `text` is what is there, in the file as it was indexed.

    `is_current` says whether the file at `source_path` still has the content that was indexed; `kept_path` is kb's own
    copy of that content, or the file itself where it is too large to be copied.
    """

    citation: Citation
    doc_id: str
    media_type: str
    source_path: Path
    kept_path: Path
    is_current: bool
    text: str


def locate(session: Session, citation: Citation) -> Located:
    """The place that `citation` names.

    Raises: NotFound where no such file is indexed, or it has no such place; NotIndexed and its kin.
    """
    with session.reading() as base:
        path = stored_text(citation.path)
        doc_id = next((row.id for row in queries.find_document_ids(base.db, prefix=path) if row.label == path), None)
        document = None if doc_id is None else queries.select_document(base.db, doc_id=doc_id)
    if document is None:
        raise NotFound(f"no document {citation.path!r}", "kb list docs shows what there is")
    artifacts = session.config.artifact_dir
    derived = {name: data for name in DERIVED_NAMES if (data := read_artifact(artifacts, document.doc_id, name))}
    source_path, kept_path = Path(document.source_path), Path(document.storage_path)
    kept = _content(kept_path)
    is_kept = kept is not None and content_hash(kept) == document.checksum
    text = cited_text(citation, kept if kept is not None and is_kept else b"", derived)
    if text is None:
        raise NotFound(
            f"{citation.to_uri()} names no place in that file as it was indexed", "kb inspect doc shows its places"
        )
    current = _content(source_path)
    return Located(
        citation=citation,
        doc_id=document.doc_id,
        media_type=document.media_type,
        source_path=source_path,
        kept_path=kept_path,
        is_current=current is not None and content_hash(current) == document.checksum,
        text=text,
    )


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
