"""Ignore rules: what a walk leaves out, compared with git itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

import kb.domain.kinds
import kb.scan.rules
import kb.scan.walk
from kb.domain.documents import SourceFile
from kb.domain.kinds import MediaType
from kb.scan.walk import SkippedFile, walk

KB_DATA = os.environ.get("KB_DATA")

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


class Case(NamedTuple):
    """Ignore files and, of the other files in the tree, those that are left out and those that are kept."""

    name: str
    ignore_files: dict[str, str]
    ignored: set[str]
    kept: set[str]


CASES = [
    Case("a bare name matches at any depth", {".gitignore": "tmp\n"}, {"tmp", "a/tmp", "a/b/tmp/x.md"}, {"a/tmpx"}),
    Case("a leading slash anchors", {".gitignore": "/tmp\n"}, {"tmp/x.md"}, {"a/tmp"}),
    Case("a slash in the middle anchors", {".gitignore": "a/b\n"}, {"a/b/x.md"}, {"c/a/b"}),
    Case("a trailing slash means folders only", {".gitignore": "out/\n"}, {"out/x.md", "a/out/x.md"}, {"b/out"}),
    Case("a trailing slash does not anchor, a leading one does", {".gitignore": "/out/\n"}, {"out/x"}, {"a/out/x"}),
    Case("the last match wins", {".gitignore": "*.md\n!a.md\na.*\n!b.md\n"}, {"a.md", "c.md"}, {"b.md"}),
    Case("a file under an ignored folder stays out", {".gitignore": "p/\n!p/x.md\n"}, {"p/x.md"}, {"x.md"}),
    Case(
        "its siblings left out one by one, a file comes back", {".gitignore": "p/*\n!p/x.md\n"}, {"p/y.md"}, {"p/x.md"}
    ),
    Case(
        "a deeper file decides, whatever the upper one says last",
        {".gitignore": "*.log\n!b/c.log\n", "a/.gitignore": "!*.log\n", "b/.gitignore": "c.log\n"},
        {"x.log", "b/c.log", "b/x.log"},
        {"a/x.log", "a/b/x.log"},
    ),
    Case("a nested anchor starts at its folder", {"a/.gitignore": "/x.md\n"}, {"a/x.md"}, {"x.md", "a/b/x.md"}),
    Case("a nested path starts at its folder", {"a/.gitignore": "b/*.md\n"}, {"a/b/x.md"}, {"b/x.md", "a/c/b/x.md"}),
    Case(
        "an ignore file in an ignored folder is not read", {".gitignore": "a\n", "a/.gitignore": "!*\n"}, {"a/x"}, {"x"}
    ),
    Case("one asterisk stays in its segment", {".gitignore": "a/*/x.md\n"}, {"a/b/x.md"}, {"a/x.md", "a/b/c/x.md"}),
    Case("two asterisks cross segments", {".gitignore": "a/**/x.md\n"}, {"a/x.md", "a/b/c/x.md"}, {"b/x.md"}),
    Case("two leading asterisks", {".gitignore": "**/b/x.md\n"}, {"b/x.md", "a/b/x.md"}, {"b/c/x.md"}),
    Case("two trailing asterisks spare the folder", {".gitignore": "a/**\n!a/x.md\n"}, {"a/y.md", "a/b/z"}, {"a/x.md"}),
    Case("two asterisks inside a word are one", {".gitignore": "a/b**d.md\n"}, {"a/bcd.md"}, {"a/b/c/d.md"}),
    Case("two asterisks after a literal head", {".gitignore": "a**/x.md\n"}, {"ab/c/x.md", "ax.md"}, {"b/x.md"}),
    Case("windows line ends", {".gitignore": "a.md\r\n# b.md\r\n\r\nc/\r\nd.md\r"}, {"a.md", "c/x", "d.md"}, {"b.md"}),
    Case("a byte order mark", {".gitignore": "\ufeffa.md\n"}, {"a.md"}, {"b.md"}),
    Case("no line end at the end", {".gitignore": "a.md\nb.md"}, {"a.md", "b.md"}, {"c.md"}),
    Case("spaces at the end", {".gitignore": "a \nb\\ \nc\\  \n d\n"}, {"a", "b ", "c ", " d"}, {"b", "c", "c  ", "d"}),
    Case("a tab at the end belongs to the name", {".gitignore": "a\t\n"}, {"a\t"}, {"a"}),
    Case("escapes", {".gitignore": "\\#a\n\\!b\nc\\*\n\\d\n"}, {"#a", "!b", "c*", "d"}, {"a", "b", "cc"}),
    Case("a backslash at the end matches nothing", {".gitignore": "a\\\n"}, set(), {"a", "a\\"}),
    Case("a set", {".gitignore": "[ab-d]x\n[!a]y\n[^a]z\n"}, {"ax", "cx", "by", "bz"}, {"ex", "-x", "ay", "az"}),
    Case("a set with its own bracket", {".gitignore": "[]a]x\n[!]]y\n"}, {"]x", "ax", "ay"}, {"bx", "]y"}),
    Case("a set with escapes", {".gitignore": "[\\]a]x\n[\\a-\\c]y\n"}, {"]x", "ax", "by"}, {"\\x", "\\y"}),
    Case("a set with classes", {".gitignore": "[[:digit:]_]x\n[[:upper:]]y\n"}, {"1x", "_x", "Ay"}, {"ax", "ay", ":x"}),
    Case("a set of no known class matches nothing", {".gitignore": "[[:word:]a]x\n"}, set(), {"ax", "wx"}),
    Case(
        "a backward range is its first character", {".gitignore": "[c-a]x\n[c-ae]y\n"}, {"cx", "cy", "ey"}, {"ax", "bx"}
    ),
    Case("an open set matches nothing", {".gitignore": "[ax\n[b\\]\n"}, set(), {"[ax", "ax", "b", "[b]"}),
    Case("a set never matches a slash", {".gitignore": "a[!b]c\na[+-0]d\n"}, {"axc", "a.d"}, {"a/c", "a/d"}),
    Case("a question mark is no slash", {".gitignore": "a?c\n"}, {"abc"}, {"a/c", "ac", "abbc"}),
    Case(
        "signs of regular expressions are literal", {".gitignore": "a.b\n(c|d)+$\n"}, {"a.b", "(c|d)+$"}, {"axb", "c"}
    ),
    Case("names with a newline", {".gitignore": "a*b\n?c\n"}, {"a\nb", "\nc"}, {"a\nbc"}),
    Case("upper and lower case differ", {".gitignore": "Read.md\n"}, {"Read.md"}, {"read.md"}),
    Case("slashes alone", {".gitignore": "/\n//\n!\n!/\n"}, set(), {"a", "b/c"}),
    Case(
        "korean", {".gitignore": "비밀/\n*.임시\n!중요.임시\n"}, {"노트/비밀/a.md", "b.임시"}, {"비밀.md", "중요.임시"}
    ),
]


@pytest.fixture
def every_file_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of any name are scanned, and only ignore files decide, as in git."""
    monkeypatch.setattr(kb.domain.kinds.Kinds, "media_type_of", lambda table, name: MediaType("markdown"))
    monkeypatch.setattr(kb.scan.rules, "BUILTIN_PATTERNS", (".git/",))


