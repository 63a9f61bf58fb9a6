"""What the tests share: a small vault in Korean and English, indexed once a run, and kb called as its users call it."""

from __future__ import annotations

import functools
import json
import os
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, settings
from once import pytest_addoption, pytest_configure

from kb.cli.main import main
from kb.store import queries
from kb.store.connection import open_writer

__all__ = ["pytest_addoption", "pytest_configure"]  # hooks

# A busy machine is slow, not wrong. `--hypothesis-profile thorough` tries more examples.
settings.register_profile("thorough", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("kb", settings.get_profile("thorough"), max_examples=30)
settings.load_profile("kb")

# A job in a shell's background ignores Ctrl-C, and with it would every program that the tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)  # after -m and -k
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where several processes share the files, those with slow tests come first, and at the end the small ones."""
    if hasattr(config, "workerinput"):
        slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
        all_of = Counter(item.path for item in items)
        items.sort(key=lambda item: (-slow[item.path], -all_of[item.path], item.path))


@functools.cache
def tool(name: str) -> ModuleType:
    """A program of tools/ as a module."""
    loader = SourceFileLoader(name, str(Path(__file__).parents[1] / "tools" / name))
    spec = spec_from_loader(name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


FILE_TIME_S = 1_770_000_000  # 2026-02-02T02:40:00Z

NOTES = {
    "chunking.md": """\
---
title: 청킹 규칙
tags: [규칙, 색인]
---
# 청킹 규칙

문서는 제목을 경계로 나눈다. 코드 블록과 표는 가운데서 자르지 않는다.

## 겹침

이웃한 조각은 80 토큰을 서로 나누어 가진다. 긴 절은 문단에서, 다음에는 문장에서 자른다.
""",
    "projects/gateway/log.md": """\
---
title: Gateway log
tags: [infra, 회의]
aliases: [게이트웨이 일지]
trust_level: secondary
---
# Gateway log

## Retry and backoff

The gateway retries a failed upload five times with exponential backoff, then it keeps the batch on disk.

```python
def backoff(attempt: int) -> float:
    return 0.5 * 2**attempt
```

## 전원

정전이 나면 배터리가 네 시간을 버틴다. The watchdog restarts the gateway.
""",
    "projects/gateway/meeting #2.md": """\
# 주간 회의

- 센서 교체는 3월에 한다.
- 귤 상자는 창고에 둔다.
""",
    "projects/notes.md": """\
# Reading list

Cafe opening hours, a naïve résumé, and the chunk size question: how long is a chunk?
""",
    "generated/summary.md": """\
---
trust_level: generated
lang: en
---
# Summary of the gateway

The gateway retries uploads. This page was written by a program.
""",
    "hostile.md": """\
# Red \x1b[31mtitle\x07

A zebra \x1b]0;owned\x07 and a \u202edesrever\u202c word, then a \x9bline.
""",
}


class Vault(NamedTuple):
    """A knowledge base of its own: the notes, the configuration file and the SQLite file."""

    root: Path
    config: Path
    sqlite: Path


class Ran(NamedTuple):
    """What one call of kb came to."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        """The one JSON value on stdout."""
        return json.loads(self.stdout)

    @property
    def lines(self) -> list[Any]:
        """The JSON values on stdout, one per line."""
        return [json.loads(line) for line in self.stdout.splitlines()]


Kb = Callable[..., Ran]


def write_notes(root: Path, notes: Mapping[str, str] = NOTES) -> None:
    """Writes the notes below `root`, with one modification time for all."""
    for name, text in notes.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        os.utime(path, (FILE_TIME_S, FILE_TIME_S))


def make_vault(
    directory: Path,
    notes: Mapping[str, str] = NOTES,
    *,
    settings: str = "",
    mode: str = "lexical",
    files: Mapping[str, bytes | Path] | None = None,
) -> Vault:
    """A vault that is not indexed; `settings` end its configuration, `files` are bytes or originals."""
    root = directory / "notes"
    root.mkdir(parents=True)
    write_notes(root, notes)
    for name, content in (files or {}).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Path):
            shutil.copy(content, root / name)
        else:
            (root / name).write_bytes(content)
    config = directory / "kb.toml"
    storage = '[storage]\ndata_dir = "data"\nlog_dir = "logs"\n'
    text = f'[workspace]\nroot = "notes"\n\n[search]\nmode = "{mode}"\n\n{storage}{settings}'
    config.write_text(text, encoding="utf-8")
    return Vault(root, config, directory / "data" / "kb.sqlite")


def indexed_vault(directory: Path, notes: Mapping[str, str] = NOTES, *, embed: bool = False, **settings: Any) -> Vault:
    """A vault of `make_vault`, indexed; by its words alone unless `embed`."""
    made = make_vault(directory, notes, **settings)
    ran = kb_in(made)("ingest", *(() if embed else ("--no-embed",)))
    assert ran.code == 0, ran.stderr
    return made


def measured_vault(directory: Path, golden: str) -> Vault:
    """An indexed vault with a golden set."""
    made = indexed_vault(directory)
    (directory / "data/golden.yaml").write_text(golden, encoding="utf-8")
    return made


def kb_in(vault: Vault) -> Kb:
    """Runs kb on a vault."""
    return lambda *args, **options: run_kb("--config", str(vault.config), *args, **options)


def copy_vault(source: Path, target: Path) -> Vault:
    """A copy of an indexed vault in another folder; the next ingest finds the notes there."""
    shutil.copytree(source, target)
    made = Vault(target / "notes", target / "kb.toml", target / "data" / "kb.sqlite")
    db = open_writer(made.sqlite)
    try:
        queries.upsert_workspace_root(db, root=str(made.root))
    finally:
        db.close()
    return made


def cpu_limited(command: Sequence[str | bytes | Path], seconds: int = 120) -> list[str | bytes | Path]:
    """The command, ended when it has used so much processor time: a busy machine takes long, and is not wrong."""
    return ["sh", "-c", f'ulimit -t {seconds}; exec "$@"', "sh", *command]


@contextmanager
def bounded_work(seconds: float = 60.0) -> Iterator[None]:
    """Fails what uses so much processor time: linear work of the tests takes a hundredth of it on a slow machine."""

    def stop(signal_number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"not done after {seconds} s of processor time")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def run_kb(*args: str, stdin: str | bytes = "", env: Mapping[str, str] | None = None) -> Ran:
    """Runs kb in this process, without the caller's settings, its output in a pipe."""
    hidden: dict[str, str | None] = {name: None for name in os.environ if name.startswith(("KB_", "XDG_"))}
    with CliRunner().isolation(input=stdin, env={**hidden, "COLUMNS": "100", **(env or {})}) as (out, err, _):
        code = main(list(args))
        return Ran(code, out.getvalue().decode("utf-8"), err.getvalue().decode("utf-8"))


