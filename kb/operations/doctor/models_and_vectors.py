"""Doctor's checks of the models, of the progress of embedding, and of both vector stores, which must agree."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

from kb.answer.judging import fitted
from kb.config import Config
from kb.domain.checks import Check, checked
from kb.domain.embeddings import PassageTokens, TokenEmbedder, VectorAddress
from kb.embed.encoders import bulk_embedder, embedding_model
from kb.embed.text import passage_text, passage_version
from kb.errors import KbError, ModelMissing
from kb.models.manifest import ENCODER
from kb.operations.embedding.batch_vectors import held_model
from kb.operations.embedding.plan import configured_model, embedding_provider, require_dimensions
from kb.operations.embedding.vector_upkeep import lacking_vectors, model_of
from kb.operations.opening.loaded_models import LoadedModels
from kb.operations.opening.vectors import open_pair_scorer
from kb.store import mirror, queries
from kb.store.connection import Connection
from kb.store.lance_table import LanceTable
from kb.store.mirror import ANN_PAYS_ABOVE_CHUNKS, MIRROR_PAYS_UP_TO_CHUNKS, has_mirror, load_vector_functions, mirrored

# Sample sizes: vectors compared between the two stores, and questions to the ANN index.
_SAMPLED = 4_096
_ANN_QUESTIONS = 16
_ANN_K = 10
_ANN_CANDIDATES = 100  # as many as a search takes, to rank them by exact distances
_LEAST_RECALL = 0.95

# Passages whose tokens are recomputed and compared; how far their scores of each other may be below 1.
_TOKENS_SAMPLED = 8
_LEAST_ALIKE = 0.9


def check_models(config: Config) -> Iterator[Check]:
    """Checks that the configured model is installed; reports if embedding is switched off. Raises: ConfigError."""
    name = configured_model(config)
    if name is None:
        detail = "passages are found by their words alone (models.embedding.provider = none)"
        yield Check("embedding_model", False, detail, needed=False)
        return
    try:
        model = embedding_model(config.model_dir, name, embedding_provider(config))
        model = require_dimensions(model, config.models_embedding.dimensions or None)
    except KbError as error:
        chosen = isinstance(error, ModelMissing) and not _embeds(config)
        yield Check("embedding_model", False, error.message, error.hint, needed=not chosen)
    else:
        yield Check("embedding_model", True, f"{model.name} ({model.dimensions} d, {model.version})")


def check_judge(config: Config) -> Iterator[Check]:
    """Checks that the judge of a question with a passage is installed, and names the fit of likelihoods.

    The judge comes with kb's encoder since its second assembly.
    """
    is_wanted = config.models_embedding.provider != "none"
    judge = LoadedModels(config.model_dir).judge() if is_wanted else None
    if judge is not None:
        yield Check("judge", True, "reads a question beside the first passages before kb answers")
    elif is_wanted and _embeds(config):
        detail = "none is installed: answers are judged by the question's words alone"
        yield Check("judge", False, detail, f"kb models install {ENCODER}: the vectors stay", needed=False)
    for model in ("about", "right"):
        label = fitted(f"{model}.{'words' if judge is None else 'read'}")
        yield Check(f"judging_{model}", True, f"{label.version}: {label.fitted_on}")


def _embeds(config: Config) -> bool:
    """Whether passages should have vectors: a model is configured or partly installed, or vectors exist.

    For a user who never installed a model, searching by words is no fault.
    """
    named = config.origins.get("models.embedding.model", "default") != "default"
    folders = (config.vector_dir, config.model_dir / (configured_model(config) or ""))
    return named or any(not isinstance(each, Path) or (each.is_dir() and any(each.iterdir())) for each in folders)


def check_reranker(config: Config) -> Iterator[Check]:
    """Checks that the configured cross-encoder loads; empty if none is configured. Raises: KbError."""
    if config.rerank.has_cross_encoder:
        label = open_pair_scorer(config).label
        yield Check("reranker", True, f"{label}, of the first {config.rerank.passages} passages")


def check_vectors(db: Connection, config: Config) -> Iterator[Check]:
    """Checks that vectors are complete, equal in both stores and fit the window, and that the ANN index works."""
    held = mirrored(db)
    if config.compute.address:
        detail = f"as compute.scheduler says, an ingest sends texts and files to {config.compute.address}"
        yield Check("texts_leave", True, detail)
    if config.models_embedding.provider == "none":
        detail = f"the vectors of {held.model_id} are kept and not used" if held else "none, as configured"
        yield Check("embeddings", False, detail, needed=False)
        return
    if held is None:
        yield _without_vectors(db, config)
        return
    load_vector_functions(db)
    if isinstance(address := config.vector_dir, VectorAddress):
        yield Check("vectors_leave", True, f"as storage.vector_dir says, vectors leave this machine: {address}")
    yield from _check_mirrored(db, config, held)


def _without_vectors(db: Connection, config: Config) -> Check:
    """The check for a base without vectors: a fault only if there are passages and a model."""
    counts = queries.count_index_rows(db)
    if counts is not None and not counts.chunks:
        return Check("embeddings", False, "nothing is indexed yet", "kb ingest", needed=False)
    if not _embeds(config):
        by_words = "none: no model was installed, passages are found by their words"
        return Check("embeddings", False, by_words, "kb models install, then kb index --embeddings", needed=False)
    return Check("embeddings", False, "no passage has a vector", "kb index --embeddings")


def _check_mirrored(db: Connection, config: Config, row: queries.MirroredModel) -> Iterator[Check]:
    model = held_model(config.model_dir, row, embedding_provider(config))
    tokens = queries.count_tokens(db, model_id=row.model_id, model_version=row.model_version, components=row.dimensions)
    kept = tokens is not None and tokens.passages > 0
    wanted = kept if model is None else model.has_tokens and config.models_embedding.tokens
    form = passage_version(with_tokens=wanted)
    counts = queries.count_embedded(
        db, model_id=row.model_id, model_version=row.model_version, dimensions=row.dimensions, passage_version=form
    )
    if counts is not None:
        whole = counts.committed == counts.chunks and not counts.pending and not counts.outdated
        detail = f"{row.model_id}: {counts.committed} of {counts.chunks} passages, {counts.pending} pending"
        if counts.outdated:
            detail += f", {counts.outdated} from an older form of the passage"
        yield checked("embeddings", whole, detail, "kb index --embeddings")
    if tokens is not None and (wanted or kept):
        yield from _check_tokens(db, config, row, tokens, wanted=wanted, is_installed=model is not None)
    found = mirror.count_vectors(db, row.lance_table)
    setting = config.storage.mirror
    is_wanted = setting == "always" or (
        setting == "auto" and counts is not None and counts.chunks <= MIRROR_PAYS_UP_TO_CHUNKS
    )
    if found is None and is_wanted:
        yield Check("vector_mirror", False, "the vector table vec_primary is not there", "kb ingest")
        return
    if found is None:
        yield Check("vector_mirror", True, f"none, Lance alone has the vectors (storage.mirror = {setting})")
    else:
        detail = f"{found.rows} vectors in SQLite, {found.missing} missing, {found.orphans} of passages that are gone"
        yield checked("vector_mirror", not found.missing, detail, "kb ingest")
    window = model.window_tokens if model is not None else None
    lengths = queries.count_long_chunks(db, lance_table=row.lance_table, window_tokens=window) if window else None
    if lengths is not None:
        detail = f"{lengths.counted - lengths.long} of {lengths.counted} passages fit {window} tokens"
        rest = f", {lengths.long} are averaged over windows" if lengths.long else ""
        yield Check("token_coverage", True, f"{row.model_id}: {detail} (longest {lengths.longest_tokens}){rest}")
    try:
        lance = LanceTable(config.vector_dir, model_of(row))
        yield _check_lance(db, row, lance, counts.committed if counts else 0)
        yield _check_ann(db, lance, counts.chunks if counts else 0)
    except KbError as error:
        yield Check("lancedb_open", False, error.message, error.hint)


def _check_tokens(
    db: Connection,
    config: Config,
    row: queries.MirroredModel,
    counts: queries.TokenCounts,
    *,
    wanted: bool,
    is_installed: bool,
) -> Iterator[Check]:
    """Checks that every passage has tokens of the right size that equal the model's present ones."""
    if not wanted:
        detail = f"{counts.passages} passages have tokens, which are not used"
        yield Check("passage_tokens", False, detail, "kb ingest removes them", needed=False)
        return
    detail = f"{counts.passages} passages, {counts.bytes // 1_000} KB"
    if counts.missing or counts.unusable:
        detail += f", {counts.missing} missing, {counts.unusable} of the wrong size or of passages that are gone"
        yield Check("passage_tokens", False, detail, "kb ingest")
    elif is_installed and (sampled := queries.sample_tokens(db, model_id=row.model_id, row_limit=_TOKENS_SAMPLED)):
        differ = _differing_tokens(config, row, sampled)
        agree = f"{detail}, {len(sampled) - differ} of {len(sampled)} sampled as the model gives them"
        yield checked("passage_tokens", not differ, agree, "kb index --embeddings")
    else:
        yield Check("passage_tokens", True, detail)


