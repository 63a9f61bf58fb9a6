"""`kb watch`: keeps the index up to date, and runs commands of other terminals in a process that is already loaded."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Literal

import click

from kb.cli.call import Call, pass_call
from kb.cli.entry import config_path
from kb.cli.output.ingest_report import MARKS, SHOWN_ITEMS
from kb.cli.output.printing import echo_folded
from kb.cli.output.progress import duration
from kb.cli.watch_ingest import NOT_TAKEN, ingest_command_line
from kb.cli.watch_socket import only_watch
from kb.config import default_path, load
from kb.domain.sources import Source
from kb.domain.text import counted, plain_line
from kb.errors import KbError
from kb.models.requirements import lacking_packages, require
from kb.operations.admin.service import install, uninstall, watch_service
from kb.private import require_writable, users_surroundings
from kb.scan.changes import How, changes

# Without notice of a change the files are compared with the index so often: notices can be lost, while asleep too.
_COMPARED_EVERY_S = 3600

# How often it is looked whether the configuration file has changed: sources may have been added.
_CONFIG_READ_EVERY_S = 2

# After an ingest that failed, e.g. because another one runs: the first pause, and the longest.
_PAUSE_S, _LONGEST_PAUSE_S = 5, 320

# A program that saves while one types changes files all the time. An ingest waits so many times as long as the last one
# took, at most so many seconds; one that embeds is asked for a turn so long after it began, or after its last turn.
_REST, _LONGEST_REST_S = 2, 30
_TURN_S = 15

# How often it is said how far embedding is.
_TOLD_EVERY_S = 60
_TOLD_FROM_PASSAGES = 200

_HOW: Mapping[How, str] = {
    "notices": "watching ",
    "polling": "watching, by looking every few seconds, ",
    "gone": "waiting for the folder ",
}

News = Literal["changed", "configured", "embedding", "scanning", "ended"]


@click.command(
    "watch",
    epilog="""\b
Examples:
  kb watch                     # until Ctrl-C
  kb watch --install           # from the next login on, by itself; and now
  kb watch --uninstall
