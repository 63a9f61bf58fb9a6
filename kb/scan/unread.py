"""Counts the files a walk passes over because kb does not read their kind, where someone may wonder about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from kb.domain.kinds import KINDS, Kinds, extension_of
from kb.scan.ignore import IgnoreRules


class UnreadKinds:
    """The files of one walk that are of no known media type, counted by extension.

    Hidden ones, those a rule leaves out, and those in folders where `workspace.include` asks for nothing do not count.
    """

    def __init__(self, is_included: Callable[[str], bool], kinds: Kinds = KINDS) -> None:
        self.counts: Counter[str] = Counter()
        self._is_included = is_included
        self._kinds = kinds
        self._is_asked_for: dict[str, bool] = {}  # by the workspace path of a folder

    def meet(self, folder: str, name: str, rules: IgnoreRules) -> None:
        """Counts the file called `name`; `folder` is a workspace path and a slash, empty for the root."""
        if folder not in self._is_asked_for:
            names = (folder + spelling.replace("*", "a") for spelling in self._kinds.spellings())
            self._is_asked_for[folder] = any(map(self._is_included, names))
        if name.startswith(".") or not self._is_asked_for[folder]:
            return
        if rules.source_ignoring(folder + name, name, is_directory=False) is None:
            self.counts[extension_of(name)] += 1
