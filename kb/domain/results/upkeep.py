"""Results of setup, rebuilds, caches, resets and model installs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

from kb.domain.on_wire import Wire, on_wire


@on_wire(
    "init_report.v1", title="InitReportV1", fields="config data_dir sqlite root created database_schema=schema_version"
)
@dataclass(frozen=True, slots=True)
class SetupReport:
    """The files and folders of a new knowledge base; `created` says which of them did not exist before."""

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
    """One cache: `vectors`, by text and model, or `derived`, results of engines, by content and engine."""

    name: str
    path: Path
    entries: int
    byte_len: int


@on_wire("cache_report.v1", fields="byte_len freed_bytes parts")
class CacheReport(NamedTuple):
    """All caches, and how many bytes a prune freed."""

    parts: tuple[CachePart, ...]
    freed_bytes: int = 0

    @property
    def byte_len(self) -> int:
        """The size of all caches together, in bytes."""
        return sum(part.byte_len for part in self.parts)


ResetPart: TypeAlias = Literal["vectors", "index", "answers", "everything"]


class RemovedPart(NamedTuple):
    """One kind of removed things: their number, the size of their files where it was counted, and the path if it goes
    whole.
    """

    name: str
    entries: int
    byte_len: int | None
    path: Path | None = None


@on_wire("reset_report.v1", fields="part done parts")
class ResetReport(NamedTuple):
    """What a reset removed. `done` is false for a dry run, which removes nothing."""

    part: ResetPart
    parts: tuple[RemovedPart, ...]
    done: bool


@on_wire("forget_report.v1", fields="done paths parts stays ignore_file ignore_lines ignored")
class ForgetReport(NamedTuple):
    """What was forgotten. `done` is false for a dry run. `stays` are forgotten files that are still in their folder.

    The next ingest would read these again unless `ignore_file` has the `ignore_lines`; `ignored`: kb has written them
    there.
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
    """One model. `used_as` is its use in the configuration; `problem` is the fault that a verification found.

    `purpose` is null for a model that kb cannot assemble; `dimensions` is 0 for a model that makes no vectors.
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
    """One table of vectors. `used_as` is its model's slot, `configured` before the first run with that model, null if
    unused.
    """

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
    """What was rebuilt: rows of the lexical index; vectors that were embedded, taken from the cache or restored.

    `tables` are the vector tables afterwards, empty if only the lexical index was rebuilt; `dropped` are removed ones.
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
    """One value of the configuration. `origin` is default, file, flag or the name of an environment variable."""

    value: Any
    origin: str


@on_wire("config_report.v1")
class ConfigReport(NamedTuple):
    """Every key of the configuration, as `section.key`, in order; `file` is null if there is none."""

    file: Path | None
    values: Mapping[str, ConfigValue]


class ClusterWorker(NamedTuple):
    """A worker of a Dask scheduler; `lacks` says in words how it differs from this machine. With differences it gets no
    work.
    """

    address: str
    threads: int
    lacks: tuple[str, ...]


@on_wire("cluster_report.v1")
class ClusterReport(NamedTuple):
    """The configured scheduler, its dashboard and workers, and the models that were sent to the workers."""

    scheduler: str
    dashboard: str
    workers: tuple[ClusterWorker, ...]
    sent: tuple[str, ...] = ()


@on_wire("proof.v1")
class Proof(NamedTuple):
    """Merkle roots of a knowledge base, BLAKE3 in hex: of its documents, of its chunks with their text, of its vectors,
    and of these three together (`root`).

    Two knowledge bases with the same root have the same text, cut alike, with the same vectors.
    """

    root: str
    documents: str
    chunks: str
    vectors: str


@on_wire("export_report.v1")
class ExportReport(NamedTuple):
    """The exported archive, or the folder or address of a snapshot; its size, and the proof of its contents."""

    file: str
    size_bytes: int
    proof: Proof


@on_wire("import_report.v1")
class ImportReport(NamedTuple):
    """The proof of the imported contents; `settings` lists settings of the exporting machine that differ here, `key =
    value`, and `sources` those of its sources that this configuration lacks: an ingest would remove their documents.
    """

    proof: Proof
    settings: tuple[str, ...]
    sources: tuple[str, ...] = ()