def _differing_tokens(config: Config, row: queries.MirroredModel, sampled: Sequence[queries.SampledTokens]) -> int:
    """How many sampled passages have stored tokens that do not score like the model's present tokens.

    Scores are compared, because clusters may differ between processors that round differently.
    """
    import numpy as np

    from kb.embed.codec import normalised
    from kb.embed.passage_tokens import late_score, unpacked

    provider = embedding_provider(config).of_version(row.model_version)
    embedder = bulk_embedder(config.model_dir, row.model_id, 1, provider)
    texts = [passage_text(each.title, json.loads(each.heading_path_json), each.text) for each in sampled]
    _, made = cast(TokenEmbedder, embedder).embed_passages(texts)
    differ = 0
    for each, fresh in zip(sampled, made, strict=True):
        held = normalised(unpacked(PassageTokens(each.count, each.components, each.bits, each.tokens)))
        there = normalised(unpacked(fresh))
        alike = min(late_score(held, there), late_score(there, held))
        differ += not (np.isfinite(alike) and alike >= _LEAST_ALIKE)
    return differ


def _check_lance(db: Connection, row: queries.MirroredModel, lance: LanceTable, committed: int) -> Check:
    if not has_mirror(db):
        lacking = len(lacking_vectors(db, lance))
        detail = f"{row.lance_table}: {lance.count()} vectors, {committed} committed, {lacking} of them not there"
        return checked("lancedb_open", not lacking, detail, "kb index --embeddings")
    sample = queries.sample_mirror(db, row_limit=_SAMPLED)
    stored = lance.read([vector.chunk_id for vector in sample])
    differ = sum(stored.get(vector.chunk_id) != vector.embedding for vector in sample)
    found = lance.count()
    detail = f"{row.lance_table}: {found} vectors, {len(sample) - differ} of {len(sample)} sampled agree with SQLite"
    hint = "kb index --embeddings" if differ else "kb index --rebuild-lance" if found < committed else None
    return Check("lancedb_open", hint is None, detail, hint)


