"""Decides which documents are hidden from agents, language models and the page, and hides them from a connection.

They are hidden in SQL: temporary views take the names of the tables and leave them out (`sql/exposure/hide.sql`), so
that no tool, id, error or later statement can reach them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, NamedTuple

from kb.config import Config
from kb.domain.ids import content_hash
from kb.domain.ingest_events import IngestCounts
from kb.domain.sources import Sources
from kb.domain.text import stored_text
from kb.errors import ConfigError, NotIndexed
from kb.store import queries
from kb.store.connection import Connection, snapshot

if TYPE_CHECKING:
    from kb.operations.opening.base import Base

_REVISION_DIGITS = 12  # every JSON reader keeps so large a number whole

Audience = Literal["agent", "model", "page"]
"""`agent`: who asks through `kb mcp`; `model`: the language model that writes answers; `page`: `kb web`'s."""


class Rules(NamedTuple):
    """What to hide from an audience: documents with one of the tags, and paths that match a glob (gitignore syntax).

    A glob applies to paths within each of the `sources`, and to whole stored paths. Everything in `kept_sources` is
    hidden. `sources` None: globs apply to stored paths only.
    """

    tags: tuple[str, ...]
    globs: tuple[str, ...]
    sources: Sources | None = None
    kept_sources: tuple[str, ...] = ()

    def matches(self) -> Callable[[str], bool]:
        """A function that tells whether a path matches a glob or is in a hidden source. Raises: ConfigError."""
        named, sources = _matcher(self.globs), self.sources
        if sources is None or not sources.further:
            return named

        def is_kept(path: str) -> bool:
            source, relative = sources.place(path)
            return source.name in self.kept_sources or named(path) or (relative != path and named(relative))

        return is_kept


def rules_for(config: Config, audience: Audience) -> Rules:
    """The rules of a configuration for an audience, with the tags that hide a document by themselves.

    Rules for language models also apply to agents.
    """
    exposure = config.exposure
    model = ("#never-to-llm", *exposure.never_to_llm)
    written = {
        "agent": ("#never-to-mcp", *exposure.never_to_mcp, *model),
        "model": model,
        "page": ("#never-to-web", *exposure.never_to_web),
    }[audience]
    keys = {"agent": ("never_to_mcp", "never_to_llm"), "model": ("never_to_llm",), "page": ("never_to_web",)}[audience]
    sources = config.sources
    kept = tuple(each.name for each in sources.further if set(keys).intersection(each.kept_from))
    return parsed_rules(written)._replace(sources=sources, kept_sources=kept)


def parsed_rules(written: Sequence[str]) -> Rules:
    """Parses rules: tags, which begin with `#`, and globs."""
    tags = tuple(dict.fromkeys(_folded(rule) for rule in written if rule.startswith("#")))
    globs = tuple(dict.fromkeys(stored_text(rule) for rule in written if not rule.startswith("#")))
    return Rules(tuple(tag for tag in tags if tag), globs)


def hide_documents(db: Connection, rules: Rules) -> int:
    """Hides the documents that the rules name from the connection; returns how many.

    Raises: ConfigError for a malformed glob: kb shows nothing if it cannot tell what to hide.
    """
    with snapshot(db):  # the indexes are copied as they are at one moment
        hidden = [row.doc_id for row in _hidden_documents(db, rules)]
        queries.open_hidden(db)
        queries.insert_hidden(db, doc_ids_json=json.dumps(hidden))
        queries.show(db)
        if hidden:
            queries.hide(db)
        queries.show_counts(db)
        queries.insert_shown_revision(db, revision=_shown_revision(db))
    return len(hidden)


def _shown_revision(db: Connection) -> int:
    """A number that changes only with the documents that the connection sees, unlike the corpus revision."""
    state = "\n".join(map(repr, queries.select_shown_state(db)))
    return int(content_hash(state.encode())[:_REVISION_DIGITS], 16)


def hide_answers(db: Connection, rules: Rules) -> None:
    """Hides answers, conversations and evaluations that were made from hidden documents.

    A glob also hides those that cite a path without a document.
    """
    queries.open_hidden_paths(db)
    matches = rules.matches()
    cited = [row.workspace_path for row in queries.select_cited_paths(db) if matches(row.workspace_path)]
    queries.insert_hidden_paths(db, paths_json=json.dumps(cited, ensure_ascii=False))
    found = queries.count_hidden_paths(db)
    queries.show_answers(db)
    if found is not None and found.hidden:
        queries.hide_answers(db)


