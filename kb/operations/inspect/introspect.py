"""What this kb can do and what its knowledge base holds: `kb schema` (frozen design §10.1)."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kb.domain.kinds import KINDS
from kb.domain.results.inspection import CorpusStats, Introspection
from kb.domain.search import SearchMode
from kb.errors import NotIndexed
from kb.extract.registry import extractor_of
from kb.language.korean import analysis_version
from kb.operations.inspect.capabilities import SEARCH_MODES, capabilities, search_modes
from kb.operations.inspect.inspect import corpus_stats
from kb.operations.session.session import Session
from kb.store.mirror import mirrored


def introspect(session: Session, commands: Collection[str]) -> Introspection:
    """What can be done here and now, the versions its results depend on, and what is indexed.

    `commands` are those the program has.
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
