"""A room imports only rooms below it; no files import in a circle; a library has one room."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "kb"

# From the top of the way down; rooms of one row never import each other.
ROWS = (
    ("cli",),
    ("api", "mcp", "tui", "web"),
    ("wire",),
    ("operations",),
    ("eval",),
    ("answer",),
    ("retrieve", "assemble"),
    ("scan", "extract", "chunk", "store", "embed", "llm"),
    ("language", "config", "models", "plugins", "runtimes", "workers"),
    ("domain",),
    ("installation", "private"),
    ("errors",),
    ("threads",),
)


def heights(rows: Sequence[Sequence[str]]) -> dict[str, int]:
    """How high each room stands."""
    return {room: len(rows) - row for row, rooms in enumerate(rows) for room in rooms}


HEIGHT = heights(ROWS)

CONFIG_READERS = {"api", "cli", "mcp", "tui", "operations"}

# Rooms that know less than what stands below them: the wire form of a result follows from the result alone.
KNOWS_ONLY = {"wire": {"domain", "errors"}}

OWNERS = {
    "apsw": {"store"},
    "click": {"cli"},
    "dask": {"workers"},
    "distributed": {"workers"},
    "kiwipiepy": {"language"},
    "jinja2": {"runtimes"},
    "lancedb": {"store"},
    "llama_cpp": {"runtimes"},
    "markdown_it": {"extract"},
    "mcp": {"mcp"},
    "mcp_types": {"mcp"},
    "nh3": {"extract"},
    "pydantic": {"wire"},
    "pygments": {"extract"},
    "pymupdf": {"extract"},
    "pywhispercpp": {"extract"},
    "re2": {"retrieve"},
    "rich": {"cli", "tui"},
    "sqlite3": set(),  # apsw is the one door to SQLite
    "sqlite_vec": {"store"},
    "starlette": {"mcp", "web"},
    "textual": {"tui"},
    "uvicorn": {"mcp", "web"},
    "watchfiles": {"scan"},
    "xllamacpp": {"runtimes"},
    "yaml": {"extract", "eval"},
}


@cache
def parsed(source: str) -> ast.Module:
    return ast.parse(source)


@cache
def imported_modules(source: str, *, as_run: bool = False) -> tuple[str, ...]:
    """Every module that the source imports, once, wherever the import stands; `as_run`: but not for types alone."""
    body = parsed(source).body
    if as_run:
        body = [each for each in body if not _for_types(each)]
    return tuple(dict.fromkeys(_imported(ast.Module(body, []))))


def _for_types(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module or ""
            if node.module and PACKAGE.parent.joinpath(*node.module.split(".")).is_dir():
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


def faults(room: str, source: str) -> list[str]:
    """What a module of `room` with that source imports and must not."""
    found = []
    for module in imported_modules(source):
        top, _, rest = module.partition(".")
        target = rest.partition(".")[0]
        if top == "kb" and target in HEIGHT and target != room:
            if HEIGHT[target] >= HEIGHT[room]:
                found.append(f"{room} imports {module}, which is not below it")
            elif target not in KNOWS_ONLY.get(room, {target}):
                found.append(f"{room} imports {module}; it knows {sorted(KNOWS_ONLY[room])} alone")
            elif target == "config" and room not in CONFIG_READERS:
                found.append(f"{room} imports kb.config; stages take plain values")
        elif room not in OWNERS.get(top, {room}):
            found.append(f"{room} imports {top}, which belongs to {sorted(OWNERS[top]) or 'nobody'}")
    return found


def circle(imports: Mapping[str, set[str]]) -> list[str]:
    """A circle of modules that import each other, the first named again at its end; empty where there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def module_name(path: Path) -> str:
    """`kb.store.connection`, of its file."""
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


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


# What opens the file to read it, and who may: all else asks a session, which sees to what others changed meanwhile. The
# doctor reads a file that may be damaged, or of another schema.
OPENS_A_READER = {"open_reader", "open_current"}
MAY_OPEN_A_READER = {"operations/opening", "operations/doctor"}


def opened_by(source: str) -> set[str]:
    """What a module imports to open the file for reading by itself."""
    nodes = (node for node in ast.walk(parsed(source)) if isinstance(node, ast.ImportFrom))
    return {alias.name for node in nodes for alias in node.names} & OPENS_A_READER


def test_a_knowledge_base_is_read_through_its_session() -> None:
    places = {str(path.parent.relative_to(PACKAGE)) for path in MODULES if opened_by(path.read_text(encoding="utf-8"))}
    assert places == MAY_OPEN_A_READER


def test_the_check_sees_a_reader_of_its_own() -> None:
    assert opened_by("def f():\n    from kb.store.connection import open_reader, snapshot") == {"open_reader"}


def test_no_files_import_in_a_circle() -> None:
    there = {module_name(path): path for path in PACKAGE.rglob("*.py")}
    imports = {
        name: set(imported_modules(path.read_text(encoding="utf-8"), as_run=True)) & there.keys() - {name}
        for name, path in there.items()
        if path.name != "__init__.py"
    }
    assert circle(imports) == []
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}}) != []


@pytest.mark.parametrize(
    ("room", "source"),
    [
        ("scan", "from kb.store.connection import open_reader"),
        ("domain", "import kb.language.korean"),
        ("store", "from kb import config"),
        ("retrieve", "import apsw"),
        ("operations", "def f():\n    from kb.cli.call import Call"),
        ("operations", "import click"),
        ("operations", "from kb.wire.error import error_v1"),
        ("wire", "from kb.operations.search.search import search"),
        ("wire", "from kb.store.queries import AnsweredRow"),
        ("wire", "from kb.config import Config"),
        ("mcp", "from kb.cli.main import main"),
        ("errors", "from kb.domain import ids"),
        ("workers", "from kb.extract.registry import Step"),
    ],
)
def test_the_rule_catches(room: str, source: str) -> None:
    assert faults(room, source)
