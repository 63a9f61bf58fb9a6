"""Workspace paths: one spelling for one file."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.domain.kinds import media_type_of
from kb.domain.text import to_posix

names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1, max_size=12).filter(
    lambda name: unicodedata.normalize("NFC", name) not in (".", "..")
)
detours = st.sampled_from(["/", "//", "/./", "///"])


@pytest.mark.parametrize(
    ("spelled", "stored"),
    [
        ("a/b.md", "a/b.md"),
        ("./a//b.md", "a/b.md"),
        ("././a/./b.md", "a/b.md"),
        (unicodedata.normalize("NFD", "회의/3월.md"), "회의/3월.md"),
        ("a\\b.md", "a\\b.md"),
        (".hidden/..b.md", ".hidden/..b.md"),
        (" a / b.md", " a / b.md"),
        ("", ""),
        (".", ""),
    ],
)
def test_spelling(spelled: str, stored: str) -> None:
    assert to_posix(spelled) == stored


@given(st.lists(names, min_size=1, max_size=4), st.data())
def test_detours_and_composition_do_not_matter(parts: list[str], data: st.DataObject) -> None:
    spelled = data.draw(st.sampled_from(["", "./", ".//"])) + parts[0]
    for part in parts[1:]:
        spelled += data.draw(detours) + part
    direct = to_posix("/".join(parts))
    assert to_posix(spelled) == direct
    assert to_posix(unicodedata.normalize("NFD", spelled)) == direct
    assert to_posix(direct) == direct
    assert unicodedata.is_normalized("NFC", direct)


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("a.md", "markdown"),
        ("A.MD", "markdown"),
        ("회의.markdown", "markdown"),
        ("a.b/c.mkd", "markdown"),
        ("README", None),
        (".md", None),
        ("x/.md", None),
        ("a.exe", None),
        ("md", None),
    ],
)
def test_media_type_is_told_from_the_name(name: str, media_type: str | None) -> None:
    assert media_type_of(name) == media_type
