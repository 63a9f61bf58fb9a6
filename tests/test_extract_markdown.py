"""What a Markdown file's document says: payloads, heading paths, title, tags, language, and how bad input ends."""

from __future__ import annotations

import unicodedata

import pytest

from kb.domain.documents import Block, Code, Document, Heading, ImageRef, Link, List, Payload, Table, Text
from kb.domain.ids import AssetId, document_id
from kb.domain.text import WorkspacePath
from kb.extract.markdown import document as markdown_document
from kb.extract.markdown.document import PARSER_VERSION, extract_markdown

ASSET = AssetId("0" * 32)


def read(text: str | bytes, path: str = "folder/my.note.md") -> Document:
    data = text if isinstance(text, bytes) else text.encode()
    return extract_markdown(data, workspace_path=WorkspacePath(path), asset_id=ASSET)


def only(text: str) -> Block:
    (block,) = read(text).blocks
    return block


@pytest.mark.parametrize(
    ("text", "payload"),
    [
        ("## *a* `b` &amp; c", Heading(2, "a b & c")),
        ("# 제목 {#anchor}", Heading(1, "제목")),
        ("# 제목 { #the-anchor .x }", Heading(1, "제목")),
        ("# {braces} stay", Heading(1, "{braces} stay")),
        ("a **b** _c_ ~~d~~ `e*f*`", Text("a b c d e*f*")),
        ("a\nb<br>c  \nd", Text("a\nb\nc\nd")),
        ("a \\*b\\* <b>c</b> &lt;d&gt;", Text("a *b* c <d>")),
        (
            "[a *b*](/c 'd') <https://e.f>",
            Text("a b https://e.f", (Link("a b", "/c"), Link("https://e.f", "https://e.f"))),
        ),
        ("[a]\n\n[a]: /b", Text("a", (Link("a", "/b"),))),
        (
            "[[a]] [[b|c]] [[d#e]] [[#f]]",
            Text("a c d#e #f", (Link("a", "a"), Link("c", "b"), Link("d#e", "d#e"), Link("#f", "#f"))),
        ),
        ("![[note]] `[[code]]` [[unclosed", Text("note [[code]] [[unclosed", (Link("note", "note"),))),
        ("a ![b *c*](d.png) e", Text("a b c e")),
        ("a %%hidden%% b 100%", Text("a  b 100%")),
        ("a `%%shown%%`", Text("a %%shown%%")),
        ("a[^1] b", Text("a[^1] b")),
        ("[^1]: a *b*\n\n    c", Text("a b\nc")),
        ("<div>\n<b>a</b> &amp; b <!-- c -->\n\n", Text("a & b")),
        ("> a\n> > b\n>\n> - c\n>   ```\n>   d\n>   ```", Text("a\nb\nc\nd")),
        ("> [!note] Title\n> body", Text("Title\nbody")),
        ("> [!warning]-\n> body", Text("Warning\nbody")),
        ("- a\n  - b\n    c\n- [ ] d\n- [x] **e**", List(False, ("a\nb\nc", "[ ] d", "[x] e"))),
        ("3. a\n\n   b\n4. [c](d)", List(True, ("a\nb", "c"), (Link("c", "d"),))),
        ("```py title=x\na\n\n```", Code("py", "a\n")),
        ("~~~\na", Code(None, "a")),
        ("  ```\n  a\n   b\n  ```", Code(None, "a\n b")),
        ("    a\n\n      b", Code(None, "a\n\n  b")),
        ("|a|*b*|\n|-|:-:|\n|`c\\|d`|[[e\\|f]]|\n|g|", Table(("a", "b"), (("c|d", "f"), ("g", "")))),
        ("![a *b*](c%20d.png)", ImageRef("c%20d.png", "a b")),
        ("![[a b.PNG|300]]", ImageRef("a b.PNG", "")),
        ("![[a.webp|그림]]", ImageRef("a.webp", "그림")),
        ("[![a](b.svg)](c)", Text("a", (Link("a", "c"),))),
    ],
)
def test_payload(text: str, payload: Payload) -> None:
    assert only(text).payload == payload


def test_heading_paths_are_of_the_headings_above() -> None:
    doc = read("intro\n# A\na\n### B\nb\n## C\n#\n#### D\nd\n# E")
    assert [block.heading_path for block in doc.blocks] == [
        (),
        (),
        ("A",),
        ("A",),
        ("A", "B"),
        ("A",),
        (),
        (),
        ("D",),
        (),
    ]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: 제목\n---\n# heading", "제목"),
        ("---\ntitle: |\n  Two\n  lines\n---\ntext", "Two lines"),
        ("text\n\n## first\n\n# second", "second"),
        ("#\n\n## second", "my.note"),
        ("text", "my.note"),
        ("---\ntitle: ''\n---\ntext", "my.note"),
        ("# " + unicodedata.normalize("NFD", "한글"), "한글"),
    ],
)
def test_title(text: str, title: str) -> None:
    assert read(text).title == title


