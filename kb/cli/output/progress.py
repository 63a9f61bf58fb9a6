"""The progress of long work on a terminal: one line per stage, on stderr, nothing in a pipe. Ctrl-C stops the work."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from kb.cli.call import Call
from kb.cli.output.printing import print_json
from kb.cli.output.terminal import columns, end_within
from kb.domain.files_left import FilesLeft
from kb.domain.ingest_events import (
    AssetFinished,
    AssetStarted,
    ClusterJoined,
    ClusterProgress,
    EmbedAgain,
    EmbedProgress,
    ExtractProgress,
    ScanCompleted,
    ScanStarted,
    ToldEvent,
)
from kb.domain.run_handle import RunEvent, RunHandle, StepProgress
from kb.domain.text import counted, plain_line
from kb.operations.opening.clock import now_utc

if TYPE_CHECKING:
    from rich.progress import Progress, Task, TaskID

OnEvent = Callable[[RunEvent], None]

# Readable on a dark and on a light background; Rich's own green, yellow and cyan are not on the latter.
_STYLES = {"bar.complete": "magenta", "bar.finished": "magenta", "bar.pulse": "magenta"}

# Below so many columns there is no bar, only its figures; the bar takes so many.
_BAR_FROM_COLUMNS = 100
_BAR_COLUMNS = 20

# Fewer passages are embedded before anybody could read it.
_SAID_FROM_PASSAGES = 200


@contextmanager
def interruptible(shown: AbstractContextManager[OnEvent]) -> Iterator[RunHandle]:
    """The handle of long work, whose events go to `shown`.

    Ctrl-C or SIGTERM cancels the work, twice ends the process; another program that sends the latter is told nothing.
    """
    context = click.get_current_context(silent=True)
    with shown as on_event:
        handle = RunHandle(on_event)

        def press(signum: int, frame: FrameType | None) -> None:
            if handle.is_canceled():
                os._exit(128 + signum)
            handle.cancel()
            if context is not None and (call := context.find_object(Call)) is not None:
                call.was_interrupted = True
            if signum == signal.SIGTERM:
                return
            # Not click.echo: a progress display replaces sys.stderr, and prints this on a line above it.
            print("stopping after the current step; press again to stop at once", file=sys.stderr)

        old = {each: signal.signal(each, press) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield handle
        finally:
            for each, handler in old.items():
                signal.signal(each, handler)


def ingest_progress(*, as_json: bool) -> AbstractContextManager[OnEvent]:
    """A function that prints an ingest's events: each as a line of JSON on stdout, or all drawn on stderr."""
    return nullcontext(_print_event) if as_json else show_progress()


@contextmanager
def show_progress() -> Iterator[OnEvent]:
    """A function that takes the events of long work and draws them on stderr.

    Of an ingest the files, then the passages per model; of other work each of its steps.
    """
    if not sys.stderr.isatty():
        yield _say
        return
    with _progress() as bar:
        yield _Drawing(bar).draw


def _print_event(event: Any) -> None:
    """Prints the `ingest_progress.v1` line of an event; an event without one is printed on stderr."""
    if isinstance(event, EmbedAgain):
        _say(event)
    else:
        print_json(ToldEvent(now_utc(), event))