def write(root: Path, ignore_files: Mapping[str, str], paths: Iterable[str]) -> None:
    for path, text in (*ignore_files.items(), *((path, "x") for path in paths)):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text.encode())


def scanned(root: Path, exclude: tuple[str, ...] = ()) -> set[str]:
    events = walk(root, include=["**"], exclude=exclude)
    return {event.workspace_path for event in events if isinstance(event, SourceFile)}


def skipped(root: Path, exclude: tuple[str, ...] = ()) -> dict[str, str]:
    events = walk(root, include=["**/*.md"], exclude=exclude)
    return {event.workspace_path: event.reason for event in events if isinstance(event, SkippedFile)}


def listed_by_git(root: Path) -> set[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "init", "--quiet", root], env=environment, check=True)
    command = ["git", "-c", "core.ignorecase=false", "ls-files", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(command, cwd=root, env=environment, check=True, capture_output=True).stdout
    return set(names.decode().split("\0")) - {""}


@pytest.mark.usefixtures("every_file_counts")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_walk_leaves_out_what_the_rules_say(case: Case, tmp_path: Path) -> None:
    write(tmp_path, case.ignore_files, case.ignored | case.kept)
    assert scanned(tmp_path) & (case.ignored | case.kept) == case.kept


@needs_git
@pytest.mark.usefixtures("every_file_counts")
def test_walk_lists_what_git_lists(tmp_path: Path) -> None:
    for number, case in enumerate(CASES):
        root = tmp_path / str(number)
        write(root, case.ignore_files, case.ignored | case.kept)
        assert scanned(root) == listed_by_git(root), case.name


@pytest.mark.skipif(KB_DATA is None, reason="KB_DATA does not point to the conformance cases")
@pytest.mark.usefixtures("every_file_counts")
def test_conformance_cases(tmp_path: Path) -> None:
    lines = (Path(str(KB_DATA)) / "vectors/gitignore/cases.jsonl").read_text(encoding="utf-8").split("\n")
    cases = [json.loads(line) for line in lines if line]
    assert len(cases) == 89
    wrong = []
    for number, case in enumerate(cases):
        for position, (path, is_ignored) in enumerate(case["ignored"].items()):
            root = tmp_path / f"{number}-{position}"
            # One case holds a file `abc` and files below `abc/`; its `abc` is the folder, which no walk lists.
            others = case["ignored"] if case["files"] == {".gitignore": "abc/**\n"} else [path]
            paths = [p for p in others if not any(q.startswith(p + "/") for q in others)]
            write(root, case["files"], set(paths) - set(case["files"]))
            if (path not in scanned(root)) != is_ignored:
                wrong.append((case["description"], path))
    assert not wrong


def test_korean_sets_and_question_marks_count_characters(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "[가-나]?.md\n"}, {"가a.md", "김나.md", "다a.md"})
    assert scanned(tmp_path) == {"다a.md"}


