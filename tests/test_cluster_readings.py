"""Many questions whose passages a cluster reads are judged as they are here, to the bit."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="kb-cited[cluster] is not installed")

from dask_cluster import DaskCluster, dask_cluster, dask_loaded
from ingest_fixtures import Workspace

from kb.answer.judging import Judgement
from kb.config import load
from kb.domain.run_handle import RunHandle
from kb.errors import ClusterFailed
from kb.models.manifest import ENCODER
from kb.operations.ask import away
from kb.operations.ask.away import asking
from kb.operations.ask.findings import AskRequest
from kb.operations.ask.retrieve import retrieve
from kb.operations.evaluate.calibrate import calibrate
from kb.operations.ingest.ingest import ingest
from kb.operations.ingest.requests import ingest_request
from kb.operations.opening.base import Base, open_base

__all__ = ["dask_cluster", "dask_loaded"]

MODELS = Path(os.environ.get("KB_TEST_MODEL_DIR") or "/nowhere")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (MODELS / ENCODER).is_dir(), reason="KB_TEST_MODEL_DIR has no embedding models"),
]

PLACES = ("anchor", "basin", "canvas", "delta", "engine", "walrus")
QUESTIONS = tuple(f"When was the {place} painted?" for place in PLACES)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Notes that are found by words, one of which never goes to a cluster."""
    monkeypatch.setattr(away, "AWAY_FROM_QUESTIONS", 2)
    made = Workspace(tmp_path / "here")
    for year, place in enumerate(PLACES, 1901):
        tag = "#never-to-cluster\n\n" if place == "walrus" else ""
        made.write(f"{place}.md", f"# The {place}\n\n{tag}It is old. The {place} was painted in {year}. It is blue.\n")
    made.configure(f"storage.model_dir={MODELS}")
    ingest(ingest_request(made.config, None, dry_run=False, allow_empty=False, embed=False), RunHandle())
    return made


@pytest.fixture
def base(workspace: Workspace) -> Iterator[Base]:
    with open_base(workspace.config, many=True) as opened, opened.reading() as base:
        yield base


@contextmanager
def on(workspace: Workspace, cluster: DaskCluster) -> Iterator[Base]:
    config = load(str(workspace.config_path), (f"compute.scheduler={cluster.address}", f"storage.model_dir={MODELS}"))
    with open_base(config, many=True) as opened:
        yield opened


def judged(base: Base, notes: list[str]) -> list[Judgement | None]:
    def judgement(session: Base, question: str) -> Judgement | None:
        with session.reading() as read:
            request = AskRequest(question, "hybrid", 10, provider="extractive", keep=False)
            return retrieve(read, request, time.monotonic()).judgement

    with asking(base, len(QUESTIONS), RunHandle(), notes) as (session, each_of):
        return list(each_of(lambda question: judgement(session, question), QUESTIONS))


def test_readings_there_are_those_here_and_no_kept_passage_is_sent(
    workspace: Workspace, base: Base, dask_cluster: DaskCluster
) -> None:
    for _ in range(2):
        dask_cluster.start_worker("recording readings", models=MODELS)
    here = judged(base, [])
    notes: list[str] = []
    with on(workspace, dask_cluster) as there:
        assert judged(there, notes) == here
    assert notes == []
    assert all(each is not None and each.excerpts[0].logit is not None for each in here)
    sent = "".join(path.read_text() for path in dask_cluster.folder.iterdir() if path.name.isdecimal())
    assert "The canvas was painted in 1903" in sent
    assert "in 1906" not in sent


def test_a_calibration_is_the_same_and_names_workers_without_the_model(
    workspace: Workspace, base: Base, dask_cluster: DaskCluster, tmp_path: Path
) -> None:
    dask_cluster.start_worker(models=tmp_path / "no models")
    dask_cluster.start_worker(models=MODELS)
    known, unknown = tmp_path / "known.txt", tmp_path / "unknown.txt"
    known.write_text("\n".join(QUESTIONS))
    unknown.write_text("Who sold the camel?\nWhere does the anchor rust?\n")
    here = calibrate(base, known, unknown, RunHandle())
    with on(workspace, dask_cluster) as there:
        found = calibrate(there, known, unknown, RunHandle())
    assert found._replace(notes=()) == here
    assert [f"has no model {ENCODER}" in note for note in found.notes] == [True]


def test_without_a_worker_that_has_the_judge_it_ends_with_a_hint(
    workspace: Workspace, base: Base, dask_cluster: DaskCluster, tmp_path: Path
) -> None:
    dask_cluster.start_worker(models=tmp_path / "no models")
    with on(workspace, dask_cluster) as there, pytest.raises(ClusterFailed, match=f"has no model {ENCODER}"):
        judged(there, [])


def test_few_questions_are_asked_here(workspace: Workspace, base: Base, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(away, "AWAY_FROM_QUESTIONS", len(QUESTIONS) + 1)
    config = load(str(workspace.config_path), ("compute.scheduler=tcp://127.0.0.1:9", f"storage.model_dir={MODELS}"))
    with open_base(config, many=True) as opened, opened.reading() as read:
        assert judged(read, []) == judged(base, [])
