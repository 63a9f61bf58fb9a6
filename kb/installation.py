"""How this copy of kb was installed, and the command that adds an optional part; read only for a hint.

The package index knows another project's distribution by the name `kb`; this one is `kb-cited`. A hint names it only
where it came from an index; a checkout, a wheel or a repository is installed from where it came, and where that is gone
the part's own libraries are named.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

DISTRIBUTION = "kb-cited"

_REQUIREMENT_OF_EXTRA = re.compile(r"""(?P<requirement>[^;]+?)\s*;\s*extra\s*==\s*['"](?P<extra>[\w-]+)['"]\s*""")


class Installer(Enum):
    """The program that manages the environment kb runs in."""

    PIP = "pip"
    UV = "uv pip"
    PIPX = "pipx"
    UV_TOOL = "uv tool"


@dataclass(frozen=True, slots=True)
class InstallSource:
    """Where kb came from: a path, a URL with its scheme, or `DISTRIBUTION` for a package index."""

    place: Path | str
    is_editable: bool = False

    def with_extras(self, extras: str) -> list[str]:
        """The words that name it and its optional parts to an installer."""
        if isinstance(self.place, Path):
            path = short(self.place)
            return [*(["-e"] if self.is_editable else []), f"{path}[{extras}]"]
        at = "" if self.place == DISTRIBUTION else f" @ {self.place}"
        return [f"{DISTRIBUTION}[{extras}]{at}"]


@dataclass(frozen=True, slots=True)
class Installation:
    """An environment that holds kb; `source` is None where it is not there any more.

    `requirements` are those of each optional part; `receipt` is what `uv tool` noted, which a later call replaces.
    """

    installer: Installer
    prefix: Path
    python: Path
    source: InstallSource | None
    requirements: dict[str, list[str]]
    receipt: tuple[dict[str, Any], ...] = ()


def extra_command(extra: str) -> str:
    """The command that adds the optional part `extra` to this installation."""
    here = this_installation()
    requirements = here.requirements.get(extra, [])
    if here.installer is Installer.PIPX:
        return shlex.join(["pipx", "inject", here.prefix.name, *requirements])
    if here.source is None:
        return shlex.join([*_install(here), *requirements])
    if here.installer is Installer.UV_TOOL:
        return shlex.join(["uv", "tool", "install", *_uv_tool_words(here, here.source, extra)])
    return shlex.join([*_install(here), *here.source.with_extras(extra)])


def reinstall_command(package: str) -> str:
    """The command that installs a library of this installation once more, in place of a broken one."""
    here = this_installation()
    if here.installer is Installer.PIPX:
        return shlex.join(["pipx", "reinstall", here.prefix.name])
    if here.installer is Installer.UV_TOOL:
        return shlex.join(["uv", "tool", "upgrade", "--reinstall-package", package, here.prefix.name])
    again = "--reinstall" if here.installer is Installer.UV else "--force-reinstall"
    return shlex.join([*_install(here), again, "--no-deps", package])


def this_installation() -> Installation:
    """The installation of the running interpreter."""
    prefix, python = Path(sys.prefix), Path(sys.executable)
    try:
        distribution = metadata.distribution(DISTRIBUTION)
    except metadata.PackageNotFoundError:  # run from its checkout, without being installed
        checkout = Path(__file__).resolve().parents[1]
        source = (
            InstallSource(checkout, is_editable=True)
            if (checkout / "pyproject.toml").is_file()
            else InstallSource(DISTRIBUTION)
        )
        return Installation(Installer.PIP, prefix, python, source, {})
    installer, receipt = _installer(prefix, (distribution.read_text("INSTALLER") or "").strip())
    source_or_none = _source(json.loads(distribution.read_text("direct_url.json") or "null"))
    return Installation(installer, prefix, python, source_or_none, _requirements(distribution), receipt)


def short(path: Path) -> str:
    """The path, relative if it is below the current folder."""
    here = Path.cwd()
    if path == here:
        return "."
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _installer(prefix: Path, named: str) -> tuple[Installer, tuple[dict[str, Any], ...]]:
    """The installer of the environment, and uv's receipt if it is an environment of `uv tool`."""
    if (prefix / "pipx_metadata.json").is_file():
        return Installer.PIPX, ()
    receipt = prefix / "uv-receipt.toml"
    if receipt.is_file():
        return Installer.UV_TOOL, tuple(tomllib.loads(receipt.read_text(encoding="utf-8"))["tool"]["requirements"])
    return (Installer.UV if named == "uv" else Installer.PIP), ()


def _source(direct_url: Any) -> InstallSource | None:
    """Where kb was installed from, by the PEP 610 record, which an install from an index does not have."""
    if direct_url is None:
        return InstallSource(DISTRIBUTION)
    url = urlsplit(direct_url["url"])
    if vcs := direct_url.get("vcs_info"):
        return InstallSource(f"{vcs['vcs']}+{direct_url['url']}@{vcs.get('requested_revision') or vcs['commit_id']}")
    if url.scheme != "file":
        return InstallSource(direct_url["url"])
    path = Path(unquote(url.path))
    return InstallSource(path, direct_url.get("dir_info", {}).get("editable", False)) if path.exists() else None


def _requirements(distribution: metadata.Distribution) -> dict[str, list[str]]:
    """The requirements of each optional part."""
    by_extra: dict[str, list[str]] = {}
    for line in distribution.requires or ():
        if of_extra := _REQUIREMENT_OF_EXTRA.fullmatch(line):
            by_extra.setdefault(of_extra["extra"], []).append(of_extra["requirement"])
    return by_extra


def _install(here: Installation) -> list[str]:
    """The words of the install command of this environment's installer."""
    if here.installer in (Installer.UV, Installer.UV_TOOL):
        return ["uv", "pip", "install", "--python", short(here.python)]
    pip = here.prefix / "bin" / "pip"
    if pip.is_file() and here.prefix != Path(sys.base_prefix):
        return [short(pip), "install"]
    return [short(here.python), "-m", "pip", "install"]


def _uv_tool_words(here: Installation, source: InstallSource, extra: str) -> Iterator[str]:
    """The words that repeat the tool's requirements, with one more optional part."""
    extras = {extra}
    for requirement in here.receipt:
        if requirement["name"] == DISTRIBUTION:
            extras |= set(requirement.get("extras", ()))
        elif "editable" in requirement:
            yield from ("--with-editable", requirement["editable"])
        else:
            place = next((requirement[key] for key in ("path", "directory", "url", "git") if key in requirement), None)
            yield from ("--with", place or requirement["name"] + requirement.get("specifier", ""))
    yield from source.with_extras(",".join(sorted(extras)))
