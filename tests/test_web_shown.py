"""How the page looks and speaks: answers as notes are, printing, a phone, forced colours, Korean, the first use."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote_plus

import pytest
from browser import NEEDS_BROWSER, browser, let_in
from conftest import Vault, indexed_vault
from media_fixtures import MEDIA
from web_fixtures import Served, serving

from kb.eval.golden import read_golden

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

__all__ = ["browser"]  # a fixture

pymupdf = pytest.importorskip("pymupdf")
pytestmark = NEEDS_BROWSER

NOTES = {
    "pump.md": (
        "# Pump\n\n## Start the bilge pump\n\nStart the bilge pump in **two** steps:\n\n"
        "```sh\npump --prime\n```\n\nThen:\n\n```sh\npump --start\n```\n\n"
        "| bilge pump | litres |\n|---|---|\n| small | 40 |\n| large | 90 |\n"
    ),
    "links.md": "# Links\n\nThe harbour, see [[long#Retention of logs|the rule]] and [[nowhere]].\n",
    "long.md": "# Long\n\n" + "Filler.\n\n" * 80 + "## Retention of logs\n\nNinety days.\n\n" + "More.\n\n" * 80,
    "카페.md": "# 카페\n\n배터리를 카페에서 충전한다.\n",
}
QUESTION = "/?ask=1&q=How do I start the bilge pump"
QUOTED = "() => [...CSS.highlights.get('quoted')].map((range) => range.toString()).join(' ')"


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return indexed_vault(tmp_path_factory.mktemp("shown"), NOTES)


@pytest.fixture(scope="module")
def served(notes: Vault) -> Iterator[Served]:
    with serving(notes, "rag.score_gate=0") as made:
        yield made


def printed(page: Page) -> str:
    """The text of the page as it is printed, on A4 landscape."""
    drawn = pymupdf.open(stream=page.pdf(format="A4", landscape=True))
    return " ".join(" ".join(sheet.get_text() for sheet in drawn).split())


def test_an_answer_is_set_as_a_note_is_its_source_beside_it(browser: Browser, served: Served) -> None:
    with let_in(browser, served) as watched:
        page = watched.go(served, QUESTION)
        page.wait_for_selector(".verdict")
        text = page.locator(".answer-text")
        assert text.locator("pre code").all_inner_texts()[:1] == ["pump --prime"]
        assert "```" not in text.inner_text()
        assert "**" not in text.inner_text()
        assert "|" not in text.inner_text()
        assert text.locator("mark.piece").count() > 0
        assert text.locator("figure.quotation td").all_inner_texts() == ["small", "40", "large", "90"]
        page.wait_for_selector("#reader .cited")
        assert page.locator("a.source[aria-current]").count() == 1
        assert "bilge pump" in page.evaluate(QUOTED)
        assert page.get_by_text("Why?").is_visible()
        assert page.locator(".evidence").is_hidden()
        watched.go(served, "/?ask=1&q=배터리를 카페에서 충전하나")
        page.wait_for_selector("#reader .cited:has-text('카페에서')")
        assert page.evaluate(QUOTED) == "배터리를 카페에서 충전한다."  # with its full stop
        assert watched.faults == []


def test_a_hit_has_its_title_then_its_path_and_section_then_its_words(browser: Browser, served: Served) -> None:
    with let_in(browser, served) as watched:
        page = watched.go(served, "/?q=bilge pump")
        page.wait_for_selector("a.hit mark")
        first = page.locator("a.hit").first
        parts = [first.locator(part) for part in (".heading", ".where .section", ".snippet")]
        assert [part.inner_text() for part in parts[:2]] == ["Pump", "Start the bilge pump"]
        assert first.locator(".file").is_hidden()  # pump.md would repeat its title
        tops = [box["y"] for box in (part.bounding_box() for part in parts) if box]
        assert tops == sorted(set(tops))


def test_a_further_hit_without_a_section_is_one_line_of_its_words(browser: Browser, tmp_path: Path) -> None:
    filler = "Filler words. " * 60
    entries = "\n\n".join(f"Entry {number}: the ferry leaves at {number}. {filler}" for number in range(9))
    vault = indexed_vault(tmp_path, {"ferries.md": f"# Ferries\n\n> [!note] The ferry\n\n{entries}\n"})
    with serving(vault) as served, let_in(browser, served) as watched:
        page = watched.go(served, "/?q=ferry")
        page.wait_for_selector("a.hit.further mark")
        further = page.locator("a.hit.further").first
        assert "Ferries" not in further.inner_text()
        boxes = [further.locator(part).bounding_box() for part in (".snippet", ".at")]
        tops = {round(box["y"] + box["height"] / 2, -1) for box in boxes if box}
        assert len(tops) == 1
        assert not {">", "["} & set(" ".join(page.locator(".snippet").all_inner_texts()))
        page.locator("#question").focus()
        page.keyboard.press("ArrowDown")
        page.wait_for_url("**at=*")
        assert further.get_attribute("data-at") in unquote_plus(page.url)
        assert watched.faults == []


def test_a_hit_parts_the_cells_of_a_table_and_cuts_its_folders_before_its_name(
    browser: Browser, tmp_path: Path
) -> None:
    table = "| Part | Price |\n|---|---|\n| cable | 12 |\n| hose | 30 |\n"
    vault = indexed_vault(tmp_path, {f"{'a long folder/' * 6}prices of the parts.md": f"# Prices\n\n{table}"})
    with serving(vault) as served, let_in(browser, served) as watched:
        page = watched.page
        page.set_viewport_size({"width": 390, "height": 760})
        watched.go(served, "/?q=cable")
        page.wait_for_selector("a.hit mark")
        assert page.locator(".snippet").inner_text() == "Part · Price · cable · 12 · hose · 30"
        assert page.locator(".file").evaluate("(shown) => shown.scrollWidth <= shown.clientWidth")
        assert page.locator(".folder").evaluate("(shown) => shown.scrollWidth > shown.clientWidth")
        assert watched.faults == []


def test_no_word_in_a_table_is_cut_into_letters_on_a_phone(browser: Browser, tmp_path: Path) -> None:
    long = "/".join(["configuration"] * 6)
    table = f"| `agent` | where |\n|---|---|\n| `gemini` | {'many words ' * 20}`~/{long}` |\n"
    vault = indexed_vault(tmp_path, {"agents.md": f"# Agents\n\n{table}"})
    with serving(vault) as served, let_in(browser, served, width=360, height=740) as watched:
        page = watched.go(served, "/?at=agents.md")
        page.wait_for_selector("#reader td")
        names = page.locator("#reader :is(td, th):first-child code")
        assert names.evaluate_all("(all) => all.map((each) => each.getClientRects().length)") == [1, 1]
        assert page.evaluate("() => document.documentElement.scrollWidth") == 360
        assert watched.faults == []


def test_the_words_of_a_hit_are_tinted_and_a_cited_place_as_a_whole(browser: Browser, served: Served) -> None:
    ground = "() => getComputedStyle(document.querySelector('#reader .cited')).backgroundColor"
    with let_in(browser, served) as watched:
        page = watched.go(served, "/?at=pump.md%23L3-L5")
        page.wait_for_selector("#reader .cited")
        cited = page.evaluate(ground)
        page = watched.go(served, "/?q=bilge pump")
        page.wait_for_selector("#reader.by-words .cited")
        assert page.evaluate(ground) != cited
        assert page.evaluate("() => CSS.highlights.get('asked').size") > 1
        page = watched.go(served, "/?q=how to prime the bilge pump in two")
        page.wait_for_selector("#reader.by-words .cited")
        marked = page.evaluate("() => [...CSS.highlights.get('asked')].map((range) => range.toString().toLowerCase())")
        assert {"bilge", "pump"} <= set(marked)
        assert not {"the", "to", "in"} & set(marked)


def test_a_notebook_reads_as_its_cells_and_by_its_lines(browser: Browser, tmp_path: Path) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Meter\n", "\n", "The meter **answers** slowly."]},
        {"cell_type": "code", "source": ["print(port)"], "outputs": [{"output_type": "stream", "text": ["42 kWh"]}]},
    ]
    notebook = tmp_path / "meter.ipynb"
    notebook.write_text(json.dumps({"cells": cells, "nbformat": 4}, indent=1), encoding="utf-8")
    vault = indexed_vault(tmp_path / "vault", {}, files={"meter.ipynb": notebook})
    with serving(vault) as served, let_in(browser, served) as watched:
        page = watched.go(served, "/?q=meter answers&at=meter.ipynb")
        page.wait_for_selector("#reader .note strong")
        assert page.locator("#reader .note pre").all_inner_texts() == ["print(port)", "42 kWh"]
        page.get_by_text("Lines", exact=True).click()
        page.wait_for_selector("#reader .lines")
        assert watched.faults == []


def test_escape_stops_an_answer_then_shows_the_hits_then_empties_the_field(browser: Browser, served: Served) -> None:
    with let_in(browser, served) as watched:
        page = watched.page
        held: list[Route] = []
        page.route("**/api/ask", lambda route: held.append(route))
        page.keyboard.type("?bilge pump")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Stop").wait_for()
        page.keyboard.press("Escape")
        page.get_by_text("Stopped before the end.").wait_for()
        assert page.locator("#question").input_value() == "?bilge pump"
        page.keyboard.press("Escape")
        page.wait_for_selector("a.hit mark")
        assert page.locator(".answer").count() == 0
        page.keyboard.press("Escape")
        page.wait_for_selector(".start")
        assert page.locator("#question").input_value() == ""


def test_every_view_is_printed_whole(browser: Browser, served: Served) -> None:
    with let_in(browser, served) as watched:
        page = watched.go(served, QUESTION)
        page.wait_for_selector("#reader .cited")
        answer = printed(page)
        assert "pump --prime" in answer
        assert "pump.md#L" in answer
        page = watched.go(served, "/?q=bilge pump")
        page.wait_for_selector("#reader .cited")
        assert "pump.md" in printed(page)
        page = watched.go(served, "/?at=long.md")
        page.wait_for_selector("#reader .note")
        assert printed(page).count("Filler.") == 80
        page = watched.go(served, "/?page=vault")
        page.wait_for_selector(".months")
        assert "4 documents" in printed(page)


def test_a_part_of_the_vault_that_there_is_not_is_the_map(browser: Browser, served: Served) -> None:
    with let_in(browser, served) as watched:
        page = watched.go(served, "/?page=another")
        page.wait_for_selector(".months")
        assert page.locator(".parts [aria-current=page]").get_attribute("data-page") == "vault"


def test_the_bars_of_a_phone_leave_room_for_the_hits(browser: Browser, served: Served) -> None:
    with let_in(browser, served, width=390, height=844) as watched:
        page = watched.go(served, "/?q=bilge pump")
        page.wait_for_selector("a.hit")
        top = page.locator("main").bounding_box()
        assert top is not None
        assert top["y"] <= 96
        page.locator("a.hit").first.click()
        page.wait_for_selector("#reader .cited")
        head = page.locator(".phone-head").bounding_box()
        assert head is not None
        assert (head["y"], head["height"]) == (0, 44)
        assert page.evaluate("() => document.documentElement.scrollWidth") == 390


def test_what_is_cited_and_marked_shows_in_forced_colours(browser: Browser, served: Served) -> None:
    with let_in(browser, served) as watched:
        watched.page.emulate_media(forced_colors="active")
        page = watched.go(served, "/?q=bilge pump harbour retention&at=pump.md%23L3-L5")
        page.wait_for_selector("#reader .cited")
        outline = "(each) => getComputedStyle(each).outlineStyle"
        assert page.locator("#reader .cited").first.evaluate(outline) == "solid"
        page.wait_for_selector("a.hit")
        page.locator("#question").press("ArrowDown")
        page.wait_for_selector("a.hit.here")
        assert page.locator("a.hit.here").evaluate(outline) == "solid"
        assert page.locator("a.hit:not(.here):not([aria-current])").first.evaluate(outline) == "none"


def test_the_page_speaks_korean_where_the_browser_or_its_reader_does(browser: Browser, served: Served) -> None:
    context = browser.new_context(locale="ko-KR")
    page = context.new_page()
    page.goto(served.address)
    page.wait_for_selector("html[data-ready]", state="attached")
    assert page.evaluate("() => document.documentElement.lang") == "ko"
    page.locator("#question").fill("배터리")
    page.wait_for_selector("a.hit mark")
    assert page.locator("#answering").inner_text() == "묻기"
    assert page.locator("a.hit .at").first.inner_text().endswith("행")
    page.locator("#more").click()
    page.get_by_role("button", name="English").click()
    page.wait_for_selector("html[lang=en]")
    page.wait_for_selector("a.hit")
    assert page.locator("#answering").inner_text() == "Ask"
    context.close()


def test_a_part_of_a_file_and_its_kind_are_called_in_the_language_of_the_page(browser: Browser, tmp_path: Path) -> None:
    office = MEDIA / "office"
    files = {name: office / name for name in ("manual-ko.docx", "stock-ko.ods", "hangul-ko.hwpx")}
    vault = indexed_vault(tmp_path, {}, files=files)
    said = {
        "ko": ["9–12문단", "납품 일정", "한글 문서 1개"],
        "en": ["paragraphs 9–12", "납품 일정", "1 Hangul document"],
    }
    with serving(vault) as served:
        for language, wanted in said.items():
            context = browser.new_context(locale=language)
            page = context.new_page()
            page.goto(served.address)
            page.wait_for_selector("html[data-ready]", state="attached")
            page.locator("#question").fill("갑문 실링")
            page.wait_for_selector("a.hit[data-at*=docx] .at")
            places = page.locator("a.hit .at").all_inner_texts()
            assert wanted[0] in places
            page.locator("#question").fill("납품일")
            page.wait_for_selector("a.hit[data-at*=ods] mark:text-is('납품일')")
            sheet = page.locator("a.hit[data-at*=ods]", has_text=wanted[1]).first
            assert re.fullmatch(r"[A-Z]\d+:[A-Z]\d+", sheet.locator(".at").inner_text())
            page.goto(f"http://127.0.0.1:{served.port}/?page=vault")
            page.wait_for_selector(".months")
            assert wanted[2] in page.locator(".months").inner_text()
            context.close()


def test_both_languages_say_everything(browser: Browser, served: Served) -> None:
    with let_in(browser, served) as watched:
        pairs = watched.page.evaluate("() => import('/static/strings.js').then((strings) => strings.TABLE)")
        assert {len(said) for said in pairs.values()} == {2}
        assert "" not in {each for said in pairs.values() for each in said}


def test_a_link_to_a_heading_goes_there(browser: Browser, served: Served) -> None:
    with let_in(browser, served) as watched:
        page = watched.go(served, "/?at=links.md")
        page.get_by_role("link", name="the rule").click()
        page.wait_for_selector("#reader .asked-for")
        heading = page.locator(".asked-for")
        assert heading.inner_text() == "Retention of logs"
        page.wait_for_function("() => document.querySelector('.asked-for').getBoundingClientRect().top < 400")
        page.go_back()
        page.get_by_role("link", name="nowhere").click()
        page.wait_for_selector("a.missing")


def test_a_command_that_mends_what_goes_wrong_is_there_to_copy(browser: Browser, served: Served) -> None:
    with let_in(browser, served) as watched:
        wrong = {"code": "model_error", "message": "the model has changed", "hint": "kb index --embeddings"}
        watched.page.route("**/api/search?*", lambda route: route.fulfill(status=500, json=wrong))
        page = watched.go(served, "/?q=gateway")
        assert page.locator("[role=alert] .command code").inner_text().endswith(" index --embeddings")


def test_an_empty_knowledge_base_says_what_to_do(browser: Browser, tmp_path: Path) -> None:
    vault = indexed_vault(tmp_path, {})
    with serving(vault) as served, let_in(browser, served) as watched:
        page = watched.page
        page.get_by_text("Nothing is indexed yet").wait_for()
        assert page.locator(".command code").inner_text() == f"kb --config {shlex.quote(str(vault.config))} ingest"
        page.keyboard.type("heron")
        page.wait_for_selector(".nothing .command")
        page.keyboard.press("Control+Enter")
        page.wait_for_url("**ask=1*")
        page.wait_for_selector("body:not(.searching) .nothing .command")
        assert page.locator(".verdict").count() == 0
        assert watched.faults == []


def test_without_hits_there_is_a_way_on(browser: Browser, served: Served) -> None:
    with let_in(browser, served) as watched:
        page = watched.go(served, "/?q=bilge&path_glob=nowhere/**")
        page.get_by_role("button", name="Take away 1 filter").click()
        page.wait_for_selector("a.hit mark")
        page = watched.go(served, "/?q=bilge&mode=zzz")
        page.wait_for_selector("a.hit mark")
        page = watched.go(served, "/?at=pump.md%23L3-L99")
        page.get_by_text("There is no line 99").wait_for()
        page.route("**/api/search*", lambda route: route.abort())
        page.locator("#question").fill("harbour")
        page.wait_for_selector("[role=alert]")
        assert page.locator("[role=alert]").inner_text().count("kb does not answer") == 1
        assert watched.faults == []


def test_the_width_of_the_list_is_kept(browser: Browser, served: Served) -> None:
    with let_in(browser, served) as watched:
        page = watched.go(served, "/?q=bilge pump")
        page.wait_for_selector("#reader .cited")
        page.locator("#divider").focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        width = page.locator("#results").bounding_box()
        page.reload()
        page.wait_for_selector("#reader .cited")
        assert page.locator("#results").bounding_box() == width
        assert page.locator("#divider").get_attribute("aria-valuenow") == "42"


def test_a_second_click_closes_a_menu(browser: Browser, served: Served) -> None:
    with let_in(browser, served) as watched:
        page = watched.go(served, "/?q=bilge pump")
        page.locator("#modes").click()
        page.wait_for_selector("#menu:popover-open")
        page.locator("#modes").click()
        page.wait_for_selector("#menu", state="hidden")
        page.locator("#modes").click()
        page.get_by_role("radio", name="Finds passages that have the words").click()
        page.wait_for_url("**mode=lexical*")
        assert page.evaluate("() => document.activeElement.id") == "modes"


def test_a_hit_is_judged_by_keys_and_by_the_palette_where_the_page_may_write(browser: Browser, tmp_path: Path) -> None:
    vault = indexed_vault(tmp_path, NOTES)
    with serving(vault, may_write=True) as served, let_in(browser, served) as watched:
        page = watched.page
        page.keyboard.type("bilge pump")
        page.wait_for_selector("#reader .cited")
        page.keyboard.press("Control+k")
        page.keyboard.type("bad hit")
        page.wait_for_selector("#palette [aria-selected=true]:has-text('Bad hit')")
        page.keyboard.press("Enter")
        page.wait_for_selector("a.hit.bad-hit")
        page.keyboard.press("Alt+b")
        page.wait_for_selector("a.hit.bad-hit", state="detached")
        page.keyboard.press("Alt+g")
        page.wait_for_selector("a.hit.good-hit")
        with page.expect_response("**/api/judge") as kept:
            page.locator("#question").fill("retention")
        assert kept.value.ok
        assert watched.faults == []
    (question,) = read_golden(vault.sqlite.parent / "golden.yaml").questions
    assert (question.query, question.expected[0].path) == ("bilge pump", "pump.md")


def test_the_start_page_offers_notes_questions_and_folders(browser: Browser, tmp_path: Path) -> None:
    vault = indexed_vault(tmp_path, {**NOTES, "boat/sail.md": "# Sail\n\n#rigging\n"})
    with serving(vault, "rag.score_gate=0", may_write=True) as served, let_in(browser, served) as watched:
        page = watched.go(served, "/?ask=1&q=Who fills the bilge pump")
        page.wait_for_selector(".verdict")
        page = watched.go(served, "/")
        page.get_by_role("link", name="Who fills the bilge pump").wait_for()
        assert page.locator(".recent a.hit").count() == 5
        page.keyboard.press("ArrowDown")
        page.wait_for_selector("a.hit.here")
        page.locator("a.choice-of", has_text="boat/").click()
        page.wait_for_selector(".passFilters")
        assert page.locator(".shelves a.hit .heading").all_inner_texts() == ["Sail"]
        page.locator(".shelves a.hit").click()
        page.wait_for_selector(".doc-head h1:has-text('Sail')")
        assert page.locator(".shelves").is_visible()
        assert watched.faults == []


def test_a_search_is_saved_by_name_and_found_again(browser: Browser, served: Served) -> None:
    with let_in(browser, served) as watched:
        page = watched.go(served, "/?q=bilge pump&mode=lexical&sort=date")
        page.wait_for_selector("a.hit mark")
        page.locator("#more").click()
        page.get_by_role("button", name="Save this search").click()
        page.get_by_label("Name of the search").fill("the pump")
        page.keyboard.press("Enter")
        page = watched.go(served, "/")
        page.get_by_role("link", name="the pump").click()
        page.wait_for_selector("a.hit mark")
        assert "q=bilge+pump&mode=lexical&sort=date" in page.url
        page = watched.go(served, "/")
        page.get_by_role("button", name="Remove: the pump").click()
        page.reload()
        page.wait_for_selector(".recent a.hit")
        assert page.get_by_role("link", name="the pump").count() == 0
        assert watched.faults == []


def test_the_palette_goes_to_a_note_by_its_title_and_to_commands(browser: Browser, served: Served) -> None:
    with let_in(browser, served) as watched:
        page = watched.go(served, "/?q=bilge")
        page.keyboard.press("Control+k")
        page.wait_for_selector("#palette[open] [role=option]")
        page.keyboard.type("카페")
        page.wait_for_selector("#palette [role=option][aria-selected=true]:has-text('카페.md')")
        page.keyboard.press("Enter")
        page.wait_for_selector(".doc-head h1:has-text('카페')")
        page.keyboard.press("Control+k")
        page.keyboard.type("vault")
        page.wait_for_selector("#palette [aria-selected=true]:has-text('Your vault')")
        page.keyboard.press("Enter")
        page.wait_for_selector(".months")
        page.keyboard.press("Control+k")
        page.keyboard.type("no note of this name")
        page.wait_for_selector("#palette [aria-selected=true]:has-text('Search for')")
        page.keyboard.press("Escape")
        page.wait_for_selector("#palette", state="hidden")
        assert watched.faults == []


def test_one_button_asks(browser: Browser, served: Served) -> None:
    with let_in(browser, served) as watched:
        page = watched.go(served, QUESTION)
        page.wait_for_selector("#further")
        assert page.get_by_role("button", name="Ask", exact=True).count() == 1
        page.locator("#question").fill("bilge")
        page.wait_for_selector("a.hit mark")
        assert page.get_by_role("button", name="Ask", exact=True).count() == 1
