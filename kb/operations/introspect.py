"""What this kb can do and what its knowledge base holds: `kb schema` (frozen design §10.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kb.config import Config
from kb.errors import NotIndexed
from kb.extract.registry import EXTRACTORS, STEPPED_EXTRACTORS
from kb.language.korean import analysis_version
from kb.operations.index_version import index_version
from kb.operations.inspect import corpus_stats
from kb.operations.reading import reading
from kb.store.inspect_queries import CorpusStats

# What an agent may build on. A capability that is not here yet stands as False, so that it can be asked for.
CAPABILITIES: Mapping[str, bool] = {
    "search_lexical": True,
    "search_vector": False,
    "search_hybrid": False,
    "bulk_search": True,
    "ask": True,
    "mcp": False,
    "json": True,
    "ingest_progress": True,
}


class Introspection(NamedTuple):
    """Versions and capabilities of this kb; `stats` is None before the first `kb init`."""

    capabilities: Mapping[str, bool]
    versions: Mapping[str, str]
    stats: CorpusStats | None


def introspect(config: Config) -> Introspection:
    """What this kb can do, the versions its results depend on, and what is indexed."""
    versions = {f"parser.{family}": extractor.parser_version for family, extractor in EXTRACTORS.items()}
    versions |= {f"parser.{family}": extractor.parser_version for family, extractor in STEPPED_EXTRACTORS.items()}
    versions |= {
        "chunker": config.chunking.chunker_version,
        "korean": analysis_version(),
        "index": index_version(),
    }
    try:
        with reading(config.sqlite) as reader:
            stats = corpus_stats(reader.db)
    except NotIndexed:
        stats = None
    return Introspection(CAPABILITIES, versions, stats)
