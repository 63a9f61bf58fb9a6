"""An open knowledge base, for one question or many; every question sees its present state.

A long-running process keeps one `Base`. Another process may change documents, vectors, models or the schema, or replace
the file: the next question sees the new state. The configuration stays as it was given, except for the rules that hide
documents from an audience, which are read again when the configuration file changes.

Several threads may ask at once: `reading` gives each a connection, and they share the loaded models.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING, TypeAlias

from kb.config import Config, default_path, with_exposure_now
from kb.domain.filters import SearchFilters
from kb.domain.search import SearchDefaults, SearchMode
from kb.errors import StoreError
from kb.operations.opening.loaded_models import LoadedModels
from kb.retrieve.index import Index
from kb.store import queries
from kb.store.connection import (
    Connection,
    data_version,
    latest_version,
    open_reader,
    open_versioned,
    require_known_schema,
    schema_state,
    snapshot,
    sqlite_errors,
)

if TYPE_CHECKING:
    from kb.domain.answers import PassageJudge
    from kb.domain.search import PairOrder
    from kb.operations.opening.exposure import Audience
    from kb.operations.opening.vectors import VectorSource

# Device and inode: while a file is open, no other file has the same pair.
FileIdentity: TypeAlias = tuple[int, int]
# Identity, size and time of a file: they differ once it has been written.
_FileState: TypeAlias = tuple[int, ...]

# How long a question waits for another process to migrate, and how often it looks.
MOST_WAIT_S = 60
PAUSE_S = 0.05


class Base:
    """A configuration with loaded models, and the connections that nobody reads from."""

    def __init__(
        self,
        config: Config,
        *,
        many: bool = False,
        audience: Audience | None = None,
        models: LoadedModels | None = None,
    ) -> None:
        """Opens nothing before it is needed, so a base may be made before there is a file.

        `many` prepares for many questions, for example by the ANN index of a large base; without it the first answer
        comes sooner. The `audience` does not see what is hidden from it; None is the owner, who sees all. `models` are
        taken if they are of the configured folder.
        """
        if models is None or models.model_dir != config.model_dir:
            models = LoadedModels(config.model_dir, many=many)
        self.models = models
        self._config = config
        self._many = many
        self._audience = audience
        self._rules_of: _FileState | None = None
        self._free: list[tuple[FileIdentity | None, ConnectedBase]] = []
        self._opening = Lock()
        self._closed = Event()

    @property
    def config(self) -> Config:
        """The configuration, with this audience's rules as the file has them now. Raises: ConfigError."""
        if self._audience is not None:
            now = _state_of(self._config.owner or self._config.file or default_path(os.environ))
            if now != self._rules_of:
                self._config = with_exposure_now(self._config)
                self._rules_of = now
        return self._config

    @property
    def sees_all(self) -> bool:
        """Whether this base is the owner's, from whom nothing is hidden."""
        return self._audience is None

    @property
    def defaults(self) -> SearchDefaults:
        """The settings of a question that does not give its own."""
        config = self.config
        mode: SearchMode = config.search.mode  # type: ignore[assignment]  # `config` has checked it
        return SearchDefaults(mode, config.search.default_k, config.rag.max_context_tokens)

    @property
    def pair_order(self) -> PairOrder | None:
        """The owner's cross-encoder that orders the first hits of a hybrid question; None if none is configured.

        Raises: ConfigError, ModelMissing, ModelCorrupt.
        """
        if not self.config.rerank.has_cross_encoder:
            return None
        from kb.operations.opening.vectors import configured_pair_order

        return configured_pair_order(self.config, self.models)

    @property
    def judge(self) -> PassageJudge | None:
        """The model that reads a question and a passage together; None if none is installed or to be used."""
        if self.config.models_embedding.provider == "none":
            return None
        return self.models.judge()

    @contextmanager
    def reading(self) -> Iterator[ConnectedBase]:
        """Gives this base with a connection, in the present state, for this thread until the block ends.

        Inside another `reading` it gives the same base. A file of an older schema is migrated first. Raises:
        NotIndexed, NotAKnowledgeBase, SchemaTooNew, StoreCorrupt; StoreReadOnly if it cannot be migrated.
        """
        config, sqlite = self.config, self.config.sqlite
        file = _identity(sqlite)  # before it is opened: a file that replaces it is noticed by the next question
        base = self._free_one(file)
        whole = True
        try:
            with sqlite_errors(sqlite):
                if base is None:
                    with self._opening:  # two that migrate at once would be in each other's way
                        base = ConnectedBase(self, open_current(sqlite))
                base.refresh(config)
                yield base
        except StoreError:
            whole = False
            raise
        finally:
            if base is not None and whole and not self._closed.is_set():
                self._free.append((file, base))
            elif base is not None:
                base.db.close()

    @contextmanager
    def reading_views(self) -> Iterator[ConnectedBase]:
        """As `reading`, but first brings the database's views up to date; questions read tables and need none."""
        with self.reading() as base:
            is_current = _has_our_views(base.db)
        if not is_current:
            _migrate(self.config.sqlite, _has_our_views)
        with self.reading() as base:
            yield base

    @contextmanager
    def snapshot(self) -> Iterator[ConnectedBase]:
        """As `reading`, but inside the block the state stays the same, whatever others write meanwhile."""
        with self.reading() as base, base.snapshot():
            yield base

    def close(self) -> None:
        """Closes the unused connections; a connection in use is closed when its `reading` ends."""
        self._closed.set()
        while self._free:
            self._free.pop()[1].db.close()

    def _free_one(self, file: FileIdentity | None) -> ConnectedBase | None:
        """An unused connection to the present file, if any; closes connections to a file that was replaced."""
        while True:
            try:
                opened, base = self._free.pop()
            except IndexError:
                return None
            if opened == file:
                return base
            base.db.close()


