"""A note as HTML: it reads as it was written, says its lines, and nothing in it runs or fetches."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hostile_documents import HOSTILE
from hypothesis import given
from hypothesis import strategies as st

from kb.extract.html import MAX_CHARS, answer_html, highlighted_lines, note_html, notebook_html
from kb.extract.notebook import Cell

HARMLESS = set(
    "a abbr b blockquote br caption cite code col colgroup dd del details dfn div dl dt em figcaption figure h1 h2 "
    "h3 h4 h5 h6 hr i ins kbd li mark ol p pre q rp rt ruby s samp small span strong sub summary sup table tbody td "
    "tfoot th thead time tr u ul var wbr".split()
)


class Elements(HTMLParser):
    """The elements of a text, with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def harm(rendered: str | None) -> list[object]:
    """What of it could run, fetch or lead astray."""
    found: list[object] = []
    for tag, attributes in Elements(rendered or "").found:
        if tag not in HARMLESS:
            found.append(tag)
        for name, value in attributes.items():
            if name.startswith("on") or name in ("style", "src", "srcset", "id", "name", "formaction", "xlink:href"):
                found.append((tag, name))
            if name == "href" and not re.match(r"(?:https?:|mailto:)", value or ""):
                found.append((tag, name, value))
    return found


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_in_a_note_runs_or_fetches(text: str) -> None:
    rendered = note_html(f"# T\n\n{text}\n\nthe end\n")
    assert rendered is not None
    assert harm(rendered) == []


@given(
    st.lists(st.sampled_from([*HOSTILE, "a", "\n", "> ", "- ", "`", "|", "<b>", "&lt;", "\0"]), max_size=6).map("".join)
)
def test_no_mixture_of_it_does(text: str) -> None:
    assert harm(note_html(text)) == []


def test_the_check_sees_harm() -> None:
    assert len([text for text in HOSTILE if text.startswith("<") and harm(text)]) > 15


def test_the_cells_of_a_notebook_read_as_prose_and_code_on_their_lines() -> None:
    prose = [(7, "# Pump"), (8, ""), (9, "It **hums**."), (20, "- one"), (21, "- two")]
    cells = [
        Cell("markdown", None, prose),
        Cell("code", "python", [(30, "x = 1")]),
        Cell("output", None, [(44, "<b>")]),
    ]
    rendered = notebook_html(cells)
    assert rendered is not None
    assert '<h1 data-from="7" data-to="7">Pump</h1>' in rendered
    assert '<p data-from="9" data-to="9">It <strong>hums</strong>.</p>' in rendered
    assert '<li data-from="21" data-to="21">' in rendered
    assert re.search(r'<pre data-from="30" data-to="30"><code><span class="n">x</span>', rendered)
    assert '<pre data-from="44" data-to="44" data-output=""><code>&lt;b&gt;</code></pre>' in rendered


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_in_a_notebook_runs_or_fetches(text: str) -> None:
    lines = list(enumerate(text.split("\n"), 1))
    assert harm(notebook_html([Cell(kind, None, lines) for kind in ("markdown", "code", "output")])) == []


