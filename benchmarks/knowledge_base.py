"""A knowledge base in a folder of its own, made with kb's own operations: what the benchmarks measure."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from kb.config import Config, load
from kb.domain.results.ingest import IngestReport
from kb.domain.run_handle import RunHandle
from kb.operations.ingest.ingest import ingest
from kb.operations.ingest.requests import ingest_request


class KnowledgeBase(NamedTuple):
    """A workspace, the configuration file that names it, and the configuration in force."""

    root: Path
    config_path: Path
    config: Config

    def ingest(self, *, embed: bool = False) -> IngestReport:
        """Update the index from the workspace; without vectors unless asked for."""
        request = ingest_request(self.config, None, dry_run=False, allow_empty=False, embed=embed)
        return ingest(request, RunHandle())


@contextmanager
def knowledge_base(
    root: Path | None = None, *, settings: str = "", cache_dir: Path | None = None
) -> Iterator[KnowledgeBase]:
    """A knowledge base of the documents below `root` (an empty workspace of its own without one); gone at the end.

    `settings` are further lines of its `[storage]` section, and what comes after it; the cache goes with it unless
    `cache_dir` says where to keep it.
    """
    with tempfile.TemporaryDirectory(prefix="kb-benchmark-") as folder:
        base = Path(folder)
        workspace = root or base / "workspace"
        workspace.mkdir(exist_ok=True)
        config_path = base / "config.toml"
        config_path.write_text(
            f'[workspace]\nroot = "{workspace.resolve()}"\n'
            f'[storage]\ndata_dir = "{base / "data"}"\nlog_dir = "{base / "log"}"\n'
            f'cache_dir = "{cache_dir or base / "cache"}"\n'
            f"{settings}\n",
            encoding="utf-8",
        )
        yield KnowledgeBase(workspace, config_path, load(str(config_path), ()))
