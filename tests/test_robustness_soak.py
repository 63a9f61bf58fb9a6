"""Writers, readers and a folder that changes under them; many searches of one process: nothing is wrong, nothing grows.

KB_SOAK is how many minutes the first takes, KB_SEARCHES how many searches the second makes.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import random
import shutil
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from conftest import Vault, run_kb
from fake_embedder import FakeModels, fake_models
from ingest_fixtures import Workspace
from vaults import EMBEDDING, configured_vault

from kb.config import load
from kb.domain.search import SearchQuery
from kb.operations.opening.base import open_base
from kb.operations.search.search import search
from kb.store.connection import open_reader

__all__ = ["fake_models"]

pytestmark = pytest.mark.slow

SOAK_MINUTES = float(os.environ.get("KB_SOAK", "0.3"))
SEARCHES = int(os.environ.get("KB_SEARCHES", "300"))

_TESTS = Path(__file__).parent
WRITERS = [
    ["ingest", "index,--rebuild-fts", "index,--embeddings"],
    ["ingest", "index,--rebuild-lance", "index,--rebuild-mirror", "reset,vectors,--yes"],
]
READERS = [
    ["search,gateway,--json", "search,펌프,--json", "list,docs"],
    ["search,gateway version,--json,--mode,vector", "ask,What waits in the morning?"],
    ["search,배터리,--json,--mode,lexical", "list,symbols", "schema"],
    ["ask,펌프는 언제 열리는가?,--session,x", "search,valve,--json"],
    ["doctor,--quick,--json", "search,lamp,--json"],
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
    return configured_vault(tmp_path / "vault", notes, settings=EMBEDDING, mode="hybrid")


def start(vault: Vault, seconds: float, seed: int, commands: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(_TESTS / "soak.py"), str(vault.config), str(seconds), str(seed), *commands],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(_TESTS), str(_TESTS.parent)])},
        stdout=subprocess.PIPE,
        text=True,
    )


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
    ends = time.monotonic() + 60 * SOAK_MINUTES
    started = [start(vault, 60 * SOAK_MINUTES, seed, each) for seed, each in enumerate(WRITERS + READERS)]
    dice = random.Random(23)
    version = 0
    while time.monotonic() < ends:
        version += 1
        churn(vault.root, dice, version)
        time.sleep(0.05)
    told: list[Any] = [json.loads(process.communicate()[0].splitlines()[-1]) for process in started]
    print([each["calls"] for each in told], f"{version} changes")
    assert [each["wrong"] for each in told] == [[]] * len(started)
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
    assert after_kb - before_kb < 20_000
