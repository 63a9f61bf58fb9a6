"""How far a call is, told to the client that asked to know, and what is logged for it."""

from __future__ import annotations

import warnings
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext

from kb.domain.run_handle import RunHandle, StepProgress

T = TypeVar("T")
Context = ServerRequestContext[Any, Any]

_EVERY_S = 0.2

LEVELS: tuple[types.LoggingLevel, ...] = (
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
)


class Progress:
    """What the events of a call come to; taken in its thread, read beside the protocol.

    Without `counts` it grows by one whenever it is told: how many files an ingest reads is how many there are, the
    hidden ones included.
    """

    def __init__(self, *, counts: bool = True) -> None:
        self.counts = counts
        self.done = 0.0
        self.total: float | None = None
        self.message = ""
        self.handle = RunHandle(self._take)

    def _take(self, event: Any) -> None:
        if not self.counts:
            self.message = "at work"
        elif isinstance(event, StepProgress):
            self.done, self.total = float(event.done), float(event.total) or None
            self.message = event.step
        else:
            self.done += 1
            self.message = str(event.kind).replace("_", " ")


async def with_progress(ctx: Context, progress: Progress, work: Callable[[], Awaitable[T]]) -> T:
    """What `work` gives; while it goes on, the client hears how far it is, where it asked to."""
    if "progress_token" not in (ctx.meta or {}):
        return await work()
    failed: Exception | None = None
    found: list[T] = []
    async with anyio.create_task_group() as group:
        group.start_soon(_tell, ctx, progress)
        try:
            found.append(await work())
        except Exception as error:  # noqa: BLE001  raised again behind the group, which would wrap it
            failed = error
        group.cancel_scope.cancel()
    if failed is not None:
        raise failed
    return found[0]


async def _tell(ctx: Context, progress: Progress) -> None:
    told = 0.0
    while True:
        await anyio.sleep(_EVERY_S)
        if not progress.counts:
            progress.done += 1
        if progress.done > told:
            told = progress.done
            await ctx.session.report_progress(told, progress.total, progress.message)


class ClientLog:
    """Messages to clients, from the level that they set."""

    def __init__(self) -> None:
        self._least = LEVELS.index("warning")

    async def set_level(self, _: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        """From now on, messages of that level and above."""
        self._least = LEVELS.index(params.level)
        return types.EmptyResult()

    async def tell(self, ctx: Context, level: types.LoggingLevel, said: str) -> None:
        """Sends a message."""
        if LEVELS.index(level) < self._least:
            return
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # deprecated from the protocol of 2026-07 on; what speaks an earlier one has it
            await ctx.session.send_log_message(level, said, "kb", ctx.request_id)
