"""A session that is held open answers from what stands now, whatever other processes changed, and from many threads."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier, Lock, current_thread
from typing import Any

import pytest
from conftest import Vault, make_vault, run_kb
from fake_embedder import PRIMARY, FakeEmbedder, FakeModels, fake_models, write_own_manifest
from vaults import EMBEDDING, next_migration

from kb.config import load
from kb.domain.embeddings import EncodedQuestion
from kb.domain.run_handle import RunHandle
from kb.domain.search import SearchQuery
from kb.errors import ModelError, NotIndexed, SchemaTooNew
from kb.operations.ask.ask import ask
from kb.operations.ask.findings import AskRequest
from kb.operations.opening import base as opening
from kb.operations.opening.base import Base, open_base
from kb.operations.opening.loaded_models import SharedEncoder
from kb.operations.search.search import search
from kb.store import connection
from kb.store.connection import Migration, latest_version, migrations, open_writer, schema_state
from kb.store.migrate import migrate
from kb.threads import submit

__all__ = ["fake_models", "next_migration"]  # fixtures

TESTS = Path(__file__).parent
MODELS = Path(os.environ.get("KB_TEST_MODEL_DIR") or "/nowhere")
ENCODER = "kb-encoder-1"

NOTES = {
    "pump.md": "# Pump\n\nThe pump in the cellar starts when water rises.\n",
    "lamp.md": "# Lamp\n\nThe lamp above the door has a sensor.\n",
}

Ask = Callable[..., dict[str, Any]]


def test_an_encoder_knows_the_texts_it_encoded_last() -> None:
    encoder = SharedEncoder(FakeModels().embedders[PRIMARY], lambda: True)
    first = encoder.encode("pump")
    assert (encoder.encode("pump"), encoder.encoded) == (first, 1)
    assert encoder.spent_s > 0
    for number in range(100):
        encoder.encode(f"lamp {number}")
    assert (encoder.encode("pump"), encoder.encoded) == (first, 102)


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    """Notes that are not indexed, searched by words and meaning with models that are not installed."""
    return make_vault(tmp_path / "vault", NOTES, settings=f'model_dir = "models"\n{EMBEDDING}', mode="hybrid")


def kb(vault: Vault, *args: str) -> None:
    ran = run_kb("--config", str(vault.config), *args)
    assert (ran.code, ran.stderr) == (0, ""), ran


def install(vault: Vault, name: str, version: str = "1") -> None:
    """Puts a model into its place, as an installation does at its end: by renaming."""
    made = vault.config.parent / "made" / name
    write_own_manifest(made, FakeModels().embedders[name].model._replace(version=version))
    place = vault.config.parent / "models" / name
    shutil.rmtree(place, ignore_errors=True)
    place.parent.mkdir(exist_ok=True)
    made.rename(place)


@pytest.fixture
def held(vault: Vault) -> Iterator[Ask]:
    """Asks a process that opened its session before there was anything to read."""
    with holding(TESTS / "session_holder.py", vault.config) as asker:
        yield asker


@contextmanager
def holding(program: Path, *args: object) -> Iterator[Ask]:
    """A function that gives a program's process a line, and returns the line that it gives back."""
    paths = os.pathsep.join([str(TESTS), *(path for path in sys.path if path)])
    command = [sys.executable, str(program), *map(str, args)]
    env = {"HOME": str(TESTS), "PATH": os.defpath, "PYTHONPATH": paths}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        into, out = process.stdin, process.stdout

        def tell(**line: object) -> dict[str, Any]:
            print(json.dumps(line), file=into, flush=True)
            found: dict[str, Any] = json.loads(out.readline())
            return found

        yield tell
    assert process.returncode == 0


def test_a_session_sees_files_that_another_process_ingests_changes_and_removes(vault: Vault, held: Ask) -> None:
    kb(vault, "ingest", "--no-embed")
    assert held(search="heron")["paths"] == []
    (vault.root / "heron.md").write_text("# Heron\n\nThe heron stands by the water.\n", encoding="utf-8")
    kb(vault, "ingest", "--no-embed")
    assert held(search="heron")["paths"] == ["heron.md"]
    (vault.root / "heron.md").write_text("# Stork\n\nThe stork stands by the water.\n", encoding="utf-8")
    kb(vault, "ingest", "--no-embed")
    assert held(search="stork")["paths"] == ["heron.md"]
    (vault.root / "heron.md").unlink()
    kb(vault, "ingest", "--no-embed")
    assert held(search="stork")["paths"] == []


