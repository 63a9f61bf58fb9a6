"""The page for everybody: axe finds nothing serious on any of its views, at three widths, in light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browser import NEEDS_BROWSER, Watched, chromium, let_in
from conftest import Vault
from web_fixtures import Served, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_FOUND = find_spec("axe_playwright_python")
pytestmark = [
    *NEEDS_BROWSER,
    pytest.mark.skipif(_FOUND is None, reason="axe-playwright-python is not installed"),
]

VIEWS = {
    "start": "/",
    "hits": "/?q=gateway",
    "note": "/?q=gateway&at=projects/gateway/log.md%23L8-L12",
    "both": "/?q=gateway&at=projects/gateway/log.md%23L8-L12&view=both",
    "lines": "/?at=chunking.md&view=raw",
    "answer": "/?q=How often does the gateway retry a failed upload&ask=1",
    "answers": "/?page=answers",
    "vault": "/?page=vault",
    "runs": "/?page=runs",
    "weights": "/?page=weights",
    "error": "/?q=gateway&mode=vector",
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as made:
        yield made


@pytest.fixture(scope="module")
def served(vault: Vault) -> Iterator[Served]:
    with serving(vault, "rag.score_gate=0") as made:
        yield made


def findings(watched: Watched) -> list[str]:
    """What axe calls serious or critical, with the elements it is about."""
    assert _FOUND is not None
    assert _FOUND.origin is not None
    watched.page.evaluate(Path(_FOUND.origin).with_name("axe.min.js").read_text(encoding="utf-8"))
    found: dict[str, Any] = watched.page.evaluate("() => axe.run(document)")
    return [
        f"{each['id']}: {node['html'][:150]} ({node['failureSummary'].splitlines()[-1].strip()})"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing_serious(width: int, dark: bool, browser: Browser, served: Served) -> None:
    found = {}
    with let_in(browser, served, width=width, dark=dark) as watched:
        for name, path in VIEWS.items():
            watched.go(served, path)
            watched.page.wait_for_load_state("networkidle")
            found[name] = findings(watched)
        watched.go(served, "/?q=gateway")
        for name, button in (("filters", "Filters"), ("keys", "Keys")):
            watched.page.get_by_role("button", name=button).click()
            watched.page.wait_for_selector(f"#{'help' if name == 'keys' else name}[open]")
            found[name] = findings(watched)
            watched.page.keyboard.press("Escape")
    assert {name: faults for name, faults in found.items() if faults} == {}


def test_axe_sees_a_fault(browser: Browser, served: Served) -> None:
    with let_in(browser, served) as watched:
        watched.page.evaluate("() => document.body.append(document.createElement('button'))")
        assert len(findings(watched)) == 1
