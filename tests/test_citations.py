"""Citation URIs: `path#L12-L34`, written and read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.domain.citations import LineCitation, parse_citation
from kb.errors import InvalidCitation

paths = st.text(st.characters(exclude_categories=["Cs"]), min_size=1) | st.sampled_from(
    ["notes/a.md", "meeting #2.md", "a b/c d.md", "회의/3월 #1.md", "odd#L3-L4/x.md", "#.md", "a.md#"]
)


@given(paths, st.integers(1, 10**9), st.integers(0, 10**6))
def test_what_is_written_reads_back(path: str, start: int, more: int) -> None:
    citation = LineCitation(path, start, start + more)
    assert parse_citation(citation.to_uri()) == citation


@pytest.mark.parametrize(("uri", "start", "end"), [("a.md#L12-L34", 12, 34), ("a.md#L7", 7, 7), ("a.md#L7-L7", 7, 7)])
def test_lines(uri: str, start: int, end: int) -> None:
    assert parse_citation(uri) == LineCitation("a.md", start, end)


def test_a_single_line_is_written_short() -> None:
    assert LineCitation("a.md", 7, 7, "Section").to_uri() == "a.md#L7"


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "a.md",
        "#L1",
        "a.md#",
        "a.md#L0",
        "a.md#L01",
        "a.md#l3",
        "a.md#L3-L2",
        "a.md#L3-",
        "a.md#L3-4",
        "a.md#L1 ",
        "a.md#L-1",
        "a.md#L1-L2-L3",
        "a.md#page=2",
        "a.md#L１",
        "a.md#L1２",
        "a.md#L1-L2３",
        "a.md#L1\n",
    ],
)
def test_what_is_not_a_citation(uri: str) -> None:
    with pytest.raises(InvalidCitation) as caught:
        parse_citation(uri)
    assert "notes/a.md#L12-L34" in (caught.value.hint or "")
