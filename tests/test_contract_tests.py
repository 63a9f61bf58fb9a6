"""What holds for the tests themselves."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

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
