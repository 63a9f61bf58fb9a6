"""Doctor's checks of the vectors: the models, how far embedding has come, and whether both stores agree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kb.config import Config
from kb.domain.checks import Check
from kb.embed.adapters import embedding_model
from kb.embed.passage import PASSAGE_VERSION
from kb.errors import KbError, ModelMissing
from kb.operations.embedding.embed import tolerated_drift
from kb.operations.embedding.plan import configured_models, embedding_provider, require_dimensions
from kb.operations.embedding.vector_upkeep import slot_model
from kb.operations.session.pair_scorers import open_pair_scorer
from kb.store.connection import Connection
from kb.store.rows import embed_queries as queries
from kb.store.rows.inspect_queries import count_index_rows
from kb.store.rows.mirror_queries import select_nearest_primary
from kb.store.rows.sentence_queries import count_unread, select_sentence_version
from kb.store.vectors import mirror
from kb.store.vectors.lance_table import LanceTable
from kb.store.vectors.vector_tables import ANN_PAYS_ABOVE_CHUNKS, SLOTS, Slot, load_vector_functions, slots

# Vectors compared between the two stores, other ones each time, and questions put to the ANN index.
_SAMPLED = 4_096
_ANN_QUESTIONS = 16
_ANN_K = 10
_ANN_CANDIDATES = 100  # as many as a search takes, to rank them by exact distances
_LEAST_RECALL = 0.95


def check_models(config: Config) -> Iterator[Check]:
    """Whether the configured models are installed; with provider none, that there are none."""
    try:
        names = configured_models(config)
    except KbError as error:
        yield Check("embedding_model", False, error.message, error.hint)
        return
    if not names:
        detail = "passages are found by their words alone (models.embedding.provider = none)"
        yield Check("embedding_model", False, detail, needed=False)
    provider = embedding_provider(config)
    for position, name in enumerate(names):
        wanted = config.models_embedding.dimensions if position == 0 else 0
        try:
            model = require_dimensions(embedding_model(config.model_dir, name, provider), wanted or None)
        except KbError as error:
            chosen = isinstance(error, ModelMissing) and not _embeds(config)
            yield Check("embedding_model", False, error.message, error.hint, needed=not chosen)
        else:
            yield Check("embedding_model", True, f"{model.name} ({model.dimensions} d, {model.version})")
            yield from _check_assembly(config, name)


def _embeds(config: Config) -> bool:
    """Whether passages are to have vectors: a model is named, or some of it was installed, or vectors are there.

    Who does without, and never installed a model, searches by words: no fault.
    """
    named = config.origins.get("models.embedding.model", "default") != "default"
    return named or any(each.is_dir() and any(each.iterdir()) for each in (config.vector_dir, *_homes(config)))


def _homes(config: Config) -> list[Path]:
    """Where the configured models would be installed."""
    return [config.model_dir / name for name in configured_models(config)]


def check_reranker(config: Config) -> Iterator[Check]:
    """Whether the cross-encoder that is configured loads; nothing where none is."""
    if config.rerank.provider in ("reading", "none"):
        return
    try:
        label = open_pair_scorer(config).label
    except KbError as error:
        yield Check("reranker", False, error.message, error.hint)
    else:
        yield Check("reranker", True, f"{label}, of the first {config.rerank.passages} passages")


def _check_assembly(config: Config, name: str) -> Iterator[Check]:
    """Says of a model that an earlier kb assembled that it would be faster now; nothing of any other."""
    from kb.assemble.embedding_models import CATALOG
    from kb.assemble.install import is_outdated

    if name in CATALOG and is_outdated(CATALOG[name], config.model_dir):
        yield Check(
            "embedding_speed",
            False,
            f"{name} was assembled by an earlier kb, and would embed more passages a second now",
            f"kb models install {name}: the vectors stay",
            needed=False,
        )


def check_vectors(db: Connection, config: Config) -> Iterator[Check]:
    """Each slot's vectors: complete, the same in both stores, never cut, their ANN index as good as the exact scan."""
    held = slots(db)
    if config.models_embedding.provider == "none":
        kept = ", ".join(row.model_id for row in held.values())
        detail = f"the vectors of {kept} are kept and not used" if kept else "none, as configured"
        yield Check("embeddings", False, detail, needed=False)
        return
    if not held:
        yield _without_vectors(db, config)
        return
    load_vector_functions(db)
    for slot in SLOTS:
        if slot in held:
            yield from _check_slot(db, config, slot, held[slot])
    if select_sentence_version(db) is not None:
        found = count_unread(db)
        unread = found.unread if found else 0
        detail = f"{unread} passages lack the vector of a sentence, or have a wrong one" if unread else "ok"
        yield Check("sentence_vectors", not unread, detail, "kb ingest" if unread else None)


def _without_vectors(db: Connection, config: Config) -> Check:
    """That no passage has a vector: a fault only where there are passages, and a model to embed them."""
    counts = count_index_rows(db)
    if counts is not None and not counts.chunks:
        return Check("embeddings", False, "nothing is indexed yet", "kb ingest", needed=False)
    if not _embeds(config):
        by_words = "none: no model was installed, passages are found by their words"
        return Check("embeddings", False, by_words, "kb models install, then kb index --embeddings", needed=False)
    return Check("embeddings", False, "no passage has a vector", "kb index --embeddings")


