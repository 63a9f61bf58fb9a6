"""Chromium, as a person would use it: skipped, and said so, where it or playwright is not installed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from web_fixtures import Served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Request

Test = TypeVar("Test", bound=Callable[..., object])

# Without a browser's own windows, the first of them starts a page in a quarter of the processor time of the others.
_PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, _PROGRAMS)), None)

LACKING = (
    "playwright is not installed"
    if find_spec("playwright") is None
    else "no Chromium is installed"
    if CHROMIUM is None
    else ""
)

NEEDS_BROWSER = [pytest.mark.skipif(bool(LACKING), reason=LACKING), pytest.mark.slow]
"""The marks of a module that drives a browser: a real engine, so not in the default run."""

_AXE = find_spec("axe_playwright_python")
AXE = Path(_AXE.origin).with_name("axe.min.js") if _AXE is not None and _AXE.origin is not None else None
needs_axe = pytest.mark.skipif(AXE is None, reason="axe-playwright-python is not installed")


def needs_browser(test: Test) -> Test:
    """Gives a test these marks."""
    for mark in NEEDS_BROWSER:
        test = mark(test)
    return test


class Watched:
    """A page, with all that went wrong on it and every address that was asked for."""

    def __init__(self, page: Page, port: int) -> None:
        self.page = page
        self.faults: list[str] = []
        self.foreign: list[str] = []
        self._own = (f"http://127.0.0.1:{port}/", "data:", "blob:http://127.0.0.1")
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", self._hear)
        page.on("dialog", self._refuse)
        page.on("request", self._note)

    def _hear(self, said: ConsoleMessage) -> None:
        """Errors of the page; that an answer was none of success is for the page to tell."""
        if said.type == "error" and not said.text.startswith("Failed to load resource"):
            self.faults.append(said.text)

    def _refuse(self, dialog: Dialog) -> None:
        self.faults.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def _note(self, asked: Request) -> None:
        if not asked.url.startswith(self._own):
            self.foreign.append(asked.url)

    def go(self, served: Served, path: str) -> Page:
        """The page at an address, ready for keys."""
        self.page.goto(f"http://127.0.0.1:{served.port}{path}")
        self.page.wait_for_selector("html[data-ready]", state="attached")
        return self.page


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playing:
        launched = playing.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The same for the tests of a module."""
    with chromium() as launched:
        yield launched


@contextmanager
def let_in(
    browser: Browser,
    served: Served,
    *,
    width: int = 1280,
    height: int = 800,
    dark: bool = False,
    is_phone: bool = False,
) -> Iterator[Watched]:
    """A page of the server, let in by its address."""
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        is_mobile=is_phone,
        has_touch=is_phone,
    )
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    watched = Watched(context.new_page(), served.port)
    watched.page.goto(served.address)
    watched.page.wait_for_selector("html[data-ready]", state="attached")
    yield watched
    context.close()


def findings(watched: Watched) -> list[str]:
    """What axe calls serious or critical in a light theme, and of contrast in a dark one, with the elements."""
    assert AXE is not None
    page = watched.page
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    page.emulate_media(reduced_motion="reduce")  # no colour is caught half-way
    light: dict[str, Any] = page.evaluate("() => axe.run(document, {reporter: 'no-passes'})")
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    dark: dict[str, Any] = page.evaluate(
        "() => axe.run(document, {reporter: 'no-passes', runOnly: ['color-contrast']})"
    )
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.emulate_media(color_scheme="light", reduced_motion="no-preference")  # light before colours may move again
    return [
        f"{each['id']}: {node['html'][:150]} ({_why(node)})"
        for each in (*light["violations"], *dark["violations"])
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


def _why(node: dict[str, Any]) -> str:
    return "; ".join(check["message"] for kind in ("any", "all", "none") for check in node[kind])