def test_patterns_and_names_meet_whatever_their_normal_form(tmp_path: Path) -> None:
    composed, decomposed = "한글", "\u1112\u1161\u11ab\u1100\u1173\u11af"
    write(tmp_path, {".gitignore": f"{composed}.md\n/{decomposed}2.md\n"}, {f"{decomposed}.md", f"{composed}2.md"})
    assert skipped(tmp_path) == {f"{composed}.md": "gitignore", f"{composed}2.md": "gitignore"}


def test_each_source_is_named(tmp_path: Path) -> None:
    write(
        tmp_path,
        {".gitignore": "a.md\nb.md\n", ".kbignore": "!b.md\nc.md\n", "d/.kbignore": "*.md\n"},
        {"a.md", "b.md", "c.md", "d/x.md", "e/f/g.md", ".obsidian/x.md", "h/node_modules/x.md", "._a.md", "~$a.md"},
    )
    assert skipped(tmp_path, exclude=("e/**",)) == {
        "a.md": "gitignore",
        "c.md": "kbignore",
        "d/x.md": "kbignore",
        "e/f": "config",
        ".obsidian": "builtin",
        "h/node_modules": "builtin",
        "._a.md": "builtin",
        "~$a.md": "builtin",
    }


def test_a_file_of_no_media_type_is_no_skipped_file(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "*.log\n*.md\n"}, {"a.log", "a.md"})
    assert skipped(tmp_path) == {"a.md": "gitignore"}


def test_no_ignore_file_brings_back_what_the_configuration_leaves_out(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "!*.md\n", "p/.kbignore": "!*\n"}, {"p/a.md", "q.md"})
    assert skipped(tmp_path, exclude=("p/**",)) == {"p/a.md": "config"}


def test_the_configuration_takes_back_only_its_own_patterns(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "b.md\n"}, {"a.md", "b.md", "c.md"})
    assert skipped(tmp_path, exclude=("*.md", "!b.md", "!c.md")) == {"a.md": "config", "b.md": "gitignore"}


def test_only_kbignore_brings_back_what_is_built_in(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "!*/\n", ".kbignore": "!target/\n"}, {"target/a.md", "node_modules/a.md"})
    assert skipped(tmp_path) == {"node_modules": "builtin"}
    assert "target/a.md" in scanned(tmp_path)