def _check_ann(db: Connection, lance: LanceTable, chunks: int) -> Check:
    if not lance.has_ann_index():
        is_small = chunks <= ANN_PAYS_ABOVE_CHUNKS
        detail = f"none; {chunks} passages are scanned exactly"
        return checked("ann_index", is_small, detail, "kb index --ann makes searches faster")
    recall = ann_recall(db, lance)
    return checked(
        "ann_index", recall >= _LEAST_RECALL, f"recall@{_ANN_K} {recall:.3f} of the exact scan", "kb index --ann"
    )


def ann_recall(db: Connection, lance: LanceTable) -> float:
    """The share of the exact nearest passages among the ANN index's candidates, over a sample of stored vectors."""
    import numpy as np

    chunks = queries.select_committed(db, after_id="", row_limit=_ANN_QUESTIONS)
    shares = []
    for vector in lance.read([chunk.chunk_id for chunk in chunks]).values():
        question = np.frombuffer(vector, "<f4").tolist()
        wanted = set(lance.nearest_exactly(question, _ANN_K))
        near = {chunk_id for chunk_id, _ in lance.nearest(question, _ANN_CANDIDATES)}
        shares.append(len(wanted & near) / max(1, len(wanted)))
    return float(np.mean(shares)) if shares else 1.0
