"""Packages with plugins, as an installer leaves them: modules, and the metadata that names their entry points."""

from __future__ import annotations

import tomllib
from pathlib import Path
from textwrap import dedent

EXAMPLE = Path(__file__).parents[1] / "fixtures/plugin-example"

CUES = """\
1
00:00:01,000 --> 00:00:04,000
The heron stands in the shallow water.

2
00:00:05,500 --> 00:00:07,000
<i>It waits for a fish.</i>

3
00:01:05,000 --> 00:01:09,000
The lighthouse was built in 1874.
"""


def install(
    folder: Path, package: str, version: str, entry_points: dict[str, dict[str, str]], module: str = ""
) -> None:
    """Announces a package in `folder`, which is to be on the path; `module` is its one module's source."""
    info = folder / f"{package}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    lines = [
        f"[{group}]\n" + "".join(f"{n} = {v}\n" for n, v in named.items()) for group, named in entry_points.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))
    if module:
        (folder / f"{package}.py").write_text(dedent(module))


def install_example(folder: Path, version: str = "0.1.0") -> None:
    """The example package, without pip: its folder is where it lies."""
    declared = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    install(folder, "kb_example", version, declared)
    (folder / "kb_example").symlink_to(EXAMPLE / "kb_example")
