"""One connection to the knowledge base with what was found through it: the index version, the encoders, the ranker.

All of it is found out when it is first needed, and again after the database or an installed model has changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from kb.config import Config
from kb.domain.filters import SearchFilters
from kb.domain.search import SearchDefaults, SearchMode
from kb.operations.opening.reader import index_version
from kb.operations.session.loaded_models import LoadedModels
from kb.store.connection import Connection, data_version, snapshot
from kb.store.schema_version import require_known_schema

if TYPE_CHECKING:
    from kb.domain.candidates import PairOrder
    from kb.operations.session.exposure import Audience
    from kb.operations.session.vectors import VectorSource


class KnowledgeBase:
    """An open knowledge base; one thread uses it at a time."""

    def __init__(
        self, db: Connection, config: Config, models: LoadedModels, *, many: bool, audience: Audience | None = None
    ) -> None:
        """`audience` does not see what is kept from it; None is the owner, who sees all."""
        self.db = db
        self.config = config
        self.models = models
        self._many = many
        self._has_vector_functions = False
        self._data_version = data_version(db)
        self.hides = False
        self._audience = audience
        self._given = config
        self._is_hidden = False
        self._hide()

    @property
    def defaults(self) -> SearchDefaults:
        """How a question is asked where it does not say itself."""
        return search_defaults(self.config)

    @cached_property
    def index_version(self) -> str:
        """What the rows of the lexical index were built with."""
        return index_version(self.db)

    @cached_property
    def vectors(self) -> VectorSource:
        """What encodes questions; sqlite-vec and `maxsim` are loaded with it.

        Raises: ModelMissing where there are no vectors or no model, and looks again the next time; ModelError where the
        index holds another model's.
        """
        from kb.operations.session.vectors import VectorSource
        from kb.retrieve.maxsim import add_maxsim
        from kb.store.mirror import load_vector_functions

        source = VectorSource(self.db, self.config, self.models, many=self._many)
        if not self._has_vector_functions:
            load_vector_functions(self.db)
            add_maxsim(self.db)
            self._has_vector_functions = True
        return source

    @property
    def pair_order(self) -> PairOrder | None:
        """The cross-encoder that puts the first hits of a hybrid question in order; None where none is configured.

        Raises: ConfigError, ModelMissing, ModelCorrupt.
        """
        if self.config.rerank.provider == "none":
            return None
        from kb.operations.session.pair_scorers import configured_pair_order

        return configured_pair_order(self.config, self.models)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Inside, the knowledge base stays as it is now, whatever others write meanwhile."""
        try:
            with snapshot(self.db):
                self.refresh()
                yield
        except BaseException:
            self._is_hidden = False  # it was rolled back with all else
            raise

    def visible(self, filters: SearchFilters) -> SearchFilters:
        """The filters, among what this knowledge base shows."""
        return filters._replace(among_visible=True) if self.hides else filters

    def hidden_from_models(self) -> frozenset[str]:
        """The paths of documents that no language model is given to read; what is hidden here is not among the hits."""
        if self._audience == "agent":
            return frozenset()
        from kb.operations.session.exposure import hidden_paths, rules_for

        return hidden_paths(self.db, rules_for(self.config, "model"))

    def take_rules(self, config: Config) -> None:
        """From the next `refresh` on, what is hidden is hidden by the rules of this configuration."""
        if config.exposure != self._given.exposure:
            self._given = config
            self._is_hidden = False

    def refresh(self) -> None:
        """Forgets what was found out before the database or an installed model changed. Raises: SchemaTooNew."""
        seen = data_version(self.db)
        if seen != self._data_version:
            require_known_schema(self.db)
            self._data_version = seen
            self._is_hidden = False
            self._forget()
        elif "vectors" in self.__dict__ and not self.vectors.models_are_installed():
            self._forget()
        self._hide()

    def _hide(self) -> None:
        """Hides what the audience does not see, by the documents as they are now. Raises: ConfigError."""
        if self._audience is None or self._is_hidden:
            return
        from kb.operations.session.exposure import hide_answers, hide_documents, rules_for

        self._forget()
        rules = rules_for(self._given, self._audience)
        self.hides = hide_documents(self.db, rules) > 0
        if self._audience == "page":
            hide_answers(self.db, rules)  # agents are shown none
        # Words that only hidden documents have must not be offered for a slip.
        self.config = self._given.with_search(correct_typos=False, both_scripts=False) if self.hides else self._given
        self._is_hidden = True

    def _forget(self) -> None:
        for name, member in vars(type(self)).items():
            if isinstance(member, cached_property):
                self.__dict__.pop(name, None)


def search_defaults(config: Config) -> SearchDefaults:
    """How a question is asked, and answered, that does not say itself."""
    search = config.search
    mode: SearchMode = search.mode  # type: ignore[assignment]  # `config` has checked it
    return SearchDefaults(mode, search.default_k, config.rag.max_context_tokens)
