"""The effective configuration: defaults → file (TOML) → `KB_<SECTION>_<KEY>` → flags.

The sections are plain classes whose attributes are the defaults, so that a search reads the configuration in no
noticeable time. Only `operations` and the surfaces import this room; stages take plain values.
"""

import os
from collections.abc import Mapping, Sequence

from kb.config import reading
from kb.config.keys import KEYS, SCHEMA_VERSION, SECTIONS, Config, expand_variables
from kb.config.reading import default_path, with_exposure_now

__all__ = [
    "KEYS",
    "SCHEMA_VERSION",
    "SECTIONS",
    "Config",
    "default_path",
    "expand_variables",
    "load",
    "with_exposure_now",
]


def load(named: str | None, flags: Sequence[str] = (), env: Mapping[str, str] | None = None) -> Config:
    """As `reading.load`; of the file of a project (`.kb/config.toml`) as `projects.load_project`."""
    env = os.environ if env is None else env
    name = named or env.get("KB_CONFIG") or ""
    if name.endswith(".kb/config.toml"):
        from kb.config.projects import load_project

        return load_project(expand_variables(name, env), flags, env)
    return reading.load(named, flags, env)