@pytest.fixture(scope="session", autouse=True)
def kept_analyser() -> Iterator[None]:
    """The Korean analyser stays loaded: an ingest lets go of it before it embeds, and the next would load it again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kb.operations.ingest.ingest.release_analyser", lambda: None)
        yield


@pytest.fixture(scope="session")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    """The notes, indexed once for all tests: read it, never change it."""
    return indexed_vault(tmp_path_factory.mktemp("vault"))


@pytest.fixture
def fresh_vault(tmp_path: Path) -> Vault:
    """The notes, not indexed, for a test that changes them."""
    return make_vault(tmp_path)


@pytest.fixture
def kb(vault: Vault) -> Kb:
    """Runs kb on the shared vault."""
    return kb_in(vault)


@pytest.fixture(scope="session")
def empty_homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Home directories, each given out until something lies in it: few tests write there, and thousands run."""

    def homes() -> Iterator[Path]:
        while True:
            home = tmp_path_factory.mktemp("home")
            while not any(home.iterdir()):
                yield home

    return homes()


@pytest.fixture(autouse=True)
def away_from_home(empty_homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test reads or writes the files of whoever runs it, or finds what another left: its empty home directory."""
    home = next(empty_homes)
    monkeypatch.setenv("HOME", str(home))
    for name in list(os.environ):
        if name == "KB_CONFIG" or name.startswith("XDG_"):
            monkeypatch.delenv(name)
    return home
