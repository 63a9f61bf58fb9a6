"""Web pages: their content alone, on the lines of the source; what is broken or hostile in them."""

from __future__ import annotations

import html
import re
import time
from pathlib import Path

import pytest
from conftest import make_vault, run_kb
from format_fixtures import FORMATS, bare, chunks_of, known, read, recall

from kb.domain.documents import Code, Document, List, Table
from kb.domain.spans import LineSpan
from kb.extract.hypertext import read_hypertext
from kb.extract.laid import line_text
from kb.extract.page import extract_page

PAGES = [("page-en.html", "en"), ("page-euckr.html", "ko"), ("page-chromium.html", "ko"), ("page-oneline.html", "ko")]
BESIDE = ("cookies", "Startseite", "All articles", "Most read", "Imprint", "tracked", "not text")


def page(source: str, name: str = "a.html") -> Document:
    return extract_page(source.encode(), {}, workspace_path=name, asset_id="0" * 32)


def shown(source: str) -> list[str]:
    return [line for line in page(source).source_text.split("\n") if line]


@pytest.mark.parametrize(("name", "language"), PAGES)
def test_the_text_of_a_page_is_read_and_what_is_beside_it_is_not(name: str, language: str) -> None:
    document = read(FORMATS / name)
    assert recall(known(language), [chunk.text for chunk in chunks_of(document)]) >= 0.98
    assert [each for each in BESIDE if each in document.source_text] == []
    assert document.title == {"en": "The heating in the house at the lake", "ko": "호숫가 집의 난방"}[language]
    assert document.lang == language
    assert document.metadata.created_at == "2024-03-09T00:00:00Z"
    assert document.metadata.user["url"] == "https://lake.example/heating"
    assert document.metadata.user["author"] == {"en": "Marta Lindqvist", "ko": "김서연"}[language]


@pytest.mark.parametrize(("name", "language"), PAGES[:3])
def test_a_passage_cites_the_lines_of_the_source_that_hold_its_words(name: str, language: str) -> None:
    encoding = "cp949" if "euckr" in name else "utf-8"
    lines = (FORMATS / name).read_text(encoding=encoding).split("\n")
    right = 0
    chunks = chunks_of(read(FORMATS / name))
    for chunk in chunks:
        (span,) = chunk.spans
        assert isinstance(span, LineSpan)
        source = "\n".join(lines[span.start - 1 : span.end])
        letters = "".join(bare(html.unescape(re.sub(r"<[^>]+>", "", source))).split())
        said = ["".join(bare(line).split()) for line in chunk.text.split("\n")]
        right += all(line in letters for line in said)
    assert right >= 0.95 * len(chunks)
    assert len(chunks) > 5


def test_a_row_of_a_table_is_read_with_its_columns() -> None:
    document = read(FORMATS / "page-en.html")
    (table,) = (block.payload for block in document.blocks if isinstance(block.payload, Table))
    assert table.headers == ("Month", "Gas (m³)", "Power (kWh)")
    assert table.rows[1] == ("February", "287", "45")
    assert "| Month | Gas (m³) | Power (kWh) |\n| --- | --- | --- |\n" in document.source_text
    (chunk,) = (chunk for chunk in chunks_of(document) if "| February | 287 | 45 |" in chunk.text)
    assert chunk.heading_path == ("The heating", "Readings")


def test_a_row_is_cited_from_the_line_of_its_first_cell_to_that_of_its_last() -> None:
    rows = [f"<tr>\n<td>Reading {at} of the gauge</td>\n<td>{at}.5\nbar</td>\n</tr>" for at in range(90)]
    written = "<h1>The\ngauge</h1><table>\n" + "\n".join(rows) + "\n</table>\n<p>The end.</p>"
    chunks = chunks_of(page(written))
    assert len(chunks) > 2  # the table is cut between its rows
    for chunk in chunks:
        (span,) = chunk.spans
        source = re.sub(r"<[^>]+>", " ", "\n".join(written.split("\n")[span.start - 1 : span.end]))
        assert bare(source).split() == bare(chunk.text.replace("#", "")).split()
    assert page("<h1>The\ngauge</h1>").blocks[0].span == LineSpan(1, 2, 0, 11)


