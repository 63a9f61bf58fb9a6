"""The effective configuration: defaults → file (TOML) → `KB_<SECTION>_<KEY>` → flags (frozen design §6).

The sections are plain classes whose attributes are the defaults, so that reading the configuration costs a search
nothing it can feel; what shows and edits it is imported where that is done. Only `operations` and the surfaces import
this room; stages take plain values.
"""

from kb.config.reading import default_path, load, with_exposure_now
from kb.config.rules import MEANINGS, RULES
from kb.config.sections import SCHEMA_VERSION, SECTIONS, Config, keys
from kb.config.variables import expand_variables

__all__ = [
    "MEANINGS",
    "RULES",
    "SCHEMA_VERSION",
    "SECTIONS",
    "Config",
    "default_path",
    "expand_variables",
    "keys",
    "load",
    "with_exposure_now",
]
