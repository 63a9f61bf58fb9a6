"""The folders of a knowledge base, and the one rule by which the path of a document names a file in one of them.

A file of the workspace is stored and cited by its path below the root, `notes/a.md`; one of a further source by the
source's name too, `work:notes/a.md`. A file of the workspace whose path begins like that of a further source is told
apart by the name of the workspace: `workspace:work:notes/a.md`.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple

from kb.domain.kinds import MEMBER, archive_type
from kb.domain.text import WorkspacePath, to_posix

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
    """A folder whose files are indexed. `include` and `exclude` are patterns relative to `root`, which is absolute.

    `kinds` are the families of files to read; empty means all. `trust` is the highest trust level that its documents
    get; `language` is the language of documents whose language kb cannot detect. `kept_from` is a subset of
    `KEPT_FROM`. `archives`: archives are read although `include` does not name them.
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
        """How trust and language of this source change its documents, as part of their pipeline version; "" if not."""
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
        """The source of that name; None if there is none."""
        return next((each for each in self.every if each.name == name), None)

    def place(self, stored: str) -> tuple[Source, str]:
        """The source that a stored path belongs to, and the path below its root; "" is the root itself."""
        if self.further and ":" in stored:
            head, rest = source_and_path(stored)
            if head == WORKSPACE and (not rest or self._is_ambiguous(rest)):
                return self.first, rest
            for each in self.further:
                if each.name == head:
                    return each, rest
        return self.first, stored

    def prefix(self, source: Source, relative: str) -> str:
        """The prefix of stored paths of a source: "" or its name and a colon."""
        if source.name != WORKSPACE:
            return f"{source.name}:"
        return f"{WORKSPACE}:" if self.further and (not relative or self._is_ambiguous(relative)) else ""

    def stored(self, source: Source, relative: str) -> WorkspacePath:
        """The one stored path of a file or folder, given its source and its path below the root."""
        below = to_posix(relative)
        return WorkspacePath(self.prefix(source, below) + below)

    def on_disk(self, stored: str) -> Path:
        """The absolute path of the file or folder with a stored path."""
        source, relative = self.place(stored)
        return source.root / relative

    def stored_at(self, path: str) -> WorkspacePath | None:
        """The stored path of an absolute path, without following links; None if it is in no source."""
        for source in self.every:
            root = str(source.root)
            if path == root or path.startswith(os.path.join(root, "")):
                return self.stored(source, os.path.relpath(path, root))
        return None

    def is_below(self, path: str, folder: str) -> bool:
        """Whether a stored path is that of a folder or archive, or inside it; everything is inside ""."""
        if not folder:
            return True
        source, relative = self.place(path)
        above, within = self.place(folder)
        if source.name != above.name:
            return False
        below = (f"{within}/", f"{within}{MEMBER}") if archive_type(within) else f"{within}/"
        return not within or relative == within or relative.startswith(below)

    def _is_ambiguous(self, relative: str) -> bool:
        """Whether a path below the workspace would be read as a path of a further source if it had no prefix."""
        while (parts := relative.partition(":"))[0] == WORKSPACE and parts[1]:
            relative = parts[2]
        return bool(parts[1]) and any(each.name == parts[0] for each in self.further)


def source_and_path(written: str) -> tuple[str, str]:
    """Splits a written path into the name of a source and the rest; the name is "" if the path begins with none."""
    head, colon, rest = written.partition(":")
    return (head, rest) if colon and NAME.fullmatch(head) else ("", written)


def nested(sources: Iterable[Source]) -> tuple[Source, Source] | None:
    """Two sources of which the second is inside the folder of the first or has the same folder, with links followed.

    None if there are no such sources.
    """
    places = [(each, os.path.join(os.path.realpath(each.root), "")) for each in sources]
    for outer, above in places:
        for inner, below in places:
            if inner is not outer and below.startswith(above):
                return outer, inner
    return None
