"""kb for Python programs: the commands as typed methods of an open knowledge base.

    from kb import open_knowledge_base

    with open_knowledge_base() as base:
        for hit in base.search("retry backoff", k=3).hits:
            print(hit.citation.to_uri(), hit.snippet)

Everything that is imported from `kb` itself is public, with the fields of what its methods return and `kb.errors`; it
changes as semantic versioning says. All else may change with any version. Errors are those of `kb.errors`: each has a
`code`, a message and, mostly, a `hint`.
"""

from __future__ import annotations

import json
import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeAlias, get_args

from kb.config import Config, load
from kb.domain.answers import Answer, AnswerCitation, AskEvent
from kb.domain.citations import Citation
from kb.domain.filters import FILTERS, Filter, SearchFilters
from kb.domain.ingest_events import IngestEvent
from kb.domain.results.answers import AnswerCheck, AnswerSummary, Conversation
from kb.domain.results.evaluation import RunReport
from kb.domain.results.fetched import Fetched, FetchedPlace, FetchRequest, FetchTarget
from kb.domain.results.ingest import Added, IngestReport
from kb.domain.results.inspection import BaseStatus, Listed, ListedKind
from kb.domain.results.searching import SearchPage
from kb.domain.run_handle import RunHandle, StepProgress
from kb.domain.search import MODES, SearchMode, SearchQuery, SearchResponse, SearchResult, Sort
from kb.domain.search import Passage as SearchHit
from kb.errors import UsageError
from kb.operations.opening.base import Base
from kb.wire.agents import FoundPassages
from kb.wire.derive import is_record, to_wire

__all__ = [
    "Added",
    "Answer",
    "AnswerCheck",
    "AnswerCitation",
    "AnswerSummary",
    "AskEvent",
    "BaseStatus",
    "Citation",
    "Conversation",
    "FetchTarget",
    "Fetched",
    "FetchedPlace",
    "IngestEvent",
    "IngestReport",
    "KnowledgeBase",
    "Listed",
    "RunHandle",
    "RunReport",
    "SearchFilters",
    "SearchHit",
    "SearchPage",
    "SearchResult",
    "StepProgress",
    "open_knowledge_base",
    "to_json",
]

OnEvent: TypeAlias = Callable[[Any], None]
"""Receives the events of a long call: `IngestEvent` of an ingest, `AskEvent` of `ask`, `StepProgress` of `evaluate`."""

_EVERYTHING = SearchFilters()
_PATH = (str, os.PathLike)


def to_json(result: object) -> str:
    """A result as JSON, as the commands print it with `--json`: the objects of docs/wire-schema.

    Raises: UsageError for what is no result of kb.
    """
    if not is_record(type(result)):
        raise UsageError(f"{result!r} is no result of kb", "what a method of a knowledge base returns")
    if isinstance(result, SearchResult):
        result = SearchResponse(result)
    elif isinstance(result, SearchPage):
        result = FoundPassages(result)
    return json.dumps(to_wire(result), ensure_ascii=False)


def open_knowledge_base(
    config: str | os.PathLike[str] | None = None,
    *,
    settings: Mapping[str, object] | None = None,
    audience: Literal["agent"] | None = None,
) -> KnowledgeBase:
    """Opens the knowledge base that a configuration file names.

    `config` None takes the file that the command `kb` would take: `KB_CONFIG`, else the file that `kb init` wrote.
    `settings` override the file, by the names of docs/configuration.md: `{"search.default_k": 5}`. Opening reads no
    database, so there may be no index yet. With `audience="agent"`, calls do not see what `exposure.never_to_mcp`
    hides.

    kb changes neither the environment nor the umask of the program; files that kb makes are private to the user anyway.
    Raises: ConfigNotFound, ConfigError.
    """
    _require(config=(config, (*_PATH, None)), settings=(settings, (Mapping, None)))
    if audience not in (None, "agent"):
        raise UsageError(f"there is no audience {audience!r}", '"agent", or none')
    flags = [f"{name}={_flag(value)}" for name, value in (settings or {}).items()]
    return KnowledgeBase(load(None if config is None else os.fspath(config), flags), audience)


