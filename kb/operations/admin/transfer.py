"""Moves a knowledge base to another machine: as an archive, or as a snapshot to read, with a proof of the contents.

The archive is a tar file: `kb.json`, then the database with its vectors, the configuration file, golden questions, and
the folders of copies and artifacts. Lance tables are left out, as they are made again from the database.

A snapshot is a folder with `kb.json`, the database and its Lance table, which --read-only reads in place. At an address
of an object store it is `kb.json` and the database with its vectors, from which a folder is made.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import kb
from kb.config import Config
from kb.config.addresses import snapshot_address
from kb.config.writing import items
from kb.domain.embeddings import VectorAddress, VectorPlace
from kb.domain.ids import content_hash, merkle_root
from kb.domain.results.upkeep import ExportReport, ImportReport, Proof
from kb.domain.run_handle import RunHandle, StepProgress
from kb.errors import FileError, FileUnreadable, KbError, StoreCorrupt, UsageError, write_errors
from kb.operations.embedding.vector_upkeep import (
    committed_vectors,
    copy_lance,
    drop_copied_mirror,
    fill_mirror,
    has_ann,
    model_of,
)
from kb.operations.opening.base import open_base
from kb.operations.opening.writing import writing
from kb.private import make_private_folder, replace_file, require_writable
from kb.store import queries
from kb.store.connection import Connection, close_log, copy_database, latest_version, sqlite_errors, transaction
from kb.store.mirror import has_mirror, load_vector_functions, mirrored
from kb.store.stored_file import StoredFile, file_hash, store_file, stored_file

_MANIFEST, _DATABASE, _CONFIG, _GOLDEN = "kb.json", "kb.sqlite", "config.toml", "golden.yaml"
_FOLDERS, _LANCE = ("assets", "artifacts"), "lancedb"

# What `kb.json` at an address says beside what that of a folder does.
_STORED = {"kb", "schema", "settings", "source", "blake3", "ann", "mirror"}

# Settings that are of one machine.
_OF_ONE_MACHINE = ("workspace.", "storage.", "indexing.", "models.embedding.threads")


def prove(config: Config) -> Proof:
    """The Merkle roots of what is indexed now. Raises: NotIndexed and other StoreErrors."""
    with open_base(config) as session, session.snapshot() as base:
        if has_mirror(base.db):
            load_vector_functions(base.db)
        return _proof(base.db, config.vector_dir)


def _proof(db: Connection, vector_dir: VectorPlace) -> Proof:
    """The Merkle roots of the database. If it has a mirror, `db` must have sqlite-vec; else Lance has the vectors."""
    documents = merkle_root(_joined(*row) for row in queries.select_proof_documents(db))
    chunks = merkle_root(_joined(*row) for row in queries.select_proof_chunks(db))
    vectors_root = merkle_root(_joined(*named) + vector for *named, vector in _vectors(db, vector_dir))
    root = merkle_root(bytes.fromhex(each) for each in (documents, chunks, vectors_root))
    return Proof(root, documents, chunks, vectors_root)


def _vectors(db: Connection, vector_dir: VectorPlace) -> Iterable[tuple[str, str, str, bytes]]:
    """The chunk id, model name, model version and vector of each chunk, in the order of the ids."""
    if has_mirror(db):
        return queries.select_proof_vectors(db)
    if (row := mirrored(db)) is None:
        return ()
    from kb.store.lance_table import LanceTable

    batches = committed_vectors(db, LanceTable(vector_dir, model_of(row)))
    return ((chunk_id, row.model_id, row.model_version, vector) for batch in batches for chunk_id, _, vector in batch)


def _joined(*texts: str) -> bytes:
    """The texts as bytes separated by NUL; only the last one may contain a NUL."""
    return "\0".join(texts).encode("utf-8")


def export_base(config: Config, target: Path, handle: RunHandle) -> ExportReport:
    """Writes the archive, whole or not at all; it is compressed if the name ends in `.gz` or `.tgz`.

    Raises: UsageError if the file exists, FileError, NotIndexed and other StoreErrors.
    """
    _require_absent(target)
    with _writing(target), TemporaryDirectory(dir=target.parent, prefix=".kb-export-") as folder:
        database, archive = Path(folder) / _DATABASE, Path(folder) / "archive"
        with _copied(config, database, handle) as db:
            fill_mirror(db, config.vector_dir, handle)
            proof = _proof(db, config.vector_dir)
        handle.tell(StepProgress("writing the archive", 0, 0, "documents"))
        with tarfile.open(archive, "w:gz" if target.name.endswith((".gz", ".tgz")) else "w") as tar:
            text = _manifest(config, proof)
            head = tarfile.TarInfo(_MANIFEST)
            head.size, head.mode = len(text), 0o600
            tar.addfile(head, BytesIO(text))
            for name, path in (
                (_DATABASE, database),
                (_CONFIG, config.file),
                (_GOLDEN, config.eval_suite),
                *zip(_FOLDERS, (config.asset_dir, config.artifact_dir), strict=True),
            ):
                if path is not None and path.exists():
                    tar.add(path, name)
        os.chmod(archive, 0o600)
        os.rename(archive, target)
        return ExportReport(str(target), target.stat().st_size, proof)


def export_snapshot(config: Config, target: Path, handle: RunHandle) -> ExportReport:
    """Writes the folder of a snapshot, whole or not at all; reading it needs no write access.

    Its Lance table is made from the vectors of its database, so that both are of the same moment. Raises: UsageError if
    `target` exists, FileError, NotIndexed and other StoreErrors.
    """
    _require_absent(target)
    with _writing(target), TemporaryDirectory(dir=target.parent, prefix=".kb-export-") as temporary:
        folder = Path(temporary) / "snapshot"
        make_private_folder(folder)
        with _copied(config, folder / _DATABASE, handle) as db:
            without_mirror = fill_mirror(db, config.vector_dir, handle)
            proof = _proof(db, config.vector_dir)
            _give_lance(db, folder, has_ann(db, config.vector_dir), not without_mirror, handle)
        close_log(folder / _DATABASE)
        replace_file(folder / _MANIFEST, _manifest(config, proof))
        size_bytes = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        os.rename(folder, target)
        return ExportReport(str(target), size_bytes, proof)


def _give_lance(db: Connection, folder: Path, ann: bool, mirror: bool, handle: RunHandle) -> None:
    """Makes the Lance table of a snapshot from its mirror, and drops that mirror if the source has none."""
    copy_lance(db, folder / _LANCE, with_ann=ann, handle=handle)
    if not mirror and mirrored(db) is not None:
        drop_copied_mirror(db, folder / _LANCE)


def store_snapshot(config: Config, uri: str, handle: RunHandle) -> ExportReport:
    """Stores a snapshot at an address and replaces the last one of this knowledge base, in one commit.

    Raises: UsageError if the address has anything else, ConfigError, StoreError, NotIndexed.
    """
    where, source = snapshot_address(config, uri), f"{platform.node()}:{config.sqlite}"
    if (there := stored_file(where)) is not None and _stored_manifest(where, there)["source"] != source:
        raise UsageError(f"{where} has the snapshot of another knowledge base", "name another address")
    with _writing(config.cache_dir):
        make_private_folder(config.cache_dir)
        with TemporaryDirectory(dir=config.cache_dir, prefix=".kb-export-") as temporary:
            database = Path(temporary) / _DATABASE
            with _copied(config, database, handle) as db:
                without_mirror = fill_mirror(db, config.vector_dir, handle)
                proof = _proof(db, config.vector_dir)
                ann = has_ann(db, config.vector_dir)
            close_log(database)
            handle.tell(StepProgress(f"writing to {where}", 0, 0, "documents"))
            digest, mirror = file_hash(database), not without_mirror
            manifest = _manifest(config, proof, source=source, blake3=digest, ann=ann, mirror=mirror)
            store_file(where, database, manifest)
            return ExportReport(str(where), database.stat().st_size, proof)


def fetch_snapshot(config: Config, uri: str, folder: Path, handle: RunHandle) -> ImportReport:
    """Makes a folder from the snapshot at an address, in place of an older one; one that is up to date stays.

    Raises: UsageError if the folder is anything else, StoreCorrupt if the contents do not match their proof,
    ConfigError, FileUnreadable if there is no snapshot, StoreError, SchemaTooNew.
    """
    where = snapshot_address(config, uri)
    if (stored := stored_file(where)) is None:
        raise FileUnreadable(f"there is no snapshot at {where}", "kb export --snapshot makes one")
    said = _stored_manifest(where, stored)
    report = ImportReport(Proof(**said["proof"]), tuple(_differing(said["settings"], _settings(config))))
    is_there = folder.exists()
    if is_there and not {path.name for path in folder.iterdir()} >= {_MANIFEST, _DATABASE}:
        raise UsageError(f"{folder} is there already, and no snapshot", "name another one")
    with _writing(folder):
        if is_there and (folder / _MANIFEST).read_bytes() == stored.about:
            return report
        with TemporaryDirectory(dir=folder.parent, prefix=".kb-import-") as temporary:
            new = Path(temporary) / "snapshot"
            make_private_folder(new)
            handle.tell(StepProgress(f"reading {where}", 0, 0, "documents"))
            stored.copy_to(new / _DATABASE)
            handle.tell(StepProgress("checking", 0, 0, "documents"))
            if file_hash(new / _DATABASE) != said["blake3"]:
                raise StoreCorrupt(f"{where} does not hold what was exported", "export it again")
            with writing(new / _DATABASE, with_vectors=True) as db:
                if _proof(db, new) != report.proof:
                    raise StoreCorrupt(f"{where} does not hold what was exported", "export it again")
                _give_lance(db, new, said["ann"], said["mirror"], handle)
            close_log(new / _DATABASE)
            replace_file(new / _MANIFEST, stored.about)
            if is_there:
                os.rename(folder, Path(temporary) / "old")
            os.rename(new, folder)
        return report


def _stored_manifest(where: VectorAddress, stored: StoredFile) -> dict[str, Any]:
    """The `kb.json` of a stored snapshot. Raises: StoreCorrupt; UsageError for one of another schema."""
    try:
        said: dict[str, Any] = json.loads(stored.about)
        Proof(**said["proof"])
        if not said.keys() >= _STORED:
            raise ValueError
    except (ValueError, TypeError, KeyError) as error:
        raise StoreCorrupt(f"{where} holds no snapshot that this kb knows", "export it again") from error
    if said["schema"] != latest_version():
        raise UsageError(f"{where} was written by kb {said['kb']}", "the same version reads it; or export it again")
    return said


def snapshot_fault(config: Config, *, again: bool = False) -> str | None:
    """How the snapshot in `storage.data_dir` differs from what was exported; None if it does not.

    The root is computed again only if the file has changed, and kept in the cache; `again` computes it in any case.
    """
    try:
        exported = json.loads(config.snapshot_manifest.read_bytes())["proof"]["root"]
        root = prove(config).root if again else _known_root(config)
    except (OSError, ValueError, KeyError) as error:
        return f"{config.snapshot_manifest} cannot be read: {error}"
    except KbError as error:
        return error.message
    if root == exported:
        return None
    return f"{config.data_dir} is not what was exported: its root is {root}, and {_MANIFEST} says {exported}"


def _known_root(config: Config) -> str:
    found = os.stat(config.sqlite)
    mark = f"{config.sqlite} {found.st_size} {found.st_mtime_ns} {found.st_ino}"
    kept = config.cache_dir / "snapshots" / content_hash(str(config.sqlite).encode())
    with suppress(OSError, ValueError):
        known, root = kept.read_text(encoding="utf-8").rsplit("\n", 1)
        if known == mark:
            return root
    root = prove(config).root
    with suppress(OSError):
        make_private_folder(kept.parent)
        replace_file(kept, f"{mark}\n{root}".encode())
    return root


@contextmanager
def _copied(config: Config, database: Path, handle: RunHandle) -> Iterator[Connection]:
    """A copy of the database as it is now, open for writing, with sqlite-vec loaded if there are vectors."""
    handle.tell(StepProgress("copying the database", 0, 0, "documents"))
    with open_base(config) as session, session.reading() as base, sqlite_errors(database):
        copy_database(base.db, database)
    with writing(database, with_vectors=True) as db:
        yield db


def _manifest(config: Config, proof: Proof, **added: str | bool) -> bytes:
    """The content of `kb.json`."""
    manifest = {
        "format": 1,
        "kb": kb.__version__,
        "schema": latest_version(),
        "proof": proof._asdict(),
        "asset_dir": str(config.asset_dir),
        "settings": _settings(config),
    }
    return json.dumps(manifest | added, ensure_ascii=False, indent=1).encode()


def _writing(target: Path) -> AbstractContextManager[None]:
    return write_errors(target, "name a place elsewhere", kind=FileError)


def _require_absent(target: Path) -> None:
    if target.exists():
        raise UsageError(f"{target} is there already", "name another one")


def import_base(config: Config, source: Path, handle: RunHandle) -> ImportReport:
    """Unpacks an archive into the configured places, which must be empty and stay so if the proof does not match.

    Raises: UsageError if there is a knowledge base, FileError, StoreCorrupt, SchemaTooNew.
    """
    require_writable()
    places = dict(zip(_FOLDERS, (config.asset_dir, config.artifact_dir), strict=True))
    for path in (config.sqlite, *places.values()):
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()
        if path.exists():
            raise UsageError(
                f"{path} is there already", "kb reset everything first, or another storage.data_dir in a configuration"
            )
    with write_errors(config.data_dir, "check the disk", "filled"):
        make_private_folder(config.data_dir)
        with TemporaryDirectory(dir=config.data_dir, prefix=".kb-import-") as folder:
            handle.tell(StepProgress("unpacking", 0, 0, "documents"))
            manifest = _unpacked(source, Path(folder))
            unpacked = Path(folder) / _DATABASE
            handle.tell(StepProgress("checking", 0, 0, "documents"))
            with writing(unpacked) as db:
                proof = _proof(db, config.vector_dir)
                if proof._asdict() != manifest["proof"] and manifest["schema"] == latest_version():
                    raise StoreCorrupt("the archive does not hold what was exported", "copy or export it again")
                with transaction(db):
                    old_dir, new_dir = (os.path.join(each, "") for each in (manifest["asset_dir"], config.asset_dir))
                    queries.update_copies(db, old_dir=old_dir, new_dir=new_dir)
                known = {each.name for each in config.sources.every}
                lacking = [row.source for row in queries.select_document_sources(db) if row.source not in known]
            for name, place in places.items():
                if (Path(folder) / name).exists():
                    make_private_folder(place.parent)
                    shutil.move(Path(folder) / name, place)
            golden = config.eval_suite
            if (Path(folder) / _GOLDEN).exists() and not golden.exists():
                shutil.move(Path(folder) / _GOLDEN, golden)
            make_private_folder(config.sqlite.parent)
            shutil.move(unpacked, config.sqlite)  # last: until then there is no knowledge base
        return ImportReport(proof, tuple(_differing(manifest["settings"], _settings(config))), tuple(lacking))


@contextmanager
def _reading_archive(source: Path) -> Iterator[tarfile.TarFile]:
    hint = "kb export makes one"
    try:
        with tarfile.open(source) as tar:
            yield tar
    except (tarfile.TarError, EOFError, KeyError, ValueError) as error:
        raise FileUnreadable(f"{source} is no export of a knowledge base: {error}", hint) from error
    except FileNotFoundError as error:
        raise FileUnreadable(f"there is no {source}", hint) from error


def _unpacked(source: Path, folder: Path) -> dict[str, Any]:
    """Unpacks those files that an export has, all inside `folder`; returns the content of `kb.json`."""
    with _reading_archive(source) as tar:
        for member in tar:
            top, *below = member.name.split("/")
            is_known = top in (_MANIFEST, _DATABASE, _CONFIG, _GOLDEN, *_FOLDERS) and ".." not in below
            if not is_known or not (member.isreg() or member.isdir()):
                raise ValueError(f"it holds {member.name!r}")
            path = folder / member.name
            (path if member.isdir() else path.parent).mkdir(parents=True, exist_ok=True)
            if (packed := tar.extractfile(member)) is not None:
                with packed, path.open("wb") as file:
                    shutil.copyfileobj(packed, file)
        manifest: dict[str, Any] = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        if manifest["format"] != 1 or not {"schema", "proof", "asset_dir", "settings"} <= manifest.keys():
            raise ValueError(f"a format that this kb {kb.__version__} does not know")
        return manifest


def _settings(config: Config) -> dict[str, Any]:
    """The settings that answers may depend on."""
    return {key: value for key, value, _ in items(config) if not key.startswith(_OF_ONE_MACHINE)}


def _differing(theirs: dict[str, Any], ours: dict[str, Any]) -> Iterator[str]:
    ours = json.loads(json.dumps(ours))
    return (f"{key} = {value!r}" for key, value in theirs.items() if key in ours and ours[key] != value)