def test_lists_and_code_keep_their_form() -> None:
    document = read(FORMATS / "page-en.html")
    ordered, plain = (block.payload for block in document.blocks if isinstance(block.payload, List))
    assert ordered.ordered
    assert ordered.items[1] == "Open the tap until the gauge shows 1.6 bar."
    assert plain.items[0] == "The meter answers every 15 minutes."
    (code,) = (block.payload for block in document.blocks if isinstance(block.payload, Code))
    assert code.lang == "python"
    assert 'port = serial.Serial("/dev/ttyUSB0", 9600)' in code.code
    assert shown("<ul><li>a<ol>\n<li>b\n<li>c</ol>\n<li>d</ul>") == ["- a", "  1. b", "  2. c", "- d"]


def test_blocks_on_one_line_are_apart_and_below_their_headings() -> None:
    document = page("<h1>Top</h1><p>One.</p><h2>Sub</h2><p>Two.</p>")
    assert [block.heading_path for block in document.blocks] == [(), ("Top",), ("Top",), ("Top", "Sub")]
    assert document.source_text == "# Top  One.  ## Sub  Two."
    assert [chunk.text for chunk in chunks_of(document)] == ["# Top  One.", "## Sub  Two."]


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("<p>a&nbsp;b &amp; c&#10;d &lt;e&gt; sof&shy;t</p>", ["a b & c d <e> soft"]),
        ("<p>one<p>two<div>three</div>four", ["one  two  three  four"]),
        ("<p>a<b>b</b> <i>c</i>d</p>", ["ab cd"]),
        ("<table><tr><td>only</td></tr></table>", ["only"]),
        ("<table><tr><td><p>a</p><ul><li>b</ul><td>c<tr><td>d<td>e</table>", ["a  - b  c  d  e"]),
        ("a < b and <3, <", ["a < b and <3, <"]),
        ('<p title="a > b">text</p><p title="never closed>kept', ["text  kept"]),
        ("<!-- <p>no</p> --><p>yes<!-- rest", ["yes"]),
        ("<svg><title>icon</title><text>no</text></svg><p>yes", ["yes"]),
        ("<svg><title/><path/></svg><p>yes", ["yes"]),
        ("<html><head><title>t</title><meta name=a><body><p>yes", ["yes"]),
        ("<![CDATA[x]]><?php no ?><p>yes", ["yes"]),
        ("<p>한글<br>둘째</p>", ["한글 둘째"]),
        ("<script>if (a < b) '</p>'</script>tail", ["tail"]),
    ],
)
def test_markup_as_browsers_read_it(source: str, lines: list[str]) -> None:
    assert shown(source) == lines


def test_in_xhtml_an_empty_element_is_whole() -> None:
    head = '<?xml version="1.0"?><html><head><title/><script src="x"/></head>'
    source = f'{head}<body><a id="x"/><p>yes &amp; no</p></body></html>'
    assert page(source, "a.xhtml").source_text == "yes & no"


def test_a_page_of_links_alone_is_read_whole() -> None:
    source = '<body><nav><ul><li><a href="x">Heat pump prices</a></li></ul></nav><p>©</p></body>'
    assert "Heat pump prices" in page(source).source_text


def test_of_a_page_that_marks_its_main_part_the_rest_is_left_out() -> None:
    body = "word " * 100
    assert shown(f"<div>Widget</div>\n<article><p>{body}</p></article>\n<div>More</div>") == [body.strip()]
    assert len(shown(f"<article>teaser</article>\n<div>{body}</div>")) == 2


def test_an_author_and_a_day_from_linked_data() -> None:
    data = '{"@context":"https://schema.org","datePublished":"2023-05-01T09:00:00+09:00","author":[{"name":"이 수"}]}'
    found = read_hypertext(f'<script type="application/ld+json">{data}</script><p>x')
    assert (found.author, found.date) == ("이 수", "2023-05-01T00:00:00Z")


