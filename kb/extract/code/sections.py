"""The files around source code → parts: Dockerfile by stage, YAML by resource, service or job, manifests by section, …

Beside the parts, it finds the objects that they declare by name: base images, packages, dependencies.

No file is parsed by a library that may run, expand or fetch its content: anchors and templates are only text here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias


class FilePart(NamedTuple):
    """A part of a file that begins at line `start`, from 1, and ends before the next part.

    `qualified` is the full name of an object (OBJECT_KINDS) if it differs from `name`.
    """

    start: int
    name: str
    kind: str
    qualified: str = ""


_Finder: TypeAlias = Callable[[Sequence[str], str], Iterator[FilePart]]
"""Finds parts, or objects, in the lines of a file with a given name."""

PARAGRAPH_LINES = 80
OVERLAP_LINES = 20

_FROM = re.compile(r"FROM\s+(?:--\S+\s+)*(?P<image>\S+)(?:\s+AS\s+(?P<stage>\S+))?", re.IGNORECASE)
_YAML_KEY = re.compile(r"(?P<indent> *)(?P<name>[\w./{}\"'-][^#]*?)\s*:(?:\s|\Z)")
_YAML_ITEM = re.compile(r"(?P<indent> *)- ")
# Keys of GitLab's CI files that are no jobs.
_GITLAB_KEYS = frozenset(
    "stages variables include default workflow image services cache before_script after_script spec types".split()
)
# The name in a Helm template: `{{ include "redis.fullname" . }}-master` → redis-master.
_TEMPLATE = re.compile(r"""\{\{-?\s*(?:(?:include|template)\s+["'](?P<chart>[\w-]+)\.)?.*?\}\}""")
_TABLE = re.compile(r"\[{1,2}\s*(?P<name>[^\[\]]+?)\s*\]{1,2}\s*(?:#.*)?\Z")
_MAKE_RULE = re.compile(r"(?P<name>[\w.%/$(){} -]+?)\s*:(?!=)")
_CMAKE_CALL = re.compile(r"(?P<name>\w+)\s*\(\s*(?P<first>[\w${}.:-]*)")
_GO_MOD = re.compile(r"(?P<name>module|go|toolchain|require|replace|exclude|retract|tool)\b")
_GRADLE = re.compile(r"(?P<name>[\w.]+)(?:\s*\([^)]*\))?\s*\{")
_JSON_KEY = re.compile(r'(?:  |\t|    )"(?P<name>[^"]+)"\s*:')
_JSON_NAME = re.compile(r'(?P<indent>\s*)(?:\{\s*)?"name"\s*:\s*"(?P<name>[^"]+)"')
_TOML_NAME = re.compile(r"name\s*=\s*[\"'](?P<name>[^\"']+)")
_HELM_NAME = re.compile(r"name: *[\"']?(?P<name>[\w.-]+)")
_XML_VALUE = re.compile(r"(?P<indent>\s*)<(?P<name>groupId|artifactId)>\s*(?P<value>[^<\s]+)")
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


def parts_of(lines: Sequence[str], language: str, file_name: str) -> list[FilePart]:
    """The parts of a file in the order of its lines; empty if the file must be cut by paragraphs."""
    return list(_SPLITTERS[language](lines, file_name)) if language in _SPLITTERS else []


def objects_of(lines: Sequence[str], language: str, file_name: str) -> list[FilePart]:
    """The objects that a file declares in addition to its parts, each at its line."""
    return list(_OBJECTS[language](lines, file_name)) if language in _OBJECTS else []


def _dockerfile(lines: Sequence[str], _: str) -> Iterator[FilePart]:
    """A part for each stage, with the comment above it. A stage without a name gets the name of its image."""
    for number, match in _matches(_FROM, lines):
        start = _above(lines, number)
        yield FilePart(start, match["stage"], "stage") if match["stage"] else _image(start, match["image"])


def _base_images(lines: Sequence[str], _: str) -> Iterator[FilePart]:
    """The base images of named stages, except images that are earlier stages."""
    stages: set[str] = set()
    for number, match in _matches(_FROM, lines):
        if match["stage"]:
            if match["image"].lower() not in stages:
                yield _image(number, match["image"])
            stages.add(match["stage"].lower())


def _image(line: int, image: str) -> FilePart:
    """The object for a base image, without registry, path and tag: `docker.io/library/redis:7` is called redis."""
    name = re.sub(r"(?<=\w)[:@].*", "", image.rpartition("/")[2])
    return FilePart(line, name.strip("${}") or image, "image", image)


def _yaml(lines: Sequence[str], file_name: str) -> Iterator[FilePart]:
    """Each Kubernetes resource, each job of a CI file, each service of a Compose file; else each top-level key."""
    documents = [1, *(number + 1 for number, line in enumerate(lines, 1) if line.startswith("---"))]
    for first, after in zip(documents, [*documents[1:], len(lines) + 2], strict=True):
        text = lines[first - 1 : after - 2 if after <= len(lines) else len(lines)]
        fields = {match["name"]: match for line in text if (match := _YAML_KEY.match(line)) and not match["indent"]}
        if "kind" in fields and "apiVersion" in fields:
            yield from _listed(text, first) or [_resource(text, max(1, first - (first > 1)))]
        elif "jobs" in fields and not fields.keys().isdisjoint(("on", '"on"', "'on'", "workflows")):
            yield from _children(text, first, "jobs", "job")
        elif "gitlab-ci" in file_name:
            yield from _keys(text, first, "job")
        elif "services" in fields and ("compose" in file_name or "version" in fields or "volumes" in fields):
            yield from _children(text, first, "services", "service")
        else:
            yield from _keys(text, first)


def _listed(lines: Sequence[str], first: int) -> list[FilePart]:
    """The resources of a Kubernetes `List`; empty for anything else."""
    found: list[FilePart] = []
    if not any(re.match(r"kind: *List\b", line) for line in lines):
        return found
    starts: list[int] = []
    for at, line in enumerate(lines):
        if (match := _YAML_ITEM.match(line)) and (not starts or match["indent"] == _indent(lines[starts[0]])):
            starts.append(at)
    for at, after in zip(starts, [*starts[1:], len(lines)], strict=True):
        width = len(_indent(lines[at])) + 2
        item = [line[width:] for line in lines[at:after]]
        if any(line.startswith("kind:") for line in item):
            found.append(_resource(item, first + at if found else first))
    return found


def _resource(lines: Sequence[str], start: int) -> FilePart:
    """A Kubernetes object, by its kind and its name in `metadata`."""
    kind = name = ""
    indent: str | None = None
    in_metadata = False
    for line in lines:
        key, _, value = line.partition(":")
        if line[:1].strip():
            in_metadata, indent = key == "metadata", None
            kind = _value(value) if key == "kind" and not kind else kind
            if in_metadata and (inline := re.search(r"\bname: *([^,}\s]+)", value)):
                name = name or _value(inline[1])
        elif in_metadata and key.strip() and not key.strip().startswith("#"):
            indent = _indent(line) if indent is None else indent
            if key == f"{indent}name" and not name:
                name = _value(value)
    return FilePart(start, name, "resource", f"{kind}/{name}") if name else FilePart(start, kind, "section")


def _value(text: str) -> str:
    """A YAML scalar without quotes, comment and templates."""
    bare = re.sub(r"\s#.*", "", text.strip()).strip("\"'")
    return _TEMPLATE.sub(lambda match: match["chart"] or "", bare).strip("-. ") if "{{" in bare else bare


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _keys(lines: Sequence[str], first: int, kind: str = "section") -> Iterator[FilePart]:
    """The top-level keys of YAML lines as parts of that `kind`, without GitLab's settings."""
    for number, line in enumerate(lines, first):
        if (match := _YAML_KEY.match(line)) and not match["indent"]:
            name = match["name"].strip("\"'")
            is_setting = name in _GITLAB_KEYS or name.startswith(".")
            yield FilePart(_above(lines, number, first), name, "section" if is_setting else kind)


def _children(lines: Sequence[str], first: int, above: str, kind: str) -> Iterator[FilePart]:
    """The keys one level below the top-level key `above` of YAML lines."""
    inside, indent = False, ""
    for number, line in enumerate(lines, first):
        match = _YAML_KEY.match(line)
        if not match:
            continue
        if not match["indent"]:
            inside, indent = match["name"] == above, ""
            if not inside:
                yield FilePart(number, match["name"], "section")
        elif inside and (not indent or match["indent"] == indent):
            indent = match["indent"]
            yield FilePart(_above(lines, number, first), match["name"].strip("\"'"), kind)


def _matches(pattern: re.Pattern[str], lines: Sequence[str]) -> Iterator[tuple[int, re.Match[str]]]:
    return ((number, match) for number, line in enumerate(lines, 1) if (match := pattern.match(line)))


def _matching(pattern: re.Pattern[str], kind: str) -> _Finder:
    """A finder whose parts begin at the lines that match `pattern`."""

    def split(lines: Sequence[str], _: str) -> Iterator[FilePart]:
        for number, match in _matches(pattern, lines):
            names = match.groupdict()
            name = " ".join(filter(None, (names.get("name") or names.get("bare"), names.get("first"))))
            yield FilePart(_above(lines, number), name.strip(), kind)

    return split


def _xml(lines: Sequence[str], _: str) -> Iterator[FilePart]:
    """The children of the root element, recognised by the indentation of the first of them."""
    indent = None
    for number, line in enumerate(lines, 1):
        match = _XML_CHILD.match(line)
        if match is None or not line[:1].isspace():
            continue
        width = len(line) - len(line.lstrip())
        indent = width if indent is None else indent
        if width == indent:
            yield FilePart(number, match["name"], "section")


def _sql(lines: Sequence[str], _: str) -> Iterator[FilePart]:
    """A part for each statement, with the comment above it; a trigger or function keeps its body."""
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


def _statement(lines: Sequence[str], start: int, end: int) -> FilePart:
    text = " ".join(line.split("--")[0].strip() for line in lines[start - 1 : end])
    match = _SQL_NAME.search(text)
    name = match["name"].strip('"`').rpartition(".")[2] if match and match["name"] else "statement"
    return FilePart(_above(lines, start), name, "statement")


def _above(lines: Sequence[str], number: int, first: int = 1) -> int:
    """The first line of the comment right above line `number`, or `number` itself; `lines[0]` is line `first`."""
    while number > first and lines[number - 1 - first].lstrip().startswith(("#", "--", "//")):
        number -= 1
    return number


def _declared(pattern: re.Pattern[str], kind: str) -> _Finder:
    """A finder of the objects that lines matching `pattern` declare."""
    return lambda lines, _: (_package(number, match["name"], kind) for number, match in _matches(pattern, lines))


def _package(line: int, name: str, kind: str = "package", publisher: str = "") -> FilePart:
    """The object for a package, by the last part of its name: cobra for `github.com/spf13/cobra/v2`."""
    short = re.sub(r"(?<=.)/v\d+\Z", "", name).rpartition("/")[2]
    return FilePart(line, short, kind, f"{publisher}:{name}" if publisher else name)


def _toml_package(lines: Sequence[str], _: str) -> Iterator[FilePart]:
    table = ""
    for number, line in enumerate(lines, 1):
        if match := _TABLE.match(line):
            table = match["name"]
        elif table in ("project", "package", "tool.poetry") and (match := _TOML_NAME.match(line)):
            yield _package(number, match["name"])


def _json_package(lines: Sequence[str], file_name: str) -> Iterator[FilePart]:
    """The package that a package.json describes, by the least indented `name`."""
    named = [(len(match["indent"]), number, match["name"]) for number, match in _matches(_JSON_NAME, lines)]
    if named and file_name == "package.json":
        _, number, name = min(named)
        yield _package(number, name)


def _maven_package(lines: Sequence[str], _: str) -> Iterator[FilePart]:
    """The artifact that a pom.xml describes, by the line indented like the first child of the root."""
    indent = next((_indent(line) for line in lines if line[:1].isspace() and _XML_CHILD.match(line)), "")
    own = {
        match["name"]: (number, match["value"])
        for number, match in _matches(_XML_VALUE, lines)
        if match["indent"] == indent
    }
    if "artifactId" in own:
        number, name = own["artifactId"]
        yield _package(number, name, publisher=own.get("groupId", (0, ""))[1])


def _helm_package(lines: Sequence[str], file_name: str) -> Iterator[FilePart]:
    if file_name == "Chart.yaml":
        yield from _declared(_HELM_NAME, "package")(lines, file_name)


_OBJECTS: dict[str, _Finder] = {
    "dockerfile": _base_images,
    "yaml": _helm_package,
    "toml": _toml_package,
    "json": _json_package,
    "xml": _maven_package,
    "gomod": _declared(re.compile(r"module\s+[\"']?(?P<name>[^\s\"']+)"), "package"),
    "gradle": _declared(re.compile(r"rootProject\.name\s*=\s*[\"'](?P<name>[^\"']+)"), "package"),
    "cmake": _declared(re.compile(r"\s*project\s*\(\s*[\"']?(?P<name>[\w.+-]+)", re.IGNORECASE), "package"),
    "requirements": _declared(re.compile(r"(?P<name>[A-Za-z0-9][\w.-]*)\s*(?:\[|[<>=!~;@#,]|\Z)"), "dependency"),
}
_SPLITTERS: dict[str, _Finder] = {
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
