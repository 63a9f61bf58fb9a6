"""The state of the index: its counts, what is missing, the last ingest and its problems, the map."""

from __future__ import annotations

import json
from typing import NamedTuple

import kb
from kb.domain.results.inspection import BaseStatus, FileProblem, LastIngest, Listed
from kb.domain.results.viewing import VaultMap
from kb.domain.text import counted
from kb.errors import ModelError
from kb.operations.inspect.inspect import corpus_stats
from kb.operations.inspect.listing import folder_entries, source_entries
from kb.operations.opening.base import Base
from kb.operations.opening.jobs import last_jobs
from kb.operations.opening.paging import corpus_revision
from kb.operations.opening.unread import not_read_yet
from kb.store import queries

# Paths of files that are not read, of each kind and reason.
_EXAMPLES = 2
# The most entries of a list to show.
_MOST_MAPPED = 500


def base_status(session: Base) -> BaseStatus:
    """Counts of the index, and what is missing; loads no model."""
    with session.reading_views() as base, base.snapshot():
        stats = corpus_stats(base.db)
        missing = []
        by_meaning = False
        if base.config.models_embedding.provider == "none":
            missing.append("search by meaning is turned off (models.embedding.provider = none)")
        else:
            try:
                source = base.vectors
                unembedded = None if base.hides else source.lacking("")  # it counts all documents
                by_meaning = source.first_passages() is None
                missing += [unembedded] if unembedded else []
            except ModelError as error:
                missing.append(f"search by meaning: {error.message} ({error.hint})")
        unread = queries.count_unread_pictures(base.db)
        if unread is not None and unread.documents and base.sees_all:
            what = f"{counted(unread.pictures, 'picture')} in {counted(unread.documents, 'document')}"
            missing.append(f"{what} not read: OCR is switched off, or not installed (kb doctor)")
        waiting = not_read_yet(base, "")
        missing += [waiting] if waiting else []
        if not stats.documents:
            missing = [waiting or "nothing is indexed yet (kb ingest)"]  # all other parts depend on it
        return BaseStatus(
            kb.__version__,
            stats.documents,
            stats.chunks,
            json.loads(stats.documents_by_lang_json),
            json.loads(stats.documents_by_media_json),
            stats.last_ingest_at,
            corpus_revision(base.db),
            by_meaning,
            tuple(missing),
            tuple(queries.count_unread(base.db, most_paths=_EXAMPLES)) if base.sees_all else (),
            tuple(source_entries(base, None)),
            last_jobs(base.db) if base.sees_all else (),
        )


class Outline(NamedTuple):
    """The sources if there are several, the folders with the most documents, and what is missing, with the remedy."""

    documents: int
    languages: tuple[str, ...]
    last_ingest_at: str | None
    sources: tuple[Listed, ...]
    folders: tuple[Listed, ...]
    gaps: tuple[str, ...]


def outline(session: Base) -> Outline:
    """A summary of what is indexed; opens no model. Raises: NotIndexed and other StoreErrors."""
    with session.reading_views() as base, base.snapshot():
        stats = corpus_stats(base.db)
        sources = tuple(source_entries(base, None))
        folders = [each for each in folder_entries(base.db, None, None, _MOST_MAPPED, 0) if each.name != "./"]
        slots = {each.slot: each for each in queries.count_slot_chunks(base.db)}
        waiting = not_read_yet(base, "")
    primary = slots.get("primary")
    embedded, chunks = (primary.embedded, primary.chunks) if primary else (0, stats.chunks)
    gaps = [] if stats.documents else ["nothing is indexed yet"]
    if stats.documents and stats.last_ingest_at is None:
        gaps.append("the first ingest has not ended")
    gaps += [waiting] if waiting else []
    if embedded < chunks:
        gaps.append(f"{chunks - embedded} of {chunks} passages lack vectors")
    return Outline(
        stats.documents,
        tuple(json.loads(stats.documents_by_lang_json or "{}")),
        stats.last_ingest_at,
        sources,
        tuple(sorted(folders, key=lambda each: -(each.size or 0))),
        tuple(gaps),
    )


def last_run(session: Base) -> LastIngest | None:
    """The last ingest; None before the first."""
    with session.reading() as base:
        return queries.select_last_ingest(base.db)


def last_problems(session: Base) -> tuple[FileProblem, ...]:
    """The files that cannot be read, then files with a warning in the last ingest."""
    with session.reading() as base, base.snapshot():
        run, unread = queries.select_last_ingest(base.db), queries.select_unread_files(base.db)
    found = [
        FileProblem(each.workspace_path, each.message, each.hint, is_error=True)
        for each in unread
        if each.outcome == "failed"
    ]
    for item in json.loads(run.items_json or "[]") if run else ():
        for warning in item.get("warnings", ()):
            kind, _, note = warning.partition(": ")
            said = f"{kind.replace('_', ' ')}: {note}" if note else kind.replace("_", " ")
            found.append(FileProblem(item["doc_path"], said, None, is_error=False))
    return tuple(found)


def vault_map(session: Base) -> VaultMap:
    """The map of what is indexed now."""
    with session.reading() as base, base.snapshot():
        return VaultMap(
            queries.count_by_month(base.db),
            queries.list_copies(base.db, row_limit=_MOST_MAPPED),
            queries.list_unlinked(base.db, row_limit=_MOST_MAPPED),
            queries.count_slot_chunks(base.db),
            queries.list_unembedded(base.db, row_limit=_MOST_MAPPED),
        )