@pytest.mark.slow
def test_all_threads_see_what_another_process_ingests_installs_and_removes(
    vault: Vault, held: Ask, fake_models: FakeModels
) -> None:
    def every(**line: object) -> dict[str, Any]:
        """What each of six threads is answered: the same."""
        answers = held(**line, threads=6)["answers"]
        assert answers == [answers[0]] * 6
        found: dict[str, Any] = answers[0]
        return found

    assert every(search="water rises")["error"] == "not_indexed"
    assert every(ask="When does the pump start?")["refusal"] == "no_index"
    kb(vault, "ingest", "--no-embed")
    found = every(search="water rises")
    assert (found["paths"], found["mode"], "has no vectors yet" in found["note"]) == (["pump.md"], "lexical", True)
    kb(vault, "index", "--embeddings")
    lacking = every(search="water rises")
    assert (lacking["mode"], f"the model {PRIMARY} is not installed" in lacking["note"]) == ("lexical", True)
    install(vault, PRIMARY)
    assert held(search="water rises", threads=6)["opened"] == [f"{PRIMARY}@1"], "once, for all"
    there = every(search="water rises")
    assert (there["mode"], there["models"], there["note"]) == ("hybrid", [PRIMARY], None)
    assert every(search="water rises", mode="vector")["mode"] == "vector"
    assert every(ask="water rises in the cellar")["paths"][0] == str(vault.root / "pump.md")
    (vault.root / "heron.md").write_text("# Heron\n\nThe heron stands by the water.\n", encoding="utf-8")
    kb(vault, "ingest")
    assert every(search="heron")["paths"][0] == "heron.md"
    (vault.root / "heron.md").unlink()
    kb(vault, "ingest")
    assert "heron.md" not in every(search="heron")["paths"]
    shutil.rmtree(vault.config.parent / "models" / PRIMARY)
    assert (every(search="water rises")["mode"], every(search="heron")["paths"]) == ("lexical", [])
    assert every(search="water rises", mode="vector")["error"] == "model_missing"
    install(vault, PRIMARY)
    assert every(search="water rises")["mode"] == "hybrid"


@pytest.mark.slow
def test_encoders_stay_open_while_the_index_changes_and_are_opened_again_where_a_model_did(
    vault: Vault, held: Ask, fake_models: FakeModels
) -> None:
    install(vault, PRIMARY)
    kb(vault, "ingest")
    assert held(search="water rises")["opened"] == [f"{PRIMARY}@1"]
    (vault.root / "heron.md").write_text("# Heron\n\nThe heron stands by the water.\n", encoding="utf-8")
    kb(vault, "ingest")
    again = held(search="heron")
    assert (again["opened"], again["mode"], again["paths"][0]) == ([], "hybrid", "heron.md")
    install(vault, PRIMARY)  # the same model once more
    assert held(search="heron")["opened"] == []
    install(vault, PRIMARY, "2")
    other = held(search="heron")
    assert (other["mode"], other["paths"][0], other["opened"]) == ("lexical", "heron.md", [f"{PRIMARY}@2"])
    assert f"embedded with {PRIMARY} 1 (32 d), and the model is now 2 (32 d) (kb index --embeddings)" in other["note"]
    assert "벡터를 만든 모델이 지금 모델과 다릅니다 (kb index --embeddings)" in held(search="왜가리")["note"]
    assert held(search="heron", mode="vector")["error"] == "other_model"
    fake_models.embedders[PRIMARY] = FakeEmbedder(fake_models.embedders[PRIMARY].model._replace(version="2"))
    kb(vault, "index", "--embeddings")
    new = held(search="heron")
    assert (new["opened"], new["mode"], new["paths"][0]) == ([], "hybrid", "heron.md")


@pytest.mark.slow
def test_a_session_compares_across_languages_once_there_is_a_second_one(vault: Vault, fake_models: FakeModels) -> None:
    install(vault, PRIMARY)
    kb(vault, "ingest")
    with holding(TESTS / "session_holder.py", vault.config, "rerank.provider=none") as held:
        assert held(search="water rises")["across"] == []
        (vault.root / "펌프.md").write_text("# 펌프\n\n지하실 펌프는 물이 차면 돈다.\n", encoding="utf-8")
        kb(vault, "ingest")
        assert "펌프.md" in held(search="water rises")["across"]


