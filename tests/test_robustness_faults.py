"""A disk that fails, kills, writers and readers at once: the next ingest reaches what an undisturbed run leaves.

KB_KILLS sets how many kills there are, and with them how many other failures of the disk; KB_SOAK how many minutes
writers and readers take; KB_SEARCHES how many searches of one process.
"""

from __future__ import annotations

import errno
import gc
import json
import logging
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import pytest
from conftest import Vault, make_vault, run_kb, write_notes
from fake_embedder import PRIMARY, FakeModels, fake_models
from faults import Blow, FaultyKb, Suffered, faulty_kb
from ingest_fixtures import Workspace
from vaults import EMBEDDING

from kb.config import load
from kb.domain.search import SearchQuery
from kb.operations.opening.base import open_base
from kb.operations.search.search import search
from kb.store.connection import open_reader
from kb.store.mirror import load_vector_functions

__all__ = ["fake_models", "faulty_kb"]  # fixtures

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("KB_KILLS", "10"))

NOTES = {
    "log.md": "# Gateway log\n\nThe gateway retries a failed upload five times.\n\n## Power\n\nA battery holds.\n",
    "펌프.md": "# 펌프\n\n펌프는 아침에 열린다.\n\n## 배터리\n\n배터리는 네 시간을 버틴다.\n",
    "a/valve.md": "# Valve\n\nThe valve waits. It opens at noon.\n\n## Lamp\n\nThe lamp fails in the morning.\n",
    "a/온실.md": "# 온실\n\n온실은 밤에 닫힌다.\n\n## 센서\n\n센서 교체는 3월에 한다.\n",
    "gateway.py": "def backoff(attempt: int) -> float:\n    return 0.5 * 2**attempt\n",
    "twin.md": "# Twin\n\nThe same.\n",
}
CHANGES = {
    "log.md": "# Gateway log\n\nThe gateway gives up after seven times.\n",
    "a/온실.md": "# Greenhouse\n\nThe greenhouse closes at night.\n\n## Sensors\n\nSensors are replaced in March.\n",
    "new.md": "# 새 노트\n\n새 등대가 밤을 비춘다.\n",
    "twin-a.md": "# Twin\n\nThe same.\n",
}

# What two runs over the same files may write differently: times, and what counts them or the order of arrival.
_INCIDENTAL = {"created_at", "updated_at", "discovered_at", "provenance_json", "applied_at", "origin", "run_id"}
_COUNTERS = ("corpus_revision", "collected_revision", "background_state", "common_terms_chunks", "forgetting")
_OF_RUNS = {"ingest_runs", "job_records", "migrations", "answers", "chat_sessions", "chat_turns"}


class Scenario(NamedTuple):
    """A command, and the state of the knowledge base it is called in."""

    state: str
    args: list[str]


SCENARIOS = {
    "first ingest": Scenario("notes", ["ingest"]),
    "ingest of changes": Scenario("changed", ["ingest"]),
    "embeddings": Scenario("words", ["index", "--embeddings"]),
    "reset of vectors": Scenario("embedded", ["reset", "vectors", "--yes"]),
    "reset of the index": Scenario("embedded", ["reset", "index", "--yes"]),
    "lance from the mirror": Scenario("embedded", ["index", "--rebuild-lance"]),
    "mirror from lance": Scenario("embedded", ["index", "--rebuild-mirror"]),
    "lexical index": Scenario("embedded", ["index", "--rebuild-fts"]),
    "forgetting": Scenario("embedded", ["forget", "log.md", "--yes"]),
    "an answer": Scenario("embedded", ["ask", "How often does the gateway retry?", "--session", "x"]),
}


