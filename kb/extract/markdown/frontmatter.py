"""YAML frontmatter → metadata: the fields of a note between two `---` lines at its top.

Every field is optional, and keys that kb does not know are kept. No frontmatter, however broken or hostile, stops a
file: at worst its lines are indexed as text, with a warning.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

import yaml

from kb.domain.documents import SOURCE_TYPES, Metadata, Warning
from kb.domain.ids import Json
from kb.domain.sources import TRUST_LEVELS

MAX_FRONTMATTER_CHARS = 65_536
# Aliases multiply: nested lists of k aliases grow as k**levels. Sixteen in all can reach a few hundred copies.
MAX_ALIASES = 16
MAX_DEPTH = 32
_MAX_EXACT_INTEGER = 2**53

_OPENING = re.compile(r"---[ \t]*\n")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_LANGUAGE = re.compile(r"([a-z]{2,3})(?:[-_].*)?", re.IGNORECASE)
_DATE = re.compile(r"(\d{4})\s*[-./]\s*(\d{1,2})\s*[-./]\s*(\d{1,2})\.?")

_TIMESTAMP, _BOOL = "tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:bool"

_Taken = TypeVar("_Taken")
_Chosen = TypeVar("_Chosen", bound=str)


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """The content of a frontmatter; `line_count` lines from the top belong to it, 0 where there is none.

    `malformed` lines are not YAML; they are indexed as text.
    """

    metadata: Metadata = field(default_factory=Metadata)
    title: str | None = None
    lang: str | None = None
    line_count: int = 0
    malformed: bool = False
    warnings: tuple[Warning, ...] = ()


# Typed Any: PyYAML's C loader exists only where libyaml was found, and both are classes to inherit from.
_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_SafeLoader):  # type: ignore[misc]
    """A safe loader that keeps dates as they are written and knows only true and false as booleans (YAML 1.2)."""

    yaml_implicit_resolvers = {  # noqa: RUF012 (PyYAML's own spelling)
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in (_TIMESTAMP, _BOOL)]
        for first, resolvers in _SafeLoader.yaml_implicit_resolvers.items()
    }


_Loader.add_implicit_resolver(_BOOL, re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF"))


def read_frontmatter(text: str) -> Frontmatter:
    """The frontmatter of `text`, empty where it does not begin with a closed `---` block."""
    opening = _OPENING.match(text)
    closing = _CLOSING.search(text, opening.end()) if opening else None
    if opening is None or closing is None:
        return Frontmatter()
    line_count = text.count("\n", 0, closing.start()) + 1
    source = text[opening.end() : closing.start()]
    try:
        values = _load(source)
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as error:
        warning = Warning("malformed_frontmatter", " ".join(str(error).split())[:200] or "not YAML")
        # With a blank line in it, it is more likely Markdown between two thematic breaks.
        is_body = _BLANK_LINE.search("\n" + source) is not None
        return Frontmatter(line_count=0 if is_body else line_count, malformed=not is_body, warnings=(warning,))
    if not values and source.strip():
        return Frontmatter()  # "# …" between two thematic breaks: a comment to YAML, a heading to its author
    return _Reading(values).frontmatter(line_count)


def _load(source: str) -> dict[str, Json]:
    if len(source) > MAX_FRONTMATTER_CHARS:
        raise ValueError(f"{len(source):,} characters; at most {MAX_FRONTMATTER_CHARS:,} are read")
    _check_events(source)
    values = yaml.load(source, Loader=_Loader)
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ValueError(f"a {type(values).__name__} where key: value lines are expected")
    return {str(key): _json(value) for key, value in values.items()}


def _check_events(source: str) -> None:
    """Raises ValueError before loading YAML that would grow without bound, or nests too deep for libyaml's C stack."""
    aliases = depth = 0
    for event in yaml.parse(source, Loader=_Loader):
        aliases += isinstance(event, yaml.AliasEvent)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if aliases > MAX_ALIASES:
            raise ValueError(f"more than {MAX_ALIASES} aliases")
        if depth > MAX_DEPTH:
            raise ValueError(f"nested deeper than {MAX_DEPTH} levels")


