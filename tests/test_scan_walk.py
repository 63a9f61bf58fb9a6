"""The walk: what becomes of links, strange files, strange names and parts of a workspace; one spelling for one file."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.config.keys import WorkspaceConfig
from kb.domain.documents import SourceFile
from kb.domain.kinds import KINDS, media_type_of
from kb.domain.text import to_posix
from kb.errors import (
    ConfigError,
    FileNotRegular,
    FileUnreadable,
    FileVanished,
    UsageError,
)
from kb.scan.walk import FailedFile, ScanEvent, ScanTotals, SkippedFile, walk

NFC_NAME = "한글.md"
NFD_NAME = unicodedata.normalize("NFD", NFC_NAME)


def write(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)


def events_of(root: Path, scope: str = "", include: tuple[str, ...] = ("**/*.md",)) -> list[ScanEvent]:
    return list(walk(root, include=include, exclude=[], scope=scope))


def paths_of(root: Path, scope: str = "", include: tuple[str, ...] = ("**/*.md",)) -> list[str]:
    return [event.workspace_path for event in events_of(root, scope, include) if isinstance(event, SourceFile)]


def failures_of(root: Path, scope: str = "") -> dict[str, FailedFile]:
    return {event.workspace_path: event for event in events_of(root, scope) if isinstance(event, FailedFile)}


def test_a_scanned_file_tells_where_what_and_when(tmp_path: Path) -> None:
    write(tmp_path, "notes/a.md")
    os.utime(tmp_path / "notes/a.md", ns=(1, 1_234_567_000))
    (event, totals) = events_of(tmp_path)
    assert event == ("notes/a.md", os.path.realpath(tmp_path / "notes/a.md"), "markdown", 10, 1_234_567_000)
    assert totals == ScanTotals(unsupported={}, not_included=0)


def test_files_come_by_name_and_before_folders(tmp_path: Path) -> None:
    write(tmp_path, "b/c/x.md", "b/a.md", "b/z.md", "a/q.md", "c.md", "B.md")
    assert paths_of(tmp_path) == ["B.md", "c.md", "a/q.md", "b/a.md", "b/z.md", "b/c/x.md"]


def test_files_of_other_kinds_and_files_not_included_are_counted(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "b.MD", "c.markdown", "d.doc", "D.DOC", "e", "v 1.5 draft", "한글.gul", "notes/f.md")
    write(tmp_path, ".md", ".bashrc", "ignored.o", "notes/unasked.pages")
    (tmp_path / ".gitignore").write_text("*.o\n", encoding="utf-8")
    *files, totals = events_of(tmp_path, include=("/*.md",))
    assert [event.workspace_path for event in files if isinstance(event, SourceFile)] == ["a.md", "b.MD"]
    assert totals == ScanTotals(unsupported={".doc": 2, "": 2, ".gul": 1}, not_included=2)


def test_extensions_in_upper_case_are_asked_for_as_those_in_lower_case(tmp_path: Path) -> None:
    write(tmp_path, "IMG_0001.JPG", "NOTE.MD", "Scan.Pdf", "drafts/OLD.MD", "talk.MP3", "SHOUTED/A.MD")
    include = ("*.md", "*.jpg", "*.pdf", "*.mp3", "!drafts/*.md", "!shouted/")
    assert paths_of(tmp_path, include=include) == ["IMG_0001.JPG", "NOTE.MD", "Scan.Pdf", "talk.MP3", "SHOUTED/A.MD"]
    assert paths_of(tmp_path, include=("*.MD",)) == ["NOTE.MD", "SHOUTED/A.MD", "drafts/OLD.MD"]


def test_every_kind_kb_reads_is_asked_for_unless_the_configuration_says_otherwise(tmp_path: Path) -> None:
    names = [spelling.replace("*", "a") for spelling in KINDS.spellings()]
    write(tmp_path, *names)
    assert paths_of(tmp_path, include=WorkspaceConfig.include) == sorted(names)


@pytest.mark.parametrize(
    ("include", "found"),
    [
        (("**/*.md",), ["a.md", "n/a.md", "n/o/a.md"]),
        (("*.md",), ["a.md", "n/a.md", "n/o/a.md"]),
        (("/*.md",), ["a.md"]),
        (("n/*.md",), ["n/a.md"]),
        (("n",), ["n/a.md", "n/o/a.md"]),
        (("n/**", "!n/o/**"), ["n/a.md"]),
        ((), []),
    ],
)
def test_include_patterns(tmp_path: Path, include: tuple[str, ...], found: list[str]) -> None:
    write(tmp_path, "a.md", "n/a.md", "n/o/a.md")
    assert paths_of(tmp_path, include=include) == found


def test_a_malformed_include_pattern_is_named(tmp_path: Path) -> None:
    for pattern in ("[a.md", "a\\", "/"):
        with pytest.raises(ConfigError, match="malformed") as caught:
            walk(tmp_path, include=[pattern], exclude=[])
        assert caught.value.hint


# --- the root and the scope ---


def test_a_root_that_is_missing_or_a_file(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    with pytest.raises(FileVanished) as missing:
        walk(tmp_path / "none", include=["*"], exclude=[])
    with pytest.raises(FileUnreadable) as not_a_folder:
        walk(tmp_path / "a.md", include=["*"], exclude=[])
    assert missing.value.hint
    assert not_a_folder.value.hint


def test_an_unreadable_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deny_listing(monkeypatch, tmp_path)
    with pytest.raises(FileUnreadable) as caught:
        walk(tmp_path, include=["*"], exclude=[])
    assert caught.value.hint


def test_scope_takes_one_file_or_folder_under_the_rules_above_it(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "n/a.md", "n/b.md", "n/o/c.md", "n/o/drafts/d.md", "x/y/z.md")
    (tmp_path / ".gitignore").write_text("drafts/\n/x/\n")
    (tmp_path / "n/.kbignore").write_text("b.md\n")
    assert paths_of(tmp_path, "n/a.md") == ["n/a.md"]
    assert paths_of(tmp_path, "./n//o/") == ["n/o/c.md"]
    assert events_of(tmp_path, "n/b.md")[0] == SkippedFile("n/b.md", "kbignore")
    assert events_of(tmp_path, "n/o/drafts/d.md")[0] == SkippedFile("n/o/drafts", "gitignore")
    assert events_of(tmp_path, "x/y")[0] == SkippedFile("x", "gitignore")
    assert paths_of(tmp_path, ".") == paths_of(tmp_path)


def test_scope_must_exist_inside_the_root(tmp_path: Path) -> None:
    write(tmp_path, "root/a.md", "b.md")
    for scope, error in (
        ("../b.md", UsageError),
        ("/etc", UsageError),
        ("none.md", FileVanished),
        ("a.md/b", FileVanished),
    ):
        with pytest.raises(error) as caught:
            walk(tmp_path / "root", include=["*"], exclude=[], scope=scope)
        assert caught.value.hint


def test_scope_through_a_link_is_the_file_at_its_own_place(tmp_path: Path) -> None:
    write(tmp_path, "notes/a.md")
    (tmp_path / "link").symlink_to("notes")
    assert paths_of(tmp_path, "link/a.md") == ["notes/a.md"]
    assert paths_of(tmp_path, "link") == ["notes/a.md"]


# --- links ---


def test_a_link_to_what_the_walk_meets_anyway_adds_nothing(tmp_path: Path) -> None:
    write(tmp_path, "z/a.md")
    (tmp_path / "a-link.md").symlink_to("z/a.md")
    (tmp_path / "a-folder").symlink_to("z")
    assert paths_of(tmp_path) == ["z/a.md"]


def test_a_link_brings_in_what_lies_outside_under_its_real_path(tmp_path: Path) -> None:
    write(tmp_path, "out/x.md", "out/deep/y.md", "single.txt", "root/a.md")
    (tmp_path / "root/linked").symlink_to(tmp_path / "out")
    (tmp_path / "root/single.md").symlink_to(tmp_path / "single.txt")
    scanned = {e.workspace_path: e.source_path for e in events_of(tmp_path / "root") if isinstance(e, SourceFile)}
    real = os.path.realpath(tmp_path)
    assert scanned == {
        "a.md": f"{real}/root/a.md",
        "single.md": f"{real}/single.txt",
        "linked/x.md": f"{real}/out/x.md",
        "linked/deep/y.md": f"{real}/out/deep/y.md",
    }


def test_what_two_links_lead_to_is_taken_by_the_first(tmp_path: Path) -> None:
    write(tmp_path, "out/x.md", "out/deep/y.md", "root/a.md")
    for name, target in (("l1", "out/deep"), ("l2", "out"), ("l3", "out"), ("n/l4.md", "out/x.md")):
        (tmp_path / "root" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "root" / name).symlink_to(tmp_path / target)
    assert paths_of(tmp_path / "root") == ["a.md", "l1/y.md", "l2/x.md"]


def test_links_in_circles_end(tmp_path: Path) -> None:
    write(tmp_path, "root/n/a.md", "up.md", "out/b.md")
    (tmp_path / "root/n/loop").symlink_to(".")
    (tmp_path / "root/above").symlink_to("..")
    (tmp_path / "root/self.md").symlink_to("self.md")
    (tmp_path / "out/back").symlink_to(tmp_path / "out")
    (tmp_path / "out/root").symlink_to(tmp_path / "root")
    assert paths_of(tmp_path / "root") == ["above/up.md", "above/out/b.md", "n/a.md"]
    assert isinstance(failures_of(tmp_path / "root")["self.md"].error, FileVanished)


def test_a_link_to_an_ignored_place_takes_what_is_there(tmp_path: Path) -> None:
    write(tmp_path, "raw/a.md", "raw/b.md")
    (tmp_path / ".gitignore").write_text("raw/\n")
    (tmp_path / "chosen.md").symlink_to("raw/a.md")
    assert paths_of(tmp_path) == ["chosen.md"]
    assert paths_of(tmp_path, "chosen.md") == ["chosen.md"]


def test_links_obey_the_rules_where_they_stand(tmp_path: Path) -> None:
    write(tmp_path, "out/x.md", "root/a.md")
    (tmp_path / "root/linked").symlink_to(tmp_path / "out")
    (tmp_path / "root/.gitignore").write_text("linked/\n")
    assert events_of(tmp_path / "root")[1] == SkippedFile("linked", "gitignore")


def test_a_link_to_nothing_is_reported_if_it_is_named_like_a_document(tmp_path: Path) -> None:
    (tmp_path / "gone.md").symlink_to("nothing")
    (tmp_path / "gone.txt").symlink_to("nothing")
    (tmp_path / ".#lock.md").symlink_to("user@host.1:2")
    failures = failures_of(tmp_path)
    assert list(failures) == ["gone.md"]
    assert isinstance(failures["gone.md"].error, FileVanished)
    assert "link" in failures["gone.md"].error.message


# --- what is no readable file ---


def test_an_ignore_file_that_cannot_be_read_is_reported_and_the_walk_goes_on(tmp_path: Path) -> None:
    write(tmp_path, "n/a.md")
    os.mkfifo(tmp_path / "n/.gitignore")
    assert isinstance(failures_of(tmp_path)["n/.gitignore"].error, FileNotRegular)
    assert paths_of(tmp_path) == ["n/a.md"]


def deny_listing(monkeypatch: pytest.MonkeyPatch, folder: Path, error: type[OSError] = PermissionError) -> None:
    """Make listing `folder` fail, for root too, whom permissions do not stop."""
    scandir: Callable[[str], Any] = os.scandir

    def denying(path: str) -> Any:
        if path == os.path.realpath(folder):
            raise error(13, "denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", denying)


@pytest.mark.parametrize(("error", "kind"), [(PermissionError, FileUnreadable), (FileNotFoundError, FileVanished)])
def test_a_folder_that_cannot_be_listed_is_one_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[OSError], kind: type[Exception]
) -> None:
    write(tmp_path, "a/x.md", "b/x.md", "c/x.md")
    deny_listing(monkeypatch, tmp_path / "b", error)
    failures = failures_of(tmp_path)
    assert list(failures) == ["b"]
    assert isinstance(failures["b"].error, kind)
    assert failures["b"].error.hint
    assert paths_of(tmp_path) == ["a/x.md", "c/x.md"]


def test_files_and_folders_that_vanish_during_the_walk(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "b.md", "c/x.md", "d/x.md")
    walking: Iterator[ScanEvent] = walk(tmp_path, include=["*.md"], exclude=[])
    first = next(walking)
    (tmp_path / "b.md").unlink()
    (tmp_path / "c/x.md").unlink()
    (tmp_path / "c").rmdir()
    rest = list(walking)
    assert isinstance(first, SourceFile)
    failures = {event.workspace_path: event.error for event in rest if isinstance(event, FailedFile)}
    assert list(failures) == ["b.md", "c"]
    assert all(isinstance(error, FileVanished) for error in failures.values())
    assert [event.workspace_path for event in rest if isinstance(event, SourceFile)] == ["d/x.md"]


# --- names ---


def make_undecodable(folder: Path, name: bytes, directory: bool = False) -> None:
    path = os.fsencode(folder) + b"/" + name
    try:
        os.mkdir(path) if directory else os.close(os.open(path, os.O_CREAT))
    except OSError:
        pytest.skip("this file system takes only UTF-8 names")


def test_an_undecodable_name_that_is_ignored_is_no_failure(tmp_path: Path) -> None:
    make_undecodable(tmp_path, b"caf\xe9.md")
    (tmp_path / ".gitignore").write_text("caf*\n")
    assert events_of(tmp_path)[0] == SkippedFile("caf\\xe9.md", "gitignore")


def test_of_two_names_with_one_spelling_the_composed_one_is_taken(tmp_path: Path) -> None:
    write(tmp_path, NFD_NAME, NFC_NAME)
    if len(list(tmp_path.iterdir())) == 1:
        pytest.skip("this file system does not keep two spellings of one name apart")
    (scanned,) = (event for event in events_of(tmp_path) if isinstance(event, SourceFile))
    assert scanned.workspace_path == NFC_NAME
    assert scanned.source_path.endswith("/" + NFC_NAME)
    assert list(failures_of(tmp_path)) == [NFC_NAME]
    assert failures_of(tmp_path)[NFC_NAME].error.hint


def test_a_decomposed_name_is_stored_composed_and_read_as_it_is(tmp_path: Path) -> None:
    write(tmp_path, f"{unicodedata.normalize('NFD', '노트')}/{NFD_NAME}")
    (scanned,) = (event for event in events_of(tmp_path) if isinstance(event, SourceFile))
    assert scanned.workspace_path == f"노트/{NFC_NAME}"
    assert Path(scanned.source_path).read_text()


# Names a file system takes: no slash, no NUL, no lone surrogate; short enough in UTF-8 whatever the normal form.
names = st.text(st.characters(exclude_characters="/\0\\", exclude_categories=["Cs"]), min_size=1, max_size=12).filter(
    lambda name: name not in (".", "..")
)


@given(st.lists(names, min_size=1, max_size=3))
def test_the_walk_spells_paths_as_the_domain_does(tmp_path_factory: pytest.TempPathFactory, parts: list[str]) -> None:
    root = tmp_path_factory.mktemp("root")
    relative = "/".join("x" + part for part in parts) + ".md"  # x: no name that has a meaning, like ".gitignore"
    write(root, relative)
    found = [event.workspace_path for event in events_of(root, include=("*",)) if not isinstance(event, ScanTotals)]
    assert found == [to_posix(relative)]


any_names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1, max_size=12).filter(
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


@given(st.lists(any_names, min_size=1, max_size=4), st.data())
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
