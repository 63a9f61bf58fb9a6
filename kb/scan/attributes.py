"""Source files that `.gitattributes` calls generated or vendored: `linguist-generated`, `linguist-vendored`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Literal

from kb.domain.ingest.gitignore import MalformedPattern, Pattern, parse_pattern
from kb.scan.ignore import Level, Rule

ATTRIBUTES_FILE = ".gitattributes"

AttributeSource = Literal["generated", "vendored"]
_ATTRIBUTES: dict[str, AttributeSource] = {"linguist-generated": "generated", "linguist-vendored": "vendored"}


class Attributes:
    """What the `.gitattributes` of a folder and of those above it say; the deepest matching line decides, as in git."""

    __slots__ = ("_levels",)

    def __init__(self, levels: tuple[dict[AttributeSource, Level], ...] = ()) -> None:
        self._levels = levels

    def below(self, text: str, folder: str) -> Attributes:
        """These and, before them, the lines of the file in `folder`, a workspace path without its last slash."""
        rules: dict[AttributeSource, list[Rule]] = {}
        for source, pattern in _lines(text):
            rules.setdefault(source, []).append(Rule(pattern, source))
        if not rules:
            return self
        level = {source: Level(own, folder) for source, own in rules.items()}
        return Attributes((level, *self._levels))

    def reason(self, path: str, name: str) -> AttributeSource | None:
        """As what the file called `name` at the workspace path `path` is left out; None where it is not."""
        if not self._levels:
            return None
        for source in _ATTRIBUTES.values():
            found = (
                level[source].last_match(path, name, is_directory=False) for level in self._levels if source in level
            )
            rule = next((rule for rule in found if rule is not None), None)
            if rule is not None and not rule.pattern.negated:
                return source
        return None


def _lines(text: str) -> Iterator[tuple[AttributeSource, Pattern]]:
    """The patterns with what they set; one that takes an attribute back is negated. Macros say nothing here."""
    for line in text.removeprefix("\ufeff").splitlines():
        spelled, said = _parted(line.strip())
        for attribute, source in _ATTRIBUTES.items():
            value = next((_value(each) for each in reversed(said) if _name(each) == attribute), None)
            if value is None:
                continue
            with suppress(MalformedPattern):
                pattern = parse_pattern(spelled)
                # In .gitattributes, a folder's attributes are not those of the files in it, and `!` has no meaning.
                if pattern is not None and not pattern.directory_only and not pattern.negated:
                    yield source, Pattern(pattern.regex, pattern.in_names, False, not value)


def _parted(line: str) -> tuple[str, Sequence[str]]:
    if line.startswith('"') and (end := line.find('"', 1)) > 0:
        return line[1:end], line[end + 1 :].split()
    pattern, *said = line.split() or [""]
    return ("" if pattern.startswith("[attr]") else pattern), said


def _name(said: str) -> str:
    return said.lstrip("-!").partition("=")[0]


def _value(said: str) -> bool:
    return said[0] not in "-!" and said.partition("=")[2].lower() in ("", "true", "1")
