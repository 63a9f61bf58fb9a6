"""The progress of an ingest on a terminal: one bar, the file in hand. Nothing in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kb.cli.terminal import plain_line
from kb.operations.events import AssetFinished, AssetStarted, IngestEvent, ScanCompleted

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
            elif isinstance(event, AssetFinished):
                bar.update(task, advance=1)

        yield draw