""",
)
@click.option("--polling", is_flag=True, help="Look for changes every few seconds instead of waiting for notices.")
@click.option("--install", "installs", is_flag=True, help="Run it from the login on (systemd or launchd), and now.")
@click.option("--uninstall", "uninstalls", is_flag=True, help="Undo --install.")
@pass_call
def watch_command(call: Call, polling: bool, installs: bool, uninstalls: bool) -> None:
    """Keep the index as your files are, and answer kb search, ask, fetch and open of other terminals at once.

    kb ingest runs in a process of its own whenever files have changed. On Linux, calls of kb search, ask, fetch and
    open with the same configuration run in a process that has loaded kb and the models already: they print the same,
    sooner. Models are dropped after ten minutes without a call.
    """
    options, config = call.same_options(), call.config
    if uninstalls:
        service = watch_service(options, config.workspace_root, os.environ, is_usual=_is_usual(call))
        uninstall(service)
        _say(plain_line(str(service.file)), "removed ")
        return
    require("kb watch", lacking_packages(("watchfiles",), "watch"))
    require_writable()
    if installs:
        service = watch_service(options, config.workspace_root, os.environ, is_usual=_is_usual(call))
        install(service)
        _say(plain_line(str(service.file)), "started, and at every login: ")
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with only_watch(config_path(str(call.config.file) if call.config.file else None)), _ended_by_ctrl_c():
        _Keeper(call).keep(polling=polling)


def _is_usual(call: Call) -> bool:
    return not call.settings and call.config.file in (None, default_path(os.environ))


@contextmanager
def _ended_by_ctrl_c() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        click.echo("stopped", err=True)


class _Keeper:
    """Runs `kb ingest` when files have changed. One that embeds is asked to let another read the changes first."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._news: SimpleQueue[News | BaseException] = SimpleQueue()
        self._running: subprocess.Popen[str] | None = None
        self._is_embedding = False
        # What the last report said: it is not said again.
        self._failures: dict[str, dict[str, Any]] = {}
        self._notes: set[str] = set()
        self._polling = False
        self._watched: tuple[Source, ...] = ()

    def keep(self, *, polling: bool) -> None:
        """Runs until it is interrupted; a running ingest then ends after its current step.

        A change is read by the next ingest, or by one that the embedding was asked for and that has begun to scan.
        """
        self._polling = polling
        self._watch(self._call.config.sources.every)
        if self._call.config.file is not None:
            Thread(target=self._await_settings, args=(self._call.config.file,), name="kb-config", daemon=True).start()
        has_changed, has_asked, pause_s = False, False, 0
        started = acts_from = time.monotonic()
        try:
            while True:
                now, can_act = time.monotonic(), self._running is None or (self._is_embedding and not has_asked)
                if has_changed and can_act and now >= acts_from:
                    has_changed, acts_from = False, now + _TURN_S
                    if self._running is None:
                        started = now
                        self._start()
                    else:
                        self._running.send_signal(signal.SIGUSR1)
                        has_asked = True
                    continue
                idle_s = None if self._running else pause_s or _COMPARED_EVERY_S
                try:
                    news = self._news.get(timeout=acts_from - now if has_changed and can_act else idle_s)
                except Empty:
                    has_changed = True
                    continue
                if isinstance(news, BaseException):
                    raise news
                if news == "ended":
                    assert self._running is not None
                    code = self._running.wait()
                    failed = code not in (0, 130, NOT_TAKEN)
                    pause_s = min(2 * pause_s or _PAUSE_S, _LONGEST_PAUSE_S) if failed else 0
                    now = time.monotonic()
                    acts_from = now + min(_REST * (now - started), _LONGEST_REST_S)
                    if code < 0:  # else it has said itself what is wrong
                        _say(f"kb ingest was ended by signal {-code}; it goes on in {duration(pause_s)}", "note: ")
                    self._running = None
                    has_changed, has_asked = has_changed or has_asked or code == NOT_TAKEN, False
                elif news == "changed":
                    has_changed = True
                elif news == "scanning":
                    has_asked = False
                elif news == "configured" and self._configured():
                    has_changed = True
                    if self._running is not None and self._is_embedding:
                        self._running.terminate()
        finally:
            if self._running is not None:
                self._running.terminate()
                self._running.wait()

    def _watch(self, sources: tuple[Source, ...]) -> None:
        """Follows these sources; the threads of others end with their next news."""
        before, self._watched = self._watched, sources
        for source in sources:
            if source not in before:
                Thread(target=self._await_changes, args=(source,), name="kb-changes", daemon=True).start()

    def _configured(self) -> bool:
        """Follows the sources of the changed configuration; an ingest, which reads all of it, has to follow.

        One that cannot be read changes nothing, and is told.
        """
        try:
            self._watch(load(str(self._call.config.file), self._call.settings).sources.every)
        except KbError as error:
            _say(plain_line(f"{error.message} ({error.hint})"), "the configuration cannot be read: ")
            return False
        return True

    def _await_settings(self, file: Path) -> None:
        def state() -> tuple[int, ...] | None:
            try:
                found = file.stat()
            except OSError:
                return None
            return found.st_mtime_ns, found.st_size, found.st_ino

        known = state()
        while True:
            time.sleep(_CONFIG_READ_EVERY_S)
            now = state()
            if now is not None and now != known:
                known = now
                self._news.put("configured")

    def _await_changes(self, source: Source) -> None:
        config = self._call.config

        def tell(how: How) -> None:
            if source in self._watched:
                _say(plain_line(str(source.root)), _HOW[how])

        try:
            for _ in changes(
                source.root,
                include=source.include,
                exclude=source.exclude,
                own=(config.data_dir, config.cache_dir, config.log_dir),
                polling=self._polling,
                tell=tell,
            ):
                if source not in self._watched:
                    return
                self._news.put("changed")
        except BaseException as error:  # noqa: BLE001  raised again by the thread that waits for news
            self._news.put(error)

    def _start(self) -> None:
        self._is_embedding = False
        self._running = subprocess.Popen(
            ingest_command_line(self._call),
            env=users_surroundings().environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,  # Ctrl-C is passed on once
        )
        Thread(target=self._follow, args=(self._running,), name="kb-ingest", daemon=True).start()

    def _follow(self, process: subprocess.Popen[str]) -> None:
        """Prints what an ingest did, and those that it let write meanwhile."""
        assert process.stdout is not None
        embedding = _Embedding()
        notes: set[str] = set()
        for line in process.stdout:
            if not line.endswith("\n"):  # it was killed
                break
            told = json.loads(line)
            if told.get("kind") == "scan_started":
                self._news.put("scanning")
            elif told.get("kind") == "embed_progress":
                if not self._is_embedding:
                    self._is_embedding = True
                    self._news.put("embedding")
                embedding.show(told["done"], told["total"])
            elif told["schema_version"] == "ingest_report.v1":
                if told["items"] is not None:
                    self._show(told["items"])
                for note in set(told["notes"]) - self._notes - notes:
                    _say(plain_line(note), "note: ")
                notes |= set(told["notes"])
        self._notes = notes
        self._news.put("ended")

    def _show(self, items: list[dict[str, Any]]) -> None:
        """Prints a line for each file that changed, of many the first; for one that fails again as before, none."""
        before, self._failures = self._failures, {each["doc_path"]: each["error"] for each in items if each["error"]}
        items = [each for each in items if not each["error"] or before.get(each["doc_path"]) != each["error"]]
        for item in items[:SHOWN_ITEMS]:
            path = plain_line(item["doc_path"])
            if failed := item["error"]:
                _say(f"{path}: {plain_line(failed['message'])}", "✗ ")
            else:
                origin = f"  (from {plain_line(item['moved_from'])})" if item.get("moved_from") else ""
                _say(f"{path}{origin}", f"{MARKS[item['kind']]} ")
        if len(items) > SHOWN_ITEMS:
            _say(f"and {counted(len(items) - SHOWN_ITEMS, 'more file')}", "  ")


def _say(text: str, head: str) -> None:
    echo_folded(text, head=head)
    sys.stdout.flush()


class _Embedding:
    """Prints how many passages can be found only by their words so far, and for about how long."""

    def __init__(self) -> None:
        self._began = self._told = -math.inf

    def show(self, done: int, total: int) -> None:
        """Prints it at once and then every minute, if there are many passages; a `done` of 0 restarts the clock."""
        now = time.monotonic()
        if not done:
            self._began = now
        if total < _TOLD_FROM_PASSAGES or now - self._told < _TOLD_EVERY_S:
            return
        self._told = now
        left = f", some {duration((now - self._began) / done * (total - done))} left" if done else ""
        _say(f"{done:,} of {total:,} embedded{left}; found by their words until then", "passages: ")
