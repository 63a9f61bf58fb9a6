"""The project around the working directory: found before kb is loaded, so by what takes no time to import."""

from __future__ import annotations

import os


def project_above() -> str | None:
    """The `.kb/config.toml` of the nearest folder above the working directory, or of itself.

    As git looks for its folder: not in another file system. A folder that the home directory is in is no project.
    """
    try:
        here = folder = os.getcwd()
        while not os.path.lexists(file := os.path.join(folder, ".kb/config.toml")):
            if folder == (folder := os.path.dirname(folder)):
                return None
        home = os.path.join(os.path.realpath(os.path.expanduser("~")), "")
        is_near = os.stat(folder).st_dev == os.stat(here).st_dev
        return file if is_near and not home.startswith(os.path.join(folder, "")) else None
    except OSError:
        return None
