"""A cold search loads what it needs and nothing more: its time is mostly imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import Vault, cpu_limited, run_kb

# Each costs between 5 ms and 2 s; none is needed to answer a question by its words.
NOT_FOR_A_SEARCH = frozenset(
    "asyncio blake3 concurrent.futures email fastembed http httpx jinja2 kiwipiepy lancedb logging markdown_it "
    "multiprocessing numpy onnxruntime pydantic pymupdf requests rfc8785 rich sqlite_vec ssl tokenizers "
    "tomli unittest urllib.request xml yaml kb.chunk.md_heading kb.extract.markdown.document "
    "kb.operations.ingest.ingest kb.scan.walk kb.wire.schemas".split()
)

# As the program starts; what is deferred and not used is not loaded.
_PROBE = """
import gc, json, sys
gc.disable()
calls = 0
def count(frame, event, argument):
    global calls
    calls += event in ("call", "c_call")
sys.setprofile(count)
from kb.cli.deferred import DeferredModule, defer
defer()
%s
sys.setprofile(None)
from typing import NamedTuple
slow = [each.__name__ for each in tuple.__subclasses__() if NamedTuple in getattr(each, "__orig_bases__", ())]
modules = [name for name, module in sys.modules.items() if type(module) is not DeferredModule]
print(json.dumps([code, sorted(modules), calls, slow]))
"""
PROBE = _PROBE % "from kb.cli.main import main; code = main(sys.argv[1:]) if sys.argv[1:] else 0"

# What a search cannot do without, and what that imports.
LIBRARIES = _PROBE % "import apsw, click, importlib, json, pathlib, unicodedata; code = 0"

# How many of its own modules a search by words loads, by room; a package counts as one.
MOST_MODULES = {
    "kb": 1, "kb.cli": 15, "kb.config": 9, "kb.domain": 7, "kb.errors": 1, "kb.language": 10, "kb.operations": 11,
    "kb.private": 1, "kb.records": 1, "kb.retrieve": 10, "kb.store": 8, "kb.writable": 1,
}  # fmt: skip


class Loaded(NamedTuple):
    """One call of kb in a process of its own: its exit code, all modules it loaded, how many functions it called.

    `slow` are the tuples that were made by `typing.NamedTuple`.
    """

    code: int
    modules: set[str]
    calls: int
    slow: list[str]


def loaded_by(*args: str, home: Path, probe: str = PROBE) -> Loaded:
    """One call of kb."""
    env = {"HOME": str(home), "PATH": os.defpath, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        cpu_limited([sys.executable, "-c", probe, *args]),
        env=env,
        cwd=home,
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    code, modules, calls, slow = json.loads(done.stdout.splitlines()[-1])
    return Loaded(code, set(modules), calls, slow)


def heavy(modules: set[str]) -> set[str]:
    return modules & NOT_FOR_A_SEARCH


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ((), 0),
        (("search", "gateway retries"), 0),
        (("search", "청킹 규칙은?"), 0),
        (("search", "gateway", "--lang", "en", "--tag", "회의", "--explain", "--json"), 0),
        (("search", "platypus"), 1),
        (("--version",), 0),
        (("list", "docs"), 0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_nothing_heavy_is_loaded(args: tuple[str, ...], code: int, vault: Vault, tmp_path: Path) -> None:
    call = ("--config", str(vault.config), *args) if args else ()
    ended = loaded_by(*call, home=tmp_path)
    assert ended.code == code
    assert "kb.cli.main" in ended.modules
    assert heavy(ended.modules) == set()


# Under 3.12 and later a search takes a fifth more of the calls that importing the libraries takes.
MORE_CALLS = 1.0 if sys.version_info < (3, 12) else 1.2


def over_budget(search: Loaded, libraries: Loaded, share: float) -> set[str]:
    """What a search by words loads and does beyond its budget."""
    own = {name for name in search.modules if name.partition(".")[0] == "kb"}
    rooms = Counter(".".join(name.split(".")[:2]) for name in own)
    return {
        *(search.modules - libraries.modules - own - {"math"}),  # compiled; no library brings it under 3.13
        *(room for room, count in rooms.items() if count > MOST_MODULES.get(room, 0)),
        *(set(search.slow) - {"Surroundings"}),  # of `kb.private`, which loads nothing of kb
        *(["calls"] if search.calls > share * MORE_CALLS * libraries.calls else []),
    }


@pytest.mark.parametrize(
    ("question", "share"),
    [("gateway retries", 2.64), ("which lantrns restored the ledger", 2.78), ("청킹 규칙은?", 3.0)],
)
def test_a_search_by_words_keeps_to_its_budget(question: str, share: float, vault: Vault, tmp_path: Path) -> None:
    """A module that is needed for some questions alone is loaded where they come to it."""
    call = ("--config", str(vault.config), "search", "--mode", "lexical", question)
    search, libraries = loaded_by(*call, home=tmp_path), loaded_by(home=tmp_path, probe=LIBRARIES)
    assert over_budget(search, libraries, share) == set(), (search.calls / libraries.calls, search.modules)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("extra", "seen"),
    [
        ("import kb.config.fixed_keys", {"kb.config", "FixedKey"}),
        ("import tomllib", {"tomllib", "tomllib._parser", "tomllib._re", "tomllib._types", "string", "Output"}),
        ("import inspect; inspect.cleandoc", {"inspect", "ast", "dis", "tokenize"}),
        ("[abs(each) for each in range(20000)]", {"calls"}),
    ],
)
def test_the_budget_sees_what_is_too_much(extra: str, seen: set[str], vault: Vault, tmp_path: Path) -> None:
    call = ("--config", str(vault.config), "search", "--mode", "lexical", "gateway retries")
    search = loaded_by(*call, home=tmp_path, probe=PROBE.replace("code = main", f"{extra}; code = main"))
    assert seen <= over_budget(search, loaded_by(home=tmp_path, probe=LIBRARIES), 1.8)


@pytest.mark.slow
def test_nothing_heavy_is_loaded_to_quote_an_answer_and_keep_it(fresh_vault: Vault, tmp_path: Path) -> None:
    assert run_kb("--config", str(fresh_vault.config), "ingest", "--no-embed").code == 0
    settings = ("--config", str(fresh_vault.config), "--set", "rag.score_gate=0")
    question = ("ask", "How often does the gateway retry?", "--provider", "extractive")
    ended = loaded_by(*settings, *question, home=tmp_path)
    modules = ended.modules
    assert ended.code == 1, "kb is not sure of it"
    assert "kb.answer.extractive" in modules
    assert heavy(modules) == set()
    assert not {"llama_cpp", "http.client", "shutil", "kb.llm.ollama", "kb.operations.ask.generate"} & modules


def test_nothing_heavy_is_loaded_for_a_path_glob(vault: Vault, tmp_path: Path) -> None:
    modules = loaded_by("--config", str(vault.config), "search", "x", "--path-glob", "*.md", home=tmp_path).modules
    assert "kb.domain.ingest.gitignore" in modules
    assert heavy(modules) == set()


@pytest.mark.slow
def test_the_probe_sees_what_is_loaded(vault: Vault, tmp_path: Path) -> None:
    """The JSON Schemas of the wire are made by pydantic: the check would notice it."""
    modules = loaded_by("--config", str(vault.config), "schema", "--wire", "search_hit.v1", home=tmp_path).modules
    assert "pydantic" in heavy(modules)
