"""The one matcher of gitignore patterns: the same answers as git's, in time linear in pattern × name."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Kb
from hypothesis import given
from hypothesis import strategies as st

from kb.domain.gitignore import MalformedPattern, PathPatterns, parse_pattern, wildmatch_regex

KB_DATA = os.environ.get("KB_DATA")

HOSTILE = {
    "asterisks in a name": ("*a" * 24 + "b", "a" * 250),
    "asterisks and question marks": ("*?" * 20 + "b", "a" * 250),
    "asterisks and sets": ("*[ab]" * 20 + "c", "ab" * 120),
    "folders": ("**/a/" * 16 + "b", "a/" * 120 + "a"),
    "folders and asterisks": ("**/*a*a/" * 12 + "b", "aaaa/" * 50 + "c"),
    "folders after a literal head": ("a**/" + "**/*a" * 10 + "/b", "a" * 100 + "/a" * 80),
    "everything below": ("**/*a*a*a*a*b/**", "aaaaaaaaaaaaaaaa/" * 14 + "c"),
}
# What the whole of a case may take. A matcher that tries every way does not end within the age of the universe.


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("as_a_path", [False, True], ids=["name", "path"])
def test_a_hostile_pattern_takes_linear_time(case: str, as_a_path: bool) -> None:
    """Run in a process whose CPU time the system bounds, so that a failure is a failure and no endless test."""
    pattern, name = HOSTILE[case]
    path = f"deep/{name}.md" if as_a_path else name
    program = (
        "import resource, sys\n"
        "from kb.domain.gitignore import PathPatterns\n"
        "from kb.scan.rules import Level, parse_rules\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (5, 5))\n"
        "pattern, path = sys.argv[1:]\n"
        "assert not PathPatterns([pattern]).matches(path)\n"
        "assert Level(parse_rules(pattern, 'gitignore')).last_match(path, path.rpartition('/')[2], False) is None\n"
    )
    paths = os.pathsep.join(each for each in sys.path if each)
    done = subprocess.run(
        [sys.executable, "-c", program, pattern, path], env={"PYTHONPATH": paths}, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()


# Literals, wildcards, sets and slashes, weighted so that wildcards meet often; paths of the same few letters.
_ATOMS = r"a b * ** ? / / **/ /** [ab] [!a] [^b] [a-b] []a] \* \/ \a [".split()
_PATTERNS = st.lists(st.sampled_from(_ATOMS), min_size=1, max_size=7).map("".join)
_NAMES = st.text("ab*]", min_size=1, max_size=3)
_PATHS = st.lists(_NAMES, min_size=1, max_size=4).map("/".join)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    root = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "--quiet", root], env=_git_environment(root), check=True)
    return root


def _git_environment(root: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1"}


def ignored_by_git(root: Path, pattern: str, paths: list[str]) -> set[str]:
    (root / ".gitignore").write_text(pattern + "\n", encoding="utf-8")
    done = subprocess.run(
        ["git", "-c", "core.ignorecase=false", "check-ignore", "--no-index", "--stdin", "-z"],
        cwd=root,
        env=_git_environment(root),
        input="\0".join(paths).encode(),
        capture_output=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    return set(done.stdout.decode().split("\0")) - {""}


@given(pattern=_PATTERNS, paths=st.lists(_PATHS, min_size=1, max_size=25, unique=True))
def test_a_path_is_matched_where_git_ignores_it(repository: Path, pattern: str, paths: list[str]) -> None:
    try:
        patterns = PathPatterns([pattern])
    except MalformedPattern:
        matched = set()
    else:
        matched = {path for path in paths if patterns.matches(path)}
    assert matched == ignored_by_git(repository, pattern, paths)


@given(pattern=_PATTERNS, path=_PATHS)
def test_what_is_final_finds_what_trying_every_way_finds(pattern: str, path: str) -> None:
    """The expression without its atomic groups is the plain translation: slower, the same answer."""
    linear = wildmatch_regex(pattern)
    if linear is not None:
        plain = linear.replace("(?>", "(?:").replace("*+", "*")
        assert bool(re.fullmatch(linear, path, re.DOTALL)) == bool(re.fullmatch(plain, path, re.DOTALL))


@pytest.mark.skipif(KB_DATA is None, reason="KB_DATA does not point to the conformance cases")
def test_conformance_cases_of_one_file_without_exceptions() -> None:
    lines = (Path(str(KB_DATA)) / "vectors/gitignore/cases.jsonl").read_text(encoding="utf-8").splitlines()
    asked, wrong = 0, []
    for case in map(json.loads, lines):
        text = case["files"].get(".gitignore", "").removeprefix("\ufeff")
        if set(case["files"]) != {".gitignore"} or re.search(r"^!", text, re.MULTILINE):
            continue
        wanted = [line for line in text.replace("\r\n", "\n").split("\n") if _is_well_formed(line)]
        patterns = PathPatterns(wanted)
        for path, is_ignored in case["ignored"].items():
            asked += 1
            is_the_folder = wanted == ["abc/**", ""] and path == "abc"  # no walk asks about it as a file
            if patterns.matches(path) != is_ignored and not is_the_folder:
                wrong.append((case["description"], path))
    assert asked > 150
    assert wrong == []


def _is_well_formed(line: str) -> bool:
    try:
        parse_pattern(line)
    except MalformedPattern:
        return False
    return True


def test_the_last_pattern_decides_whatever_the_spelling() -> None:
    patterns = PathPatterns(["*.jpg", "!drafts/*.JPG"])
    assert patterns.matches("a.JPG", "a.jpg")
    assert not patterns.matches("drafts/a.JPG", "drafts/a.jpg")
    assert patterns.matches("drafts/a.jpg")


@pytest.mark.parametrize("line", ["\\", "[a", "a[b\\]", "/", "!", "!/", "[[:word:]]", "a\\"])
def test_a_malformed_pattern_is_named(line: str) -> None:
    with pytest.raises(MalformedPattern, match="malformed pattern"):
        parse_pattern(line)


@pytest.mark.parametrize("line", ["", "   ", "# a comment"])
def test_an_empty_line_and_a_comment_mean_nothing(line: str) -> None:
    assert parse_pattern(line) is None
    assert not PathPatterns([line])


@pytest.mark.parametrize("glob", ["\\", "[a", "/", "", "#inbox"])
@pytest.mark.parametrize("command", [("search", "gateway"), ("list", "docs")], ids=["search", "list"])
def test_a_path_glob_that_can_match_nothing_is_an_error_with_a_hint(
    kb: Kb, command: tuple[str, ...], glob: str
) -> None:
    ran = kb(*command, "--path-glob", glob)
    assert ran.code == 2
    assert ran.stderr.startswith(("error: malformed pattern ", "error: the glob "))
    assert repr(glob) in ran.stderr
    assert "hint: globs are as in .gitignore" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_an_exclude_that_is_malformed_is_an_error(kb: Kb) -> None:
    """Left out without a word, it would index what it was written to keep out."""
    ran = kb("--set", "workspace.exclude=secret[", "ingest", "--dry-run")
    assert ran.code == 2
    assert "workspace.exclude: malformed pattern 'secret['" in ran.stderr