def test_blocks_say_their_lines() -> None:
    rendered = note_html("---\ntitle: x\n---\n# A\n\nwords\nmore\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
    assert rendered is not None
    assert '<h1 data-from="4" data-to="4">A</h1>' in rendered
    assert '<p data-from="6" data-to="7">' in rendered
    assert '<ul data-from="9" data-to="10">' in rendered
    assert '<li data-from="10" data-to="10">' in rendered
    assert '<table data-from="12" data-to="14">' in rendered


def test_the_marks_of_notes_are_shown() -> None:
    rendered = note_html(
        "see [[log#전원|the log]] and ![[a b.png]] #tag\n\n> [!warning] Wet\n> cable\n\n- [x] done\n- [ ] open\n\n"
        "end ^id1\n"
    )
    assert rendered is not None
    assert '<a data-note="log#전원" rel="noreferrer noopener">the log</a>' in rendered
    assert '<b data-title="">Wet</b>cable' in rendered
    assert '<span data-image="a b.png">a b.png</span>' in rendered
    assert 'data-tag="tag"' in rendered
    assert 'data-callout="warning"' in rendered
    assert "[!warning]" not in rendered
    assert "☑ done" in rendered
    assert "☐ open" in rendered
    assert "^id1" not in rendered


@pytest.mark.parametrize("opened", ["<math><style>", "<script>", "<svg><title>", "<textarea>"])
def test_an_element_that_is_never_closed_hides_nothing_behind_it(opened: str) -> None:
    rendered = note_html(f"{opened}\n\nThe heron stands.\n\ninline {opened} and the otter\n")
    assert rendered is not None
    assert "The heron stands." in rendered
    assert "and the otter" in rendered
    assert "<s" not in rendered


def test_links_outside_are_links_and_their_pictures_are_not_fetched() -> None:
    rendered = note_html("[web](https://a.example/x) ![pic](https://a.example/p.png) [file](other%20note.md)\n")
    assert rendered is not None
    assert rendered.count('href="https://a.example/') == 2
    assert "<img" not in rendered
    assert 'data-note="other note.md"' in rendered


def test_code_has_its_colours_and_every_line() -> None:
    lines = highlighted_lines('def f():\n    """two\n    lines"""\n\n', "python")
    assert len(lines) == 5
    assert (
        lines[0]
        == '<span class="k">def</span><span class="w"> </span><span class="nf">f</span><span class="p">():</span>'
    )
    assert all(line.count("<span") == line.count("</span") for line in lines)
    assert highlighted_lines("<b>\n&", "no such language") == ["&lt;b&gt;", "&amp;"]


@pytest.mark.parametrize("language", ["python", "markdown", "shell", "yaml", "rust", "sql", "json", "xml", None])
@given(text=st.text(alphabet=st.sampled_from("ab<>&\"'`#\n\t {}()[]*_\\-=:;가"), max_size=80))
def test_every_line_stays_a_line_and_is_escaped(language: str | None, text: str) -> None:
    lines = highlighted_lines(text, language)
    assert len(lines) == len(text.split("\n"))
    assert [line for line in lines if "<" in re.sub(r"</?span[^>]*>", "", line)] == []


def test_what_is_too_long_is_shown_as_lines() -> None:
    assert note_html("a" * (MAX_CHARS + 1)) is None


def test_the_marker_of_an_answer_is_no_cell_of_its_table() -> None:
    rendered = answer_html("| a | b |\n|---|---|\n| 1 | 2 | [1] [2]\n")
    assert rendered is not None
    assert rendered.count("<td>") == 2
    assert "<p>[1] [2]</p>" in rendered


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("Prices\n| Part | Price |\n| Part: pin | Price: 3 |\n", "Part Price|Part: pin Price: 3"),
        ("| Part: pin | Price: 3 |\n…\n| Part: rod |", "Part: pin Price: 3|… |Part: rod "),
        ("| a |\n| a: 1 |\n| c | d |\n| c: 2 | d: 3 |", "a|a: 1|c d|c: 2 d: 3"),
        ("| 1 | 2 |\n…\n| a | b |\n|---|--:|\n…\n| 3 | 4 |", "1 2|… |a b|… |3 4"),
        ("- a\n\n| b | c \\| d |\n", "b c | d"),
        ("```\n| a | b |\n| c | d |\n```\n", ""),
    ],
)
def test_rows_without_a_rule_are_a_table_of_an_answer(text: str, cells: str) -> None:
    rendered = answer_html(text)
    assert rendered is not None
    rows = re.findall(r"<tr>(.*?)</tr>", rendered, re.S)
    assert "|".join(" ".join(re.findall(r"<t[hd]>(.*?)</t[hd]>", row)) for row in rows) == cells
    assert "<th></th>" not in rendered


def test_lines_stay_lines_unless_they_were_broken_to_fit_a_width() -> None:
    assert answer_html("start: 9:00\nend: 10:30\nBring the key of the attic.") == (
        "<p>start: 9:00<br>\nend: 10:30<br>\nBring the key of the attic.</p>\n"
    )
    korean = (
        "2월 폭우 때 9호기 함체에 물이 찼다. 원인은 조임 불량으로, 규정 토크는\n"
        "2.5 N·m인데 현장에서는 손으로만 조였다. 토크 드라이버 두 개를 샀다. [1]"
    )
    assert "<br>" not in str(answer_html(korean))
    assert "<br>" not in str(answer_html("The quick brown fox jumps over\nthe dog and goes to the very\nend."))
    assert answer_html("Off by default.\n\n    None of `a` is *read*.") == (
        "<p>Off by default.</p>\n<p>None of <code>a</code> is <em>read</em>.</p>\n"
    )
    assert answer_html("It is padded. \\\n\nSo \\ [1]") == "<p>It is padded.</p>\n<p>So [1]</p>\n"
    assert str(answer_html("Perhaps:\nThe quick brown fox jumps over\nthe dog.\nAnd the cat.")).count("<br>") == 2
