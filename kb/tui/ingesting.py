"""The ingest screen of `kb ui`: progress, results, and which files were not read and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import ProgressBar, Static

from kb.domain.ingest_events import AssetFinished, AssetStarted, EmbedProgress, ExtractProgress, ScanCompleted
from kb.domain.results.ingest import IngestReport
from kb.domain.results.inspection import FileProblem, LastIngest
from kb.domain.run_handle import RunEvent, RunHandle
from kb.operations.ingest.ingest import ingest
from kb.operations.ingest.requests import ingest_request
from kb.operations.inspect.status import last_problems, last_run
from kb.operations.opening.base import Base
from kb.tui.rows import clean_line
from kb.tui.screens import AskingScreen

_DRAWN_S = 0.2  # a slow terminal is not sent each file
_SHOWN = 500
_KINDS_SHOWN = 12


class IngestScreen(AskingScreen):
    """Files the last ingest did not read; Enter begins another ingest, Esc stops it after the current document."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "start"),
        Binding("escape,q", "leave"),
    ]

    def __init__(self, session: Base, *, may_write: bool) -> None:
        super().__init__(session, may_write=may_write)
        self._handle: RunHandle | None = None
        self._done, self._total, self._doing = 0, 0, ""
        self._bar = ProgressBar(show_eta=False)
        self._step = Static("", classes="title", markup=False)
        self._text = Static("", markup=False)

    def parts(self) -> ComposeResult:
        """The progress, and the files not read."""
        yield self._bar
        yield self._step
        yield VerticalScroll(self._text, classes="report")

    def on_mount(self) -> None:
        """Shows the results of the last run."""
        self._bar.display = False
        self.set_interval(_DRAWN_S, self._draw)
        self.ask(lambda: (last_run(self._session), last_problems(self._session)), self._show_last)

    def on_unmount(self) -> None:
        """Stops the run after the current document."""
        if self._handle is not None:
            self._handle.cancel()

    def action_start(self) -> None:
        """Begins a run, unless one is underway."""
        if self._handle is not None:
            return
        if not self._may_write:
            self._said.update(self._say("ingest off"))
            return
        self._handle = RunHandle(self._tell)
        self._done, self._total, self._doing = 0, 0, self._say("listing")
        self._said.update(self._say("ingesting"))
        self._text.update("")
        self._bar.display = True
        self.ask(lambda: self._ingest(self._handle or RunHandle()), self._show_report)

    def action_leave(self) -> None:
        """Stops the run; closes the screen if none is running."""
        if self._handle is None:
            self.dismiss(None)
        else:
            self._handle.cancel()
            self._said.update(self._say("stopping"))

    def _ingest(self, handle: RunHandle) -> tuple[IngestReport, tuple[FileProblem, ...]]:
        """Runs in the worker. However it ends, another run may begin."""
        try:
            request = ingest_request(self._session.config, None, dry_run=False, allow_empty=False, embed=True)
            return ingest(request, handle), last_problems(self._session)
        finally:
            self._handle = None

    def _tell(self, event: RunEvent) -> None:
        """Runs in the worker: records the progress, which is drawn a few times a second."""
        if isinstance(event, ScanCompleted):
            self._total = event.total
        elif isinstance(event, AssetStarted):
            self._doing = event.path
        elif isinstance(event, ExtractProgress):
            part = f" {100 * event.done // event.total} %" if event.total else ""
            self._doing = f"{event.path}  {event.engine}{part}"
        elif isinstance(event, AssetFinished):
            self._done = event.idx
        elif isinstance(event, EmbedProgress):
            self._done, self._total, self._doing = event.done, event.total, self._say("embedding", event.model)

    def _draw(self) -> None:
        if self._bar.display:
            self._bar.update(total=self._total or None, progress=self._done)
            of = self._say("of total", self._done, self._total) if self._total else ""
            self._step.update(f"{of}  {clean_line(self._doing)}")

    def _show_last(self, last: tuple[LastIngest | None, tuple[FileProblem, ...]]) -> None:
        run, problems = last
        said = self._say("no ingest") if run is None else self._summary(run)
        self._said.update(f"{said} · {self._say('ingest keys')}")
        if run is not None:
            self._text.update(self._problems(problems))

    def _show_report(self, done: tuple[IngestReport, tuple[FileProblem, ...]]) -> None:
        report, problems = done
        self._bar.display = False
        self._step.update("")
        counts, say = report.counts, self._say
        files = (counts.new, counts.updated, counts.moved, counts.removed, counts.unchanged, counts.errors)
        parts = [say("ingest counts", *files), say("passages", counts.chunks_indexed)]
        head = [say("stopped")] if report.aborted else []
        self._said.update(" · ".join([*head, *parts, say("seconds", report.duration_ms / 1000), say("esc")]))
        text = self._problems(problems)
        for line in self._left_out(report):
            text.append(f"\n{line}", "quiet")
        self._text.update(text)

    def _summary(self, run: LastIngest) -> str:
        when = self._say("last run", run.finished_at[:16].replace("T", " "))
        head = f"{when} ({self._say('stopped')})" if run.aborted else when
        return f"{head}: {self._say('last counts', run.new_count, run.updated_count, run.error_count)}"

    def _problems(self, problems: tuple[FileProblem, ...]) -> Text:
        """Each file that was not read, or not wholly, and why."""
        text = Text()
        if not problems:
            return text.append(self._say("all read"), "good")
        for each in problems[:_SHOWN]:
            text.append("✗ " if each.is_error else "! ", "bad" if each.is_error else "doubt")
            text.append(f"{clean_line(each.path)}\n", "bold").append(f"    {clean_line(each.said)}\n")
            if each.hint:
                text.append(f"    {clean_line(each.hint)}\n", "quiet")
        if len(problems) > _SHOWN:
            text.append(f"{self._say('more problems', len(problems) - _SHOWN)}\n", "quiet")
        return text

    def _left_out(self, report: IngestReport) -> Iterator[str]:
        for note in report.notes:
            yield self._say("note", clean_line(note))
        if report.unsupported:
            kinds = sorted(report.unsupported.items(), key=lambda each: (-each[1], each[0]))[:_KINDS_SHOWN]
            named = (f"{count:,} {clean_line(kind) or self._say('without extension')}" for kind, count in kinds)
            yield self._say("kinds", ", ".join(named))
        if report.skipped_by_reason:
            reasons = sorted(report.skipped_by_reason.items())
            yield self._say("by rules", ", ".join(f"{reason} {count:,}" for reason, count in reasons))
        if report.not_included:
            yield self._say("not included", report.not_included)
