"""Lists of words and fitted weights stand in data files, one place each, not in code."""

from __future__ import annotations

import ast
import re
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
