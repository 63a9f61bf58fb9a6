"""A workspace that tests change between ingests, and what its knowledge base holds, table by table."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from kb.config import load
from kb.domain.documents import ChunkPolicy
from kb.domain.ingest_events import IngestEvent
from kb.domain.results.ingest import IngestReport
from kb.domain.run_handle import RunHandle
from kb.domain.search import Passage, SearchQuery
from kb.language.korean import KoreanText, hangul
from kb.operations.ingest.ingest import ingest
from kb.operations.ingest.requests import ingest_request
from kb.operations.opening.base import open_base
from kb.operations.search.search import search
from kb.store import queries
from kb.store.connection import open_writer

# How long engines may say nothing: a busy machine is slow, not wrong.
PATIENCE_S = 3600

LONG_AGO_S = 1_700_000_000

# What two ingests of the same files may write differently: times, the order of arrival, and the record of the runs.
_INCIDENTAL = {"created_at", "updated_at", "discovered_at", "provenance_json", "applied_at", "chunk_rowid"}
_TABLES = {
    "schema_meta",
    "kv",
    "assets",
    "documents",
    "document_tags",
    "blocks",
    "chunks",
    "chunks_fts",
    "document_korean_units",
    "korean_units",
    "document_words",
    "words",
    "word_sounds",
    "document_pairs",
}


class AskedToStop(RunHandle):
    """A handle whose run is to stop as soon as a function says so."""

    def __init__(self, on_event: Callable[[Any], None], is_canceled: Callable[[], bool]) -> None:
        super().__init__(on_event)
        self._asked = is_canceled

    def is_canceled(self) -> bool:
        return self._asked()


class Workspace:
    """A folder of files, its configuration, and its knowledge base."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.root = base / "notes"
        self.root.mkdir(parents=True)
        self.config_path = base / "kb.toml"
        self.config_path.write_text(
            '[workspace]\nroot = "notes"\n[storage]\ndata_dir = "data"\nlog_dir = "logs"\n'
            f"[indexing]\nextract_timeout_s = {PATIENCE_S}\n",
            encoding="utf-8",
        )
        self.config = load(str(self.config_path), ())
        self.sqlite = self.config.sqlite
        self.events: list[IngestEvent] = []
        self._clock_s = LONG_AGO_S

    def copied_to(self, base: Path) -> Workspace:
        """A copy in another folder, indexed as this one is."""
        made = Workspace(base)
        shutil.copytree(self.base, base, dirs_exist_ok=True)
        db = open_writer(made.sqlite)
        try:
            queries.upsert_workspace_root(db, root=str(made.root))
        finally:
            db.close()
        return made

    def configure(self, *settings: str) -> None:
        """Sets configuration keys, `section.key=value`, from now on."""
        self.config = load(str(self.config_path), settings)

    def write(self, name: str, content: str | bytes) -> Path:
        """A file with that content and a modification time of its own, long ago."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        return self.touch(name)

    def touch(self, name: str) -> Path:
        """The file with another modification time, long ago."""
        self._clock_s += 1
        path = self.root / name
        os.utime(path, (self._clock_s, self._clock_s))
        return path

    def move(self, name: str, to: str) -> None:
        """Renames a file; its modification time stays."""
        target = self.root / to
        target.parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).rename(target)

    def ingest(
        self,
        path: str = "",
        *,
        is_canceled: Callable[[], bool] = lambda: False,
        policy: ChunkPolicy | None = None,
        dry_run: bool = False,
        allow_empty: bool = False,
        moved: bool = False,
        retry: bool = False,
        on_event: Callable[[IngestEvent], None] = lambda event: None,
    ) -> IngestReport:
        """The report of one ingest in this process; its events are in `events` afterwards."""
        request = ingest_request(self.config, None, dry_run=dry_run, allow_empty=allow_empty, embed=False)
        rules = replace(request.rules, policy=policy or request.rules.policy)
        request = replace(request, scope=path, rules=rules, moved=moved, retry=retry)
        self.events = []

        def note(event: IngestEvent) -> None:
            self.events.append(event)
            on_event(event)

        return ingest(request, AskedToStop(note, is_canceled))

    def query(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of one statement, read with another SQLite library than kb's."""
        with closing(sqlite3.connect(self.sqlite)) as db:
            return list(db.execute(statement, values))

    def paths(self) -> list[str]:
        """The workspace paths of all documents."""
        return [path for (path,) in self.query("SELECT workspace_path FROM documents ORDER BY workspace_path")]

    def contents(self) -> dict[str, list[tuple[Any, ...]]]:
        """All rows that follow from the files alone, by table, in an order of their own."""
        return {table: sorted(self._rows(table), key=repr) for table in sorted(_TABLES)}

    def _rows(self, table: str) -> Iterator[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.sqlite)) as db:
            cursor = db.execute(f"SELECT * FROM {table}")
            kept = [at for at, column in enumerate(cursor.description) if column[0] not in _INCIDENTAL]
            yield from (tuple(row[at] for at in kept) for row in cursor)

    def digests(self) -> dict[str, str]:
        """One digest a table, every column and row counted; the shadow tables of the lexical index among them."""
        with closing(sqlite3.connect(self.sqlite)) as db:
            tables = db.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"
            ).fetchall()
            return {
                name: hashlib.sha256(repr(db.execute(f'SELECT * FROM "{name}"').fetchall()).encode()).hexdigest()
                for (name,) in tables
            }

    def search(self, text: str, k: int = 10) -> list[Passage]:
        """The hits of one lexical search."""
        with open_base(self.config) as session:
            return list(search(session, SearchQuery(text, "lexical", k)).hits)

    def asset_copies(self) -> set[str]:
        """The names of the files below the asset directory."""
        return {path.name for path in self.config.asset_dir.rglob("*") if path.is_file()}

    def is_sound(self) -> bool:
        """Whether SQLite and FTS5 find nothing wrong."""
        with closing(sqlite3.connect(self.sqlite)) as db:
            db.execute("INSERT INTO chunks_fts (chunks_fts) VALUES ('integrity-check')")
            foreign_keys = db.execute("PRAGMA foreign_key_check").fetchall()
            return db.execute("PRAGMA integrity_check").fetchall() == [("ok",)] and not foreign_keys


def counted(report: IngestReport) -> dict[str, int]:
    """The counts of files of a report that are not zero, without `scanned`, `skipped` and the chunks."""
    names = ("new", "updated", "moved", "unchanged", "removed", "errors", "still_unread")
    return {name: count for name in names if (count := getattr(report.counts, name))}


def analyse_by_word(texts: Sequence[str]) -> list[KoreanText]:
    """Every Hangul word as its own morpheme: what the morpheme analyser does, ready at once."""
    words = [hangul().findall(text) for text in texts]
    return [KoreanText(tuple(found), Counter((word, word) for word in found)) for found in words]
