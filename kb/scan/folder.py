"""A folder on the way of a walk, with the rules of the ignore files in it and around it."""

from __future__ import annotations

import os
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from kb.domain.paths import WorkspacePath
from kb.errors import FileError
from kb.scan.attributes import ATTRIBUTES_FILE, Attributes
from kb.scan.events import FailedFile
from kb.scan.ignore import IGNORE_FILES, IgnoreRules, Rule, parse_rules
from kb.scan.read import read_bytes

_MAX_IGNORE_FILE_BYTES = 10_000_000


class Folder(NamedTuple):
    """A folder on the way: its real path; its workspace path and a slash, empty for the root; the rules around it.

    `attributes` are those that `.gitattributes` give its files.
    """

    source: str
    prefix: str
    rules: IgnoreRules
    behind_link: bool
    attributes: Attributes = Attributes()


def with_own_rules(folder: Folder, names: AbstractSet[str]) -> tuple[list[FailedFile], Folder]:
    """`folder` with the rules of the ignore files among its `names`, and those files that could not be read."""
    failures: list[FailedFile] = []
    rules: list[Rule] = []
    for name, source in IGNORE_FILES.items():
        if name not in names:
            continue
        try:
            content = read_bytes(os.path.join(folder.source, name), max_bytes=_MAX_IGNORE_FILE_BYTES)
        except FileError as error:
            failures.append(FailedFile(WorkspacePath(folder.prefix + name), error))
        else:
            rules += parse_rules(content.data.decode("utf-8", "surrogateescape"), source)
    if ATTRIBUTES_FILE in names:
        path = os.path.join(folder.source, ATTRIBUTES_FILE)
        try:
            content = read_bytes(path, max_bytes=_MAX_IGNORE_FILE_BYTES)
        except FileError as error:
            failures.append(FailedFile(WorkspacePath(folder.prefix + ATTRIBUTES_FILE), error))
        else:
            text = content.data.decode("utf-8", "surrogateescape")
            folder = folder._replace(attributes=folder.attributes.below(text, folder.prefix[:-1]))
    if rules:
        folder = folder._replace(rules=folder.rules.below(rules, folder.prefix[:-1]))
    return failures, folder


def ignore_files_in(source: str) -> set[str]:
    """The names of the ignore files in the folder at a real path."""
    return {name for name in (*IGNORE_FILES, ATTRIBUTES_FILE) if os.path.exists(os.path.join(source, name))}
