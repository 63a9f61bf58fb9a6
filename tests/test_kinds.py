"""The table of kinds: what depends on the kind of a file comes from it, and every name in it has its entry."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
from conftest import run_kb

from kb.chunk.chunkers import CHUNKERS
from kb.config.keys import WorkspaceConfig
from kb.domain import kinds
from kb.domain.documents import SourceFile
from kb.domain.kinds import KINDS, FileType, Kind, Kinds, MediaFamily
from kb.extract.registry import EXTRACTORS
from kb.scan.walk import ScanTotals, walk

BUILD = Kind(
    "markdown",
    (
        FileType("code/dockerfile", names=("Dockerfile", "Containerfile"), language="dockerfile"),
        FileType("code/python", ("py",), language="python"),
    ),
    extractor="markdown",
    chunker="headings",
    citation="line",
)


def test_every_kind_has_its_extractor_and_its_chunker_and_none_is_left_over() -> None:
    assert KINDS.families == get_args(MediaFamily)
    assert {kind.extractor for kind in KINDS.kinds} == set(EXTRACTORS)
    assert {kind.chunker for kind in KINDS.kinds} == set(CHUNKERS)


def test_every_media_type_belongs_to_its_family_and_no_spelling_to_two() -> None:
    types = [(kind, each) for kind in KINDS.kinds for each in kind.types]
    assert all(kinds.family_of(each.media_type) == kind.family for kind, each in types)
    spelled = [spelling for _, each in types for spelling in (*each.extensions, *each.names)]
    assert len(spelled) == len(set(spelled)) == len(KINDS.spellings())
    extensions = [extension for _, each in types for extension in each.extensions]
    assert [extension for extension in extensions if extension != extension.lower()] == []


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("Dockerfile", "code/dockerfile"),
        ("sub/Containerfile", "code/dockerfile"),
        ("dockerfile", None),
        ("Dockerfile.old", None),
        ("Dockerfile/x", None),
        ("SETUP.PY", "code/python"),
        (".py", None),
    ],
)
def test_a_file_is_told_by_its_whole_name_or_by_its_extension(name: str, media_type: str | None) -> None:
    found = Kinds(BUILD).type_of(name)
    assert (found.media_type if found else None) == media_type


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("page.mdx", "markdown"),
        ("notes.txt", "text/plain"),
        ("NOTES.TEXT", "text/plain"),
        ("a.org", "text/org"),
        ("a.rst", "text/rst"),
        ("a.adoc", "text/asciidoc"),
        ("CMakeLists.txt", "code/cmake"),
        ("requirements.txt", "code/requirements"),
        ("sub/requirements-dev.txt", "code/requirements"),
        ("my-requirements.txt", "text/plain"),
        ("boiler.log", None),
    ],
)
def test_text_is_a_note_but_for_what_builds_and_installs(name: str, media_type: str | None) -> None:
    assert kinds.media_type_of(name) == media_type


def test_a_kind_told_by_its_whole_name_is_walked_and_included(tmp_path: Path) -> None:
    table = Kinds(*(kind for kind in KINDS.kinds if kind.family != "code"), BUILD)
    for name in ("Dockerfile", "A/Dockerfile", "A/Makefile", "note.md"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    events = list(walk(tmp_path, include=table.include_patterns(), exclude=[], kinds=table))
    found = [event.workspace_path for event in events if isinstance(event, SourceFile)]
    assert sorted(found) == ["A/Dockerfile", "Dockerfile", "note.md"]
    (totals,) = [event for event in events if isinstance(event, ScanTotals)]
    assert totals.unsupported == {"": 1}
    assert list(walk(tmp_path, include=["/a/**"], exclude=[], kinds=table))[:-1] == []  # the folder A is not spelled so


def test_what_is_asked_for_by_default_and_told_in_help_comes_from_the_table() -> None:
    assert WorkspaceConfig.include == KINDS.include_patterns()
    assert f"Only these kinds of files: {', '.join(KINDS.families)}" in " ".join(
        run_kb("ingest", "--help").stdout.split()
    )