class Ground:
    """A knowledge base in one folder, put into a state before each run."""

    def __init__(self, kb: FaultyKb, base: Path) -> None:
        self.kb, self.base, self.data = kb, base, base / "data"
        self._states = base.with_name("states")
        base.mkdir(parents=True)
        (base / "kb.toml").write_text(
            '[workspace]\nroot = "notes"\n[storage]\ndata_dir = "data"\nlog_dir = "logs"\ncache_dir = "cache"\n'
            f'[models.embedding]\nmodel = "{PRIMARY}"\n',
            encoding="utf-8",
        )
        write_notes(base / "notes", NOTES)
        self.data.mkdir()
        self._keep("notes")
        assert self.run("ingest", "--no-embed").code == 0
        self._keep("words")
        assert self.run("ingest").code == 0
        self._keep("embedded")
        (base / "notes/펌프.md").rename(base / "notes/a/pump.md")
        (base / "notes/a/valve.md").unlink()
        write_notes(base / "notes", CHANGES)
        self._keep("changed")

    def _keep(self, state: str) -> None:
        for part in ("notes", "data"):
            shutil.copytree(self.base / part, self._states / state / part)

    def put(self, state: str) -> None:
        for part in ("notes", "data"):
            shutil.rmtree(self.base / part)
            shutil.copytree(self._states / state / part, self.base / part)

    def run(self, *args: str, blow: Blow | None = None) -> Suffered:
        """One call of kb."""
        return self.kb.run(self.data, ["--config", str(self.base / "kb.toml"), *args], blow)

    def contents(self) -> dict[str, Any]:
        """All that follows from the notes, by table; the vectors of both stores and the names of the copies too."""
        found: dict[str, Any] = {"copies": sorted(path.name for path in (self.data / "assets").rglob("*"))}
        with closing(apsw.Connection(str(self.data / "kb.sqlite"))) as db:
            load_vector_functions(db)
            ids = dict(db.execute("SELECT chunk_rowid, chunk_id FROM chunks").fetchall())
            named = "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            tables = [
                name for name, sql in db.execute(named).fetchall() if "_fts_" not in name and name not in _OF_RUNS
            ]
            for table in tables:
                if not table.endswith("_vocab") and not table.startswith("vec_primary_"):
                    found[table] = sorted(_rows(db, table, ids), key=repr)
        return found

    def is_sound(self) -> bool:
        """Whether SQLite and FTS5 find nothing wrong."""
        with closing(sqlite3.connect(self.data / "kb.sqlite")) as db:
            faults = db.execute("PRAGMA integrity_check").fetchall() + db.execute("PRAGMA foreign_key_check").fetchall()
            for (name,) in db.execute(
                "SELECT name FROM sqlite_schema WHERE name IN ('chunks_fts', 'code_fts')"
            ).fetchall():
                db.execute(f"INSERT INTO {name} ({name}) VALUES ('integrity-check')")
        return faults == [("ok",)]


def _rows(db: apsw.Connection, table: str, ids: dict[int, str]) -> Iterator[tuple[Any, ...]]:
    cursor = db.execute(f"SELECT * FROM {table}")
    try:
        columns = [name for name, _ in cursor.get_description()]
    except apsw.ExecutionCompleteError:  # no row
        return
    for row in cursor:
        named = dict(zip(columns, row, strict=True))
        key = str(named.get("key"))
        if (
            key in _COUNTERS
            or key.startswith("lance_version ")
            or (table == "document_properties" and named["name"] == "ingested")
        ):
            continue
        if "chunk_rowid" in named:
            named["chunk_rowid"] = ids.get(named["chunk_rowid"], named["chunk_rowid"])
        yield tuple(value for name, value in named.items() if name not in _INCIDENTAL)


