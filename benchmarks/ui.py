"""What a hand and an eye wait for: hits after a key on the page and in the terminal, first paint, memory, 8 tabs.

Before each key its search is timed in this process by itself: what is above that is the surface's own, whatever else
the machine is doing. The page's keys are also told in processor time, that of the server and of the page's thread
together, beside a request that does nothing.

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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
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
WORDS = {
    "English": "the gateway battery keeps warm find note plan list of the water",
    "Korean": "배터리 기록 정리 물 확인 게이트웨이 점검 계획 목록 창고 온도 펌프",
}
COMPOSED = {"English": ("gatewa", "gateway"), "Korean": ("배터ㄹ", "배터리")}  # before the last key, and after it
SEARCHES = 500
_COMPOSITIONS, _LOADS = 15, 9

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
_NOTHING = "() => fetch('/api/none').then((answer) => answer.text())"
# The milliseconds from the next input to its hits.
_NEXT = """
() => { window.next = new Promise((done) => {
  const field = document.getElementById("question");
  field.addEventListener("input", () => {
    const began = performance.now();
    const seen = new MutationObserver(() => { seen.disconnect(); done(performance.now() - began); });
    seen.observe(document.getElementById("list"), { childList: true });
  }, { once: true });
}); }
"""
_WEIGHT = """
() => [...performance.getEntriesByType("resource"), performance.getEntriesByType("navigation")[0]]
  .filter((each) => !each.name.includes("/api/")).reduce((sum, each) => sum + each.encodedBodySize, 0)
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
        *((f"page: hits after a key, {each}", page[each]["wall"], page[each]["alone"]) for each in WORDS),
        (f"page: hits after a key, {TABS} tabs at once", page["tabs"], page["English"]["alone"]),
        ("terminal: hits after a key", terminal["keys"], terminal["alone"]),
    ):
        rows.append((f"{name}, p50", round(median(times)), round(median(alone))))
        rows.append((f"{name}, p95", round(_p95(times)), round(_p95(alone))))
    nothing = median(page["nothing"])
    cpu = tuple(
        (
            each,
            round(median(page[each]["cpu"])),
            round(_p95(page[each]["cpu"])),
            round(median(page[each]["cpu"]) / nothing, 1),
        )
        for each in WORDS
    )
    composed = {each: median(page["composed"][each]) for each in COMPOSED}
    return Measurement(
        "ui",
        (
            Table(f"{passages:,} passages, words and meaning", ("what", "ms", "a search by itself"), tuple(rows)),
            Table(
                f"Processor time of a key on the page; of a request that does nothing: {nothing:.1f} ms",
                ("language", "p50 ms", "p95 ms", "times the request"),
                cpu,
            ),
            Table(
                "Last key of a word to its hits, ms",
                ("language", "p50"),
                tuple((each, round(took)) for each, took in composed.items()),
            ),
            Table(
                f"Memory after 100 searches and after {SEARCHES} more",
                ("what", "MB", "MB"),
                (
                    ("kb web, its own", *page["own_mb"]),
                    ("with the files it maps, once per connection", *page["mb"]),
                    ("the page's heap", *page["heap_mb"]),
                ),
            ),
        ),
        (
            Target("page: first paint, ms", round(page["paint"]), "≤", 150),
            Target("page: weight, KB", round(page["weight"] / 1024), "≤", 250),
            *(Target(f"page: processor time of a key, {name}, p95 ms", p95, "≤", 100) for name, _, p95, _ in cpu),
            Target(
                "page: last jamo to hits, of that of a letter",
                round(composed["Korean"] / composed["English"], 2),
                "≤",
                1.5,
            ),
            Target(f"kb web: growth by {SEARCHES} searches", round(page["own_mb"][1] / page["own_mb"][0], 2), "≤", 1.1),
        ),
        {"passages": passages, "page": page, "terminal": terminal},
    )