class ConnectedBase(Base):
    """A base with the connection of one thread, as `Base.reading` gives it.

    Everything that is read through the connection is cached, and read again after the database or an installed model
    has changed. `hides`: something is hidden from the audience.
    """

    def __init__(self, base: Base, db: Connection) -> None:
        """Takes the models of `base`."""
        super().__init__(base._config, many=base._many, audience=base._audience, models=base.models)
        self.db = db
        self.hides = False
        self._given = self._config
        self._data_version = data_version(db)
        self._is_hidden = False
        self._in_snapshot = False
        self._has_vector_functions = False

    @property
    def config(self) -> Config:
        """The configuration, without what would show words that only hidden documents have."""
        return self._config

    @contextmanager
    def reading(self) -> Iterator[ConnectedBase]:
        """Gives this base itself."""
        yield self

    @contextmanager
    def snapshot(self) -> Iterator[ConnectedBase]:
        """Gives this base itself, with its state as it is now until the block ends."""
        if self._in_snapshot:
            yield self
            return
        try:
            with snapshot(self.db):
                self._in_snapshot = True
                self.__dict__.pop("index", None)
                self.refresh(self._given)
                yield self
        except BaseException:
            self._is_hidden = False  # it was rolled back with all else
            raise
        finally:
            self._in_snapshot = False

    @cached_property
    def index(self) -> Index:
        """The lexical index in the present state; each snapshot has its own."""
        return Index(self.db)

    @cached_property
    def index_version(self) -> str:
        """The version of what built the rows of the lexical index."""
        return index_version(self.index.state)

    @cached_property
    def vectors(self) -> VectorSource:
        """The encoder of questions; loads sqlite-vec and `maxsim` into the connection.

        Raises: ModelMissing if there are no vectors or no model (the next call looks again); ModelError if the index
        has vectors of another model.
        """
        from kb.operations.opening.vectors import VectorSource
        from kb.retrieve.search import add_maxsim
        from kb.store.mirror import load_vector_functions

        source = VectorSource(self.index, self.config, self.models, many=self._many)
        if not self._has_vector_functions:
            load_vector_functions(self.db)
            add_maxsim(self.db)
            self._has_vector_functions = True
        return source

    def visible(self, filters: SearchFilters) -> SearchFilters:
        """The filters, limited to the documents that the audience sees."""
        return filters._replace(among_visible=True) if self.hides else filters

    def hidden_from_models(self) -> frozenset[str]:
        """The paths that no language model may read; empty for an agent, which does not see them anyway."""
        if self._audience == "agent":
            return frozenset()
        from kb.operations.opening.exposure import hidden_paths, rules_for

        return hidden_paths(self.db, rules_for(self.config, "model"))

    @property
    def hides_path(self) -> Callable[[str], bool] | None:
        """Whether a file is hidden from the audience by its path; None if no path is. Raises: ConfigError."""
        if self._audience is None:
            return None
        from kb.operations.opening.exposure import rules_for

        rules = rules_for(self._given, self._audience)
        return rules.matches() if rules.globs or rules.kept_sources else None

    def refresh(self, config: Config) -> None:
        """Drops what was cached before the database, the rules or an installed model changed. Raises: SchemaTooNew."""
        given = self._given
        if config is not given and (config.exposure, config.sources) != (given.exposure, given.sources):
            self._given, self._is_hidden = config, False
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
        """Hides from the connection what the audience must not see of the present documents. Raises: ConfigError."""
        if self._audience is None or self._is_hidden:
            return
        from kb.operations.opening.exposure import hide_answers, hide_documents, rules_for

        self._forget()
        rules = rules_for(self._given, self._audience)
        self.hides = hide_documents(self.db, rules) > 0
        if self._audience == "page":
            hide_answers(self.db, rules)  # agents are shown none
        # Words that only hidden documents have must not be offered for a slip.
        given = self._given
        self._config = given.with_search(correct_typos=False, both_scripts=False) if self.hides else given
        self._is_hidden = True

    def _forget(self) -> None:
        for name in ("index", "index_version", "vectors"):
            self.__dict__.pop(name, None)


