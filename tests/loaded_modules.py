"""What one call of kb loads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from conftest import cpu_limited

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