def hidden_paths(db: Connection, rules: Rules) -> frozenset[str]:
    """The paths of the documents that the rules name; hides nothing."""
    return frozenset(row.workspace_path for row in _hidden_documents(db, rules))


def kept_from_models(config: Config) -> Callable[[str], bool]:
    """A function that tells whether models may not read a path. Pictures have no tags: paths alone decide."""
    return named_by(rules_for(config, "model"))


def named_by(rules: Rules) -> Callable[[str], bool]:
    """A function that tells whether the globs of the rules match a path. Raises: ConfigError for a malformed glob."""
    matches = rules.matches()
    return lambda path: matches(stored_text(path))


def no_path(path: str) -> bool:
    """False for every path: nothing is hidden."""
    return False


class ShownDocuments(NamedTuple):
    """The documents below a path that an agent sees, by their paths.

    `hides` tells whether a path is hidden; `is_hidden`: there are documents below the path, and all are hidden.
    """

    documents: Mapping[str, queries.ShownState]
    hides: Callable[[str], bool]
    is_hidden: bool

    def changes_since(self, before: ShownDocuments) -> IngestCounts:
        """The changes that the agent can see; a document that became hidden counts as removed."""
        counts = IngestCounts()
        gone = Counter(row.asset_id for path, row in before.documents.items() if path not in self.documents)
        counts.removed = gone.total()
        for path, row in self.documents.items():
            if path in before.documents:
                counts.add("unchanged" if row == before.documents[path] else "updated")
            elif gone[row.asset_id]:
                gone[row.asset_id] -= 1
                counts.removed -= 1
                counts.add("moved")
            else:
                counts.add("new")
        return counts


def shown_below(base: Base, scope: str) -> ShownDocuments:
    """The documents that an agent sees below a path ("" is everything); empty before the first ingest."""
    rules = rules_for(base.config, "agent")
    named, sources = rules.matches(), base.config.sources
    hidden, rows = frozenset[str](), list[queries.ShownState]()
    with suppress(NotIndexed), base.reading() as base:
        hidden, rows = hidden_paths(base.db, rules), queries.select_shown_state(base.db)

    def is_below(path: str) -> bool:
        return sources.is_below(path, scope)

    def hides(path: str) -> bool:
        return path in hidden or named(path) or named(f"{path}/_")

    documents = {row.workspace_path: row for row in rows if is_below(row.workspace_path)}
    only_hidden = not documents and (any(map(is_below, hidden)) or (scope != "" and hides(scope)))
    return ShownDocuments(documents, hides, only_hidden)


def _hidden_documents(db: Connection, rules: Rules) -> list[queries.DocumentPath]:
    """The documents that the rules name, including those hidden from the connection."""
    named = [row.tag for row in queries.select_tags(db) if _is_below(_folded(row.tag), rules.tags)]
    tagged = {row.doc_id for row in queries.select_tagged(db, tags_json=json.dumps(named, ensure_ascii=False))}
    known = rules.sources and {each.name for each in rules.sources.every}
    gone = {row.source for row in queries.select_document_sources(db) if known is not None} - (known or set())
    if not (tagged or gone or rules.globs or rules.kept_sources):
        return []
    matches = rules.matches()
    return [
        row
        for row in queries.select_all_paths(db)
        if row.doc_id in tagged or row.source in gone or matches(row.workspace_path)
    ]


def _folded(tag: str) -> str:
    """A tag in the form in which rules are compared: `Never_to_MCP` becomes `never-to-mcp`."""
    return stored_text(tag).removeprefix("#").strip().casefold().replace("_", "-")


def _is_below(tag: str, rules: Sequence[str]) -> bool:
    return any(tag == rule or tag.startswith(f"{rule}/") for rule in rules)


def _matcher(globs: Sequence[str]) -> Callable[[str], bool]:
    """A function that tells whether a path matches one of the globs. Raises: ConfigError for a malformed glob."""
    if not globs:
        return no_path
    from kb.domain.gitignore import MalformedPattern, PathPatterns

    try:
        return PathPatterns(globs).matches
    except MalformedPattern as error:
        raise ConfigError(
            f"exposure: {error}", "globs are as in .gitignore, e.g. 'private/**'; a tag is '#secret'"
        ) from error
