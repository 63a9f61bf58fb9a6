"""What was set up, rebuilt, kept in caches and installed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from kb.records import NamedTuple


@dataclass(frozen=True, slots=True)
class SetupReport:
    """What was made and what was there already."""

    config: Path
    data_dir: Path
    sqlite: Path
    root: Path
    created: Mapping[str, bool]
    schema_version: int


class CachePart(NamedTuple):
    """One cache file."""

    name: str
    path: Path
    entries: int
    byte_len: int


class CacheReport(NamedTuple):
    """The caches as they are now, and what was given back."""

    parts: tuple[CachePart, ...]
    freed_bytes: int = 0

    @property
    def byte_len(self) -> int:
        """All of them together."""
        return sum(part.byte_len for part in self.parts)


ResetPart: TypeAlias = Literal["vectors", "index", "answers", "everything"]


class RemovedPart(NamedTuple):
    """What a reset removes of one kind: how many there were, the bytes of their files, their place on the disk."""

    name: str
    entries: int
    byte_len: int | None
    path: Path | None = None


class ResetReport(NamedTuple):
    """What a reset has removed, or (`done` False) would remove."""

    part: ResetPart
    parts: tuple[RemovedPart, ...]
    done: bool


class ForgetReport(NamedTuple):
    """What was forgotten, or (`done` False) would be: paths below the workspace root, and what is kept of them.

    `stays` are those whose files are still there: the next ingest reads them again, unless `ignore_lines` are in
    `ignore_file`; `ignored` says whether they were written there.
    """

    paths: tuple[str, ...]
    parts: tuple[RemovedPart, ...]
    stays: tuple[str, ...]
    ignore_file: Path
    ignore_lines: tuple[str, ...]
    ignored: bool
    done: bool


Purpose: TypeAlias = Literal["embedding", "language", "speech"]


class ModelStatus(NamedTuple):
    """One model: what it is, whether it is installed whole, whether the configuration uses it.

    `purpose` is None for a model the catalogue does not hold; `dimensions` is 0 for one that makes no vectors.
    """

    name: str
    purpose: Purpose | None
    version: str
    dimensions: int
    licence: str
    size_bytes: int
    installed: bool
    used_as: str | None
    problem: str | None = None


class VectorTable(NamedTuple):
    """One table. `model` is None where nothing in SQLite knows it; `used_as` is a slot, `configured`, or None."""

    lance_table: str
    model: str | None
    dimensions: int | None
    vectors: int
    size_bytes: int
    used_as: str | None


@dataclass(slots=True)
class RebuildReport:
    """What was rebuilt: rows of the lexical index, vectors embedded, taken from the cache, or restored; what there is.

    `tables` are the vector tables afterwards, where vectors were asked for or nothing was; `dropped` those removed.
    """

    fts_rows: int = 0
    embedded: int = 0
    from_cache: int = 0
    mirror_rows: int = 0
    lance_rows: int = 0
    ann_vectors: int = 0
    aborted: bool = False
    tables: list[VectorTable] = field(default_factory=list)
    dropped: list[VectorTable] = field(default_factory=list)
