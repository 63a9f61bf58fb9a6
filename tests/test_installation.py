"""What a hint says is right for this installation, and the lock names what the project asks for."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.tags import Tag, compatible_tags, cpython_tags, mac_platforms, parse_tag
from packaging.utils import canonicalize_name

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


LOCK = CHECKOUT / "tools/lock.txt"
PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))

PYTHONS = [(3, 11), (3, 12), (3, 13)]
OLDER_LINUX = ["manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64"]
PLATFORMS = {
    "Linux": [f"manylinux_2_{minor}_x86_64" for minor in range(36, 4, -1)] + OLDER_LINUX,
    "Darwin": list(mac_platforms((15, 0), "arm64")),
}
ENVIRONMENTS = {
    "Linux": {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64"},
    "Darwin": {"sys_platform": "darwin", "platform_system": "Darwin", "platform_machine": "arm64"},
}
# Data without code, and an extra whose users have a compiler.
SOURCES = {"kiwipiepy-model", "llama-cpp-python"}


class Entry(NamedTuple):
    """One package of the lock."""

    name: str
    version: str
    marker: Marker | None
    parts: set[str]
    built_for: list[str]
    hashes: list[str]


def entries() -> list[Entry]:
    """All of the lock."""
    found = []
    for block in LOCK.read_text(encoding="utf-8").split("\n\n")[1:]:
        parts, files, pinned, *hashes = block.replace(" \\\n", "\n").strip().splitlines()
        requirement = Requirement(pinned)
        ((version),) = (specifier.version for specifier in requirement.specifier)
        assert pinned.startswith(f"{requirement.name}=={version}")
        found.append(
            Entry(
                canonicalize_name(requirement.name),
                version,
                requirement.marker,
                set(parts.removeprefix("# ").split()),
                files.removeprefix("# ").split(),
                [line.strip() for line in hashes],
            )
        )
    return found


ENTRIES = entries()


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_each_entry_has_hashes_and_a_wheel_for_every_python_and_platform(entry: Entry) -> None:
    assert len(entry.hashes) == len(entry.built_for) == len(set(entry.hashes))
    assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", each) for each in entry.hashes)
    if entry.name in SOURCES:
        assert entry.built_for == ["source"]
        return
    there: set[Tag] = set().union(*(parse_tag(tag) for tag in entry.built_for))
    missing = [
        (python, system)
        for python in PYTHONS
        for system, platforms in PLATFORMS.items()
        if needed(entry, python, system) and not there & tags(python, platforms)
    ]
    assert missing == []


def needed(entry: Entry, python: tuple[int, int], system: str) -> bool:
    """Whether the entry's marker holds there."""
    version = {"python_version": "{}.{}".format(*python), "python_full_version": "{}.{}.2".format(*python)}
    return entry.marker is None or entry.marker.evaluate({**ENVIRONMENTS[system], **version})


def tags(python: tuple[int, int], platforms: list[str]) -> set[Tag]:
    """What an interpreter there takes."""
    interpreter = "cp{}{}".format(*python)
    return {*cpython_tags(python, platforms=platforms), *compatible_tags(python, interpreter, platforms)}


def test_no_address_is_named() -> None:
    assert "://" not in LOCK.read_text(encoding="utf-8")


def test_what_the_project_asks_for_is_locked_for_the_part_that_asks() -> None:
    locked = {entry.name: entry for entry in ENTRIES}
    extras = {name: lines for name, lines in PROJECT["project"]["optional-dependencies"].items() if name != "train"}
    asked = {"base": PROJECT["project"]["dependencies"], "build": PROJECT["dependency-groups"]["build"], **extras}
    for part, lines in asked.items():
        for requirement in map(Requirement, lines):
            if requirement.name == PROJECT["project"]["name"]:
                assert requirement.extras == extras.keys() - {"llm", "dev"}
                continue
            entry = locked[canonicalize_name(requirement.name)]
            assert requirement.specifier.contains(entry.version), entry.name
            assert {part, "base"} & entry.parts, entry.name


def test_the_entries_of_a_part_are_read_out_of_the_lock() -> None:
    script = ". tools/environment.sh; locked build; echo ---; locked base ui"
    shown = subprocess.run(["bash", "-c", script], cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout
    build, ui = (set(re.findall(r"^([\w.-]+)==", half, re.MULTILINE)) for half in shown.split("---\n"))
    assert build == {entry.name for entry in ENTRIES if "build" in entry.parts}
    assert {name.lower() for name in ui} == {entry.name for entry in ENTRIES if {"base", "ui"} & entry.parts}
    assert "textual" in ui - build
    assert shown.count("--hash=") > len(build) + len(ui)


def test_another_lock_is_another_installation(tmp_path: Path) -> None:
    """The stamp of what is installed holds the lock's text."""
    for name in ("pyproject.toml", "tools/lock.txt", "tools/environment.sh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((CHECKOUT / name).read_bytes())
    script = """
        . tools/environment.sh
        python=pip_stand_in
        pip_stand_in() { echo called; }
        mkdir -p .venv
        ensure_installed ui >/dev/null && ensure_installed ui && echo "# newer" >>tools/lock.txt && ensure_installed ui
    """
    done = subprocess.run(
        ["bash", "-ec", script],
        env={"PATH": os.environ["PATH"]},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("called") == 3, "the two steps for libraries and kb itself, once"