@pytest.mark.parametrize(
    "source",
    [
        "<div>" * 200_000 + "deep",
        "<a <a " * 200_000 + '"',
        "<!--" * 300_000,
        "<p title='" * 200_000,
        "&" * 500_000 + "amp;" * 100_000,
        "<table><tr><td>" * 60_000 + "x",
        "<script>" * 100_000,
        "</p>" * 300_000,
        "<a '>'" * 100_000,
        "<" + "a" * 100_000 + " '",
        "<li>" * 200_000,
        "<b>" + "<p>" * 200_000,
        '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>' + "&b;" * 100_000,
        "<p" + " a=1" * 300_000 + ">x",
    ],
    ids=lambda source: source[:12],
)
def test_hostile_markup_takes_no_longer_than_its_size(source: str) -> None:
    started = time.process_time()
    page(source)
    assert time.process_time() - started < 20  # quadratic time would be minutes


def test_nothing_of_the_web_is_fetched_and_no_entity_is_expanded(tmp_path: Path) -> None:
    source = (
        '<!DOCTYPE html [<!ENTITY x SYSTEM "file:///etc/passwd">]><p>&x; <img src="http://127.0.0.1:9/a.png">end</p>'
    )
    assert "root:" not in page(source).source_text


def test_a_page_is_found_fetched_shown_and_verified_by_its_lines(tmp_path: Path) -> None:
    vault = make_vault(tmp_path, {})
    for name, _ in PAGES:
        (vault.root / name).write_bytes((FORMATS / name).read_bytes())
    config = ("--config", str(vault.config))
    assert run_kb(*config, "ingest", "--no-embed", "--json").lines[-1]["new"] == 4
    assert "page-en.html#L" in run_kb(*config, "search", "February gas", "--k", "1").stdout
    lines = line_text((FORMATS / "page-en.html").read_bytes(), "page-en.html").split("\n")
    at = lines.index("| February | 287 | 45 |") + 1
    assert f"{at}│ | February | 287 | 45 |" in run_kb(*config, "fetch", f"page-en.html#L{at}").stdout
    found = run_kb(*config, "search", "환수관의 밸브", "--media", "html")
    assert "page-euckr.html#L" in found.stdout
    assert "<li>" not in found.stdout


SENTENCE = "The boiler is bled in autumn, before the first frost, and the pressure is read once a week. "


def test_an_element_that_holds_much_of_a_page_is_read_whatever_it_is_called() -> None:
    lines = shown(f'<div class="content has-sidebar sidebar"><p>{SENTENCE * 3}</p></div><p>{SENTENCE}</p>')
    assert len(lines) == 1
    assert lines[0].count("boiler") == 4
    assert "advert" not in shown(f'<div class="sidebar"><p>An advert.</p></div><p>{SENTENCE * 9}</p>')[0]


@pytest.mark.parametrize(
    ("beside", "is_read"),
    [
        ('<ul><li><a href="/a">Ten boilers tested</a></li><li><a href="/b">Winter offers</a></li></ul>', False),
        ('<h2>Most read</h2><p><a href="/a">Ten boilers tested</a></p>', False),
        ("<p>Photo: Lena Berg</p>", False),
        ('<p>See <a href="/c">the manual of the boiler</a> for the valve.</p>', True),
        ("<p>That is all that is to do.</p>", True),
        ("<table><tr><th>Month<th>Bar<tr><td>May<td>1.4</table>", True),
    ],
)
def test_links_and_labels_behind_running_text_are_not_read(beside: str, is_read: bool) -> None:
    (line,) = shown(f"<h1>Heating</h1><p>{SENTENCE * 6}</p>{beside}")
    words = re.sub(r"<[^>]+>", " ", beside).split()
    assert all((word in line) is is_read for word in words if word not in SENTENCE)


def test_a_page_of_links_is_read_whole() -> None:
    links = "".join(f'<li><a href="/{at}">Guide number {at}</a></li>' for at in range(40))
    assert "Guide number 39" in shown(f"<h1>Guides</h1><p>{SENTENCE}</p><ul>{links}</ul>")[0]