@pytest.mark.slow
def test_a_session_names_the_version_of_the_index_as_it_is_now(
    vault: Vault, held: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb(vault, "ingest", "--no-embed")
    before = held(search="water rises")["index_version"]
    monkeypatch.setattr("kb.operations.ingest.read.WORDS_VERSION", "words-next")
    kb(vault, "ingest", "--no-embed")
    assert held(search="water rises")["index_version"] == before.rpartition("/")[0] + "/words-next"


@pytest.mark.slow
def test_a_session_follows_a_database_that_is_removed_and_replaced(vault: Vault, held: Ask, tmp_path: Path) -> None:
    kb(vault, "ingest", "--no-embed")
    assert held(search="water rises")["paths"] == ["pump.md"]
    shutil.rmtree(vault.sqlite.parent)
    assert held(search="water rises")["error"] == "not_indexed"
    kb(vault, "ingest", "--no-embed")
    assert held(search="water rises")["paths"] == ["pump.md"]
    other = make_vault(tmp_path / "other", {"other.md": "# Other\n\nThe tide and the water rises.\n"})
    kb(other, "ingest", "--no-embed")
    for file in vault.sqlite.parent.glob(vault.sqlite.name + "-*"):
        file.unlink()
    os.replace(other.sqlite, vault.sqlite)
    assert held(search="water rises")["paths"] == ["other.md"]


@pytest.mark.slow
def test_a_session_asks_and_keeps_its_answers(vault: Vault, held: Ask) -> None:
    kb(vault, "ingest", "--no-embed")
    for question in ("When does the pump start?", "Where is the lamp?"):
        assert "refusal" in held(ask=question)
    ran = run_kb("--config", str(vault.config), "answers", "list", "--json")
    assert len(ran.lines) == 2


def test_a_session_refuses_a_file_that_a_newer_kb_migrated(
    vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb(vault, "ingest", "--no-embed")
    newer = tmp_path / "next.sql"
    newer.write_text("CREATE TABLE later (id INTEGER PRIMARY KEY) STRICT;\n", encoding="utf-8")
    known = (*migrations(), Migration(latest_version() + 1, "later", newer))
    with open_base(load(str(vault.config))) as session:
        assert search(session, session.defaults.query("water rises")).hits
        with monkeypatch.context() as patched:
            patched.setattr(connection, "migrations", lambda: known)
            patched.setattr("kb.store.migrate.migrations", lambda: known)
            db = open_writer(vault.sqlite)
            migrate(db, "2026-01-01T00:00:00Z")
            db.close()
        with pytest.raises(SchemaTooNew):
            search(session, session.defaults.query("water rises"))
        with monkeypatch.context() as patched:
            patched.setattr(connection, "migrations", lambda: known)
            assert search(session, session.defaults.query("water rises")).hits


@pytest.mark.slow
def test_many_threads_ask_one_session_while_files_are_ingested(
    vault: Vault, fake_models: FakeModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb(vault, "ingest")
    busy, opened, met = Lock(), [], Barrier(8)

    class Single(FakeEmbedder):
        def encode(self, text: str) -> EncodedQuestion:
            assert self.turn.acquire(blocking=False), "two threads are in one encoder"
            try:
                return super().encode(text)
            finally:
                self.turn.release()

    def open_encoder(model_dir: Path, name: str, provider: object, *, many: bool) -> Single:
        assert many, "the session is for many questions"
        with busy:
            opened.append(name)
        encoder = Single(fake_models.embedders[name].model)
        encoder.turn = Lock()
        return encoder

    monkeypatch.setattr("kb.embed.encoders.query_encoder", open_encoder)
    with open_base(load(str(vault.config)), many=True) as session, ThreadPoolExecutor(8) as threads:

        def ask_often(number: int) -> list[str]:
            met.wait()
            found = []
            for _ in range(15):
                for text, first in (("water rises in the cellar", "pump.md"), ("lamp above the door", "lamp.md")):
                    result = search(session, SearchQuery(text, "hybrid", 5))
                    assert (result.query.mode, result.hits[0].doc_path) == ("hybrid", first)
                answer = ask(session, AskRequest("lamp above the door", "hybrid", 5, keep=False), RunHandle())
                found.append(answer.retrieval.mode)
            return found

        running = [threads.submit(ask_often, number) for number in range(8)]
        for number in range(3):
            (vault.root / f"more{number}.md").write_text(f"# More {number}\n\nOf bread {number}.\n", encoding="utf-8")
            kb(vault, "ingest")
        assert {mode for each in running for mode in each.result()} == {"hybrid"}
        assert search(session, SearchQuery("bread", "hybrid", 5)).hits[0].doc_path.startswith("more")
    assert opened == [PRIMARY]


def test_threads_that_open_an_older_file_at_once_migrate_it_once(
    vault: Vault, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    kb(vault, "ingest", "--no-embed")
    request.getfixturevalue("next_migration")
    met, alone = Barrier(6), []
    migrate_file = opening._migrate
    with open_base(load(str(vault.config))) as session, ThreadPoolExecutor(6) as threads:

        def migrating(*given: Any) -> None:
            alone.append(session._opening.locked())
            migrate_file(*given)

        monkeypatch.setattr(opening, "_migrate", migrating)

        def first_question(_: int) -> int:
            met.wait()
            return len(search(session, SearchQuery("water rises", "lexical", 5)).hits)

        assert list(threads.map(first_question, range(6))) == [1] * 6
        assert alone == [True]
        with session.reading() as base:
            assert schema_state(base.db).schema_version == latest_version()


def test_a_closed_session_leaves_no_connection_open(vault: Vault) -> None:
    kb(vault, "ingest", "--no-embed")
    with open_base(load(str(vault.config))) as session:
        with session.reading() as base:
            search(session, session.defaults.query("water"))
            session.close()
            assert base.db.pragma("data_version")
        opened = [base]
    for each in opened:
        with pytest.raises(Exception, match="closed"):
            each.db.pragma("data_version")
    with Base(load(str(vault.config))).reading() as again:
        assert schema_state(again.db).schema_version == latest_version()


def test_nothing_is_opened_before_it_is_needed(vault: Vault) -> None:
    with open_base(load(str(vault.config))) as session, pytest.raises(NotIndexed), session.reading():
        pass
    assert not vault.sqlite.exists()


@pytest.mark.skipif(not (MODELS / ENCODER).is_dir(), reason="KB_TEST_MODEL_DIR has no embedding models")
def test_real_models_that_another_process_installs_are_used(vault: Vault) -> None:
    text = vault.config.read_text(encoding="utf-8").replace(PRIMARY, ENCODER)
    vault.config.write_text(text, encoding="utf-8")
    (vault.root / "펌프.md").write_text("# 펌프\n\n지하실 펌프는 물이 차면 돈다.\n", encoding="utf-8")
    kb(vault, "ingest", "--no-embed")
    with open_base(load(str(vault.config)), many=True) as session, ThreadPoolExecutor(4) as threads:
        query = session.defaults.query("the cellar fills with water")
        assert search(session, query).query.mode == "lexical"
        (vault.config.parent / "models").mkdir()
        os.symlink(MODELS / ENCODER, vault.config.parent / "models" / ENCODER)
        paths = os.pathsep.join(path for path in sys.path if path)
        done = subprocess.run(
            [sys.executable, "-m", "kb", "--config", str(vault.config), "index", "--embeddings"],
            env={"HOME": str(vault.root), "PATH": os.defpath, "PYTHONPATH": paths},
            check=False,
            capture_output=True,
        )
        assert done.returncode == 0, done.stderr
        results = list(threads.map(lambda _: search(session, query), range(12)))
    assert {result.query.mode for result in results} == {"hybrid"}
    assert {tuple(hit.doc_path for hit in result.hits) for result in results} == {
        tuple(hit.doc_path for hit in results[0].hits)
    }
    assert {hit.doc_path for hit in results[0].hits} == {"pump.md", "펌프.md", "lamp.md"}


def test_what_is_submitted_runs_on_another_thread_and_fails_where_it_is_waited_for() -> None:
    assert submit(lambda: current_thread().name)() != current_thread().name

    def fail() -> None:
        raise ModelError("the encoder failed")

    wait = submit(fail)
    with pytest.raises(ModelError, match="the encoder failed"):
        wait()
