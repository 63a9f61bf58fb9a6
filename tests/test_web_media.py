"""PDFs, pictures, recordings and sources on the page: shown at the cited place, and nothing in them runs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser import browser, let_in, needs_browser
from conftest import Vault, indexed_vault, kb_in, make_vault
from hostile_documents import HOSTILE_PDF
from media_fixtures import IMAGES, MEDIA, MODELS, SPEECH, needs_decoder, needs_tesseract, needs_whisper
from web_fixtures import Served, serving

from kb.models.requirements import Lack
from kb.wire.schemas import validate

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]  # a fixture

pymupdf = pytest.importorskip("pymupdf")


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    """Two PDFs, a source and a note."""
    files = {"handbook-en.pdf": MEDIA / "pdf" / "handbook-en.pdf", "hostile.pdf": HOSTILE_PDF}
    written = {"sums.py": SOURCE, "note.md": "# Note\n\nIt is blue.\n"}
    return indexed_vault(tmp_path_factory.mktemp("media"), written, files=files)


@pytest.fixture(scope="module")
def served(notes: Vault) -> Iterator[Served]:
    with serving(notes, f"storage.cache_dir={notes.root.parent / 'cache'}") as made:
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


def test_a_file_is_handed_out_so_that_a_browser_runs_nothing_of_it(served: Served, notes: Vault) -> None:
    handed = served.ask("/file", {"path": "handbook-en.pdf"})
    assert handed.body == (notes.root / "handbook-en.pdf").read_bytes()
    assert handed.headers["content-type"] == "application/pdf"
    assert handed.headers["content-disposition"] == "attachment"
    assert handed.headers["content-security-policy"].startswith("sandbox")
    part = served.ask("/file", {"path": "handbook-en.pdf"}, headers={**served.let_in, "range": "bytes=0-4"})
    assert (part.status, part.body) == (206, b"%PDF-")


def test_a_page_is_drawn_as_wide_as_asked_within_limits_and_kept(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"path": "handbook-en.pdf", "page": "2"}
    drawn = served.ask("/page", {**asked, "width": "900"})
    assert (drawn.status, width_of(drawn.body)) == (200, 900)
    assert drawn.headers["content-type"] == "image/png"
    assert "sandbox" in drawn.headers["content-security-policy"]
    assert width_of(served.ask("/page", {**asked, "width": "8000"}).body) == pytest.approx(2058, abs=2)  # 6 MP
    for width, status in (("9000", 400), ("0", 400), ("wide", 400), ("900", 200)):
        assert served.ask("/page", {**asked, "width": width}).status == status
    monkeypatch.setattr("kb.workers.pool.WorkerPool.submit", None)
    assert served.ask("/page", {**asked, "width": "900"}).body == drawn.body


def test_a_page_that_is_a_photograph_is_a_jpeg(tmp_path: Path) -> None:
    noise = random.Random(1).randbytes(1200 * 1600 * 3)
    pdf = pymupdf.open()
    page = pdf.new_page(width=300, height=400)
    page.insert_image(page.rect, pixmap=pymupdf.Pixmap(pymupdf.csRGB, 1200, 1600, noise, False))
    page.insert_text((20, 20), "A photograph of a heron with enough words to be read.")
    (tmp_path / "photo.pdf").write_bytes(pdf.tobytes())
    vault = indexed_vault(tmp_path, files={"photo.pdf": tmp_path / "photo.pdf"})
    with serving(vault) as served:
        drawn = served.ask("/page", {"path": "photo.pdf", "page": "1", "width": "1200"})
    assert drawn.headers["content-type"] == "image/jpeg"
    assert drawn.body.startswith(b"\xff\xd8\xff")
    assert len(drawn.body) < 3_500_000


def test_an_encrypted_pdf_is_drawn_by_its_password(tmp_path: Path) -> None:
    pdf = pymupdf.open()
    pdf.new_page(width=300, height=400).insert_text((20, 50), "A locked heron that nobody but its owner reads.")
    encrypted = pdf.tobytes(encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="heron", owner_pw="owner")
    vault = indexed_vault(tmp_path, files={"a.pdf": encrypted}, settings='\n[extract]\npdf_passwords = ["heron"]\n')
    with serving(vault) as served:
        assert width_of(served.ask("/page", {"path": "a.pdf", "page": "1", "width": "300"}).body) == 300
        (line,) = served.ask("/api/page", {"path": "a.pdf", "page": "1"}).json["lines"]
    assert line["words"][2]["text"] == "heron"


def test_the_words_of_a_page_have_their_places(served: Served) -> None:
    found = served.ask("/api/page", {"path": "handbook-en.pdf", "page": "2"}).json
    validate("page_words.v1", found)
    assert (found["page"], found["width"], found["height"]) == (2, 595, 842)
    text = "\n".join(" ".join(word["text"] for word in line["words"]) for line in found["lines"])
    assert "is inspected every" in text
    for line in found["lines"]:
        assert 0 <= line["x"] < line["x"] + line["width"] <= 595
        assert 0 <= line["y"] < line["y"] + line["height"] <= 842
    view = served.ask("/api/document", {"at": "handbook-en.pdf#page=2"}).json
    assert view["pages"] == [{"width": 595, "height": 842, "label": str(number)} for number in range(11, 21)]
    assert "pages" not in served.ask("/api/document", {"at": "note.md"}).json


@pytest.mark.parametrize(("path", "page"), [("note.md", 1), ("nowhere.pdf", 1), ("hostile.pdf", 2), ("hostile.pdf", 0)])
def test_what_is_no_page_of_a_pdf_is_not_found(path: str, page: int, served: Served) -> None:
    for address in ("/page", "/api/page"):
        assert served.ask(address, {"path": path, "page": str(page), "width": "100"}).status == 404


@needs_browser
def test_a_pdf_is_drawn_at_its_page_with_the_passage_marked(browser: Browser, served: Served) -> None:
    with let_in(browser, served) as watched:
        page = watched.page
        page.keyboard.type("Fir Landing battery")
        page.wait_for_selector("a.hit")
        page.keyboard.press("Enter")
        page.wait_for_selector(".sheet:has(.rectangle)[data-drawn=yes]")
        sheet = page.locator(".sheet:has(.rectangle)")
        assert sheet.locator(".rectangle").first.evaluate("(each) => each.getBoundingClientRect().bottom < innerHeight")
        words = sheet.locator(".page-text span", has_text="Fir").first.bounding_box()
        assert words is not None
        rectangles = [box for each in sheet.locator(".rectangle").all() if (box := each.bounding_box())]
        middle = words["y"] + words["height"] / 2
        assert any(box["y"] <= middle <= box["y"] + box["height"] for box in rectangles)
        asked = page.evaluate("() => [...CSS.highlights.get('asked')].map((range) => range.toString())")
        assert {"Fir", "Landing", "battery"} <= set(asked)
        before = page.locator(".paged").evaluate("(each) => each.scrollTop")
        page.keyboard.press("Home")
        page.wait_for_function(f"() => document.querySelector('.paged').scrollTop < {before}")
        page.wait_for_selector('[data-page="1"][data-drawn=yes]')
        drawn = page.locator('[data-page="1"] img.drawn')
        assert drawn.evaluate("(image) => image.naturalWidth === Math.round(image.clientWidth * devicePixelRatio)")
        assert (watched.faults, watched.foreign) == ([], [])


@needs_browser
@pytest.mark.parametrize("zoom", ["Fit", "200%"])
def test_what_is_selected_lies_on_the_words_of_the_picture(zoom: str, browser: Browser, served: Served) -> None:
    known = served.ask("/api/page", {"path": "handbook-en.pdf", "page": "2"}).json
    with let_in(browser, served) as watched:
        page = watched.go(served, "/?at=handbook-en.pdf%23page=2")
        page.wait_for_selector('[data-page="2"][data-drawn=yes]')
        page.get_by_role("button", name=zoom).click()
        page.wait_for_timeout(300)
        sheet = page.locator('[data-page="2"]')
        scale = sheet.evaluate("(each) => each.clientWidth") / known["width"]
        selected = sheet.evaluate(
            """(sheet) => {
                const { left, top } = sheet.getBoundingClientRect();
                return [...sheet.querySelectorAll(".page-text > div")].map((row) => [...row.children].map((span) => {
                    const range = new Range();
                    range.setStart(span.firstChild, 0);
                    range.setEnd(span.firstChild, span.textContent.trimEnd().length);
                    const box = range.getBoundingClientRect();
                    return [range.toString(), box.left - left, box.right - left, box.top - top, box.bottom - top];
                }));
            }"""
        )
        assert [[text for text, *_ in row] for row in selected] == [
            [word["text"] for word in line["words"]] for line in known["lines"]
        ]
        for line, row in zip(known["lines"], selected, strict=True):
            start, middle = line["x"], line["y"] + line["height"] / 2
            for word, (_, left, right, top, bottom) in zip(line["words"], row, strict=True):
                assert left / scale == pytest.approx(start, abs=1)
                assert right / scale == pytest.approx(start + word["width"], abs=1)
                assert top / scale < middle < bottom / scale
                start += word["width"] + word["gap"]
        page.keyboard.press("Control+a")
        assert "is inspected every" in page.evaluate("() => getSelection().toString()")
        assert (watched.faults, watched.foreign) == ([], [])


@needs_browser
def test_a_selection_stays_in_its_column_between_lines_and_paragraphs(browser: Browser, tmp_path: Path) -> None:
    vault = indexed_vault(tmp_path, files={"columns-en.pdf": MEDIA / "pdf" / "columns-en.pdf"})
    with serving(vault) as served, let_in(browser, served) as watched:
        page = watched.go(served, "/?at=columns-en.pdf%23page=1")
        page.wait_for_selector('[data-page="1"][data-drawn=yes]')
        sheet = page.locator('[data-page="1"]').bounding_box()
        assert sheet is not None

        def go_to(x: int, y: int) -> None:
            page.mouse.move(round(sheet["x"] + x * sheet["width"] / 595), round(sheet["y"] + y * sheet["width"] / 595))

        go_to(350, 121)  # in the first line of the right column
        page.mouse.down()
        lengths = [0]
        for y in range(122, 330, 3):
            go_to(400, y)
            lengths.append(page.evaluate("() => getSelection().toString().length"))
        page.mouse.up()
        assert lengths == sorted(lengths)
        assert lengths[-1] > 500


@needs_browser
def test_pages_are_turned_and_enlarged(browser: Browser, served: Served) -> None:
    with let_in(browser, served) as watched:
        page = watched.go(served, "/?q=river&at=handbook-en.pdf%23page=2")
        page.wait_for_selector('[data-page="2"][data-drawn=yes]')
        page.get_by_role("button", name="Next page").click()
        page.wait_for_selector('[data-page="3"][data-drawn=yes]')
        number = page.get_by_label("Page, of 10")
        page.wait_for_function("(bar) => bar.value === '13'", arg=number.element_handle())
        assert page.locator(".page-tools").inner_text().split("\n")[1:3] == ["(3) / 10", "›"]
        number.fill("19")
        number.press("Enter")
        page.wait_for_selector('[data-page="9"][data-drawn=yes]')
        page.wait_for_selector('[data-page="2"]:not([data-drawn])', state="attached")  # emptied: it is far away
        page.get_by_role("button", name="150%").click()
        width = round(595 * 96 / 72 * 1.5)
        page.wait_for_function(
            f"() => Math.abs(document.querySelector('[data-page=\"9\"] img.drawn')?.naturalWidth - {width}) <= 1"
        )
        assert page.locator('[data-page="9"]').evaluate("(each) => each.getBoundingClientRect().top < innerHeight / 2")
        words, body = page.locator('[data-page="9"] .page-text span').first, page.locator(".paged")
        assert words.bounding_box()["x"] - body.bounding_box()["x"] == pytest.approx(12, abs=1)
        page.get_by_role("button", name="Previous page").click()
        page.wait_for_selector('[data-page="8"][data-drawn=yes]')
        page.wait_for_function("(bar) => bar.value === '18'", arg=number.element_handle())
        assert (watched.faults, watched.foreign) == ([], [])


@needs_browser
def test_a_page_that_the_pdf_does_not_have_is_said(browser: Browser, served: Served) -> None:
    with let_in(browser, served) as watched:
        page = watched.go(served, "/?at=handbook-en.pdf%23page=99")
        page.get_by_text("The document has no such place.").wait_for()
        assert watched.faults == []


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
def test_a_page_that_cannot_be_drawn_says_so(browser: Browser, tmp_path: Path) -> None:
    broken = HOSTILE_PDF.replace(b"Kids[3 0 R]/Count 1", b"Kids[3 0 R]/Count 2")
    vault = indexed_vault(tmp_path, {}, files={"a.pdf": broken})
    with serving(vault) as served, let_in(browser, served) as watched:
        page = watched.go(served, "/?at=a.pdf%23page=1")
        page.wait_for_selector('[data-page="1"][data-drawn=yes]')
        told = page.locator('[data-page="2"] [role=alert]')
        told.wait_for()
        assert "a.pdf cannot be shown here: page 2 cannot be read" in told.inner_text()
        with page.expect_download() as saved:
            told.get_by_text("Save the PDF").click()
        assert saved.value.path().read_bytes() == broken
        assert watched.faults == []


@needs_browser
def test_a_pdf_that_changed_since_or_has_no_engine_says_so(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = indexed_vault(tmp_path, {}, files={"a.pdf": HOSTILE_PDF})
    with serving(vault) as served:
        monkeypatch.setattr("kb.extract.pdf.text.lacking_packages", lambda *_: [Lack("pymupdf", "pip install it")])
        with let_in(browser, served) as watched:
            page = watched.go(served, "/?at=a.pdf%23page=1")
            page.wait_for_selector("#reader [role=alert]")
            assert "pymupdf, which is not installed" in page.locator("#reader [role=alert]").inner_text()
            assert "hostile zebra" in page.locator(".read-there").inner_text()
            assert page.locator(".page-tools").count() == 0
        monkeypatch.undo()
        for kept in (*(vault.sqlite.parent / "assets").rglob("*"), vault.root / "a.pdf"):
            if kept.is_file():
                kept.chmod(0o600)
                kept.write_bytes(b"no pdf")
        with let_in(browser, served) as watched:
            page = watched.go(served, "/?at=a.pdf%23page=1")
            page.wait_for_selector("#reader [role=alert]")
            assert "is not there as it was indexed" in page.locator("#reader [role=alert]").inner_text()
            assert "hostile zebra" in page.locator(".read-there").inner_text()


@pytest.mark.slow
@needs_browser
@needs_tesseract
def test_a_picture_is_shown_with_its_region(browser: Browser, tmp_path: Path) -> None:
    vault = indexed_vault(tmp_path, files={"ko-serif.png": IMAGES / "ko-serif.png"})
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
    begun = (SPEECH / "meeting.mp3").read_bytes()[:88_000]  # 29 s: whisper reads 30 at once
    models, files = f'model_dir = "{MODELS}"\n', {"meeting.mp3": begun}
    vault = indexed_vault(tmp_path, settings=models, files=files)
    with serving(vault) as served, let_in(browser, served) as watched:
        page = watched.go(served, "/?at=meeting.mp3%23t=22,25")
        page.wait_for_selector(".speech .cited")
        page.wait_for_function("() => Math.abs(document.querySelector('audio').currentTime - 22) < 0.1")
        assert page.locator(".speech li").count() > 3
        assert watched.faults == []


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


def width_of(png: bytes) -> int:
    assert png.startswith(PNG)
    return int.from_bytes(png[16:20], "big")


@pytest.mark.slow
def test_a_hit_in_a_pdf_is_drawn_once_and_kept_by_content(
    served: Served, notes: Vault, monkeypatch: pytest.MonkeyPatch
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
    monkeypatch.setattr("kb.operations.inspect.pictures.PdfPages._run", lambda *args: b"")
    assert served.ask("/thumbnail", asked).body == drawn.body
    assert (notes.root.parent / "cache" / "derived.sqlite").is_file()


@pytest.mark.slow
def test_a_pdf_that_cannot_be_drawn_is_tried_once(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_thumbnails_and_outlines_are_seen(browser: Browser, served: Served) -> None:
    with let_in(browser, served) as watched:
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
def test_cited_lines_of_a_long_source_are_in_sight(browser: Browser, tmp_path: Path) -> None:
    told = "Says what heron {} does in a line that is so long that it has to be wrapped beside what the source defines."
    source = "".join(f'def heron{nth}():\n    """{told.format(nth)}"""\n    return {nth}\n\n\n' for nth in range(900))
    made = indexed_vault(tmp_path, {"long.py": source})
    with serving(made) as served, let_in(browser, served) as watched:
        for first in (31, 2251, 4481):
            page = watched.go(served, f"/?at=long.py%23L{first}-L{first + 2}")
            page.wait_for_selector(".outline")
            page.wait_for_timeout(300)
            seen = page.evaluate(
                "() => { const cited = document.querySelector('#reader .line.cited').getBoundingClientRect();"
                " return cited.top > 100 && cited.bottom < innerHeight; }"
            )
            assert seen, f"line {first} is out of sight"
