"""The files around source code → parts: Dockerfile by stage, YAML by resource or service, manifests by section, …

No file is parsed by a library that may run, expand or fetch what it holds: anchors and templates are only text here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple


class Part(NamedTuple):
    """A part of a file that begins at line `start`, from 1, and ends before the next one."""

    start: int
    name: str
    kind: str


PARAGRAPH_LINES = 80
OVERLAP_LINES = 20

_FROM = re.compile(r"FROM\s+(?:--\S+\s+)*(?P<image>\S+)(?:\s+AS\s+(?P<stage>\S+))?", re.IGNORECASE)
_YAML_KEY = re.compile(r"(?P<indent> *)(?P<name>[\w./{}\"'-][^:#]*?)\s*:(?:\s|\Z)")
_TABLE = re.compile(r"\[{1,2}\s*(?P<name>[^\[\]]+?)\s*\]{1,2}\s*(?:#.*)?\Z")
_MAKE_RULE = re.compile(r"(?P<name>[\w.%/$(){} -]+?)\s*:(?!=)")
_CMAKE_CALL = re.compile(r"(?P<name>\w+)\s*\(\s*(?P<first>[\w${}.:-]*)")
_GO_MOD = re.compile(r"(?P<name>module|go|toolchain|require|replace|exclude|retract|tool)\b")
_GRADLE = re.compile(r"(?P<name>[\w.]+)(?:\s*\([^)]*\))?\s*\{")
_JSON_KEY = re.compile(r'(?:  |\t|    )"(?P<name>[^"]+)"\s*:')
_XML_CHILD = re.compile(r"\s{0,8}<(?P<name>[A-Za-z][\w.:-]*)")
_SHELL_FUNCTION = re.compile(
    r"(?:function\s+(?P<name>[\w:.-]+)\s*(?:\(\s*\))?|(?P<bare>[\w:.-]+)\s*\(\s*\))\s*(?:[{(]|\Z)"
)
_SQL_NAME = re.compile(
    r"(?P<verb>CREATE|ALTER|DROP|INSERT|UPDATE|DELETE|SELECT|WITH|GRANT|REPLACE|PRAGMA|MERGE|TRUNCATE|COMMENT)\b"
    r"(?:\s+(?:OR\s+REPLACE|TEMP(?:ORARY)?|UNIQUE|VIRTUAL|MATERIALIZED|IF\s+NOT\s+EXISTS|IF\s+EXISTS|INTO|FROM|ON"
    r"|TABLE|VIEW|INDEX|TRIGGER|FUNCTION|PROCEDURE|TYPE|SCHEMA|SEQUENCE))*\s+(?P<name>[\w.\"`]+)",
    re.IGNORECASE,
)


def parts_of(lines: Sequence[str], language: str, file_name: str) -> list[Part]:
    """The parts of a file in the order of its lines; none where it is to be cut by paragraphs."""
    return list(_SPLITTERS[language](lines, file_name)) if language in _SPLITTERS else []


def _dockerfile(lines: Sequence[str], _: str) -> Iterator[Part]:
    """A part a stage: what its comment says belongs to it."""
    for number, line in enumerate(lines, 1):
        if match := _FROM.match(line):
            yield Part(_above(lines, number), match["stage"] or match["image"], "stage")


def _yaml(lines: Sequence[str], file_name: str) -> Iterator[Part]:
    """A Kubernetes resource a document; a service of a Compose file; else each top-level key."""
    documents = [1, *(number + 1 for number, line in enumerate(lines, 1) if line.startswith("---"))]
    for first, after in zip(documents, [*documents[1:], len(lines) + 2], strict=True):
        text = lines[first - 1 : after - 2 if after <= len(lines) else len(lines)]
        fields = {match["name"]: match for line in text if (match := _YAML_KEY.match(line)) and not match["indent"]}
        if "kind" in fields and "apiVersion" in fields:
            yield Part(max(1, first - (first > 1)), _resource(text), "resource")
        elif "services" in fields and ("compose" in file_name or "version" in fields or "volumes" in fields):
            yield from _children(text, first, "services", "service")
        else:
            yield from _keys(text, first)


def _resource(lines: Sequence[str]) -> str:
    kind = name = ""
    in_metadata = False
    for line in lines:
        key, _, value = line.partition(":")
        in_metadata = key == "metadata" if line[:1].strip() else in_metadata
        if key == "kind" and not kind:
            kind = value.strip()
        elif in_metadata and key.strip() == "name" and not name:
            name = value.strip().strip("\"'")
    return f"{kind}/{name}" if name else kind


def _keys(lines: Sequence[str], first: int) -> Iterator[Part]:
    for number, line in enumerate(lines, first):
        if (match := _YAML_KEY.match(line)) and not match["indent"]:
            yield Part(_above(lines, number, first), match["name"].strip("\"'"), "section")


def _children(lines: Sequence[str], first: int, above: str, kind: str) -> Iterator[Part]:
    """The top-level keys of YAML lines, those below `above` one level deeper."""
    inside, indent = False, ""
    for number, line in enumerate(lines, first):
        match = _YAML_KEY.match(line)
        if not match:
            continue
        if not match["indent"]:
            inside, indent = match["name"] == above, ""
            if not inside:
                yield Part(number, match["name"], "section")
        elif inside and (not indent or match["indent"] == indent):
            indent = match["indent"]
            yield Part(_above(lines, number, first), match["name"].strip("\"'"), kind)


def _matching(pattern: re.Pattern[str], kind: str) -> Callable[[Sequence[str], str], Iterator[Part]]:
    """A splitter whose parts begin at the lines that match."""

    def split(lines: Sequence[str], _: str) -> Iterator[Part]:
        for number, line in enumerate(lines, 1):
            if match := pattern.match(line):
                names = match.groupdict()
                name = " ".join(filter(None, (names.get("name") or names.get("bare"), names.get("first"))))
                yield Part(_above(lines, number), name.strip(), kind)

    return split


def _xml(lines: Sequence[str], _: str) -> Iterator[Part]:
    """The children of the root element, told by the indentation of the first of them."""
    indent = None
    for number, line in enumerate(lines, 1):
        match = _XML_CHILD.match(line)
        if match is None or not line[:1].isspace():
            continue
        width = len(line) - len(line.lstrip())
        indent = width if indent is None else indent
        if width == indent:
            yield Part(number, match["name"], "section")


def _sql(lines: Sequence[str], _: str) -> Iterator[Part]:
    """A part a statement, its comment before it; the body of a trigger or function stays in its statement."""
    begun: int | None = None
    depth, quoted = 0, False
    for number, line in enumerate(lines, 1):
        bare = line.split("--")[0].strip()
        if not bare and not quoted:
            continue
        begun = number if begun is None else begun
        quoted = quoted != (line.count("$$") % 2 == 1)
        depth += len(re.findall(r"\b(?:BEGIN|CASE)\b", bare, re.IGNORECASE))
        depth = max(0, depth - len(re.findall(r"\bEND\b", bare, re.IGNORECASE)))
        if bare.endswith(";") and (depth == 0 or re.match(r"(?:BEGIN|COMMIT)\b", bare, re.IGNORECASE)) and not quoted:
            yield _statement(lines, begun, number)
            begun, depth = None, 0
    if begun is not None:
        yield _statement(lines, begun, len(lines))


def _statement(lines: Sequence[str], start: int, end: int) -> Part:
    text = " ".join(line.split("--")[0].strip() for line in lines[start - 1 : end])
    match = _SQL_NAME.search(text)
    name = match["name"].strip('"`').rpartition(".")[2] if match and match["name"] else "statement"
    return Part(_above(lines, start), name, "statement")


def _above(lines: Sequence[str], number: int, first: int = 1) -> int:
    """The first line of the comment right before line `number`, else `number`; `lines` begin at line `first`."""
    while number > first and lines[number - 1 - first].lstrip().startswith(("#", "--", "//")):
        number -= 1
    return number


_SPLITTERS: dict[str, Callable[[Sequence[str], str], Iterator[Part]]] = {
    "dockerfile": _dockerfile,
    "yaml": _yaml,
    "toml": _matching(_TABLE, "section"),
    "json": _matching(_JSON_KEY, "section"),
    "xml": _xml,
    "gomod": _matching(_GO_MOD, "section"),
    "gradle": _matching(_GRADLE, "section"),
    "cmake": _matching(_CMAKE_CALL, "section"),
    "make": _matching(_MAKE_RULE, "rule"),
    "shell": _matching(_SHELL_FUNCTION, "function"),
    "sql": _sql,
}
