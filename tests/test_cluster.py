"""An ingest on a Dask cluster: the base is the one that this machine makes, whatever becomes of workers and scheduler.

An eighth of `KB_KILLS` is how many workers are killed at random in the test of that (3 unless it is set).
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed", reason="kb-cited[cluster] is not installed")

from dask_cluster import Dask, DaskCluster, dask_cluster, dask_loaded
from fake_embedder import PRIMARY, FakeModels, fake_models
from hypothesis import given
from hypothesis import strategies as st
from ingest_fixtures import Workspace, analyse_by_word
from vector_stores import Stores, stores

from kb.config import load
from kb.domain.ingest_events import ClusterJoined, ClusterProgress, EmbedProgress
from kb.domain.results.ingest import IngestReport
from kb.domain.run_handle import RunHandle
from kb.errors import ClusterFailed, ConfigError
from kb.models.manifest import MANIFEST_FILE, model_files, read_installed, write_manifest
from kb.operations.compute.cluster import cluster_status, prepare_cluster
from kb.operations.compute.plan import AWAY_FROM_PASSAGES
from kb.operations.embedding.away import MOST_CHARS, parts
from kb.operations.ingest import read
from kb.operations.ingest.ingest import ingest
from kb.operations.ingest.requests import ingest_request
from kb.private import kept_private
from kb.workers.cluster import Cluster
from kb.workers.scheduler import is_in_clear

__all__ = ["dask_cluster", "dask_loaded", "fake_models"]

pytestmark = pytest.mark.slow

FIXTURES = Path(__file__).parents[1] / "fixtures"
KILLS = int(os.environ.get("KB_KILLS", "24")) // 8


def note(number: int) -> str:
    parts = [
        f"## Part {at}\n\nThe pump {number} of house {at} stops. 펌프 {number * at}번이 멈춘다." for at in range(6)
    ]
    return f"# Note {number}\n\n" + "\n\n".join(parts) + "\n"


@pytest.fixture
def workspace(
    tmp_path: Path, fake_models: FakeModels, dask_cluster: DaskCluster, monkeypatch: pytest.MonkeyPatch
) -> Workspace:
    """Notes and office files, not indexed, to be embedded by the fake model."""
    monkeypatch.setattr(read, "analyse", analyse_by_word)
    made = Workspace(tmp_path / "here")
    for number in range(30):
        made.write(f"n{number}.md", note(number))
    for path in sorted((FIXTURES / "media/office").iterdir()):
        if path.suffix in (".docx", ".csv", ".odt"):
            made.write(path.name, path.read_bytes())
    made.write("fees.eml", (FIXTURES / "formats/fees.eml").read_bytes())
    return made


def settings(cluster: DaskCluster, base: Path, *more: str) -> tuple[str, ...]:
    return (
        f"models.embedding.model={PRIMARY}",
        "models.embedding.batch_size=8",
        f"storage.model_dir={cluster.models}",
        f"storage.cache_dir={base / 'cache'}",
        *more,
    )


def run(workspace: Workspace, on_event: Callable[[Any], None] = lambda event: None) -> IngestReport:
    request = ingest_request(workspace.config, None, dry_run=False, allow_empty=False, embed=True)
    with kept_private():
        return ingest(request, RunHandle(on_event))


def made_here(workspace: Workspace, cluster: DaskCluster) -> tuple[dict[str, list[Any]], Stores]:
    """What an ingest on this machine makes of the same files."""
    base = workspace.base.with_name("alone")
    base.mkdir()
    shutil.copytree(workspace.root, base / "notes", copy_function=shutil.copy2)
    shutil.copy(workspace.config_path, base)
    alone = Workspace.__new__(Workspace)
    alone.base, alone.root, alone.config_path = base, base / "notes", base / "kb.toml"
    alone.config = load(str(alone.config_path), settings(cluster, base))
    alone.sqlite = alone.config.sqlite
    run(alone)
    return held(alone)


def held(workspace: Workspace) -> tuple[dict[str, list[Any]], Stores]:
    """The rows and vectors of a base, without the folder that it is of."""
    folder = str(workspace.base)
    rows = {
        table: [tuple(str(value).replace(folder, "") for value in row) for row in kept]
        for table, kept in workspace.contents().items()
    }
    with kept_private():
        return rows, stores(workspace.config_path)


def use(workspace: Workspace, cluster: DaskCluster, *more: str) -> None:
    workspace.configure(*settings(cluster, workspace.base, f"compute.scheduler={cluster.address}", *more))


def test_a_base_made_on_three_workers_is_the_one_made_here(workspace: Workspace, dask_cluster: DaskCluster) -> None:
    for number in range(AWAY_FROM_PASSAGES):  # so many that the cluster is joined while they are read
        workspace.write(f"small{number}.md", f"# Small {number}\n\nThe lamp {number} is green.\n")
    for _ in range(3):
        dask_cluster.start_worker()
    use(workspace, dask_cluster)
    events: list[Any] = []
    report = run(workspace, events.append)
    assert (report.notes, report.counts.errors) == ([], 0)
    assert held(workspace) == made_here(workspace, dask_cluster)
    joined = [each for each in events if isinstance(each, ClusterJoined)]
    assert [each.refused for each in joined] == [(), ()], "once for engines, once for passages"
    assert {each.workers for each in joined} <= {1, 2, 3}
    assert any(isinstance(each, ClusterProgress) for each in events)


def test_a_late_worker_takes_what_waits_at_another(workspace: Workspace, dask_cluster: DaskCluster) -> None:
    dask_cluster.start_worker("waiting for a record")
    dask_cluster.start_worker("late")
    use(workspace, dask_cluster)
    assert run(workspace).notes == []
    assert [path for path in dask_cluster.folder.iterdir() if path.name.isdecimal()], "the late worker embedded some"
    assert held(workspace) == made_here(workspace, dask_cluster)


def test_a_task_whose_worker_goes_just_before_it_may_run_elsewhere_is_run_there(
    workspace: Workspace, dask_cluster: DaskCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = dask_cluster.start_worker("waiting for a record")
    dask_cluster.start_worker("late")
    use(workspace, dask_cluster)
    widen, looks = Cluster._widen, 0

    def lose_the_first(cluster: Cluster) -> None:
        nonlocal looks
        looks += 1
        if first.is_alive() and cluster.state.workers == 2 and cluster.state.tasks_under_way:
            first.kill()
            while len(cluster._client.nthreads()) == 2:
                pass
        if looks == 100:
            dask_cluster.scheduler.kill()  # ends a run that would wait for ever
        widen(cluster)

    monkeypatch.setattr(Cluster, "_widen", lose_the_first)
    assert run(workspace).notes == []
    assert not first.is_alive()


def test_a_worker_that_does_not_answer_keeps_no_other_waiting(workspace: Workspace, dask_cluster: DaskCluster) -> None:
    dask_cluster.start_worker("silent")
    dask_cluster.start_worker()
    use(workspace, dask_cluster)
    joined: list[ClusterJoined] = []
    report = run(workspace, lambda event: joined.append(event) if isinstance(event, ClusterJoined) else None)
    assert {each.workers for each in joined} == {1}
    assert report.notes == []
    assert held(workspace)[0] == made_here(workspace, dask_cluster)[0]


def test_workers_without_what_a_task_needs_are_named_and_get_none(
    workspace: Workspace, dask_cluster: DaskCluster, tmp_path: Path
) -> None:
    dask_cluster.start_worker("other version")
    dask_cluster.start_worker(models=tmp_path / "no models")
    dask_cluster.start_worker("nonsense")
    dask_cluster.start_worker("late")
    use(workspace, dask_cluster)
    report = run(workspace)
    said = "\n".join(report.notes)
    assert "has kb 0.0.1" in said
    assert f"has no model {PRIMARY}" in said
    assert "returned a result that cannot be right" in said
    assert len(report.notes) == 3, said
    assert held(workspace) == made_here(workspace, dask_cluster)


def test_a_run_without_a_usable_worker_ends_with_a_hint(workspace: Workspace, dask_cluster: DaskCluster) -> None:
    dask_cluster.start_worker("other version")
    use(workspace, dask_cluster)
    with pytest.raises(ClusterFailed, match=r"no worker .* can be used: .* has kb 0\.0\.1") as failed:
        run(workspace)
    assert failed.value.hint


def test_workers_killed_at_random_change_nothing(workspace: Workspace, dask_cluster: DaskCluster) -> None:
    for _ in range(3):
        dask_cluster.start_worker("slow start")
    use(workspace, dask_cluster)
    chosen, ended, killed = random.Random(7), threading.Event(), 0

    def kill() -> None:
        nonlocal killed
        while killed < KILLS and not ended.wait(chosen.uniform(0.1, 0.6)):
            victim = chosen.choice([each for each in dask_cluster.workers if each.is_alive()])
            victim.kill()
            killed += 1
            dask_cluster.start_worker("slow start")

    killer = threading.Thread(target=kill)
    killer.start()
    rounds = 0
    try:
        while killed < KILLS or not rounds:
            run(workspace)
            rounds += 1
            if killed < KILLS:
                shutil.rmtree(workspace.config.data_dir)
                shutil.rmtree(workspace.config.cache_dir)
        run(workspace)
    finally:
        ended.set()
        killer.join()
    assert held(workspace) == made_here(workspace, dask_cluster)


def test_what_came_back_before_the_scheduler_was_lost_is_kept(
    workspace: Workspace, dask_cluster: DaskCluster, fake_models: FakeModels
) -> None:
    dask_cluster.start_worker("stops after one task")
    use(workspace, dask_cluster, "compute.in_flight_mb=8")

    def lose(event: object) -> None:
        if isinstance(event, EmbedProgress) and event.done:
            dask_cluster.scheduler.kill()

    with pytest.raises(ClusterFailed, match="is gone") as failed:
        run(workspace, lose)
    assert "kb ingest goes on" in str(failed.value.hint)
    workspace.configure(*settings(dask_cluster, workspace.base))
    report = run(workspace)
    assert report.counts.new == 0, "all text was stored"
    assert 0 < fake_models.calls < report.counts.embeddings_indexed, "what came back is not embedded again"
    assert held(workspace) == made_here(workspace, dask_cluster)


@pytest.mark.parametrize("manners", ["deadly", "deadly in turn"])
def test_a_task_that_kills_its_workers_is_an_item_of_the_report(
    workspace: Workspace, dask_cluster: DaskCluster, manners: str
) -> None:
    for path in workspace.root.iterdir():
        if path.name not in ("n1.md", "fees.eml"):
            path.unlink()
    for _ in range(4):
        dask_cluster.start_worker(manners)
    use(workspace, dask_cluster)
    report = run(workspace)
    (item,) = [each for each in report.items if each.kind == "error"]
    assert item.doc_path == "fees.eml"
    assert item.error is not None
    assert re.search("was lost with [34] workers", item.error.message)


def test_what_is_kept_here_is_never_sent(workspace: Workspace, dask_cluster: DaskCluster) -> None:
    dask_cluster.start_worker("recording")
    workspace.write("tagged.md", "# Tagged\n\n#never-to-cluster\n\nThe marmalade is behind the boiler.\n")
    workspace.write("private/plan.md", "# Plan\n\nThe walrus comes on Tuesday.\n")
    use(workspace, dask_cluster, "compute.never_to_cluster=private/**")
    run(workspace)
    sent = "".join(path.read_text() for path in dask_cluster.folder.iterdir() if path.name.isdecimal())
    assert "The pump 3 of house 2" in sent
    assert "marmalade" not in sent
    assert "walrus" not in sent
    assert workspace.query("SELECT count(*) FROM embedding_records WHERE status != 'committed'") == [(0,)]


def test_models_are_sent_once_to_the_caches_that_lack_them(
    workspace: Workspace, dask_cluster: DaskCluster, tmp_path: Path
) -> None:
    model = dask_cluster.models / PRIMARY
    installed = read_installed(dask_cluster.models, PRIMARY)
    (model / MANIFEST_FILE).unlink()
    (model / "weights.bin").write_bytes(bytes(range(256)) * 40_000)
    write_manifest(model, installed._replace(files=model_files(model)))
    dask_cluster.start_worker(models=tmp_path / "one cache")
    dask_cluster.start_worker(models=tmp_path / "one cache")
    dask_cluster.start_worker(models=tmp_path / "another")
    dask_cluster.start_worker("other version", models=tmp_path / "none")
    use(workspace, dask_cluster)
    lack = f"has no model {PRIMARY}"
    before = cluster_status(workspace.config)
    assert [lack in worker.lacks for worker in before.workers].count(True) == 4
    after = prepare_cluster(workspace.config, RunHandle())
    assert len(after.sent) in (2, 3), "those that share a cache may be sent it both"
    assert [lack in worker.lacks for worker in after.workers].count(True) == 1
    assert not (tmp_path / "none").exists()
    assert (tmp_path / "another" / PRIMARY / "weights.bin").stat().st_size == 256 * 40_000
    assert prepare_cluster(workspace.config, RunHandle()).sent == ()
    assert [note for note in run(workspace).notes if lack in note] == []


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make certificates")
def test_certificates_are_those_of_dasks_settings(workspace: Workspace, dask_loaded: Dask, tmp_path: Path) -> None:
    import dask

    certificate, private_key = tmp_path / "cert.pem", tmp_path / "key.pem"
    made = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1")
    subprocess.run([*made, "-keyout", private_key, "-out", certificate], check=True, capture_output=True)
    keys = {"ca-file": certificate}
    keys |= {
        f"{who}.{what}": path
        for who in ("scheduler", "worker", "client")
        for what, path in (("cert", certificate), ("key", private_key))
    }
    named = {f"distributed.comm.tls.{key}": str(path) for key, path in keys.items()}
    variables = {f"DASK_{key.upper().replace('.', '__').replace('-', '_')}": value for key, value in named.items()}
    (tmp_path / "tls").mkdir()
    with closing(DaskCluster(dask_loaded, tmp_path / "tls", variables)) as cluster, dask.config.set(named):
        assert cluster.address.startswith("tls://")
        cluster.start_worker()
        use(workspace, cluster)
        assert run(workspace).notes == []
    assert workspace.query("SELECT count(*) > 100 FROM embedding_records WHERE status = 'committed'") == [(1,)]


@pytest.mark.parametrize(
    ("address", "in_clear"),
    [
        ("tcp://127.0.0.1:8786", False),
        ("tcp://localhost:8786", False),
        ("tcp://[::1]:8786", False),
        ("tcp://192.0.2.7:8786", True),
        ("tls://192.0.2.7:8786", False),
    ],
)
def test_an_address_in_clear_is_one_of_another_machine(address: str, in_clear: bool) -> None:
    assert is_in_clear(address) is in_clear


def test_notes_are_not_sent_in_clear(workspace: Workspace, dask_cluster: DaskCluster) -> None:
    workspace.configure(*settings(dask_cluster, workspace.base, "compute.scheduler=tcp://192.0.2.7:8786"))
    with pytest.raises(ConfigError, match="in clear"):
        run(workspace)


def test_a_scheduler_that_is_not_there_is_named(
    workspace: Workspace, dask_cluster: DaskCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kb.workers.scheduler._CONNECT_S", 1)
    dask_cluster.scheduler.kill()
    use(workspace, dask_cluster)
    with pytest.raises(ClusterFailed, match=dask_cluster.address):
        run(workspace)


@given(
    lengths=st.lists(st.integers(1, 3_000), min_size=1, max_size=300),
    later=st.integers(0, 10_000),
    threads=st.integers(0, 200),
)
def test_tasks_hold_each_text_once_and_shrink_towards_the_end(lengths: list[int], later: int, threads: int) -> None:
    texts = ["x" * length for length in lengths]
    cut = list(parts(texts, later, threads))
    assert sorted(text for part in cut for text in part) == sorted(texts)
    longest_chars = max((sum(map(len, part)) for part in cut if len(part) > 1), default=0)
    assert longest_chars <= MOST_CHARS


def test_the_last_tasks_are_small_and_the_first_are_not() -> None:
    texts = ["x" * 110] * 256
    first, last = (len(list(parts(texts, later, 8))) for later in (5_000, 0))
    assert first <= 8, "a task takes a core about a second"
    assert last >= 2 * 8, "each thread has several, and none is left with a long one"
    assert len(list(parts(texts, 0, 8))[-1]) <= 8
