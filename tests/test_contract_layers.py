"""A room imports only rooms below it; each outside library has one room that knows it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "kb"

# From the top of the way down; rooms of one row never import each other.
ROWS = (
    ("cli", "mcp", "tui"),
    ("wire",),
    ("operations",),
    ("eval",),
    ("answer",),
    ("retrieve",),
    ("scan", "extract", "chunk", "store", "embed", "llm"),
    ("language", "config", "models"),
    ("domain",),
    ("installation",),
    ("errors", "private"),
)
HEIGHT = {room: len(ROWS) - row for row, rooms in enumerate(ROWS) for room in rooms}

CONFIG_READERS = {"cli", "mcp", "tui", "wire", "operations"}
OWNERS = {
    "apsw": {"store"},
    "click": {"cli"},
    "kiwipiepy": {"language"},
    "jinja2": {"llm"},
    "lancedb": {"store"},
    "llama_cpp": {"llm"},
    "markdown_it": {"extract"},
    "pydantic": {"wire"},
    "pymupdf": {"extract"},
    "pywhispercpp": {"extract"},
    "rich": {"cli", "tui"},
    "sqlite3": set(),  # apsw is the one door to SQLite
    "sqlite_vec": {"store"},
    "yaml": {"extract", "eval"},
}


def imported_modules(source: str) -> Iterator[str]:
    """Every module that the source imports, wherever the import stands."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module or ""
            if node.module == "kb":
                yield from (f"kb.{alias.name}" for alias in node.names)


def faults(room: str, source: str) -> list[str]:
    """What a module of `room` with that source imports and must not."""
    found = []
    for module in imported_modules(source):
        top, _, rest = module.partition(".")
        target = rest.partition(".")[0]
        if top == "kb" and target in HEIGHT and target != room:
            if HEIGHT[target] >= HEIGHT[room]:
                found.append(f"{room} imports {module}, which is not below it")
            elif target == "config" and room not in CONFIG_READERS:
                found.append(f"{room} imports kb.config; stages take plain values")
        elif room not in OWNERS.get(top, {room}):
            found.append(f"{room} imports {top}, which belongs to {sorted(OWNERS[top]) or 'nobody'}")
    return found


def room_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or room_of(path) in HEIGHT)


def test_every_module_stands_in_a_known_room() -> None:
    rooms = {room_of(path) for path in PACKAGE.rglob("*.py")} - {"__init__", "__main__"}
    assert rooms <= set(HEIGHT), "a new room joins ROWS, where it belongs"
    assert len(MODULES) > 50


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    assert faults(room_of(path), path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("room", "source"),
    [
        ("scan", "from kb.store.connection import open_reader"),
        ("domain", "import kb.language.korean"),
        ("store", "from kb import config"),
        ("retrieve", "import apsw"),
        ("operations", "def f():\n    from kb.cli.session import Session"),
        ("operations", "import click"),
        ("operations", "from kb.wire.error import error_v1"),
        ("mcp", "from kb.cli.main import main"),
        ("errors", "from kb.domain import ids"),
    ],
)
def test_the_rule_catches(room: str, source: str) -> None:
    assert len(faults(room, source)) == 1