def _check_slot(db: Connection, config: Config, slot: Slot, row: queries.EmbeddingSlot) -> Iterator[Check]:
    counts = _count_embedded(db, row)
    if counts is not None:
        whole = counts.committed == counts.chunks and not counts.pending and not counts.outdated
        detail = f"{row.model_id}: {counts.committed} of {counts.chunks} passages, {counts.pending} pending"
        if counts.outdated:
            detail += f", {counts.outdated} from an older form of the passage"
        yield Check("embeddings", whole, detail, None if whole else "kb index --embeddings")
    found = mirror.count_vectors(db, slot, row.lance_table)
    if found is None:
        yield Check("vector_mirror", False, f"the vector table vec_{slot} is not there", "kb ingest")
        return
    whole = not found.missing
    detail = f"{found.rows} vectors in SQLite, {found.missing} missing, {found.orphans} of passages that are gone"
    yield Check("vector_mirror", whole, detail, None if whole else "kb ingest")
    state = queries.select_slot_state(db, slot=slot, passage_version=PASSAGE_VERSION)
    if state is not None:
        whole = abs(state.committed - state.averaged) <= tolerated_drift(state)
        detail = f"{row.model_id}: the means of {state.averaged} vectors of {state.committed}"
        yield Check("language_means", whole, detail, None if whole else "kb ingest")
    yield from _check_coverage(db, config, row)
    try:
        lance = LanceTable(config.vector_dir, slot_model(row))
        yield _check_lance(db, slot, row, lance)
        yield from _check_ann(db, slot, lance, counts.chunks if counts else 0)
    except KbError as error:
        yield Check("lancedb_open", False, error.message, error.hint)


def _count_embedded(db: Connection, row: queries.EmbeddingSlot) -> queries.EmbeddedCounts | None:
    return queries.count_embedded(
        db,
        model_id=row.model_id,
        model_version=row.model_version,
        dimensions=row.dimensions,
        passage_version=PASSAGE_VERSION,
    )


def _check_coverage(db: Connection, config: Config, row: queries.EmbeddingSlot) -> Iterator[Check]:
    try:
        provider = embedding_provider(config).of_version(row.model_version)
        window = embedding_model(config.model_dir, row.model_id, provider).window_tokens
    except KbError:
        return
    if window is None:
        return
    lengths = queries.count_long_chunks(db, lance_table=row.lance_table, window_tokens=window)
    if lengths is not None:
        detail = f"{lengths.counted - lengths.long} of {lengths.counted} passages fit {window} tokens"
        rest = f", {lengths.long} are averaged over windows" if lengths.long else ""
        yield Check("token_coverage", True, f"{row.model_id}: {detail} (longest {lengths.longest_tokens}){rest}")


def _check_lance(db: Connection, slot: Slot, row: queries.EmbeddingSlot, lance: LanceTable) -> Check:
    counts = _count_embedded(db, row)
    committed = counts.committed if counts else 0
    sample = mirror.sample_vectors(db, slot, _SAMPLED)
    stored = lance.read([vector.chunk_id for vector in sample])
    differ = sum(stored.get(vector.chunk_id) != vector.embedding for vector in sample)
    found = lance.count()
    detail = f"{row.lance_table}: {found} vectors, {len(sample) - differ} of {len(sample)} sampled agree with SQLite"
    hint = "kb index --embeddings" if differ else "kb index --rebuild-lance" if found < committed else None
    return Check("lancedb_open", hint is None, detail, hint)


def _check_ann(db: Connection, slot: Slot, lance: LanceTable, chunks: int) -> Iterator[Check]:
    if slot != "primary":
        return
    if not lance.has_ann_index():
        pays = chunks > ANN_PAYS_ABOVE_CHUNKS
        detail = f"none; {chunks} passages are scanned exactly"
        yield Check("ann_index", not pays, detail, "kb index --ann makes searches faster" if pays else None)
        return
    recall = ann_recall(db, lance)
    good = recall >= _LEAST_RECALL
    yield Check(
        "ann_index", good, f"recall@{_ANN_K} {recall:.3f} of the exact scan", None if good else "kb index --ann"
    )


def ann_recall(db: Connection, lance: LanceTable) -> float:
    """The share of the exact nearest passages among the ANN index's candidates, over a sample of stored vectors."""
    import numpy as np

    questions = mirror.read_vectors(db, "primary", after_rowid=0, row_limit=_ANN_QUESTIONS)
    shares = []
    for question in questions:
        near = lance.nearest(np.frombuffer(question.embedding, "<f4").tolist(), _ANN_CANDIDATES)
        exact = select_nearest_primary(db, embedding=question.embedding, k=_ANN_K)
        wanted = {row.chunk_id for row in exact}
        shares.append(len(wanted & {hit.chunk_id for hit in near}) / max(1, len(wanted)))
    return float(np.mean(shares)) if shares else 1.0
