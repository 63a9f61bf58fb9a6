"""Documents by month, copies, notes without links, passages without vectors, and the documents nearest to one."""

from __future__ import annotations

from kb.domain.results.viewing import NearDocument, VaultMap
from kb.domain.text import stored_text
from kb.errors import NotFound
from kb.operations.opening.base import Base
from kb.store import queries
from kb.store.mirror import load_vector_functions, mirrored

# The most entries of a list to show.
_SHOWN = 500

# A document is compared by its first passages: each is a scan of all vectors.
_PASSAGES, _NEIGHBOURS, _NEAR = 4, 40, 8
_NEIGHBOURS_OF_HIDDEN = 400  # of which hidden ones are dropped


def vault_map(session: Base) -> VaultMap:
    """The current map."""
    with session.reading() as base, base.snapshot():
        return VaultMap(
            queries.count_by_month(base.db),
            queries.list_copies(base.db, row_limit=_SHOWN),
            queries.list_unlinked(base.db, row_limit=_SHOWN),
            queries.count_slot_chunks(base.db),
            queries.list_unembedded(base.db, row_limit=_SHOWN),
        )


def near_documents(session: Base, path: str) -> list[NearDocument]:
    """The documents nearest to the one at `path` by meaning, the nearest first; none where nothing is embedded.

    Raises: NotFound.
    """
    with session.reading() as base:
        document = queries.select_document_at(base.db, workspace_path=stored_text(path))
        if document is None:
            raise NotFound(f"no document {path!r}", "kb list docs shows what is indexed")
        doc_id = document.doc_id
        if mirrored(base.db) is None:
            return []
        load_vector_functions(base.db)
        nearest: dict[str, NearDocument] = {}
        looked_at = _NEIGHBOURS_OF_HIDDEN if base.hides else _NEIGHBOURS
        with base.snapshot():
            for vector in queries.select_document_vectors(base.db, doc_id=doc_id, row_limit=_PASSAGES):
                near = queries.select_near_documents(base.db, embedding=vector.embedding, k=looked_at, doc_id=doc_id)
                for each in near:
                    known = nearest.get(each.doc_id)
                    if known is None or each.distance < known.distance:
                        nearest[each.doc_id] = each
    return sorted(nearest.values(), key=lambda each: (each.distance, each.workspace_path))[:_NEAR]