def _say(event: RunEvent) -> None:
    """Prints on stderr, above any bar, that an index is embedded again or which cluster works; ignores other events."""
    if isinstance(event, EmbedAgain):
        what = f"embedding {event.passages:,} passages again with {plain_line(event.model)}"
        searches = "searches use the old vectors" if event.by_old else "searches are by words"
        # Not click.echo: a progress display takes the place of sys.stderr.
        print(f"{what}, some {duration(event.seconds)}; {searches} until it is done", file=sys.stderr, flush=True)
    elif isinstance(event, ClusterJoined):
        size = f"{event.workers} worker{'' if event.workers == 1 else 's'}, {event.threads} threads"
        print(f"cluster {event.scheduler}: {size}; {plain_line(event.dashboard)}", file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    """An estimated time: `40 s`, `12 min`, `2.5 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"


def _progress() -> Progress:
    """A display with one line per task: its name, a bar where there is room, how far it is, the current file."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn
    from rich.theme import Theme

    bar = [BarColumn(_BAR_COLUMNS)] if columns() >= _BAR_FROM_COLUMNS else []
    texts = [
        TextColumn("{task.fields[state]}", markup=False),
        TextColumn("{task.fields[path]}", style="dim", markup=False),
    ]
    console = Console(stderr=True, theme=Theme(_STYLES))
    return Progress(TextColumn("{task.description}", markup=False), *bar, *texts, console=console, transient=True)


class _Drawing:
    """One line for the files, one per model that embeds, and one per step of other work."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._files: TaskID | None = None
        self._models: dict[str, TaskID] = {}
        self._steps: dict[str, TaskID] = {}
        self._said_again = False
        self._cluster: TaskID | None = None
        self._files_left_by_kind = FilesLeft()

    def draw(self, event: RunEvent) -> None:
        """Shows an event."""
        self._files_left_by_kind.note(event)
        if isinstance(event, ScanStarted):
            self._files = self._bar.add_task("scanning", total=None, state="", path="")
        elif isinstance(event, EmbedAgain):
            self._said_again = True
            _say(event)
        elif isinstance(event, ClusterJoined):
            self._cluster = self._bar.add_task("cluster", total=None, state="", path="")
            _say(event)
        elif isinstance(event, ClusterProgress):
            self._draw_cluster(event)
        elif isinstance(event, EmbedProgress):
            self._draw_model(event)
        elif isinstance(event, StepProgress):
            self._draw_step(event)
        elif self._files is not None:
            self._draw_file(self._files, event)

    def _draw_file(self, files: TaskID, event: RunEvent) -> None:
        bar = self._bar
        if isinstance(event, ScanCompleted):
            bar.update(files, description="indexing", total=event.total)
        elif isinstance(event, AssetStarted):
            self._draw_path(files, event.path)
        elif isinstance(event, ExtractProgress):
            part = f" {100 * event.done // event.total} %" if event.total else ""
            self._draw_path(files, f"{event.path}  {event.engine}{part}")
        elif isinstance(event, AssetFinished):
            bar.update(files, advance=1, path="")
            bar.update(files, state=_state(self._task(files), "files", self._files_left_by_kind.seconds()))

    def _draw_path(self, files: TaskID, path: str) -> None:
        task = self._task(files)
        bar = _BAR_COLUMNS + 1 if columns() >= _BAR_FROM_COLUMNS else 0
        room = columns() - len(task.description) - bar - len(task.fields["state"]) - 3
        self._bar.update(files, path=end_within(plain_line(path), room))

    def _draw_model(self, event: EmbedProgress) -> None:
        if self._files is not None:
            self._bar.update(self._files, path="")
        if event.model not in self._models:
            what = "embedding " if columns() >= _BAR_FROM_COLUMNS else ""
            name = f"{what}{plain_line(event.model)}"
            self._models[event.model] = self._bar.add_task(name, total=event.total, state="", path="")
            if event.total >= _SAID_FROM_PASSAGES and not self._said_again:
                left = self._files_left()
                what, after = ("this", f"; {counted(left, 'more file')} will be read then") if left else ("all", "")
                said = f"{what} text is found by its words now, by its meaning once it is embedded{after}"
                print(said, file=sys.stderr)
        task = self._models[event.model]
        self._bar.update(task, completed=event.done, total=event.total)
        shown = self._task(task)
        self._bar.update(task, state=_state(shown, "passages", shown.time_remaining))

    def _files_left(self) -> int:
        if self._files is None:
            return 0
        task = self._task(self._files)
        return int((task.total or 0) - task.completed)

    def _draw_cluster(self, event: ClusterProgress) -> None:
        workers = f"{event.workers} workers, {event.tasks_done}+{event.tasks_under_way} tasks"
        moved = f"{event.sent_bytes / 1e6:.1f} MB sent, {event.received_bytes / 1e6:.1f} MB back"
        left = f" {_clock(event.seconds_left)} left" if event.seconds_left is not None else ""
        if self._cluster is not None:
            self._bar.update(self._cluster, state=f"{workers}, {moved} {_rate(event.rate)}/s{left}")

    def _draw_step(self, event: StepProgress) -> None:
        if event.step not in self._steps:
            total = event.total or None
            self._steps[event.step] = self._bar.add_task(plain_line(event.step), total=total, state="", path="")
        task = self._steps[event.step]
        if event.total:
            self._bar.update(task, completed=event.done, total=event.total)
            shown = self._task(task)
            self._bar.update(task, state=_state(shown, event.unit, shown.time_remaining))
        else:
            self._bar.update(task, state="rebuilding …")

    def _task(self, task_id: TaskID) -> Task:
        return next(task for task in self._bar.tasks if task.id == task_id)


def _state(task: Task, what: str, seconds_left: float | None) -> str:
    """How many are done; until all are, also the rate per second and the time left, if known, but for bytes."""
    if what == "bytes":
        return f"{task.completed / 1e6:.1f}/{(task.total or 0) / 1e6:.1f} MB"
    done = f"{task.completed:,.0f}/{task.total or 0:,.0f} {what}"
    if task.finished or not task.speed or seconds_left is None:
        return done
    return f"{done} {_rate(task.speed)}/s {_clock(seconds_left)} left"


def _rate(per_second: float) -> str:
    return f"{per_second:,.0f}" if per_second >= 10 else f"{per_second:.1f}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@contextmanager
def show_stage() -> Iterator[OnEvent]:
    """A function that draws the current step on stderr, with the time it takes, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda event: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    shown = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*shown, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("checking", total=None)

        def draw(event: RunEvent) -> None:
            if isinstance(event, StepProgress):
                bar.update(task, description=event.step)

        yield draw