@pytest.fixture(scope="module")
def ground(faulty_kb: FaultyKb, tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return Ground(faulty_kb, tmp_path_factory.mktemp("ground") / "base")


@cache
def undisturbed(ground: Ground, name: str) -> dict[str, Any]:
    """What the command of a scenario and an ingest leave."""
    scenario = SCENARIOS[name]
    ground.put(scenario.state)
    assert ground.run(*scenario.args).code in (0, 1)
    assert ground.run("ingest").code == 0
    return ground.contents()


@cache
def calls_of(ground: Ground, name: str) -> Sequence[Blow]:
    """Every call that the command of a scenario makes on the data directory."""
    scenario = SCENARIOS[name]
    ground.put(scenario.state)
    counted = ground.run(*scenario.args)
    assert counted.code in (0, 1), counted.output
    return [Blow(kind, nth) for kind, calls in counted.calls.items() for nth in range(1, calls + 1)]


def suffer(ground: Ground, scenario: Scenario, blow: Blow, expected: dict[str, Any], *, asks_doctor: bool) -> int:
    """The command under a blow, then all that must hold; returns how the command ended."""
    ground.put(scenario.state)
    ended = ground.run(*scenario.args, blow=blow)
    said = (blow, ended.code, ended.output)
    assert {"did not foresee", "Traceback"} & _words_of(ended) == set(), said
    if (ground.data / "kb.sqlite").exists():
        assert ground.is_sound(), said
    searched = ground.run("search", "gateway", "펌프")
    assert {"did not foresee", "Traceback"} & _words_of(searched) == set(), (said, searched.output)
    if scenario.state != "notes":
        assert searched.code in (0, 1), (said, searched.output)
    mended = ground.run("ingest")
    assert mended.code == 0, (said, mended.output)
    contents = ground.contents()
    assert {name for name in expected if contents.get(name) != expected[name]} == set(), said
    if asks_doctor:
        checked = ground.run("doctor", "--json")
        assert '"state": "failed"' not in checked.output.replace('"name": "embedding_model"', ""), (
            said,
            checked.output,
        )
    return ended.code


def _words_of(ended: Suffered) -> set[str]:
    return {words for words in ("did not foresee", "Traceback") if words in ended.output}


def share(blows: Sequence[Blow], count: int, seed: int) -> list[Blow]:
    """So many of them, at random; all of them where there are no more."""
    return random.Random(seed).sample(blows, min(count, len(blows)))


@pytest.mark.parametrize("name", SCENARIOS)
def test_killed_at_any_call_the_next_ingest_reaches_the_same(name: str, ground: Ground) -> None:
    scenario = SCENARIOS[name]
    expected = undisturbed(ground, name)
    blows = share(calls_of(ground, name), -(-KILLS // len(SCENARIOS)), 17)
    ends = [suffer(ground, scenario, blow, expected, asks_doctor=at % 2 == 0) for at, blow in enumerate(blows)]
    assert set(ends) <= {-signal.SIGKILL, 0, 1}
    assert -signal.SIGKILL in ends
    print(f"{name}: {ends.count(-signal.SIGKILL)} kills held")


@pytest.mark.parametrize("name", SCENARIOS)
def test_killed_at_any_moment_the_next_ingest_reaches_the_same(name: str, ground: Ground) -> None:
    scenario = SCENARIOS[name]
    expected = undisturbed(ground, name)
    ground.put(scenario.state)
    cpu_s = ground.run(*scenario.args).cpu_s
    dice = random.Random(19)
    ends = []
    for at in range(-(-KILLS // (4 * len(SCENARIOS)))):
        blow = Blow(cpu_s=dice.uniform(0.1, 1.0) * cpu_s)
        ends.append(suffer(ground, scenario, blow, expected, asks_doctor=at % 2 == 0))
    assert set(ends) <= {-signal.SIGPROF, 0, 1}
    print(f"{name}: {sum(code < 0 for code in ends)} kills at random moments held")


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EMFILE], ids=errno.errorcode.get)
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_disk_that_fails_at_any_call_is_an_error_and_the_next_ingest_reaches_the_same(
    name: str, number: int, ground: Ground
) -> None:
    scenario = SCENARIOS[name]
    expected = undisturbed(ground, name)
    lasts = number != errno.EIO  # a disk stays full, a block alone is bad
    blows = share(calls_of(ground, name), -(-KILLS // (3 * len(SCENARIOS))), number)
    for at, blow in enumerate(blows):
        blow = blow._replace(number=number, lasts=lasts)
        assert suffer(ground, scenario, blow, expected, asks_doctor=at % 2 == 0) in (0, 1, 2)
    print(f"{name}: {len(blows)} failures of {errno.errorcode[number]} held")


SOAK_MINUTES = float(os.environ.get("KB_SOAK", "0.2"))
SEARCHES = int(os.environ.get("KB_SEARCHES", "300"))

_TESTS = Path(__file__).parent
WRITERS = [
    [["ingest"], ["index", "--rebuild-fts"], ["index", "--embeddings"]],
    [["ingest"], ["index", "--rebuild-lance"], ["index", "--rebuild-mirror"], ["reset", "vectors", "--yes"]],
]
READERS = [
    [["search", "gateway", "--json"], ["search", "펌프", "--json"], ["list", "docs"]],
    [["search", "gateway version", "--json", "--mode", "vector"], ["ask", "What waits in the morning?"]],
    [["search", "배터리", "--json", "--mode", "lexical"], ["list", "symbols"], ["schema"]],
    [["ask", "펌프는 언제 열리는가?", "--session", "x"], ["search", "valve", "--json"]],
    [["doctor", "--quick", "--json"], ["search", "lamp", "--json"]],
]


def text(number: int, version: int) -> str:
    """A note whose every line names its version."""
    korean = f"펌프 {number}번은 아침에 열린다 version{version}."
    english = f"The gateway {number} waits for the valve and the lamp version{version}."
    sections = (f"## Part {part}\n\n{korean}\n{english}\n배터리 version{version}." for part in range(3))
    return f"# Note {number} version{version}\n\n" + "\n\n".join(sections) + "\n"


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    """Twenty notes with vectors under two models, not indexed."""
    notes = {f"n/{number}.md": text(number, 0) for number in range(20)}
    return make_vault(tmp_path / "vault", notes, settings=EMBEDDING, mode="hybrid")


def churn(root: Path, dice: random.Random, version: int) -> None:
    """One change of the folder: a note rewritten in place, replaced, moved, removed or new."""
    notes = sorted(root.rglob("*.md"))
    path = dice.choice(notes)
    number = dice.randrange(30)
    kind = dice.choice(["in place", "replace", "move", "remove", "new", "new"])
    if kind == "in place":
        path.write_text(text(number, version), encoding="utf-8")
    elif kind == "replace":
        path.with_suffix(".part").write_text(text(number, version), encoding="utf-8")
        path.with_suffix(".part").replace(path)
    elif kind == "move":
        (root / f"moved-{version}").mkdir()
        path.rename(root / f"moved-{version}" / path.name)
    elif kind == "remove" and len(notes) > 10:
        path.unlink()
    elif kind == "new" and len(notes) < 40:
        (root / f"new-{version}.md").write_text(text(number, version), encoding="utf-8")


def test_two_writers_and_five_readers_over_a_folder_that_changes(vault: Vault, fake_models: FakeModels) -> None:
    assert run_kb("--config", str(vault.config), "ingest").code == 0
    soak = [sys.executable, str(_TESTS / "soak.py"), str(vault.config), str(60 * SOAK_MINUTES)]
    paths = os.pathsep.join([str(_TESTS), str(_TESTS.parent)])
    dice = random.Random(23)
    version = 0
    with subprocess.Popen(
        [*soak, *map(json.dumps, WRITERS + READERS)],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        while process.poll() is None:
            version += 1
            churn(vault.root, dice, version)
            time.sleep(0.05)
        told: list[Any] = [json.loads(line) for line in process.communicate()[0].splitlines()]
    print([each["calls"] for each in told], f"{version} changes")
    assert [each["wrong"] for each in told] == [[]] * len(WRITERS + READERS)
    assert run_kb("--config", str(vault.config), "ingest").code == 0
    checks = run_kb("--config", str(vault.config), "doctor", "--json").json["checks"]
    assert [check for check in checks if check["state"] == "failed"] == []
    fresh = Workspace(vault.root.parent.parent / "fresh")
    shutil.copytree(vault.root, fresh.root, dirs_exist_ok=True)
    fresh.ingest()
    assert passages(vault.sqlite) == passages(fresh.sqlite)


def passages(sqlite: Path) -> list[Any]:
    """Every passage with the document it is of."""
    with closing(open_reader(sqlite)) as db:
        return db.execute(
            "SELECT d.workspace_path, c.ordinal, c.text, c.lang FROM chunks AS c JOIN documents AS d USING (doc_id) "
            "ORDER BY d.workspace_path, c.ordinal"
        ).fetchall()


def held_kb() -> int:
    """What this process holds in memory."""
    gc.collect()
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields["RssAnon"].split()[0])


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_many_searches_of_one_process_leave_no_file_open_and_little_in_memory(
    vault: Vault, fake_models: FakeModels, caplog: pytest.LogCaptureFixture
) -> None:
    assert run_kb("--config", str(vault.config), "ingest").code == 0
    caplog.set_level(logging.INFO, logger="kb")  # each statement that a test before let kb log is kept by pytest
    words = ["gateway", "펌프", "valve lamp", "배터리 version0", "What waits for the valve?", "아침에 열린다"]
    with open_base(load(str(vault.config)), many=True) as session:

        def ask(times: int) -> tuple[int, int]:
            for at in range(times):
                mode = ("hybrid", "lexical", "vector")[at % 3]
                assert search(session, SearchQuery(f"{words[at % 6]} {at % 97}", mode, 10)).hits  # type: ignore[arg-type]
            return held_kb(), len(os.listdir("/proc/self/fd"))

        ask(SEARCHES // 3)
        before_kb, before_files = ask(SEARCHES // 3)
        after_kb, after_files = ask(SEARCHES // 3)
    print(f"{SEARCHES} searches: {before_kb} kB, then {after_kb} kB")
    assert after_files <= before_files
    assert after_kb - before_kb < 10_000
