"""tools/lock.txt names what pyproject.toml asks for, with wheels for every Python and platform that kb supports."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.tags import Tag, compatible_tags, cpython_tags, mac_platforms, parse_tag
from packaging.utils import canonicalize_name

CHECKOUT = Path(__file__).parents[1]
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
