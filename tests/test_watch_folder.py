"""`kb watch` keeps the index as the files are: through edits, moves, deletions, kills, and folders that go and come."""

from __future__ import annotations

import os
import plistlib
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from queue import Empty
from types import SimpleNamespace

import apsw
import pytest
from conftest import Vault, make_vault, run_kb, write_notes
from watching import KB, children, environment, watch

from kb.cli.call import Call
from kb.cli.commands import watch as watch_module
from kb.cli.commands.watch import _Keeper
from kb.cli.watch_ingest import ingest_command_line
from kb.operations.admin.service import watch_service
from kb.scan.changes import is_remote
from kb.scan.walk import concern_of

NO_VECTORS = '[models.embedding]\nprovider = "none"\n'
WORDS = "wombat kettle 게이트웨이 청킹 lantern 자전거 orchid 보일러".split()


def indexed(sqlite: Path) -> dict[str, set[str]]:
    """The ids of the documents and passages by path; they are those of any index of the same files."""
    if not sqlite.exists():
        return {}
    asked = "SELECT workspace_path, doc_id, chunk_id FROM documents LEFT JOIN chunks USING (doc_id)"
    found: dict[str, set[str]] = {}
    try:
        with closing(apsw.Connection(str(sqlite), flags=apsw.SQLITE_OPEN_READONLY)) as db:
            for path, *ids in db.execute(asked):
                found.setdefault(str(path), set()).update(map(str, ids))
    except (apsw.SQLError, apsw.BusyError):  # its tables are being made
        return {}
    return found


# Tables of what follows from the files, and columns of what does not: when they were read, in which order, and where
# their copies are. A file read as soon as it was written has no time yet, and is read again next time.
CONTENTS = """
    assets blocks chunks chunks_vocab document_names document_properties document_tags documents korean_units links
    pipelines word_sounds words
""".split()
OF_THE_RUN = ("_at", "rowid", "doc_version", "mtime_ns", "provenance_json", "source_uri", "storage_path")


def contents(sqlite: Path) -> dict[str, list[str]]:
    """The rows of each table, as they are in any index of the same files."""
    with closing(apsw.Connection(str(sqlite), flags=apsw.SQLITE_OPEN_READONLY)) as db:
        db.set_busy_timeout(5_000)
        found = {}
        for table in CONTENTS:
            columns = [str(row[1]) for row in db.execute(f"PRAGMA table_info({table})")]
            kept = ", ".join(f'"{each}"' for each in columns if not each.endswith(OF_THE_RUN))
            rows = [repr(row) for row in db.execute(f"SELECT {kept} FROM {table}")]
            found[table] = sorted(row for row in rows if "'ingested', 0, 'date'" not in row)
        return found


def fresh(vault: Vault, place: Path) -> dict[str, set[str]]:
    """What a new index of the same files holds."""
    data = place / "fresh"
    shutil.rmtree(data, ignore_errors=True)
    done = run_kb("--config", str(vault.config), "--set", f"storage.data_dir={data}", "ingest", "--allow-empty")
    assert done.code == 0, done.stderr
    return indexed(data / "kb.sqlite")


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Until it is so."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def edit(root: Path, chance: random.Random) -> None:
    """One of the things that people do to a folder of notes."""
    files = sorted(root.rglob("*.md"))
    text = f"# {chance.choice(WORDS)}\n\n" + " ".join(chance.choices(WORDS, k=12)) + f" {chance.random()}.\n"
    what = chance.choice(("new", "new", "edit", "edit", "move", "move", "delete", "folder", "ignored"))
    place = root / chance.choice(("", "a", "a/b", "c"))
    place.mkdir(parents=True, exist_ok=True)
    if what == "new" or not files:
        (place / f"n{chance.randrange(10**6)}.md").write_text(text, encoding="utf-8")
    elif what == "edit":
        chance.choice(files).write_text(text, encoding="utf-8")
    elif what == "move":
        chance.choice(files).replace(place / f"m{chance.randrange(10**6)}.md")
    elif what == "delete":
        chance.choice(files).unlink()
    elif what == "folder" and (root / "a").is_dir():
        (root / "a").replace(root / f"d{chance.randrange(10**6)}")
    elif what == "ignored":
        (place / "node_modules").mkdir(exist_ok=True)
        (place / "node_modules/x.md").write_text(text, encoding="utf-8")