def _json(value: object, depth: int = 0) -> Json:
    """`value` with string keys and only what JSON can hold exactly."""
    if depth > MAX_DEPTH:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        return {str(key): _json(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json(item, depth + 1) for item in value]
    if isinstance(value, set):
        return sorted(str(item) for item in value)
    if isinstance(value, str):
        return value.encode("utf-8", errors="replace").decode("utf-8")
    exact_integer = isinstance(value, int) and abs(value) <= _MAX_EXACT_INTEGER
    if value is None or exact_integer or (isinstance(value, float) and math.isfinite(value)):
        return value  # type: ignore[return-value]
    return value.hex() if isinstance(value, bytes) else str(value)


class _Reading:
    """Takes the known keys out of `user`, and warns about values it cannot parse."""

    def __init__(self, user: dict[str, Json]) -> None:
        self.user = user
        self.warnings: list[Warning] = []

    def frontmatter(self, line_count: int) -> Frontmatter:
        title = self._take("title", _on_one_line)
        lang = self._take("lang language", _language)
        metadata = Metadata(
            aliases=self._take("aliases alias", lambda value: _texts(value, ",")) or (),
            tags=self._take("tags tag", _tags) or (),
            created_at=self._take("created_at created date", timestamp),
            updated_at=self._take("updated_at updated modified", timestamp),
            source_type=self._take("source_type", lambda value: _one_of(SOURCE_TYPES, value)) or "markdown",
            trust_level=self._take("trust_level", lambda value: _one_of(TRUST_LEVELS, value)) or "primary",
            user_id_alias=self._take("user_id_alias user_id id", _text),
            user=self.user,
        )
        return Frontmatter(metadata, title, lang, line_count, warnings=tuple(self.warnings))

    def _take(self, keys: str, read: Callable[[Json], _Taken | None]) -> _Taken | None:
        """The parsed value of the first of `keys`, in any letter case, that has one. Other values stay in `user`."""
        for key in [written for key in keys.split() for written in [*self.user] if written.lower() == key]:
            value = self.user.get(key)
            if value is None or value in ("", []):
                self.user.pop(key, None)
                continue
            taken = read(value)
            if taken is not None:
                del self.user[key]
                return taken
            self.warnings.append(Warning("malformed_frontmatter", f"{key}: cannot read {str(value)[:80]!r}"))
        return None


def _text(value: Json) -> str | None:
    if isinstance(value, str | int | float):
        return unicodedata.normalize("NFC", str(value)).strip() or None
    return None


def _on_one_line(value: Json) -> str | None:
    text = _text(value)
    return " ".join(text.split()) if text else None


def _texts(value: Json, separator: str) -> tuple[str, ...] | None:
    """A list, or a string cut at `separator`, as distinct texts in order of appearance."""
    if isinstance(value, str):
        value = re.split(separator, value)
    if not isinstance(value, list):
        value = [value]
    texts = [_text(item) for item in value]
    return tuple(dict.fromkeys(text for text in texts if text)) or None


def _tags(value: Json) -> tuple[str, ...] | None:
    tags = _texts(value, r"[,\s]+")
    return tuple(dict.fromkeys(bare for tag in tags if (bare := tag.strip("#/ ")))) or None if tags else None


def _language(value: Json) -> str | None:
    """The primary subtag of a language tag: `ko` for `ko-KR`; None for any other value."""
    found = _LANGUAGE.fullmatch(value.strip()) if isinstance(value, str) else None
    return found[1].lower() if found else None


def timestamp(value: Json) -> str | None:
    """A date or time in common notations as RFC 3339 in UTC, also without a zone; None for any other value."""
    if not isinstance(value, str | int):
        return None
    written = _DATE.sub(lambda found: f"{found[1]}-{found[2]:0>2}-{found[3]:0>2}", str(value).strip(), count=1)
    try:
        moment = datetime.fromisoformat(written)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment.isoformat().replace("+00:00", "Z")


def _one_of(values: tuple[_Chosen, ...], value: Json) -> _Chosen | None:
    wanted = str(value).strip().lower()
    return next((known for known in values if known == wanted), None)
