"""Traces a search: the time and number of items of each stage, from a profile of its SQL statements."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing

from kb.config import Config
from kb.domain.results.searching import SearchTrace, Stage, StatementRuns
from kb.domain.search import SearchResponse
from kb.operations.opening.base import Base
from kb.store.trace import profiled_statements

# By the beginning of a statement's file; the first that fits.
_STAGES = (
    ("code", "retrieve/search_code", "retrieve/select_code", "retrieve/select_symbol"),
    ("candidates", "retrieve/search_"),
    ("terms", "retrieve/"),
)


def traced(config: Config, search: Callable[[Base], SearchResponse]) -> SearchResponse:
    """The response of `search` in a newly opened knowledge base, with a trace of opening and searching."""
    began = time.perf_counter()
    with profiled_statements() as statements, closing(Base(config)) as closed, closed.reading() as base:
        opened = time.perf_counter()
        found = search(base)
        total_ms = 1000 * (time.perf_counter() - began)
        encoded, encode_s = base.models.encoding_spent()
    result = found.result
    spent: dict[str, dict[str, tuple[int, float]]] = defaultdict(dict)
    for name, ms in statements:
        runs, before = spent[_stage_of(name)].get(name, (0, 0.0))
        spent[_stage_of(name)][name] = runs + 1, before + ms
    counts = {
        "terms": (len(result.terms), "terms"),
        "candidates": (len(result.candidates) or len(result.hits), "passages"),
        "code": (sum(hit.score_kind == "code" for hit in result.hits), "hits"),
    }
    stages = [Stage("open", 1000 * (opened - began), 1, "knowledge base")]
    stages += [Stage("encode", 1000 * encode_s, encoded, "vectors")] if encoded else []
    for name in ("terms", "candidates", "code", "other"):
        if of := spent.get(name):
            rows = tuple(StatementRuns(file, runs, ms) for file, (runs, ms) in of.items())
            count, unit = counts.get(name, (sum(runs for _, runs, _ in rows), "statements"))
            stages.append(Stage(name, sum(ms for _, _, ms in rows), count, unit, rows))
    rest = total_ms - sum(stage.ms for stage in stages)
    stages.append(Stage("python", max(rest, 0.0), len(result.hits), "hits"))
    return found._replace(trace=SearchTrace(tuple(stages), total_ms))


def _stage_of(name: str) -> str:
    return next((stage for stage, *starts in _STAGES if any(name.startswith(start) for start in starts)), "other")