@pytest.mark.slow
def test_the_index_is_that_of_the_files_after_edits_and_kills(tmp_path: Path) -> None:
    """KB_EDITS: how many edits; after each twenty the index is compared, or the watch is killed."""
    vault, chance = make_vault(tmp_path, settings=NO_VECTORS), random.Random(35)
    for number in range(int(os.environ.get("KB_EDITS", "80")) // 20 + 1):
        with watch(vault.config) as (process, _):
            for _ in range(20):
                edit(vault.root, chance)
                time.sleep(chance.random() / 10)
                for child in children(process.pid) if chance.random() < 0.1 else ():
                    os.kill(child, signal.SIGKILL)
            if number % 2:
                process.kill()  # the next one finds what this one missed
            else:
                expected = fresh(vault, tmp_path)
                wait_for(lambda: indexed(vault.sqlite) == expected)  # noqa: B023  it is waited for here
                wait_for(lambda: contents(vault.sqlite) == contents(tmp_path / "fresh/kb.sqlite"), 10)


class _Script:
    """News at given seconds in place of a queue; a wait moves the clock on."""

    def __init__(self, news: list[tuple[float, object]]) -> None:
        self.now = 0.0
        self._news = news

    def get(self, timeout: float | None) -> object:
        at, news = self._news[0]
        if timeout is not None and at > self.now + timeout:
            self.now += timeout
            raise Empty
        self.now = max(self.now, at)
        del self._news[0]
        if isinstance(news, BaseException):
            raise news
        return news


def test_an_ingest_rests_and_is_asked_once_for_each_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is saved all the time while one types must not keep a core busy."""
    keeper = _Keeper(Call(str(make_vault(tmp_path, settings=NO_VECTORS).config), (), False, False))
    changes = [(1.0, "embedding"), (2.0, "changed"), (3.0, "changed"), (16.0, "changed"), (17.0, "scanning")]
    script = _Script([(0.0, "changed"), *changes, (35.0, "ended"), (70.0, KeyboardInterrupt())])
    did: list[object] = []
    running = SimpleNamespace(
        send_signal=lambda number: did.append((number, script.now)),
        wait=lambda: 0,
        terminate=lambda: did.append("terminated"),
    )

    def start() -> None:
        did.append(("started", script.now))
        keeper._running, keeper._is_embedding = running, True  # type: ignore[assignment]

    monkeypatch.setattr(keeper, "_start", start)
    monkeypatch.setattr(keeper, "_watch", lambda sources: None)
    monkeypatch.setattr(keeper, "_news", script)
    monkeypatch.setattr("kb.cli.commands.watch.time", SimpleNamespace(monotonic=lambda: script.now, sleep=time.sleep))
    with pytest.raises(KeyboardInterrupt):
        keeper.keep(polling=False)
    asked = [(signal.SIGUSR1, 15.0), (signal.SIGUSR1, 30.0)]
    assert did == [("started", 0.0), *asked, ("started", 65.0), "terminated"], (
        "what was asked for and not read is read by the next"
    )


def test_an_ingest_that_was_killed_is_told_and_followed_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    keeper = _Keeper(Call(str(make_vault(tmp_path, settings=NO_VECTORS).config), (), False, False))
    starts: list[object] = []

    def start() -> None:
        starts.append(None)
        if len(starts) == 2:
            raise KeyboardInterrupt
        keeper._running = SimpleNamespace(wait=lambda: -9, stdout=['{"kind": "scan_started"}\n', '{"schema_ver'])  # type: ignore[assignment]
        keeper._follow(keeper._running)  # type: ignore[arg-type]

    monkeypatch.setattr(keeper, "_start", start)
    monkeypatch.setattr(keeper, "_watch", lambda sources: None)
    monkeypatch.setattr(watch_module, "_PAUSE_S", 0.01)
    keeper._news.put("changed")
    with pytest.raises(KeyboardInterrupt):
        keeper.keep(polling=False)
    assert "kb ingest was ended by signal 9" in capsys.readouterr().out


def test_an_ingest_of_the_watch_says_in_words_what_is_wrong(tmp_path: Path) -> None:
    vault = make_vault(tmp_path, settings=NO_VECTORS)
    vault.sqlite.parent.parent.mkdir(parents=True, exist_ok=True)
    vault.sqlite.parent.write_text("no folder", encoding="utf-8")
    command = ingest_command_line(Call(str(vault.config), (), False, False))
    ran = subprocess.run(command, env=environment(tmp_path), capture_output=True, text=True, check=False)
    assert ran.stderr.startswith("error: ")


def test_a_source_that_is_added_is_watched_from_then_on(tmp_path: Path) -> None:
    vault = make_vault(tmp_path, {"a.md": "# A\n\nOne.\n"}, settings=NO_VECTORS)
    write_notes(tmp_path / "job", {"plan.md": "# Plan\n\nTwo.\n"})
    with watch(vault.config):
        wait_for(lambda: set(indexed(vault.sqlite)) == {"a.md"})
        before = vault.config.read_text(encoding="utf-8")
        vault.config.write_text(before + "[[sources]]\nname = ", encoding="utf-8")  # half saved
        time.sleep(2.5)
        added = f'{before}\n[[sources]]\nname = "work"\nroot = "{tmp_path / "job"}"\n'
        vault.config.write_text(added, encoding="utf-8")
        wait_for(lambda: set(indexed(vault.sqlite)) == {"a.md", "work:plan.md"})
        write_notes(tmp_path / "job", {"new.md": "# New\n\nThree.\n"})
        wait_for(lambda: "work:new.md" in indexed(vault.sqlite))
        vault.config.write_text(before, encoding="utf-8")
        wait_for(lambda: set(indexed(vault.sqlite)) == {"a.md"})


@pytest.mark.slow
def test_a_line_a_change_and_none_for_what_is_ignored(tmp_path: Path) -> None:
    vault = make_vault(tmp_path, {"a.md": "# A\n\nOne.\n"}, settings=NO_VECTORS, files={".gitignore": b"build/\n"})
    with watch(vault.config) as (process, _):
        assert process.stdout is not None
        said = [process.stdout.readline()]
        (vault.root / "build").mkdir()
        (vault.root / "build/out.md").write_text("# Out\n", encoding="utf-8")
        (vault.root / "broken.pdf").write_bytes(b"%PDF-1.4 no")
        said.append(process.stdout.readline())
        (vault.root / "a.md").rename(vault.root / "b.md")  # and the broken file fails once more
        said.append(process.stdout.readline())
        (vault.root / "b.md").unlink()
        (vault.root / "c.md").write_text("# C\n\nTwo.\n", encoding="utf-8")
        said += [process.stdout.readline(), process.stdout.readline()]
        process.send_signal(signal.SIGINT)
        last, _ = process.communicate(timeout=60)
    assert said[0] == b"+ a.md\n"
    assert said[1].startswith("✗ broken.pdf: ".encode())
    assert said[2:] == [b"> b.md  (from a.md)\n", b"+ c.md\n", b"- b.md\n"]
    assert (process.returncode, last) == (0, b"")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["--polling", "notices"])
def test_a_folder_that_goes_and_comes_back_is_watched_again(tmp_path: Path, how: str) -> None:
    vault = make_vault(tmp_path, {"a.md": "# A\n\nOne.\n"}, settings=NO_VECTORS)
    away = tmp_path / "away"
    with watch(vault.config, *(["--polling"] if how == "--polling" else [])) as (process, _):
        wait_for(lambda: set(indexed(vault.sqlite)) == {"a.md"})
        vault.root.rename(away)
        time.sleep(2)
        vault.root.mkdir()
        (vault.root / "b.md").write_text("# B\n\nTwo.\n", encoding="utf-8")
        wait_for(lambda: set(indexed(vault.sqlite)) == {"b.md"}, 120)
        (vault.root / "c.md").write_text("# C\n\nThree.\n", encoding="utf-8")
        wait_for(lambda: set(indexed(vault.sqlite)) == {"b.md", "c.md"})
        assert process.poll() is None


def test_what_a_walk_leaves_out_concerns_no_index(tmp_path: Path) -> None:
    vault = make_vault(tmp_path, {"a/b.md": "x", "out/c.md": "x"}, files={"a/.gitignore": b"*.tmp.md\ncache/\n"})
    concerns = concern_of(vault.root, include=("**/*.md", "*.log"), exclude=("out/**",))
    root = vault.root
    (root / "a/x.bin").write_bytes(b"x")
    (root / "a/y.log").write_bytes(b"x")
    assert [
        each
        for each in ("a/b.md", "a/gone.md", "a/.gitignore", "a/y.log", "a", "new")
        if not concerns(f"{root}/{each}")
    ] == []
    left_out = ("out/c.md", "a/b.tmp.md", "a/cache", "a/cache/d.md", ".git/index", "node_modules/x/y.md", "a/x.bin")
    assert [each for each in left_out if concerns(f"{root}/{each}")] == []


def test_folders_of_other_machines_are_known_by_their_file_system(tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"
    near = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    far = f"30 22 0:40 / {str(tmp_path / 'net share').replace(' ', chr(92) + '040')} rw - nfs4 host:/x rw\n"
    mounts.write_text(near + far, encoding="utf-8")
    assert [is_remote(tmp_path / name, mounts) for name in ("", "net share", "net share/notes", "net shared")] == [
        False,
        True,
        True,
        False,
    ]
    assert not is_remote(tmp_path, tmp_path / "nothing")


def test_services_start_the_same_watch(tmp_path: Path) -> None:
    options = ["--config", "/home/a b/50%$.toml", "--set", 'x="1"']
    unit = watch_service(options, Path("/notes"), {"XDG_CONFIG_HOME": "/c"}, "linux", is_usual=False)
    assert unit.file.parent == Path("/c/systemd/user")
    assert b'"--config" "/home/a b/50%%$$.toml" "--set" "x=\\"1\\"" "watch"\n' in unit.content
    agent = watch_service(options, Path("/notes"), {}, "darwin", is_usual=True)
    assert agent.file.name == "kb-watch.plist"
    assert plistlib.loads(agent.content)["ProgramArguments"][-5:] == [*options, "watch"]


@pytest.mark.slow
def test_install_and_uninstall_run_systemctl(tmp_path: Path) -> None:
    vault = make_vault(tmp_path)
    log, program = tmp_path / "log", tmp_path / "systemctl"
    program.write_text(f'#!/bin/sh\necho "$@" >>"{log}"\n', encoding="utf-8")
    program.chmod(0o700)
    env = environment(tmp_path, XDG_CONFIG_HOME=str(tmp_path / "config"), PATH=f"{tmp_path}:{os.environ['PATH']}")
    ran = [
        subprocess.run([*KB, "--config", vault.config, "watch", option], env=env, capture_output=True, check=False)
        for option in ("--install", "--uninstall", "--uninstall")
    ]
    assert [each.returncode for each in ran] == [0, 0, 2]
    name = Path(ran[0].stdout.split()[-1].decode()).name
    assert log.read_text(encoding="utf-8").splitlines() == [
        "--user daemon-reload",
        f"--user enable --now {name}",
        f"--user disable --now {name}",
    ]
    assert not list((tmp_path / "config/systemd/user").iterdir())
