"""Files that are source code or text though their names do not say so: by a shebang, or by `workspace.include`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from kb.domain.ingest.gitignore import MalformedPattern
from kb.domain.kinds import KINDS, Kinds, MediaType
from kb.errors import ConfigError
from kb.scan.ignore import Level, rules_of

TEXT = MediaType("code/text")
_SHEBANG = re.compile(rb"#![^\n]*?\b(python|bash|sh|zsh|dash|ksh|node|deno|bun)[\d.]*\b")
# A program, and what a file for it is usually called.
_EXTENSIONS = {b"python": "py", b"node": "js", b"deno": "ts", b"bun": "ts"}
_HEAD_BYTES = 200
_NAMES_FILES = re.compile(r"[\w\u0080-\uffff]")


class TextKinds:
    """What files of no known media type are, as far as the configuration asks for them."""

    def __init__(self, include: Sequence[str], is_included: Callable[[str], bool], kinds: Kinds = KINDS) -> None:
        self.kinds = kinds
        self._is_included = is_included
        try:
            self._named = Level(rules_of((each for each in include if _names_files(each)), "config"))
        except MalformedPattern as error:  # told by the same patterns before
            raise ConfigError(f"workspace.include: {error}") from error

    def media_type(self, folder: str, name: str, source: str, *, is_executable: Callable[[], bool]) -> MediaType | None:
        """The media type of the file called `name` at `source`; `folder` is a workspace path and a slash.

        One that a pattern of `workspace.include` names by more than its folder is text. A file that can be run, without
        an extension, is what its first line says, where source files of that kind are asked for. Hidden files are
        neither.
        """
        if name.startswith("."):
            return None
        named = self._named.last_match(folder + name, name, is_directory=False)
        if named is not None and not named.pattern.negated:
            return TEXT
        if "." in name or not is_executable():
            return None
        try:
            with open(source, "rb") as file:
                match = _SHEBANG.match(file.read(_HEAD_BYTES))
        except OSError:
            return None
        if match is None:
            return None
        usual = f"{name}.{_EXTENSIONS.get(match[1], 'sh')}"
        return self.kinds.media_type_of(usual) if self._is_included(folder + usual) else None


def _names_files(pattern: str) -> bool:
    """Whether the last part of a pattern says more than that something is there: `*.txt`, not `notes/**`."""
    return bool(_NAMES_FILES.search(pattern.rstrip().rpartition("/")[2]))
