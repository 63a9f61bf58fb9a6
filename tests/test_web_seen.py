"""What stands beside hits and documents on the page: thumbnails of PDFs, outlines of code, what cites changed lines."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import chromium, let_in, needs_browser
from conftest import Vault, kb_in, make_vault, run_kb
from media_fixtures import MEDIA
from web_fixtures import Served, serving

from kb.wire.schemas import validate

pytest.importorskip("pymupdf")

PNG = b"\x89PNG\r\n\x1a\n"
SOURCE = '''\
"""Sums."""


class Sum:
    """A sum."""

    def add(self, one: int) -> None:
        """Adds one."""


def total(all_of_them: list[int]) -> int:
    """The total of all."""
    return sum(all_of_them)
'''


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    made = make_vault(tmp_path_factory.mktemp("seen"), {"sums.py": SOURCE, "note.md": "# Note\n\nIt is blue.\n"})
    shutil.copy(MEDIA / "pdf" / "handbook-en.pdf", made.root)
    assert run_kb("--config", str(made.config), "ingest", "--no-embed").code == 0
    return made


@pytest.fixture(scope="module")
def served(seen: Vault) -> Iterator[Served]:
    with serving(seen, f"storage.cache_dir={seen.root.parent / 'cache'}") as made:
        yield made


def width_of(png: bytes) -> int:
    assert png.startswith(PNG)
    return int.from_bytes(png[16:20], "big")


@pytest.mark.slow
def test_a_hit_in_a_pdf_is_drawn_once_and_kept_by_content(
    served: Served, seen: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    hit, *others = served.ask("/api/search", {"q": "Fir Landing battery"}).json["hits"]
    asked = {"at": hit["citation"]["uri"], "passage": hit["chunk_id"]}
    drawn = served.ask("/thumbnail", asked)
    assert drawn.status == 200
    assert width_of(drawn.body) == pytest.approx(336, abs=1)
    assert drawn.headers["content-type"] == "image/png"
    assert "sandbox" in drawn.headers["content-security-policy"]
    other = served.ask("/thumbnail", {"at": others[0]["citation"]["uri"], "passage": others[0]["chunk_id"]})
    assert other.body != drawn.body
    monkeypatch.setattr("kb.operations.inspect.pictures.Thumbnails._drawn", lambda *args: b"")
    assert served.ask("/thumbnail", asked).body == drawn.body
    assert (seen.root.parent / "cache" / "derived.sqlite").is_file()


@pytest.mark.slow
def test_a_pdf_that_cannot_be_drawn_is_tried_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make_vault(tmp_path, {})
    shutil.copy(MEDIA / "pdf" / "handbook-en.pdf", made.root)
    assert kb_in(made)("ingest", "--no-embed").code == 0
    with serving(made, f"storage.cache_dir={tmp_path / 'cache'}") as served:
        asked = {"at": "handbook-en.pdf#page=999"}
        assert served.ask("/thumbnail", asked).status == 404
        monkeypatch.setattr("kb.workers.pool.WorkerPool.submit", None)
        assert served.ask("/thumbnail", asked).status == 404


@pytest.mark.parametrize("place", ["note.md#L1", "handbook-en.pdf", "nowhere.pdf#page=1"])
def test_what_is_no_place_in_a_pdf_has_no_thumbnail(place: str, served: Served) -> None:
    assert served.ask("/thumbnail", {"at": place}).status == 404


def test_the_outline_of_a_source_is_what_it_defines_by_line(served: Served) -> None:
    found = served.ask("/api/outline", {"path": "sums.py"}).json
    for each in found:
        validate("symbol_summary.v1", each)
    assert [(each["qualified_name"], each["parent"]) for each in found] == [
        ("sums.Sum", None),
        ("sums.Sum.add", "sums.Sum"),
        ("sums.total", None),
    ]
    assert served.ask("/api/outline", {"path": "note.md"}).json == []
    assert served.ask("/api/outline", {"path": "none.py"}).status == 404


def test_what_cites_lines_that_changed_is_listed(tmp_path: Path) -> None:
    made = make_vault(tmp_path, {"log.md": "# Log\n\nThe gateway retries a failed upload five times.\n"})
    kb = kb_in(made)
    assert kb("ingest", "--no-embed").code == 0
    assert kb("--set", "rag.score_gate=0", "ask", "How often does the gateway retry a failed upload?").code in (0, 1)
    with serving(made) as served:
        assert served.ask("/api/impact").json == []
        (made.root / "log.md").write_text("# Log\n\nThe gateway gives up.\n", encoding="utf-8")
        (found,) = served.ask("/api/impact").json
    validate("eval_impact.v1", found)
    assert (found["kind"], found["cited"], found["standing"]) == ("answer", "log.md#L3", "changed")


@needs_browser
def test_thumbnails_and_outlines_are_seen(served: Served) -> None:
    with chromium() as browser, let_in(browser, served) as watched:
        page = watched.page
        page.keyboard.type("Fir Landing battery")
        page.wait_for_selector("img.thumb.page:not([hidden])")
        assert page.locator("img.thumb.page").first.evaluate("(image) => image.naturalWidth > 300")
        watched.go(served, "/?at=sums.py%23L7-L8")
        page.wait_for_selector(".outline")
        assert page.locator(".outline a[aria-current]").inner_text().split() == ["method", "add"]
        page.locator(".outline a", has_text="total").click()
        # The lines cited before stay until those of the other place are there.
        page.locator(".line.cited", has_text="def total").wait_for()
        assert "def total" in page.locator(".line.cited").first.inner_text()
        watched.go(served, "/?page=changes")
        page.get_by_text("is in the files as it was").wait_for()
        assert (watched.faults, watched.foreign) == ([], [])


@needs_browser
def test_cited_lines_of_a_long_source_are_in_sight(tmp_path: Path) -> None:
    told = "Says what heron {} does in a line that is so long that it has to be wrapped beside what the source defines."
    source = "".join(f'def heron{nth}():\n    """{told.format(nth)}"""\n    return {nth}\n\n\n' for nth in range(900))
    made = make_vault(tmp_path, {"long.py": source})
    assert kb_in(made)("ingest", "--no-embed").code == 0
    with serving(made) as served, chromium() as browser, let_in(browser, served) as watched:
        for first in (31, 2251, 4481):
            page = watched.go(served, f"/?at=long.py%23L{first}-L{first + 2}")
            page.wait_for_selector(".outline")
            page.wait_for_timeout(300)
            seen = page.evaluate(
                "() => { const cited = document.querySelector('#reader .line.cited').getBoundingClientRect();"
                " return cited.top > 100 && cited.bottom < innerHeight; }"
            )
            assert seen, f"line {first} is out of sight"
