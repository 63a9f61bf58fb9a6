"""A cold search or extractive answer loads none of the heavy libraries, and nothing of what indexes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Vault, cpu_limited, kb_in

# Libraries of which each costs between 30 ms and 2 s, and rooms of kb that a question does not need.
HEAVY = frozenset(
    "fastembed httpx jinja2 kiwipiepy lancedb llama_cpp markdown_it numpy onnxruntime pyarrow pydantic pymupdf rich "
    "tokenizers xllamacpp yaml kb.chunk.chunkers kb.extract.markdown.document kb.llm.ollama "
    "kb.operations.ask.generate kb.operations.ingest.ingest kb.scan.walk kb.wire.schemas".split()
)

PROBE = """
import json, sys
from kb.cli.entry import defer
defer()
from kb.cli.main import main
code = main(sys.argv[1:]) if sys.argv[1:] else 0
print(json.dumps([code, sorted(sys.modules)]))
"""


def loaded_by(*args: str, home: Path) -> tuple[int, set[str]]:
    """The exit code of one call of kb in a process of its own, and all modules it loaded."""
    env = {"HOME": str(home), "PATH": os.defpath, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        cpu_limited([sys.executable, "-c", PROBE, *args]),
        env=env,
        cwd=home,
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    code, modules = json.loads(done.stdout.splitlines()[-1])
    return code, set(modules)


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ((), 0),
        (("search", "gateway retries"), 0),
        (("search", "청킹 규칙은?"), 0),
        (("search", "gateway", "--lang", "en", "--tag", "회의", "--path-glob", "*.md", "--explain", "--json"), 0),
        (("search", "platypus"), 1),
        (("--version",), 0),
        (("list", "docs"), 0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_nothing_heavy_is_loaded(args: tuple[str, ...], code: int, vault: Vault, tmp_path: Path) -> None:
    call = ("--config", str(vault.config), *args) if args else ()
    ended, modules = loaded_by(*call, home=tmp_path)
    assert ended == code
    assert "kb.cli.main" in modules
    assert HEAVY & modules == set()


@pytest.mark.slow
def test_nothing_heavy_is_loaded_to_quote_an_answer_and_keep_it(fresh_vault: Vault, tmp_path: Path) -> None:
    assert kb_in(fresh_vault)("ingest", "--no-embed").code == 0
    settings = ("--config", str(fresh_vault.config), "--set", "rag.score_gate=0")
    question = ("ask", "How often does the gateway retry?", "--provider", "extractive")
    code, modules = loaded_by(*settings, *question, home=tmp_path)
    assert code == 1, "kb is not sure of it"
    assert "kb.answer.judging" in modules
    assert HEAVY & modules == set()


@pytest.mark.slow
def test_the_probe_sees_what_is_loaded(vault: Vault, tmp_path: Path) -> None:
    """The JSON Schemas of the wire are made by pydantic: the check would notice it."""
    _, modules = loaded_by("--config", str(vault.config), "schema", "--wire", "search_hit.v1", home=tmp_path)
    assert "pydantic" in HEAVY & modules