def _questions(language: str = "English") -> list[str]:
    """A text as it grows under somebody's hands."""
    words = WORDS[language]
    return [words[: 2 + index % (len(words) - 2)] for index in range(KEYS)]


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
        paints = []
        for _ in range(_LOADS):
            first.goto(address.partition("?")[0])
            first.wait_for_selector("html[data-ready]", state="attached")
            paints.append(float(first.evaluate(_PAINT)))
        found: dict[str, Any] = {"paint": median(paints), "weight": first.evaluate(_WEIGHT)}
        keyboard = context.new_cdp_session(first)
        spent = _Spent(keyboard, pid)
        _asked(first, session, [f"{text} warm" for text in _questions()[:5]], spent)
        found["nothing"] = [spent.by(lambda: first.evaluate(_NOTHING))[1] for _ in range(KEYS)]
        for language in WORDS:
            found[language] = _asked(first, session, _questions(language), spent)
        found["composed"] = _composed(first, keyboard)
        found["tabs"] = _at_once(pages)
        found |= {"own_mb": [], "mb": [], "heap_mb": []}
        for count in (100, SEARCHES):
            for number in range(count):
                texts = _questions(("English", "Korean")[number % 2])
                first.evaluate(_KEY, f"{texts[number % len(texts)]} {number % 7}")
            keyboard.send("HeapProfiler.collectGarbage")
            memory = memory_of(pid)
            found["own_mb"].append(int(memory.own_mb))
            found["mb"].append(int(memory.resident_mb))
            heap = {each["name"]: each["value"] for each in keyboard.send("Performance.getMetrics")["metrics"]}
            found["heap_mb"].append(round(heap["JSHeapUsedSize"] / 1e6, 1))
        browser.close()
    return found


class _Spent:
    """The processor time of the server and of the page's thread."""

    def __init__(self, page: Any, server: int) -> None:
        self._page, self._server = page, server
        page.send("Performance.enable", {"timeDomain": "threadTicks"})

    def by(self, work: Callable[[], Any]) -> tuple[Any, float]:
        """What the work gives, and the milliseconds of both while it ran."""
        before = self._ms()
        given = work()
        return given, self._ms() - before

    def _ms(self) -> float:
        page = {each["name"]: each["value"] for each in self._page.send("Performance.getMetrics")["metrics"]}
        tasks = Path(f"/proc/{self._server}/task").glob("*/schedstat")
        server = sum(int(each.read_text(encoding="utf-8").split()[0]) for each in tasks)
        return 1000 * float(page["TaskDuration"]) + server / 1e6


def _asked(page: Any, session: Base, texts: list[str], spent: _Spent) -> dict[str, list[float]]:
    """The milliseconds of each search by itself, of its key, and of the processors for that key."""
    times = [(_alone(session, text), *spent.by(partial(page.evaluate, _KEY, text))) for text in texts]
    return dict(zip(("alone", "wall", "cpu"), map(list, zip(*times, strict=True)), strict=True))


def _composed(page: Any, keyboard: Any) -> dict[str, list[float]]:
    """The milliseconds from the last key of a word to its hits: a letter, or a jamo of a syllable in the making."""
    times: dict[str, list[float]] = {language: [] for language in COMPOSED}
    for _ in range(_COMPOSITIONS):
        for language, (before, after) in COMPOSED.items():
            page.locator("#question").fill("")
            page.wait_for_selector(".start")
            page.locator("#question").focus()
            for text in (before, after):
                if text == after:
                    page.wait_for_timeout(800)  # the hits of the word so far are there
                    page.evaluate(_NEXT)
                if language == "English":
                    keyboard.send("Input.insertText", {"text": text if text == before else text[-1]})
                else:
                    at = len(text)
                    keyboard.send("Input.imeSetComposition", {"text": text, "selectionStart": at, "selectionEnd": at})
            times[language].append(float(page.evaluate("() => window.next")))
            page.keyboard.press("Escape")
    return times


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
