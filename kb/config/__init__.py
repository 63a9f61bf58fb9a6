"""The effective configuration: defaults → file (TOML) → `KB_<SECTION>_<KEY>` → flags.

The sections are plain classes whose attributes are the defaults, so that a search reads the configuration in no
noticeable time. Only `operations` and the surfaces import this room; stages take plain values.
"""

from kb.config.keys import KEYS, SCHEMA_VERSION, SECTIONS, Config, expand_variables
from kb.config.reading import default_path, load, with_exposure_now

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