class KnowledgeBase:
    """An open knowledge base. Calls see what other processes have ingested; several threads may use it at once."""

    def __init__(self, config: Config, audience: Literal["agent"] | None = None) -> None:
        """Use `open_knowledge_base`."""
        self._base: Base | None = Base(config, many=True, audience=audience)
        self._end = weakref.finalize(self, self._base.close)  # also of one that nobody closes

    def __enter__(self) -> KnowledgeBase:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes its connections; a second call does nothing."""
        self._base = None
        self._end()

    @property
    def root(self) -> Path:
        """The folder whose files are indexed."""
        return self._open.config.workspace_root

    @property
    def path(self) -> Path:
        """The SQLite file."""
        return self._open.config.sqlite

    def search(
        self,
        text: str,
        *,
        k: int | None = None,
        mode: SearchMode | None = None,
        filters: SearchFilters = _EVERYTHING,
        sort: Sort = "score",
    ) -> SearchResult:
        """Finds the best passages, at most `k`, as `kb search` does; `hits` is empty where there are none.

        `k` and `mode` None: as configured. Sorted by "date", the newest of the candidates with its words come first.
        Raises: NotIndexed before the first ingest; QuerySyntaxError; ModelError for "vector" without vectors.
        """
        from kb.operations.search.search import search

        if sort not in ("score", "date"):
            raise UsageError(f"sort is {sort!r}", "score or date")
        query = self._query(text, mode, k, filters)._replace(sort=sort)
        if not text.strip():
            raise UsageError("no question", 'example: base.search("retry backoff")')
        return search(self._open, query)

    def search_page(
        self,
        text: str,
        *,
        also: Sequence[str] = (),
        k: int | None = None,
        mode: SearchMode | None = None,
        filters: SearchFilters = _EVERYTHING,
        max_tokens: int | None = None,
        cursor: str | None = None,
    ) -> SearchPage:
        """A page of `k` hits, as many of them as `max_tokens` holds; `cursor=page.next_cursor` gives the next one.

        `also` are up to nine more questions, fused by rank. Raises: as `search`; InvalidCursor, StaleCursor.
        """
        from kb.operations.search.pages import search_page

        _require(cursor=(cursor, (str, None)), max_tokens=(max_tokens, (int, None)))
        if max_tokens is not None and max_tokens < 1:
            raise UsageError(f"a budget of {max_tokens} tokens", "at least 1")
        is_list = isinstance(also, Sequence) and not isinstance(also, str)
        if not is_list or not all(isinstance(each, str) and each.strip() for each in also) or len(also) > 9:
            raise UsageError(f"also is {also!r}", "a list of at most nine more questions")
        query = self._query(text, mode, k, filters)
        if not text.strip():
            raise UsageError("no question", 'example: base.search_page("retry backoff")')
        return search_page(self._open, query, also=tuple(also), cursor=cursor, max_tokens=max_tokens)

    def ask(
        self,
        question: str,
        *,
        k: int | None = None,
        mode: SearchMode | None = None,
        filters: SearchFilters = _EVERYTHING,
        provider: str | None = None,
        conversation: str | None = None,
        keep: bool = True,
        deep: bool = False,
        on_event: OnEvent | None = None,
        handle: RunHandle | None = None,
    ) -> Answer:
        """The answer with its citations, or the refusal: `state` is "answered", "unsure" or "refused".

        `provider` is "auto", "ollama", "llama_cpp" or "extractive"; `conversation` names one that is begun or goes on;
        `keep` False leaves no record of the answer; `deep` answers in steps, which are in `hops`. `on_event` takes what
        is found and written as it comes.
        Raises: UsageError for no question; ModelError where the model fails. Before the first ingest it refuses.
        """
        from kb.operations.ask.ask import ask
        from kb.operations.ask.findings import request_for
        from kb.operations.ask.language_model import require_provider

        base = self._open
        _require(conversation=(conversation, (str, None)), provider=(provider, (str, None)))
        _require(keep=(keep, (bool,)), deep=(deep, (bool,)))
        if provider is not None:
            require_provider(provider)
        query = self._query(question, mode, k, filters)
        request = request_for(query)._replace(provider=provider, session_id=conversation, keep=keep)
        if deep:
            request = request._replace(depth=base.config.rag.deep_steps)
        return ask(base, request, _handle(on_event, handle))

    def fetch(
        self,
        *places: str | FetchTarget,
        context_lines: int = 0,
        max_tokens: int | None = None,
        cursor: str | None = None,
    ) -> Fetched:
        """The text at citations, ids or paths, word for word; a place that is not there is among `failures`.

        `max_tokens` bounds all texts together; what did not fit comes with `cursor=fetched.next_cursor`.
        Raises: UsageError, InvalidCursor, StaleCursor; NotIndexed before the first ingest.
        """
        from kb.operations.fetch.fetch import fetch

        _require(
            context_lines=(context_lines, (int,)), max_tokens=(max_tokens, (int, None)), cursor=(cursor, (str, None))
        )
        for each in places:
            _require(place=(each, (str, FetchTarget)))
        targets = tuple(FetchTarget(each) if isinstance(each, str) else each for each in places)
        return fetch(self._open, FetchRequest(targets, context_lines, max_tokens, cursor))

    def list(self, what: ListedKind = "documents", *, glob: str | None = None) -> Iterator[Listed]:
        """Documents, folders, tags, frontmatter properties or symbols, by name; `glob` is over paths or names.

        Raises: StaleCursor where the corpus changes meanwhile: begin again; NotIndexed before the first ingest.
        """
        from kb.operations.inspect.listing import MOST_LISTED, list_things

        if what not in (kinds := get_args(ListedKind)):
            raise UsageError(f"there is no list of {what!r}", f"one of {', '.join(kinds)}")
        _require(glob=(glob, (str, None)))
        cursor = None
        while True:
            page = list_things(self._open, what, glob=glob, limit=MOST_LISTED, cursor=cursor)
            yield from page.items
            cursor = page.next_cursor
            if cursor is None:
                return

    def ingest(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        embed: bool = True,
        dry_run: bool = False,
        on_event: OnEvent | None = None,
        handle: RunHandle | None = None,
    ) -> IngestReport:
        """Updates the index from the files, or from those at `path`; `dry_run` only reports what it would do.

        Raises: UsageError for a path outside; StoreBusy while another ingest runs; DiskFull and other StoreErrors.
        A file that cannot be read is an item of the report.
        """
        from kb.operations.ingest.ingest import ingest
        from kb.operations.ingest.requests import ingest_request

        config = self._open.config
        _require(path=(path, (*_PATH, None)), embed=(embed, (bool,)), dry_run=(dry_run, (bool,)))
        below = None if path is None else os.fspath(path)
        request = ingest_request(config, below, dry_run=dry_run, allow_empty=False, embed=embed)
        return ingest(request, _handle(on_event, handle))

    def ingest_file(
        self,
        file: str | os.PathLike[str],
        data: bytes | None = None,
        *,
        title: str | None = None,
        source_uri: str | None = None,
        embed: bool = True,
        on_event: OnEvent | None = None,
        handle: RunHandle | None = None,
    ) -> Added:
        """Copies a file from elsewhere, or `data` under the name `file`, to `_external/` and indexes the copy.

        `title` and `source_uri` go into the frontmatter of Markdown. The same content twice is one copy.
        Raises: as `ingest`; UsageError for a file of the workspace, or of a kind that kb does not read; FileError.
        """
        from kb.operations.ingest.external import ExternalContent, add_external, read_external

        config = self._open.config
        _require(file=(file, _PATH), data=(data, (bytes, None)), embed=(embed, (bool,)))
        _require(title=(title, (str, None)), source_uri=(source_uri, (str, None)))
        name = os.fspath(file)
        content = read_external(config, name) if data is None else ExternalContent(data, name)
        content = content._replace(title=title, source_uri=source_uri)
        return add_external(config, content, _handle(on_event, handle), embed=embed)

    def evaluate(
        self,
        suite: str | os.PathLike[str] | None = None,
        *,
        k: int | None = None,
        mode: SearchMode | None = None,
        with_answers: bool = False,
        name: str | None = None,
        on_event: OnEvent | None = None,
        handle: RunHandle | None = None,
    ) -> RunReport:
        """Asks every question of a golden file, `eval.suite` without one, and keeps the run: `groups` has the metrics.

        Raises: GoldenInvalid with every fault of the file; NotIndexed before the first ingest; StoreBusy.
        """
        from kb.operations.evaluate.golden_sets import suite_file
        from kb.operations.evaluate.runs import RunRequest, run_suite

        base = self._open
        _require(suite=(suite, (*_PATH, None)), name=(name, (str, None)), with_answers=(with_answers, (bool,)))
        file = suite_file(base.config, None if suite is None else os.fspath(suite))
        asked = self._query("", mode, k)
        request = RunRequest(file, asked.mode, asked.k, name, with_answers)
        return run_suite(base, request, _handle(on_event, handle))

    def status(self) -> BaseStatus:
        """The counts of the index, its last update, what is missing. Raises: NotIndexed before the first ingest."""
        from kb.operations.inspect.status import base_status

        return base_status(self._open)

    def answers(self, limit: int | None = None) -> Sequence[AnswerSummary]:
        """The stored answers, the newest first."""
        from kb.operations.answers.records import list_answers

        _require(limit=(limit, (int, None)))
        if limit is not None and limit < 0:
            raise UsageError(f"limit is {limit}", "how many answers at most")
        return list_answers(self._open, limit)

    def answer(self, answer_id: str | None = None) -> Answer:
        """A stored answer, by its id or the start of it; the last one without. Raises: NotFound, InvalidId."""
        from kb.operations.answers.records import find_answer

        _require(answer_id=(answer_id, (str, None)))
        return find_answer(self._open, answer_id)

    def conversations(self) -> Sequence[Conversation]:
        """The conversations, the most recent first, without their turns."""
        from kb.operations.answers.records import list_sessions

        return list_sessions(self._open)

    def conversation(self, name: str) -> Conversation:
        """A conversation with its turns. Raises: NotFound."""
        from kb.operations.answers.records import show_session

        _require(name=(name, (str,)))
        return show_session(self._open, name)

    def verify(self, answer_id: str | None = None, *, every: bool = False) -> Sequence[AnswerCheck]:
        """Whether the quotations of a stored answer, or of `every` one, are still in the files.

        Raises: NotFound, InvalidId.
        """
        from kb.operations.answers.verify import verify

        _require(answer_id=(answer_id, (str, None)), every=(every, (bool,)))
        return verify(self._open, answer_id, every=every)

    def _query(
        self, text: str, mode: SearchMode | None, k: int | None, filters: SearchFilters = _EVERYTHING
    ) -> SearchQuery:
        """The question. Raises: UsageError for values that only a program without type checks gives."""
        if not isinstance(text, str):
            raise UsageError(f"a question is text, not {text!r}")
        if k is not None and not (type(k) is int and 1 <= k <= 1000):
            raise UsageError(f"k is {k!r}", "a whole number between 1 and 1000")
        if mode is not None and not (isinstance(mode, str) and mode in MODES):
            raise UsageError(f"there is no mode {mode!r}", f"one of {', '.join(MODES)}")
        if not isinstance(filters, SearchFilters) or not all(map(_is_given, FILTERS, [filters] * len(FILTERS))):
            raise UsageError(f"filters are {filters!r}", 'for example SearchFilters(tags_any=("infra",), lang="en")')
        return self._open.defaults.query(text, mode, k, filters)

    @property
    def _open(self) -> Base:
        if self._base is None:
            raise UsageError("this knowledge base is closed", "open it again with open_knowledge_base()")
        return self._base


def _is_given(taken: Filter, filters: SearchFilters) -> bool:
    """Whether the value of a filter has its type: texts, or a text or None."""
    value = getattr(filters, taken.field)
    if not taken.many:
        return value is None or isinstance(value, str)
    return isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)


def _handle(on_event: OnEvent | None, handle: RunHandle | None) -> RunHandle:
    """The handle of a long call. Raises: UsageError for both, or what is neither."""
    if handle is not None and (on_event is not None or not isinstance(handle, RunHandle)):
        raise UsageError(f"handle is {handle!r}", "RunHandle(on_event), without on_event=")
    if on_event is not None and not callable(on_event):
        raise UsageError(f"on_event is {on_event!r}", "a function that takes an event")
    return handle or (RunHandle() if on_event is None else RunHandle(on_event))


def _require(**given: tuple[object, tuple[type | None, ...]]) -> None:
    """Raises UsageError for a value that has none of its types; True and False are no numbers."""
    for name, (value, kinds) in given.items():
        types = tuple(kind for kind in kinds if kind is not None)
        is_of_them = isinstance(value, types) and (bool in kinds or not isinstance(value, bool))
        if is_of_them or (value is None and None in kinds):
            continue
        raise UsageError(f"{name} is {value!r}", " or ".join(kind.__name__ if kind else "None" for kind in kinds))


def _flag(value: object) -> str:
    """A setting as `--set` takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Iterable) and not isinstance(value, str):
        return ",".join(map(str, value))
    return str(value)
