"""Files in parts: names of parts as citations, what is cited in a passage, and the text that a citation points to."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import kb
from kb.chunk.chunkers import cut_document
from kb.domain.citations import _PART_WORDS, PartCitation, cite, parse_citation, part_name
from kb.domain.derived import Derived, Engine
from kb.domain.documents import Chunk, ChunkPolicy, Document
from kb.domain.ids import AssetId
from kb.domain.text import WorkspacePath, stored_text
from kb.errors import InvalidCitation
from kb.extract.cited_text import cited_text
from kb.extract.parts import Part, PartBlock, Parts, assemble_parts

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda name: name.split())


def document_of(parts: Parts) -> Document:
    derived = {"parts": Derived("parts", Engine("kb", "test"), parts.to_json())}
    return assemble_parts(derived, workspace_path=WorkspacePath("plan.docx"), asset_id=AssetId("0" * 32))


def chunks_of(parts: Parts, **policy: int) -> Sequence[Chunk]:
    sizes = {"target_tokens": 60, "overlap_tokens": 0, **policy}
    return cut_document(
        document_of(parts), "document", ChunkPolicy(**sizes, respect_markdown_headings=True, chunker_version="test")
    )


def cited_in(chunk: Chunk) -> PartCitation:
    citation = cite("plan.docx", [span.to_json() for span in chunk.spans], chunk.section_label)
    assert isinstance(citation, PartCitation)
    return citation


def paragraphs(*texts: str) -> Parts:
    return Parts(tuple(Part(part_name(para=at), (PartBlock("paragraph", text),)) for at, text in enumerate(texts, 1)))


@example(",", 1, None)
@given(names, st.integers(1, 10**6), st.none() | st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)))
def test_names_that_formats_give_read_back(sheet: str, row: int, chars: tuple[int, int] | None) -> None:
    start, end = (None, None) if chars is None else (min(chars), max(chars))
    citation = PartCitation("a #1/b.xlsx", part_name(sheet=sheet, cells=f"A{row}:AB{row}"), None, start, end)
    assert parse_citation(citation.to_uri()) == citation
    entry = PartCitation("a.bib", part_name(entry=sheet))
    assert parse_citation(entry.to_uri()) == entry
    assert " ".join(stored_text(sheet).split()) in " ".join(citation.label.split())


@pytest.mark.parametrize(
    ("fragment", "label"),
    [
        ("slide=3", "Slide 3"),
        ("sheet=Prices&cells=A2:D9", "Prices A2:D9"),
        ("sheet=가격%20표&cells=A2:D2", "가격 표 A2:D2"),
        ("para=14", "Paragraph 14"),
        ("para=14:18", "Paragraphs 14–18"),
        ("entry=kim2020", "Entry kim2020"),
    ],
)
def test_a_part_is_said_as_a_person_says_it(fragment: str, label: str) -> None:
    citation = parse_citation(f"a.b#{fragment}")
    assert isinstance(citation, PartCitation)
    assert citation.label == label


def test_the_headings_over_a_part_are_said_first() -> None:
    assert PartCitation("a.docx", "para=14", "Ports").label == "Ports, paragraph 14"
    assert PartCitation("a.xlsx", "sheet=Prices&cells=A2:D2", "Prices").label == "Prices A2:D2"


@pytest.mark.parametrize(
    "fragment", ["para=", "row=3", "para=1&", "para=1&char=9,3", "para=1&char=1", "para=a b", "char=1,2", "para=1:2:3"]
)
def test_what_names_no_part_is_no_citation(fragment: str) -> None:
    with pytest.raises(InvalidCitation):
        parse_citation(f"a.docx#{fragment}")


@given(
    st.lists(st.text(st.sampled_from("가나ab. \n"), min_size=1).filter(str.strip), min_size=1, max_size=30),
    st.integers(32, 90),
)
def test_a_citation_gives_the_very_characters_of_its_passage(texts: list[str], target: int) -> None:
    parts = paragraphs(*(text.strip() for text in texts))
    for chunk in chunks_of(parts, target_tokens=target):
        citation = cited_in(chunk)
        assert parse_citation(citation.to_uri()) == citation._replace(section=None)
        assert cited_text(citation, b"", {"parts": parts.to_json()}) == chunk.text


def test_a_long_paragraph_is_cited_by_its_characters() -> None:
    parts = paragraphs("Short.", "One sentence after another is written here. " * 40)
    *_, last = chunks_of(parts)
    citation = cited_in(last)
    assert citation.part == "para=2"
    assert citation.char_start
    assert cited_text(citation, b"", {"parts": parts.to_json()}) == last.text


def test_slides_and_sheets_are_never_in_one_passage() -> None:
    def row(sheet: str, at: int) -> Part:
        return Part(part_name(sheet=sheet, cells=f"A{at}:B{at}"), (PartBlock("table", f"Item: {at}"),), (sheet,))

    parts = Parts(
        (
            *(
                Part(part_name(slide=at), (PartBlock("heading", "Plan", 1), PartBlock("paragraph", "Text.")))
                for at in (1, 2)
            ),
            *(row("Prices", at) for at in (2, 3, 4)),
            *(row("Stock: all", at) for at in (2, 3)),
        )
    )
    chunks = chunks_of(parts)
    cited = [cited_in(chunk).to_uri().removeprefix("plan.docx#") for chunk in chunks]
    assert cited == ["slide=1", "slide=2", "sheet=Prices&cells=A2:B4", "sheet=Stock%3A%20all&cells=A2:B3"]
    assert chunks[2].text == "Item: 2\nItem: 3\nItem: 4"
    assert chunks[2].section_label == "Prices"


@pytest.mark.parametrize("part", ["para=4", "para=0:2", "para=3:2", "para=1:4", "slide=1"])
def test_a_place_that_is_not_there_has_no_text(part: str) -> None:
    derived = {"parts": paragraphs("one", "two", "three").to_json()}
    assert cited_text(PartCitation("a.docx", part), b"", derived) is None
    assert cited_text(PartCitation("a.docx", "para=1", None, 0, 4), b"", derived) is None


def test_blocks_say_where_in_the_text_they_are() -> None:
    document = document_of(
        Parts((Part("slide=1", (PartBlock("heading", "Plan", 1), PartBlock("list", "- a"), PartBlock("list", "- b"))),))
    )
    spans = [json.loads(json.dumps(block.span.to_json())) for block in document.blocks]
    assert [document.source_text[each["char_start"] : each["char_end"]] for each in spans] == ["Plan", "- a", "- b"]
    assert all(one["char_end"] <= other["char_start"] for one, other in pairwise(spans))
    assert document.blocks[1].heading_path == ("Plan",)


def test_the_page_and_the_terminal_have_words_for_every_part() -> None:
    keys = {key for key, word in _PART_WORDS.items() if word}
    web = (Path(kb.__file__).parent / "web/static/strings.js").read_text(encoding="utf-8")
    assert set(re.findall(r"^  part_(\w+): \[", web, re.M)) == keys
    terminal = (Path(kb.__file__).parent / "tui/data/strings.tsv").read_text(encoding="utf-8")
    assert set(re.findall(r"^part (\w+)\t", terminal, re.M)) == keys
