"""What a hint says is right for this installation: checkout, wheel, index or repository; pip, uv, pipx or uv tool."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from kb import installation
from kb.installation import DISTRIBUTION, extra_command, reinstall_command

CHECKOUT = Path(__file__).parents[1]
METADATA = """\
Metadata-Version: 2.4
Name: kb-cited
Version: 0.1.0
Provides-Extra: pdf
Requires-Dist: rich>=13.7
Requires-Dist: pymupdf<2,>=1.24.10; extra == 'pdf'
Requires-Dist: av>=14; extra == "audio"
Requires-Dist: pywhispercpp>=1.4; extra == "audio"
"""


class Environment:
    """A made-up environment that holds kb, as its installer leaves it; the running interpreter claims to be its own."""

    def __init__(self, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.prefix = base / "env"
        self.packages = self.prefix / "lib" / "site-packages"
        self.record = self.packages / "kb_cited-0.1.0.dist-info"
        self.record.mkdir(parents=True)
        (self.prefix / "bin").mkdir()
        (self.record / "METADATA").write_text(METADATA, encoding="utf-8")
        monkeypatch.syspath_prepend(str(self.packages))
        monkeypatch.setattr(sys, "prefix", str(self.prefix))
        monkeypatch.setattr(sys, "executable", str(self.prefix / "bin" / "python"))
        self.put("bin/pip", "")

    def put(self, name: str, text: str) -> None:
        (self.prefix / name).write_text(text, encoding="utf-8")

    def came(self, installer: str, direct_url: Any = None) -> None:
        (self.record / "INSTALLER").write_text(f"{installer}\n", encoding="utf-8")
        if direct_url is not None:
            (self.record / "direct_url.json").write_text(json.dumps(direct_url), encoding="utf-8")


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environment:
    monkeypatch.chdir(tmp_path)
    return Environment(tmp_path, monkeypatch)


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    folder = tmp_path / "내려받은 것"
    folder.mkdir()
    path = folder / "kb_cited-0.1.0-py3-none-any.whl"
    path.write_bytes(b"")
    return path


def url_of(path: Path) -> str:
    return path.as_uri()


def test_the_name_is_the_projects_own() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == DISTRIBUTION
    assert project["scripts"] == {"kb": "kb.cli.entry:run"}


def test_no_hint_is_worded_elsewhere() -> None:
    """Any other `pip install` would be a guess at where kb came from, or name a stranger's package."""
    worded = {
        str(path.relative_to(CHECKOUT))
        for path in CHECKOUT.glob("kb/**/*.py")
        if "pip install" in path.read_text(encoding="utf-8")
    }
    assert worded == set()


def test_a_checkout_is_installed_from_where_it_lies(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment.came("pip", {"url": url_of(tmp_path), "dir_info": {"editable": True}})
    assert extra_command("pdf") == "env/bin/pip install -e '.[pdf]'"
    monkeypatch.chdir(tmp_path.parent)
    assert extra_command("pdf") == f"{tmp_path.name}/env/bin/pip install -e '{tmp_path.name}[pdf]'"
    monkeypatch.chdir("/")
    assert extra_command("pdf").startswith(f"{str(tmp_path).removeprefix('/')}/env/bin/pip install -e ")
    environment.came("pip", {"url": url_of(tmp_path), "dir_info": {}})
    assert " -e " not in extra_command("pdf")


def test_a_wheel_is_named_by_its_path(environment: Environment, wheel: Path) -> None:
    environment.came("pip", {"url": url_of(wheel), "archive_info": {}})
    assert extra_command("pdf") == "env/bin/pip install '내려받은 것/kb_cited-0.1.0-py3-none-any.whl[pdf]'"


def test_where_the_wheel_is_gone_the_libraries_are_named(environment: Environment, wheel: Path) -> None:
    environment.came("pip", {"url": url_of(wheel), "archive_info": {}})
    wheel.unlink()
    assert extra_command("pdf") == "env/bin/pip install 'pymupdf<2,>=1.24.10'"
    assert extra_command("audio") == "env/bin/pip install 'av>=14' 'pywhispercpp>=1.4'"


def test_from_an_index_the_name_is_the_one_it_has_there(environment: Environment) -> None:
    environment.came("pip")
    assert extra_command("pdf") == "env/bin/pip install 'kb-cited[pdf]'"
    assert reinstall_command("sqlite-vec") == "env/bin/pip install --force-reinstall --no-deps sqlite-vec"


def test_a_repository_is_asked_for_the_same_revision(environment: Environment) -> None:
    vcs = {"vcs": "git", "commit_id": "0123abc", "requested_revision": "v0.1"}
    environment.came("pip", {"url": "https://example.org/kb.git", "vcs_info": vcs})
    assert extra_command("ocr") == "env/bin/pip install 'kb-cited[ocr] @ git+https://example.org/kb.git@v0.1'"
    environment.came("pip", {"url": "https://example.org/kb.whl", "archive_info": {}})
    assert extra_command("ocr") == "env/bin/pip install 'kb-cited[ocr] @ https://example.org/kb.whl'"


def test_an_environment_of_uv_is_asked_through_uv(environment: Environment, wheel: Path) -> None:
    environment.came("uv", {"url": url_of(wheel), "archive_info": {}})
    assert extra_command("pdf") == f"uv pip install --python env/bin/python '{wheel.parent.name}/{wheel.name}[pdf]'"
    assert reinstall_command("x") == "uv pip install --python env/bin/python --reinstall --no-deps x"


def test_pipx_is_asked_to_inject(environment: Environment, wheel: Path) -> None:
    environment.came("uv", {"url": url_of(wheel), "archive_info": {}})  # recent ones install by uv
    environment.put("pipx_metadata.json", "{}")
    assert extra_command("pdf") == "pipx inject env 'pymupdf<2,>=1.24.10'"
    assert reinstall_command("sqlite-vec") == "pipx reinstall env"


def test_a_tool_of_uv_keeps_what_it_was_installed_with(environment: Environment, wheel: Path) -> None:
    environment.came("uv", {"url": url_of(wheel), "archive_info": {}})
    own = f'{{ name = "kb-cited", extras = ["pdf"], path = "{wheel}" }}'
    others = '{ name = "humanize", specifier = ">=4" }, { name = "mine", editable = "/src/mine" }'
    environment.put("uv-receipt.toml", f"[tool]\nrequirements = [{own}, {others}]\n")
    assert extra_command("audio") == (
        f"uv tool install --with 'humanize>=4' --with-editable /src/mine '{wheel.parent.name}/{wheel.name}[audio,pdf]'"
    )
    assert reinstall_command("sqlite-vec") == "uv tool upgrade --reinstall-package sqlite-vec env"
    wheel.unlink()
    assert extra_command("pdf") == "uv pip install --python env/bin/python 'pymupdf<2,>=1.24.10'"


def test_kb_that_was_never_installed_is_added_to_from_its_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise installation.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(installation.metadata, "distribution", absent)
    monkeypatch.chdir(CHECKOUT)
    assert extra_command("pdf").endswith(" install -e '.[pdf]'")
