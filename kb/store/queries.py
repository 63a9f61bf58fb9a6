"""A function for every statement of `sql/`: `queries.search_lexical(db, …)` runs `sql/retrieve/search_lexical.sql`.

The functions and the classes of their rows are made when they are first used. Their types are in `queries.pyi`, which
tools/generate writes from the headers of the files.
"""

from typing import Any

from kb.store.sqlfile import named


def __getattr__(name: str) -> Any:
    found = None if name.startswith("_") else named(name)
    if found is None:
        raise AttributeError(f"no file sql/*/{name}.sql, and no row named {name!r}")
    globals()[name] = found
    return found
