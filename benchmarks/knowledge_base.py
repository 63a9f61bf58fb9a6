"""A knowledge base in a folder of its own, made with kb's own operations: what the benchmarks measure."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from kb.config import Config, load
from kb.operations.events import IngestEvent
from kb.operations.ingest import ingest
from kb.operations.report import IngestReport
from kb.operations.requests import ingest_request


class KnowledgeBase(NamedTuple):
    """A workspace, the configuration file that names it, and the configuration in force."""

    root: Path
    config_path: Path
    config: Config

    def ingest(self, on_event: Callable[[IngestEvent], None] = lambda event: None) -> IngestReport:
        """Bring the index in step with the workspace."""
        request = ingest_request(self.config, None, dry_run=False, allow_empty=False)
        return ingest(request, on_event, lambda: False)


@contextmanager
def knowledge_base(root: Path | None = None) -> Iterator[KnowledgeBase]:
    """A knowledge base of the documents below `root` (an empty workspace of its own without one); gone at the end."""
    with tempfile.TemporaryDirectory(prefix="kb-benchmark-") as folder:
        base = Path(folder)
        workspace = root or base / "workspace"
        workspace.mkdir(exist_ok=True)
        config_path = base / "config.toml"
        config_path.write_text(
            f'[workspace]\nroot = "{workspace.resolve()}"\n'
            f'[storage]\ndata_dir = "{base / "data"}"\nlog_dir = "{base / "log"}"\n',
            encoding="utf-8",
        )
        yield KnowledgeBase(workspace, config_path, load(str(config_path), ()))
