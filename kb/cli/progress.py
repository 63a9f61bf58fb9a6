"""The progress of an ingest on a terminal: one bar, the file in hand. Nothing in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kb.cli.terminal import plain_line
from kb.operations.events import (
    AssetFinished,
    AssetStarted,
    EmbedBatchStarted,
    ExtractProgress,
    IngestEvent,
    ScanCompleted,
)

OnEvent = Callable[[IngestEvent], None]


@contextmanager
def show_progress() -> Iterator[OnEvent]:
    """A function that takes an ingest's events and draws them on stderr."""
    if not sys.stderr.isatty():
        yield lambda event: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[path]}", style="dim", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("scanning", total=None, path="")

        def draw(event: IngestEvent) -> None:
            if isinstance(event, ScanCompleted):
                bar.update(task, description="indexing", total=event.total)
            elif isinstance(event, AssetStarted):
                bar.update(task, path=plain_line(event.path))
            elif isinstance(event, ExtractProgress):
                part = f" {100 * event.done // event.total} %" if event.total else ""
                bar.update(task, path=f"{plain_line(event.path)}  {event.engine}{part}")
            elif isinstance(event, AssetFinished):
                bar.update(task, advance=1)
            elif isinstance(event, EmbedBatchStarted):
                bar.update(task, description="embedding", path=event.model)

        yield draw


@contextmanager
def show_bytes() -> Iterator[Callable[[str, int, int], None]]:
    """A function that takes (stage, done bytes, total bytes) and draws it on stderr."""
    if not sys.stderr.isatty():
        yield lambda stage, done_bytes, total_bytes: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda stage, done_bytes, total_bytes: bar.update(
            task, description=stage, completed=done_bytes, total=total_bytes
        )


@contextmanager
def show_count(what: str) -> Iterator[Callable[[int, int], None]]:
    """A function that takes how many are done and how many there are, and draws it on stderr."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
