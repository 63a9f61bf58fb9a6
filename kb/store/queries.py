"""A function for every statement of `sql/`: `queries.search_lexical(db, …)` runs `sql/retrieve/search_lexical.sql`.

The functions and their row classes are made at their first use. tools/generate writes their types into `queries.pyi`,
from the headers of the files.
"""

from typing import Any

from kb.store.sqlfile import named


def __getattr__(name: str) -> Any:
    found = None if name.startswith("_") else named(name)
    if found is None:
        raise AttributeError(f"no file sql/*/{name}.sql, and no row named {name!r}")
    globals()[name] = found
    return found
