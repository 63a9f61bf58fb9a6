"""Results of setup, rebuilds, caches, resets and model installs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from kb.domain.on_wire import Wire, on_wire
from kb.records import NamedTuple


@on_wire(
    "init_report.v1",
    title="InitReportV1",
    fields="config data_dir sqlite root created database_schema=schema_version",
)
@dataclass(frozen=True, slots=True)
class SetupReport:
    """The places, and which of them are new."""

    config: Path
    data_dir: Path
    sqlite: Path
    root: Path
    created: Mapping[str, bool]
    schema_version: int


@on_wire("vault.v1")
class Vault(NamedTuple):
    """A named knowledge base and its configuration file; `problem`: why that cannot be read.

    `is_chosen`: a command that names no other works in it.
    """

    name: str
    config: Path
    is_chosen: bool
    root: Path | None = None
    data_dir: Path | None = None
    is_indexed: bool = False
    problem: str | None = None


class CachePart(NamedTuple):
    """One cache file: `vectors` by text and model, or results `derived` by engines, by content and engine."""

    name: str
    path: Path
    entries: int
    byte_len: int


@on_wire("cache_report.v1", fields="byte_len freed_bytes parts")
class CacheReport(NamedTuple):
    """All caches, and the space a prune freed."""

    parts: tuple[CachePart, ...]
    freed_bytes: int = 0

    @property
    def byte_len(self) -> int:
        """All of them together."""
        return sum(part.byte_len for part in self.parts)


ResetPart: TypeAlias = Literal["vectors", "index", "answers", "everything"]


class RemovedPart(NamedTuple):
    """One kind of removed things: how many, the bytes of their files where counted, and their path if it goes whole."""

    name: str
    entries: int
    byte_len: int | None
    path: Path | None = None


@on_wire("reset_report.v1", fields="part done parts")
class ResetReport(NamedTuple):
    """`done` false: a dry run, nothing was removed."""

    part: ResetPart
    parts: tuple[RemovedPart, ...]
    done: bool


@on_wire("forget_report.v1", fields="done paths parts stays ignore_file ignore_lines ignored")
class ForgetReport(NamedTuple):
    """`done` false: a dry run, nothing was forgotten. `stays`: files that are still there.

    The next ingest reads those again, unless `ignore_file` has the `ignore_lines`; `ignored`: they were written there.
    """

    paths: tuple[str, ...]
    parts: tuple[RemovedPart, ...]
    stays: tuple[str, ...]
    ignore_file: Path
    ignore_lines: tuple[str, ...]
    ignored: bool
    done: bool


Purpose: TypeAlias = Literal["embedding", "language", "speech"]


@on_wire("model_status.v1")
class ModelStatus(NamedTuple):
    """One model. `used_as` is its slot in the configuration; `problem` is the fault that verifying found.

    `purpose` is null for a model kb cannot assemble itself; `dimensions` is 0 for one that makes no vectors.
    """

    name: str
    purpose: Purpose | None
    version: str
    dimensions: int
    licence: str
    size_bytes: int
    installed: bool
    used_as: Annotated[str | None, Wire(type=Literal["primary", "secondary", "speech"] | None)]
    problem: str | None = None


class VectorTable(NamedTuple):
    """One vector table. `used_as` is primary or secondary, `configured` until a run has come to it, null = unused."""

    # `model` is None where nothing in SQLite knows the table.

    lance_table: str
    model: str | None
    dimensions: int | None
    vectors: int
    size_bytes: int
    used_as: Annotated[str | None, Wire(type=Literal["primary", "secondary", "configured"] | None)]


@on_wire("index_report.v1", title="IndexReportV1")
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


class ConfigValue(NamedTuple):
    """One value. `origin` is default, file, flag or the environment variable."""

    value: Any
    origin: str


@on_wire("config_report.v1")
class ConfigReport(NamedTuple):
    """Every key, `section.key`, in order; `file` is null when there is none."""

    file: Path | None
    values: Mapping[str, ConfigValue]


class ClusterWorker(NamedTuple):
    """A worker of a Dask scheduler; `lacks`: in words what is not as on this machine, so that it gets no such task."""

    address: str
    threads: int
    lacks: tuple[str, ...]


@on_wire("cluster_report.v1")
class ClusterReport(NamedTuple):
    """The configured scheduler, its dashboard, its workers, and the models sent to them, if any."""

    scheduler: str
    dashboard: str
    workers: tuple[ClusterWorker, ...]
    sent: tuple[str, ...] = ()


@on_wire("proof.v1")
class Proof(NamedTuple):
    """Merkle roots, BLAKE3 in hex: over the other three; over documents; chunks with their text; vectors.

    Two knowledge bases with the same root hold the same text, cut alike, with the same vectors.
    """

    root: str
    documents: str
    chunks: str
    vectors: str


@on_wire("export_report.v1")
class ExportReport(NamedTuple):
    """The archive, or the folder or address of a snapshot; its size, and the proof of what it holds."""

    file: str
    size_bytes: int
    proof: Proof


@on_wire("import_report.v1")
class ImportReport(NamedTuple):
    """The proof of what arrived; `settings` of the other machine that are others here, `key = value`."""

    proof: Proof
    settings: tuple[str, ...]