@contextmanager
def open_base(config: Config, *, many: bool = False, audience: Audience | None = None) -> Iterator[Base]:
    """A base that is closed at the end of the block."""
    with closing(Base(config, many=many, audience=audience)) as base:
        yield base


def index_version(state: queries.IndexState) -> str:
    """The version of what built the rows of the lexical index: `<definition>/<analyser>/<words>`.

    If some documents were not read again since a change of kb, their versions are joined by `+`.
    """
    makers = sorted({maker_of(pipeline_version) for pipeline_version in json.loads(state.pipelines_json)})
    return "/".join([state.fts_version, *(["+".join(makers)] if makers else [])])


def maker_of(pipeline_version: str) -> str:
    """The part of a pipeline version that made the indexed words: the analyser, and the rule for names and headings."""
    return "/".join(pipeline_version.rsplit("/", 2)[-2:])


def open_current(sqlite: Path) -> Connection:
    """A read-only connection to a file with this kb's schema; a file of an older schema is migrated first.

    Raises: NotIndexed, NotAKnowledgeBase, SchemaTooNew, StoreCorrupt; StoreReadOnly if it cannot be migrated; StoreBusy
    if a running older kb prevents that.
    """
    db, version = open_versioned(sqlite)
    if version != latest_version():
        db.close()
        _migrate(sqlite, lambda migrated: schema_state(migrated).schema_version == latest_version())
        db = open_reader(sqlite)
    return db


def _has_our_views(db: Connection) -> bool:
    """Whether the views are those of this kb; an older kb may have made them, or somebody dropped one."""
    from kb.store.migrate import is_current

    return is_current(db)


def _migrate(sqlite: Path, is_current: Callable[[Connection], bool]) -> None:
    """Migrates the file, or waits for another process that does so, until `is_current` is true.

    Raises: StoreReadOnly; StoreBusy if an older kb keeps writing.
    """
    import time

    from kb.errors import StoreBusy
    from kb.operations.opening.writing import writing

    last_try = time.monotonic() + MOST_WAIT_S
    while True:
        try:
            with writing(sqlite):
                return
        except StoreBusy:
            if time.monotonic() >= last_try:
                raise
        time.sleep(PAUSE_S)
        with closing(open_reader(sqlite)) as db:
            if is_current(db):
                return


def _state_of(path: Path) -> _FileState:
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _identity(path: Path) -> FileIdentity | None:
    found = _state_of(path)
    return (found[0], found[1]) if found else None
