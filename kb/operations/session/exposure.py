"""Which documents are kept from agents, language models and the page, and how a connection loses sight of them.

What is hidden is hidden in SQL: names of tables mean what is left (`sql/exposure/hide.sql`), so no tool, no id, no
error and no statement written later can reach past it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from kb.config import Config
from kb.domain.text import stored_text
from kb.errors import ConfigError
from kb.store.connection import Connection
from kb.store.rows import exposure_queries as queries

if TYPE_CHECKING:
    from kb.domain.ingest.gitignore import PathPatterns

Audience = Literal["agent", "model", "page"]
"""`agent`: who asks through `kb mcp`; `model`: the language model that writes answers; `page`: `kb web`'s."""


class Rules(NamedTuple):
    """What is kept from an audience: documents with a tag, and paths that match a glob (gitignore syntax)."""

    tags: tuple[str, ...]
    globs: tuple[str, ...]


def rules_for(config: Config, audience: Audience) -> Rules:
    """The rules of a configuration. An agent is a language model, too."""
    exposure = config.exposure
    written = {
        "agent": (*exposure.never_to_mcp, *exposure.never_to_llm),
        "model": exposure.never_to_llm,
        "page": exposure.never_to_web,
    }[audience]
    tags = tuple(dict.fromkeys(stored_text(rule[1:].strip()) for rule in written if rule.startswith("#")))
    globs = tuple(dict.fromkeys(stored_text(rule) for rule in written if not rule.startswith("#")))
    return Rules(tuple(tag for tag in tags if tag), globs)


def hide_documents(db: Connection, rules: Rules) -> int:
    """How many documents the connection does not see from now on, by its rules and the documents as they are now.

    Raises: ConfigError for a glob that is none: nothing is shown where it is not known what to hide.
    """
    list_hidden(db, rules)
    found = queries.count_hidden(db)
    hidden = 0 if found is None else found.hidden
    if hidden:
        queries.hide(db)
    else:
        queries.show(db)
    return hidden


def hide_answers(db: Connection, rules: Rules) -> None:
    """Hides answers, conversations and evaluations as far as they were made of hidden documents; those are listed.

    A glob hides by the path that was cited, also where no document lies there any more.
    """
    queries.open_hidden_paths(db)
    cited: list[str] = []
    if rules.globs:
        matches = _matcher(rules.globs)
        cited = [row.workspace_path for row in queries.select_cited_paths(db) if matches.matches(row.workspace_path)]
    queries.insert_hidden_paths(db, paths_json=json.dumps(cited, ensure_ascii=False))
    found = queries.count_hidden_paths(db)
    if found is not None and found.hidden:
        queries.hide_answers(db)
    else:
        queries.show_answers(db)


def hidden_paths(db: Connection, rules: Rules) -> frozenset[str]:
    """The paths of the documents that are kept from an audience; the connection goes on seeing them."""
    list_hidden(db, rules)
    return frozenset(row.workspace_path for row in queries.select_hidden_paths(db))


def kept_from_models(config: Config) -> Callable[[str], bool]:
    """Whether a path is kept from language models by its name: of a picture, which has no tags, nothing else tells."""
    globs = rules_for(config, "model").globs
    if not globs:
        return no_path
    matches = _matcher(globs).matches
    return lambda path: matches(stored_text(path))


def no_path(path: str) -> bool:
    """Keeps nothing."""
    return False


def is_hidden_path(config: Config, path: str) -> bool:
    """Whether a path, indexed or not, is kept from agents by its name."""
    globs = rules_for(config, "agent").globs
    return bool(globs) and _matcher(globs).matches(stored_text(path).strip("/"))


def list_hidden(db: Connection, rules: Rules) -> None:
    """Fills the connection's list of hidden documents."""
    queries.open_hidden(db)
    if rules.tags:
        queries.insert_hidden_tags(db, tags_json=json.dumps(rules.tags, ensure_ascii=False))
    if rules.globs:
        matches = _matcher(rules.globs)
        ids = [row.doc_id for row in queries.select_all_paths(db) if matches.matches(row.workspace_path)]
        queries.insert_hidden(db, doc_ids_json=json.dumps(ids))


def _matcher(globs: Sequence[str]) -> PathPatterns:
    from kb.domain.ingest.gitignore import MalformedPattern, PathPatterns

    try:
        return PathPatterns(globs)
    except MalformedPattern as error:
        raise ConfigError(
            f"exposure: {error}", "globs are as in .gitignore, e.g. 'private/**'; a tag is '#secret'"
        ) from error