def test_tags_of_frontmatter_and_text_in_order() -> None:
    doc = read(
        "---\ntags: [b, '#a']\n---\n# h #c\n- #d/e and #a\n\n> #한글_태그\n\n|#t|\n|-|\n\n`#no` \\#no x#no #1 #2024 http://x/#no\n"
        "[x](#no) # no #y-1, (#no)\n\n```\n#no\n```\n%% #no %%\n\n# h {#no}\n\n# h { #no }\n"
    )
    assert doc.metadata.tags == ("b", "a", "c", "d/e", "한글_태그", "t", "y-1")


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("---\nlang: EN\n---\n한국어 본문입니다.", "en"),
        ("한국어 본문입니다.", "ko"),
        ("```\n한국어\n```\nplain words", "en"),
    ],
)
def test_language(text: str, lang: str) -> None:
    assert read(text).lang == lang


def test_source_text_is_the_file_as_decoded() -> None:
    text = "---\na: 1\n---\n\n# a\r\n%% b %%\rcafe\u0301\n\n"
    doc = read("\ufeff" + text)
    assert doc.source_text == "---\na: 1\n---\n\n# a\n%% b %%\ncafe\u0301\n\n"


def test_ids_follow_from_path_content_and_parser() -> None:
    doc = read("# a\n\nb")
    assert doc.doc_id == document_id("folder/my.note.md", ASSET, PARSER_VERSION)
    assert read("# a\n\nb") == doc
    assert len({block.block_id for block in doc.blocks}) == 2
    assert [block.ordinal for block in doc.blocks] == [0, 1]
    assert {block.block_id for block in read("# a\n\nb", "other.md").blocks}.isdisjoint(b.block_id for b in doc.blocks)


@pytest.mark.parametrize("text", ["", "\n\n", " \t\n\u3000\n", "\ufeff"])
def test_no_text_is_a_warning(text: str) -> None:
    doc = read(text)
    assert doc.blocks == ()
    assert [warning.kind for warning in doc.warnings] == ["empty_file"]


@pytest.mark.parametrize(
    ("text", "payload", "last_line"),
    [
        ("---\ntitle: a\nauthor: b\n---\n\n", Code("yaml", "title: a\nauthor: b"), 4),
        ("---\na: [\n---\n", Code("yaml", "a: ["), 3),
        ("[a]: https://b\n[c]: https://d\n", Text("[a]: https://b\n[c]: https://d"), 2),
        ("%%\na\n%%", Text("%%\na\n%%"), 3),
    ],
)
def test_a_file_without_blocks_can_still_be_found(text: str, payload: Payload, last_line: int) -> None:
    block = only(text)
    assert (block.payload, block.span.start, block.span.end) == (payload, 1, last_line)


def test_malformed_frontmatter_is_indexed_as_text() -> None:
    doc = read("---\ntitle: [a\n---\n# b")
    assert [block.payload for block in doc.blocks] == [Code("yaml", "title: [a"), Heading(1, "b")]
    assert doc.title == "b"
    assert [warning.kind for warning in doc.warnings] == ["malformed_frontmatter"]


def test_a_table_whose_rows_do_not_match_is_a_warning() -> None:
    doc = read("text\n\n|a|b|\n|---|\n|c|d|")
    assert [(warning.kind, warning.note[:6]) for warning in doc.warnings] == [("malformed_table", "line 4")]


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        ">" * 10_000 + " a",
        "\n".join(">" * depth + " a" for depth in range(1, 400)),
        "- " * 10_000 + "a",
        "\n".join("  " * depth + "- a" for depth in range(400)),
        "> - " * 5_000 + "a",
        "1. " * 5_000 + "a",
        "[" * 19_000,
        "![[" * 6_000,
        "*a **b " * 2_500,
        "<" * 19_000,
        "<!--" * 4_000,
        "<div>\n" + "<a " * 6_000,
        "%% a\n\n" * 3_000,
        "`" * 9_999 + "a" + "`" * 9_998,
        "[^1]: " * 3_000 + "a",
    ],
)
def test_hostile_nesting_is_one_file_read(text: str) -> None:
    doc = read(text)
    assert doc.blocks
    assert doc.blocks[-1].span.end == text.rstrip("\n").count("\n") + 1


@pytest.mark.slow
def test_a_very_long_line_is_read_as_markdown_at_its_beginning_only() -> None:
    doc = read("# a\n\n" + "word *x* " * 20_000 + "\n\n- b")
    assert [block.kind for block in doc.blocks] == ["heading", "paragraph", "list"]
    assert [warning.kind for warning in doc.warnings] == ["markup_not_read"]
    assert "line 3: 180,000 characters" in doc.warnings[0].note
    assert len(doc.source_text) == 180_010


def test_text_the_parser_fails_on_is_kept_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(lines: object, references: object) -> None:
        raise RecursionError

    monkeypatch.setattr(markdown_document, "parse_lines", fail)
    doc = read("---\ntitle: t\n---\na\nb\n\n# c\n")
    assert [(block.kind, block.span.start, block.span.end, block.payload) for block in doc.blocks] == [
        ("paragraph", 4, 5, Text("a\nb")),
        ("paragraph", 7, 7, Text("# c")),
    ]
    assert [warning.kind for warning in doc.warnings] == ["markup_not_read"]
