"""What holds for files beside the code: word lists, the tests themselves, the pages on architecture and adding."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from kb.language import lists

PACKAGE = Path(__file__).parents[1] / "kb"
MODULES = [path for room in ("answer", "language", "retrieve") for path in sorted((PACKAGE / room).rglob("*.py"))]
LISTS = sorted((PACKAGE / "language" / "data").glob("*.tsv"))

# The most words that a list, or the alternatives of a pattern, may have in code.
MOST_WORDS = 24


def listed_in_code(source: str) -> list[str]:
    """The lists of a module that have more words than may stand in code: texts that are split, literals, patterns."""
    nodes = list(ast.walk(ast.parse(source)))
    return [" ".join(words) for words in map(_listed, nodes) if len(words) > MOST_WORDS]


def _listed(node: ast.AST) -> list[str]:
    """The words that a piece of code lists."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "split":
        return re.split(r"[\s|]+", _text(node.func.value))
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return [_text(each) for each in node.elts if _text(each)]
    if isinstance(node, ast.Dict):
        return [_text(each) for each in node.keys if each is not None and _text(each)]
    if isinstance(node, ast.Constant):
        return re.findall(r"(?<=[|(:])[^\W\d_]{2,}(?=[|)?])", _text(node))
    return []


def _text(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def test_the_check_sees_a_list_in_code() -> None:
    assert listed_in_code(f"WORDS = frozenset({' '.join(['so'] * 30)!r}.split())") != []
    assert listed_in_code(f"WORDS = {['so'] * 30!r}") != []
    assert listed_in_code(f"WORDS = {dict.fromkeys(map(str, range(30)), 0)!r}") != []
    assert listed_in_code(f"WORDS = re.compile('(?:{'|'.join(['so'] * 30)})')") != []
    assert listed_in_code("WORDS = 'a few words'.split()") == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_list_of_words_stands_in_code(path: Path) -> None:
    assert listed_in_code(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.name)
def test_every_list_says_what_it_holds_and_has_its_columns(path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith("# ")
    assert len({len(columns) for columns in lists.table(path.stem)}) == 1


def test_a_pattern_is_put_together_from_the_parts_it_names() -> None:
    assert "<SOURCE" not in lists.pattern("refusals", "en").pattern
    assert lists.pattern("refusals", "en", re.IGNORECASE).search("The sources do not mention the price.")


CHECKOUT = Path(__file__).parents[1]
TESTS = sorted((CHECKOUT / "tests").glob("*.py"))


def lenient_assertions(source: str) -> Iterator[int]:
    """The lines of assertions that hold where one of two things is so."""
    for statement in ast.walk(ast.parse(source)):
        if isinstance(statement, ast.Assert):
            within = (part.op for part in ast.walk(statement.test) if isinstance(part, ast.BoolOp))
            if any(isinstance(operator, ast.Or) for operator in within):
                yield statement.lineno


def test_an_assertion_with_an_or_is_seen() -> None:
    assert list(lenient_assertions("assert a\nassert b in (c or d)\nassert not (a or b), 'x or y'\n")) == [2, 3]


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.name)
def test_no_assertion_leaves_a_choice(path: Path) -> None:
    assert list(lenient_assertions(path.read_text(encoding="utf-8"))) == []


def test_the_types_of_all_but_the_tests_are_checked() -> None:
    patterns = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]["files"]
    checked = {path for pattern in patterns for path in CHECKOUT.glob(pattern)}
    programs = {
        path
        for path in (CHECKOUT / "tools").iterdir()
        if path.is_file() and path.read_bytes().startswith(b"#!/usr/bin/env python3")
    }
    shared = {path for path in TESTS if not path.name.startswith("test_")}
    assert programs | shared | {CHECKOUT / "kb", CHECKOUT / "benchmarks", CHECKOUT / "training"} == checked


REPOSITORY = Path(__file__).parents[1]
PAGE = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["architecture.md", "adding.md"])
def test_every_file_and_folder_named_exists(page: str) -> None:
    text = (REPOSITORY / "docs" / page).read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[\w*]+/)+[\w.*]*|[\w/]+\.(?:py|sql))`", text))
    missing = [
        path for path in named if not any(list(base.glob(path)) for base in (REPOSITORY, REPOSITORY / "kb") if path)
    ]
    assert len(named) > 15
    assert missing == []


def test_every_file_of_the_drawn_ways_exists() -> None:
    drawn = {path for part in PAGE.split("```")[1::2] for path in re.findall(r"[\w*]+(?:/[\w*]+)+\.(?:py|sql)", part)}
    missing = [path for path in drawn if not any(list(base.glob(path)) for base in (REPOSITORY, REPOSITORY / "kb"))]
    assert len(drawn) > 40
    assert missing == []


def test_a_class_of_the_package_has_a_name_of_its_own() -> None:
    named: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                named.setdefault(node.name, []).append(path.relative_to(PACKAGE).as_posix())
    assert {name: files for name, files in named.items() if len(files) > 1} == {}
