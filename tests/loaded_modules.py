"""What one call of kb loads; and all of kb loaded, for forks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

from conftest import cpu_limited

import kb

# Libraries of which each costs between 30 ms and 2 s, and rooms of kb that a question does not need.
HEAVY = frozenset(
    "fastembed httpx jinja2 kiwipiepy lancedb llama_cpp markdown_it numpy onnxruntime pyarrow pydantic pymupdf rich "
    "tokenizers xllamacpp yaml kb.chunk.chunkers kb.extract.markdown.document kb.llm.language_models "
    "kb.operations.ask.generate kb.operations.ingest.ingest kb.scan.walk kb.wire.schemas".split()
)

PROBE = """
import json, sys
from kb.cli.deferred import defer
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


def load_kb() -> None:
    """Imports all of kb, and what it imports late, for forks of this process; fakes are put in place before."""
    for module in walk_packages(kb.__path__, "kb."):
        if not module.name.endswith("__main__"):
            with suppress(ImportError):  # of an extra that is not installed
                import_module(module.name)
    for name in ("lancedb", "numpy.random", "pyarrow"):
        import_module(name)
