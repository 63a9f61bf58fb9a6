"""The folders of a knowledge base, and the one rule by which the path of a document names a file in one of them.

A file of the workspace is stored and cited by its path below the root, `notes/a.md`; one of a further source by the
source's name too, `work:notes/a.md`. A file of the workspace whose path begins like that of a further source is told
apart by the name of the workspace: `workspace:work:notes/a.md`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from kb.domain.kinds import MEMBER, archive_type
from kb.domain.text import WorkspacePath, to_posix
from kb.records import NamedTuple

TrustLevel = Literal["primary", "secondary", "generated"]
TRUST_LEVELS: tuple[TrustLevel, ...] = ("primary", "secondary", "generated")

WORKSPACE = "workspace"
"""The name of the first source: `workspace.root`."""

NAME = re.compile(r"[^\W_][\w-]{1,39}")

RESERVED_NAMES = frozenset((WORKSPACE, "kb", "file", "http", "https", "mailto", "data", "doc", "citation"))
"""Names that no further source has: the first one's, and what begins an address."""

KEPT_FROM = ("never_to_mcp", "never_to_llm", "never_to_web", "never_to_cluster")
"""What a source can be kept from, by the keys of `[exposure]` and `[compute]` that keep single documents from it."""


class Source(NamedTuple):
    """A folder whose files are indexed. `include` and `exclude` are relative to `root`, an absolute path.

    `kinds` are the families of files to read, none for all; `trust` is the most that its documents are trusted;
    `language` is that of documents whose own cannot be told. `kept_from` are some of `KEPT_FROM`.
    `archives`: whether archives are read that `include` does not name, too.
    """

    name: str
    root: Path
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    kinds: tuple[str, ...] = ()
    trust: TrustLevel = "primary"
    language: str = ""
    ocr: bool = True
    kept_from: tuple[str, ...] = ()
    about: str = ""
    archives: bool = False

    @property
    def reading(self) -> str:
        """How its documents are made otherwise than those of the workspace, as a part of their pipeline version."""
        trust = "" if self.trust == "primary" else f"trust={self.trust}"
        language = self.language and f"lang={self.language}"
        return "".join(f"/{each}" for each in (trust, language) if each)


class Sources(NamedTuple):
    """The workspace, and the further sources in the order of the configuration."""

    first: Source
    further: tuple[Source, ...] = ()

    @property
    def every(self) -> tuple[Source, ...]:
        """All sources, the workspace first."""
        return (self.first, *self.further)

    def named(self, name: str) -> Source | None:
        """The source of that name."""
        return next((each for each in self.every if each.name == name), None)

    def place(self, stored: str) -> tuple[Source, str]:
        """The source of a stored path, and the path below its root; "" is the root itself."""
        if self.further and ":" in stored:
            head, rest = source_and_path(stored)
            if head == WORKSPACE and (not rest or self._is_ambiguous(rest)):
                return self.first, rest
            for each in self.further:
                if each.name == head:
                    return each, rest
        return self.first, stored

    def prefix(self, source: Source, relative: str) -> str:
        """What is written before a path below the root of a source: nothing, or its name and a colon."""
        if source.name != WORKSPACE:
            return f"{source.name}:"
        return f"{WORKSPACE}:" if self.further and (not relative or self._is_ambiguous(relative)) else ""

    def stored(self, source: Source, relative: str) -> WorkspacePath:
        """The one spelling by which the file or folder at a path below the root of a source is stored and cited."""
        below = to_posix(relative)
        return WorkspacePath(self.prefix(source, below) + below)

    def on_disk(self, stored: str) -> Path:
        """The file or folder of a stored path."""
        source, relative = self.place(stored)
        return source.root / relative

    def stored_at(self, path: str) -> WorkspacePath | None:
        """The stored path of an absolute path, links not followed; None where it is in no source."""
        for source in self.every:
            root = str(source.root)
            if path == root or path.startswith(os.path.join(root, "")):
                return self.stored(source, os.path.relpath(path, root))
        return None

    def is_below(self, path: str, folder: str) -> bool:
        """Whether a stored path is that of a folder or archive, or below it; everything is below ""."""
        if not folder:
            return True
        source, relative = self.place(path)
        above, within = self.place(folder)
        if source.name != above.name:
            return False
        below = (f"{within}/", f"{within}{MEMBER}") if archive_type(within) else f"{within}/"
        return not within or relative == within or relative.startswith(below)

    def _is_ambiguous(self, relative: str) -> bool:
        """Whether a path below the workspace reads as one of a further source, or as one that is told apart."""
        while (parts := relative.partition(":"))[0] == WORKSPACE and parts[1]:
            relative = parts[2]
        return bool(parts[1]) and any(each.name == parts[0] for each in self.further)


def source_and_path(written: str) -> tuple[str, str]:
    """The name of a source that a path may begin with, and what follows the colon; "" and the path without one."""
    head, colon, rest = written.partition(":")
    return (head, rest) if colon and NAME.fullmatch(head) else ("", written)


def nested(sources: Iterable[Source]) -> tuple[Source, Source] | None:
    """Two sources of which the second is in the folder of the first, or is the same, links followed."""
    places = [(each, os.path.join(os.path.realpath(each.root), "")) for each in sources]
    for outer, above in places:
        for inner, below in places:
            if inner is not outer and below.startswith(above):
                return outer, inner
    return None
