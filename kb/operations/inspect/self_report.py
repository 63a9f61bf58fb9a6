"""The report of `kb schema`: tested capabilities, versions, and counts of the index."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from kb.config import Config
from kb.domain.kinds import KINDS
from kb.domain.results.inspection import CorpusStats, Introspection
from kb.domain.search import SearchMode, SearchQuery
from kb.errors import KbError, NotIndexed
from kb.extract.registry import EXTRACTORS, Step, extractor_of
from kb.language.korean import analysis_version
from kb.operations.ask.language_model import can_generate
from kb.operations.ingest.engines import Engines
from kb.operations.ingest.requests import extraction_plan
from kb.operations.inspect.inspect import corpus_stats
from kb.operations.opening.base import Base
from kb.operations.search.search import search
from kb.store.mirror import mirrored

SEARCH_MODES: tuple[SearchMode, ...] = ("lexical", "vector", "hybrid")

_PROBE = "kb"


def search_modes(base: Base) -> Mapping[SearchMode, bool]:
    """Whether each search mode works, found out by a search in each."""

    def is_answered(mode: SearchMode) -> bool:
        return search(base, SearchQuery(_PROBE, mode, 1)).query.mode == mode

    return {mode: _works(is_answered, mode) for mode in SEARCH_MODES}


def capabilities(config: Config, modes: Mapping[SearchMode, bool], commands: Collection[str]) -> Mapping[str, bool]:
    """Whether each capability is available, by name.

    `ask` at least answers in quoted sentences; `ask_generated` needs a language model. `ingest_*` are kinds of files
    that can be read, `extract_*` results that engines can derive.
    """
    engines = Engines(extraction_plan(config).settings)

    def has_engine(step: Step) -> bool:
        return engines.engine_of(step) is not None

    steps = {step.name: step for extractor in EXTRACTORS.values() for step in extractor.steps}
    return {
        **{f"search_{mode}": works for mode, works in modes.items()},
        "ask": "ask" in commands and modes["lexical"],
        "ask_generated": "ask" in commands and modes["lexical"] and can_generate(config),
        "mcp": "mcp" in commands,
        **{f"ingest_{family}": _works(engines.can_read, family) for family in KINDS.families},
        **{f"extract_{name.replace('-', '_')}": _works(has_engine, step) for name, step in steps.items()},
    }


def _works(probe: Callable[..., bool], *arguments: object) -> bool:
    """The result of the probe; False if it raises a KbError."""
    try:
        return probe(*arguments)
    except KbError:
        return False


def introspect(session: Base, commands: Collection[str]) -> Introspection:
    """The capabilities, the versions that results depend on, and the counts of the index.

    `commands` are the names of the program's commands.
    """
    config = session.config
    versions = {f"parser.{family}": extractor_of(family).parser_version for family in KINDS.families}
    versions |= {
        "chunker": config.chunking.chunker_version,
        "korean": analysis_version(),
        "prompt_template": config.rag.prompt_template_version,
    }
    stats: CorpusStats | None = None
    modes: Mapping[SearchMode, bool] = dict.fromkeys(SEARCH_MODES, False)
    try:
        with session.reading() as base:
            stats = corpus_stats(base.db)
            versions["index"] = base.index_version
            if (held := mirrored(base.db)) is not None:
                versions["embedding.primary"] = f"{held.model_id} {held.model_version}"
            modes = search_modes(base)
    except NotIndexed:
        pass
    return Introspection(capabilities(config, modes, commands), versions, stats)
