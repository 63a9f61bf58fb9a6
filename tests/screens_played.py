"""Plays the terminal UI by its keys, and reads what it shows."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import cast

from conftest import Vault, run_kb
from textual.pilot import Pilot
from textual.widgets import Input

from kb.config import load
from kb.operations.opening.base import open_base
from kb.tui.app import DEBOUNCE_S, SearchApp

Play = Callable[[Pilot[None], SearchApp], Awaitable[None]]


def played(
    vault: Vault,
    play: Play,
    *settings: str,
    size: tuple[int, int] = (120, 36),
    question: str = "",
    may_write: bool = True,
    is_dark: bool = True,
) -> None:
    """The app on a vault, played by its keys."""

    async def run() -> None:
        with open_base(load(str(vault.config), settings), many=True) as session:
            app = SearchApp(session, question, may_write=may_write, is_dark=is_dark)
            async with app.run_test(size=size) as pilot:
                await play(pilot, app)

    asyncio.run(run())


async def typed(pilot: Pilot[None], text: str) -> None:
    """Types, as a person does: a key at a time; then looks at what was found for all of it, not for its beginning."""
    app = cast(SearchApp, pilot.app)
    line = app.query_one("#line", Input)
    for char in text:
        line.insert_text_at_cursor(char)
        await pilot.pause()
    await pilot.pause(3 * DEBOUNCE_S)
    await until(pilot, lambda: app._asking.shown == app._asking.newest)


async def until(pilot: Pilot[None], so: Callable[[], bool]) -> None:
    """Waits for what the keys have begun."""
    for _ in range(3_000):
        if so():
            return
        await pilot.pause(0.01)
    raise AssertionError(shown(cast(SearchApp, pilot.app)))


def shown(app: SearchApp) -> str:
    """The screen as text."""
    lines = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in line).rstrip() for line in lines)


def rows(app: SearchApp) -> int:
    return app._found._list.option_count


def talked(vault: Vault, *lines: str, settings: tuple[str, ...] = ()) -> str:
    """What `kb ui --plain` answers to lines."""
    options = [word for each in settings for word in ("--set", each)]
    ran = run_kb("--config", str(vault.config), *options, "ui", "--plain", stdin="".join(f"{line}\n" for line in lines))
    assert (ran.code, ran.stderr) == (0, "")
    return ran.stdout
