"""What a hand and an eye wait for: hits after a key on the page and in the terminal, first paint, memory, 8 tabs.

Before each key its search is timed in this process by itself: what is above that is the surface's own, whatever else
the machine is doing.

Made-up notes in two languages with vectors by the installed models; what was embedded once is kept. The page is driven
in Chromium, whose times are its own; a key's time ends when its hits are in the document. Needs KB_TEST_MODEL_DIR, a
Chromium and playwright.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks.embedded_base import embedded
from benchmarks.generated_notes import write_notes
from benchmarks.knowledge_base import KnowledgeBase
from benchmarks.measurement import Measurement, Table, Target
from benchmarks.processes import memory_of
from kb.domain.filters import SearchFilters
from kb.operations.inspect.inspect import corpus_stats
from kb.operations.opening.base import Base, open_base
from kb.operations.search.search import search

NOTES = 3_350  # 10,043 passages
KEYS = 60
TABS = 8
_PAUSE_S = 0.3
WORDS = "the gateway battery keeps warm 배터리 기록 정리 find note plan 물 확인 list"

_KEY = """
(text) => new Promise((done) => {
  const field = document.getElementById("question");
  const list = document.getElementById("list");
  const began = performance.now();
  const seen = new MutationObserver(() => { seen.disconnect(); done(performance.now() - began); });
  seen.observe(list, { childList: true });
  field.value = text;
  field.dispatchEvent(new InputEvent("input", { bubbles: true }));
})
"""
_PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime"


def measure(data: Path | None = None, *, notes: int = NOTES) -> Measurement:
    """The times and the memory of both surfaces."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_notes(root, notes, korean_share=0.4)
        with embedded(root, f"{notes:,} notes") as base:
            with open_base(base.config) as session, session.reading() as reading:
                passages = corpus_stats(reading.db).chunks
            with open_base(base.config, many=True) as session:
                page = _page(base, session)
                terminal = asyncio.run(_terminal(base, session))
    rows: list[tuple[str, int, int]] = []
    for name, times, alone in (
        ("page: hits after a key", page["keys"], page["alone"]),
        (f"page: the same, {TABS} tabs at once", page["tabs"], page["alone"]),
        ("terminal: hits after a key", terminal["keys"], terminal["alone"]),
    ):
        rows.append((f"{name}, p50", round(median(times)), round(median(alone))))
        rows.append((f"{name}, p95", round(_p95(times)), round(_p95(alone))))
    return Measurement(
        "ui",
        (
            Table(f"{passages:,} passages, words and meaning", ("what", "ms", "a search by itself"), tuple(rows)),
            Table(
                "Memory of kb web after that",
                ("what", "MB"),
                (("its own", page["own_mb"]), ("with the files it maps, once per connection", page["mb"])),
            ),
        ),
        (
            Target("page: first paint, ms", round(page["paint"]), "≤", 200),
            Target("page: hits after a key, p50 ms", round(median(page["keys"])), "≤", 100),
        ),
        {"passages": passages, "page": page, "terminal": terminal},
    )


def _questions() -> list[str]:
    """A text as it grows under somebody's hands."""
    words = " ".join(WORDS.split())
    return [words[: 3 + index % (len(words) - 3)] for index in range(KEYS)]


def _alone(session: Base, text: str) -> float:
    """The milliseconds of a text's search with nothing around it."""
    began = perf_counter()
    search(session, session.defaults.query(text, None, None, SearchFilters()))
    return 1000 * (perf_counter() - began)


@contextmanager
def _served(base: KnowledgeBase) -> Iterator[tuple[str, int]]:
    command = [sys.executable, "-m", "kb", "--config", str(base.config_path), "web", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().rpartition(" ")[2].strip(), process.pid
        finally:
            process.terminate()


def _page(base: KnowledgeBase, session: Base) -> dict[str, Any]:
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with _served(base) as (address, pid), sync_playwright() as playing:
        browser = playing.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = browser.new_context()
        pages = [context.new_page() for _ in range(TABS)]
        for page in pages:
            page.goto(address)
            page.wait_for_selector("html[data-ready]", state="attached")
        first = pages[0]
        first.bring_to_front()
        first.goto(address.partition("?")[0])
        first.wait_for_selector("html[data-ready]", state="attached")
        paint = first.evaluate(_PAINT)
        _asked(first, session, [f"{text} warm" for text in _questions()[:5]])
        alone, keys = _asked(first, session, _questions())
        tabs = _at_once(pages)
        memory = memory_of(pid)
        browser.close()
    told_mb = {"own_mb": int(memory.own_mb), "mb": int(memory.resident_mb)}
    return {"paint": paint, "keys": keys, "alone": alone, "tabs": tabs} | told_mb


def _asked(page: Any, session: Base, texts: list[str]) -> tuple[list[float], list[float]]:
    """The milliseconds of each search by itself, and of its key."""
    times = [(_alone(session, text), float(page.evaluate(_KEY, text))) for text in texts]
    return [alone for alone, _ in times], [key for _, key in times]


def _at_once(pages: list[Any]) -> list[float]:
    """The milliseconds of each key where all tabs type at once, each its own text, before the others are answered."""
    times: list[float] = []
    for text in _questions()[:15]:
        begun = [
            page.evaluate_handle(f"(text) => {{ window.key = ({_KEY})(text) }}", f"{text} {tab}")
            for tab, page in enumerate(pages)
        ]
        times += [float(page.evaluate("() => window.key")) for page in pages]
        for each in begun:
            each.dispose()
    return times


async def _terminal(base: KnowledgeBase, session: Base) -> dict[str, list[float]]:
    """The milliseconds of each search by itself, and from a key to its hits in the terminal UI."""
    from kb.tui.app import SearchApp

    alone: list[float] = []
    times: list[float] = []
    with open_base(base.config, many=True) as its_own:
        app = SearchApp(its_own)
        async with app.run_test(size=(140, 40)) as pilot:
            for text in [f"{text} then" for text in _questions()[:30]]:
                alone.append(_alone(session, text))
                await asyncio.sleep(_PAUSE_S)  # the document of the hits before is shown by then
                before = app._asking.shown
                began = perf_counter()
                app._line = text
                while app._asking.shown == before:
                    await asyncio.sleep(0.002)
                times.append(1000 * (perf_counter() - began))
            await pilot.pause()
    return {"alone": alone[3:], "keys": times[3:]}


def _p95(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]
