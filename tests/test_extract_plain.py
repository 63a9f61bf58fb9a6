"""Notes in Org, reStructuredText, AsciiDoc and in no markup: their headings, code and what they say of themselves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from conftest import kb_in, make_vault
from hypothesis import given
from hypothesis import strategies as st

from kb.domain.documents import Code, Document, Heading
from kb.domain.ids import AssetId
from kb.domain.spans import LineSpan
from kb.domain.text import WorkspacePath
from kb.extract.plain import extract_text
from kb.retrieve.snippet import below_headings

ORG = """\
#+TITLE: 장비 점검
#+FILETAGS: :home:boiler:
# a comment nobody reads

* TODO [#A] 보일러 에러코드 :급함:
:PROPERTIES:
:ID: 4711
:END:
E03은 점화 불량이다.

** Steps
#+BEGIN_SRC sh
  * no heading
systemctl restart boiler
#+END_SRC
"""
RST = """\
==========
Field note
==========

:author: nobody

Valves
======
The valve closes at night.

.. code-block:: sh
   :linenos:

   valve close

.. note::

   Wear gloves.

.. a comment
   of two lines

Pumps
~~~~~
Run this::

    pump start

Later
=====
Nothing yet.
"""
ADOC = """\
= Manual
:toc: left
// no text

== Install
[source,sh]
----
apt install kettle
----

=== 설정
포트는 8080이다.
"""
PLAIN = "회의 메모\n\n# 제목이 아닌 줄\nE03 again.\n"


def read(name: str, text: str) -> Document:
    return extract_text(text.encode(), workspace_path=WorkspacePath(name), asset_id=AssetId("0" * 32))


def headings(document: Document) -> list[tuple[int, str]]:
    return [(each.payload.level, each.payload.text) for each in document.blocks if isinstance(each.payload, Heading)]


def code(document: Document) -> list[tuple[str | None, str]]:
    return [(each.payload.lang, each.payload.code) for each in document.blocks if isinstance(each.payload, Code)]


def prose(document: Document) -> str:
    lines = document.source_text.split("\n")
    spans = [each.span for each in document.blocks if each.kind == "paragraph" and isinstance(each.span, LineSpan)]
    return "\n".join("\n".join(lines[span.start - 1 : span.end]) for span in spans)


def test_org_has_headings_by_stars_and_says_its_title_and_tags() -> None:
    document = read("a.org", ORG)
    assert (document.title, document.lang) == ("장비 점검", "ko")
    assert headings(document) == [(2, "보일러 에러코드"), (3, "Steps")]
    assert set(document.metadata.tags) == {"home", "boiler", "급함"}
    assert code(document) == [("sh", "  * no heading\nsystemctl restart boiler")]
    assert prose(document) == "E03은 점화 불량이다."


def test_restructured_text_has_headings_by_what_underlines_them() -> None:
    document = read("a.rst", RST)
    assert document.title == "Field note"
    assert headings(document) == [(1, "Field note"), (2, "Valves"), (3, "Pumps"), (2, "Later")]
    assert code(document) == [("sh", "   valve close"), (None, "    pump start")]
    assert "Wear gloves." in prose(document)
    assert "comment" not in prose(document)


def test_asciidoc_has_headings_and_listings() -> None:
    document = read("a.adoc", ADOC)
    assert document.title == "Manual"
    assert headings(document) == [(1, "Manual"), (2, "Install"), (3, "설정")]
    assert code(document) == [("sh", "apt install kettle")]
    assert prose(document) == "포트는 8080이다."


def test_plain_text_is_its_paragraphs_and_called_as_its_file() -> None:
    document = read("sub/회의.txt", PLAIN)
    assert (document.title, document.lang, headings(document)) == ("회의", "ko", [])
    assert prose(document) == PLAIN.strip().replace("\n\n", "\n")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("* TODO [#A] Valves :home:\n\nThey close.", ["Valves"]),
        ("== Install\n=== Valves\nThey close.", ["Install", "Valves"]),
        ("======\nValves\n======\n\nThey close.", ["Valves"]),
        ("Install\n=======\nValves\n~~~~~~\nThey close.", ["Install", "Valves"]),
    ],
)
def test_a_hit_does_not_repeat_the_headings_that_it_shows(text: str, path: Sequence[str]) -> None:
    assert below_headings(text, path) == "They close."


def test_an_item_that_names_the_heading_above_it_stays() -> None:
    assert below_headings("* Valves that close\n* pumps", ["Valves"]) == "* Valves that close\n* pumps"


_LINES = ("* a", "** TODO b :x:", "#+BEGIN_SRC", "#+END_SRC", ":ID:", ":END:", "T", "=", "====", "~~~~", "  in", "a::")
_MORE = (".. code:: x", "..", "== c", "----", "....", "[source,x]", "", "#+TITLE: t", "text.")


@given(st.sampled_from(("a.txt", "a.org", "a.rst", "a.adoc")), st.lists(st.sampled_from(_LINES + _MORE), max_size=12))
def test_any_text_has_blocks_in_order_none_of_them_blank(name: str, lines: list[str]) -> None:
    document = read(name, "\n".join(lines))
    spans = [each.span for each in document.blocks if isinstance(each.span, LineSpan)]
    written = document.source_text.split("\n")
    assert all(before.end < after.start for before, after in pairwise(spans))
    assert all(written[span.start - 1].strip() and written[span.end - 1].strip() for span in spans)


@pytest.mark.parametrize("name", ["a.org", "a.rst", "a.adoc", "a.txt"])
@pytest.mark.parametrize("line", [":ID:", "----", "#+BEGIN_SRC", "a::", "..", "* a", "=====", "#+TITLE: a"])
def test_a_text_of_one_line_over_and_over_is_read_in_linear_time(name: str, line: str) -> None:
    read(name, f"{line}\n" * 20_000)


def test_text_files_are_notes_cited_by_lines_with_headings_and_language(tmp_path: Path) -> None:
    files = {"a.org": ORG, "b.rst": RST, "c.adoc": ADOC, "d.txt": PLAIN, "e.text": "The quokka sleeps.\n"}
    vault = make_vault(tmp_path, files)
    ran = kb_in(vault)("ingest", "--json")
    assert ran.lines[-1]["new"] == 5
    listed = {each["doc_path"]: each for each in kb_in(vault)("list", "docs", "--json").lines}
    assert {path: listed[path]["media_type"] for path in sorted(listed)} == {
        "a.org": "text/org",
        "b.rst": "text/rst",
        "c.adoc": "text/asciidoc",
        "d.txt": "text/plain",
        "e.text": "text/plain",
    }
    (found,) = kb_in(vault)("search", "포트는 8080", "--mode", "lexical", "--json").lines
    hit = found["hits"][0]
    assert (hit["citation"]["uri"], hit["heading_path"]) == ("c.adoc#L11-L12", ["Manual", "Install", "설정"])


def test_text_from_standard_input_becomes_a_note(tmp_path: Path) -> None:
    vault = make_vault(tmp_path, {})
    added = kb_in(vault)("ingest-file", "-", "--name", "x.txt", stdin="회의록을 남긴다\n")
    assert (added.code, added.stdout.startswith("copied to _external/")) == (0, True)
    assert "_external/" in kb_in(vault)("search", "회의록").stdout
