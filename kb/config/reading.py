"""Reads the configuration: defaults → file (TOML) → `KB_<SECTION>_<KEY>` → flags, each value checked as it is set.

And the owner's lexicon: groups of words that mean the same, in a TOML file beside the configuration.
"""

from __future__ import annotations

import functools
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kb.config.keys import (
    JOINED,
    KEYS,
    SCHEMA_VERSION,
    SECRETS,
    SECTIONS,
    SOURCE_KEYS,
    Config,
    ExposureConfig,
    Key,
    SourceConfig,
    expand_variables,
    field_of,
)
from kb.config.writing import toml_value
from kb.domain.kinds import KINDS
from kb.errors import ConfigError, ConfigNotFound

_TYPE_NAMES = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a string",
    tuple: "a list of strings",
}


def default_path(env: Mapping[str, str]) -> Path:
    """The path of the configuration file when none is named; the same on Linux and macOS."""
    return Path(expand_variables("${XDG_CONFIG_HOME:-~/.config}/kb/config.toml", env))


def load(named: str | None, flags: Sequence[str] = (), env: Mapping[str, str] | None = None) -> Config:
    """The effective configuration. `named` is --config or KB_CONFIG; `flags` are `section.key=value` words.

    Raises: ConfigNotFound when a named file is missing; ConfigError for what it cannot read.
    """
    env = os.environ if env is None else env
    named = named or env.get("KB_CONFIG")
    path = Path(expand_variables(named, env)).absolute() if named else default_path(env)
    if named and not path.exists():
        raise ConfigNotFound(f"no configuration file at {path}", f"create it with: kb --config {named} init")
    file = path if path.exists() else None
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    sources: tuple[SourceConfig, ...] = ()
    if file is not None:
        found, sources = file_values(file)
        for key, value in found.items():
            values[key], origins[key] = checked(key, value, str(file)), "file"
    for name, key, text in _env_values(env):
        values[key], origins[key] = checked(key, _from_text(key, text, name), name), f"env {name}"
    for flag in flags:
        key, equals, text = flag.partition("=")
        if not equals:
            raise ConfigError(f"--set takes section.key=value, not {flag!r}", "example: --set search.default_k=5")
        if _is_fixed(key, text, "--set"):
            continue
        _require_known(key, "--set")
        values[key], origins[key] = checked(key, _from_text(key, text, "--set"), "--set"), "flag"
    config = _build(values, sources, file, origins)
    require_known_kinds(config, str(file))
    if ":/" in config.storage.vector_dir:
        from kb.config.addresses import require_owner

        require_owner(config)
    if config.chunking.overlap_tokens >= config.chunking.target_tokens:
        raise _wrong(
            "chunking.overlap_tokens",
            f"chunking.overlap_tokens ({config.chunking.overlap_tokens}) must be below "
            f"chunking.target_tokens ({config.chunking.target_tokens})",
            "an overlap of 15 % of the target is usual",
        )
    return config


def require_known_kinds(config: Config, where: str) -> None:
    """Raises ConfigError where a source names a kind of files that kb does not read."""
    families = (*KINDS.families, *config.plugins.extractors)
    for each in config.further_sources:
        if unknown := next((kind for kind in each.kinds if kind not in families), None):
            message = f"sources.kinds: {unknown!r} is no kind of file ({where}, source {each.name})"
            raise _wrong("sources.kinds", message, f"some of {', '.join(families)}")


def with_exposure_now(config: Config) -> Config:
    """The configuration with `[exposure]` and the sources read again from its file; values of variables and flags stay.

    A project has the exposure of the user's own file, and the sources that were trusted.

    Raises: ConfigError if the file cannot be read any more, as it is then unknown what to hide.
    """
    file = config.owner or config.file or default_path(os.environ)
    found, sources = file_values(file) if (config.file and not config.owner) or file.exists() else ({}, ())
    if config.owner is not None:
        sources = config.further_sources
    own: dict[str, Any] = {}
    for key in ExposureConfig.KEYS:
        name = f"exposure.{key}"
        if config.origins.get(name, "file") != "file":
            own[key] = getattr(config.exposure, key)
        elif name in found:
            own[key] = checked(name, found[name], str(file))
    return Config(**{**config.__dict__, "exposure": ExposureConfig(**own), "further_sources": sources})


def file_values(file: Path, content: bytes | None = None) -> tuple[dict[str, Any], tuple[SourceConfig, ...]]:
    """The keys that a file sets, not checked yet, and its further sources; `content` is what it holds, if known."""
    table = read_toml(file, content)
    version = table.pop("schema_version", SCHEMA_VERSION)
    if version != SCHEMA_VERSION:
        raise invalid_file(file, f"schema_version {version!r}; this kb reads {SCHEMA_VERSION}", "update kb")
    sources = _sources(table.pop("sources", []), str(file))
    return dict(_flatten(table, "", str(file))), sources


def _sources(tables: Any, where: str) -> tuple[SourceConfig, ...]:
    """The `[[sources]]` of a file. Raises: ConfigError also where two have one name."""
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise ConfigError(f"sources is not a list of tables ({where})", "write [[sources]] above each")
    found: dict[str, SourceConfig] = {}
    for table in tables:
        source = checked_source(table, where)
        if found.setdefault(source.name.casefold(), source) is not source:
            raise ConfigError(f"two sources are called {source.name} ({where})", "give one of them another name")
    return tuple(found.values())


def checked_source(table: Mapping[str, Any], where: str) -> SourceConfig:
    """The source of a `[[sources]]` table. Raises: ConfigError."""
    for name in table:
        if name not in SourceConfig.KEYS:
            _unknown(f"sources.{name}", list(SOURCE_KEYS), where, "key")
    keys = SourceConfig.KEYS.items()
    values = {name: checked(f"sources.{name}", table.get(name, key.default), where) for name, key in keys}
    return SourceConfig(**{name: value for name, value in values.items() if name in table})


def _flatten(table: Mapping[str, Any], prefix: str, where: str) -> list[tuple[str, Any]]:
    flat: list[tuple[str, Any]] = []
    for name, value in table.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict):
            if not any(section == key or section.startswith(key + ".") for section in SECTIONS):
                _unknown(key, list(SECTIONS), where, "section")
            flat += _flatten(value, key + ".", where)
        elif not _is_fixed(key, toml_value(value), where):
            _require_known(key, where)
            flat.append((key, value))
    return flat


def _env_values(env: Mapping[str, str]) -> list[tuple[str, str, str]]:
    found = []
    for name in sorted(env):
        if not name.startswith("KB_"):
            continue
        for section in SECTIONS:
            stem = "KB_" + section.replace(".", "_").upper() + "_"
            if name.startswith(stem):
                key = f"{section}.{name[len(stem) :].lower()}"
                if _is_fixed(key, env[name], name):
                    continue
                _require_known(key, name)
                found.append((name, key, env[name]))
    return found


def _require_known(key: str, where: str) -> None:
    if key not in KEYS:
        _unknown(key, list(KEYS), where, "key")


def _is_fixed(key: str, text: str, where: str) -> bool:
    """Whether the key is a fixed one, set to its only accepted value.

    Raises: ConfigError for another value, and for a key that only an older kb had.
    """
    if key in KEYS:
        return False
    if key in GONE_KEYS:
        raise _wrong(key, f"{key} is no more ({where}): {GONE_KEYS[key]}", "take it out")
    if key not in FIXED_KEYS:
        return False
    accepted, reason, instead = FIXED_KEYS[key]
    if text.strip('"').lower() != toml_value(accepted).strip('"'):
        message = f"{key} cannot be {text} ({where}): {reason}"
        raise _wrong(key, message, f"leave it out; what to set instead: {instead}")
    return True


def _unknown(key: str, valid: Sequence[str], where: str, what: str) -> None:
    from difflib import SequenceMatcher

    name = key.rpartition(".")[2]

    def likeness(known: str) -> tuple[bool, bool, float]:
        own = known.rpartition(".")[2]
        return own == name, name in own.split("_"), SequenceMatcher(None, key, known).ratio()

    nearest = max(valid, key=likeness)
    named = f"did you mean {nearest}? " if likeness(nearest) > (False, False, 0.4) else ""
    hint = f"{named}kb config show lists every key"
    raise _wrong(key, f"unknown {what} {key} ({where})", hint)


def _from_text(key: str, text: str, where: str) -> Any:
    """The value of an environment variable or flag, read as its key's type."""
    kind = type(KEYS[key].default)
    try:
        if kind is bool:
            return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}[text.lower()]
        if kind is tuple:
            return [part.strip() for part in text.split(",") if part.strip()]
        return kind(text)
    except (ValueError, KeyError) as error:
        raise _wrong(key, f"{key} must be {_TYPE_NAMES[kind]}, not {text!r} ({where})") from error


def checked(key: str, value: Any, where: str) -> Any:
    """The value of a key in its type. Raises: ConfigError for one that it may not have."""
    known = _key(key)
    kind = type(known.default)
    if kind is float and type(value) is int:
        value = float(value)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        value = tuple(value) if kind is tuple else "+".join(value) if key in JOINED else value
    if type(value) is not kind:
        raise _wrong(key, f"{key} must be {_TYPE_NAMES[kind]}{_but_not(key, value)} ({where})")
    if known.rule is not None and not known.rule.accepts(value):
        raise _wrong(key, f"{key} must be {known.rule.wanted}{_but_not(key, value)} ({where})")
    return value


def _key(name: str) -> Key:
    return KEYS.get(name) or SOURCE_KEYS[name]


def _but_not(key: str, value: Any) -> str:
    """`, not VALUE` for the error about a wrong value; empty for a secret one."""
    return "" if key in SECRETS else f", not {value!r}"


def _wrong(key: str, message: str, hint: str | None = None) -> ConfigError:
    """The error about a key; without another hint it says what the key means."""
    if hint is None:
        known = _key(key)
        hint = f"it says {known.meaning}"
        if known.rule is None or known.rule.accepts(known.default):
            hint += f"; the default is {toml_value(known.default)}"
    return ConfigError(message, hint, details={"key": key})


def _build(
    values: Mapping[str, Any], sources: tuple[SourceConfig, ...], file: Path | None, origins: Mapping[str, str]
) -> Config:
    sections: dict[str, Any] = {}
    for name, section in SECTIONS.items():
        own = {key: values[f"{name}.{key}"] for key in section.KEYS if f"{name}.{key}" in values}
        sections[field_of(name)] = section(**own)
    return Config(**sections, further_sources=sources, file=file, origins=origins)


# --- keys that decide nothing ---------------------------------------------------------------------------------------


class FixedKey(NamedTuple):
    """The only accepted value of a key, the reason, and what to set instead."""

    accepted: bool | int | str
    reason: str
    instead: str


FIXED_KEYS: Mapping[str, FixedKey] = {
    "indexing.max_parallel_embeddings": FixedKey(
        1,
        "one model embeds at a time, on all the cores it is given: two at once take as long and twice the memory",
        "models.embedding.threads",
    ),
    "indexing.watch_filesystem": FixedKey(
        False,
        "a process follows the folder only where you start one",
        "`kb watch`; `kb watch --install` starts it at every login",
    ),
    "models.embedding.version": FixedKey(
        "v1",
        "the version is the model's own, from its installed files; passages are embedded again when it changes",
        "models.embedding.model",
    ),
}

_ONE_ENCODER = "one encoder finds in every language, and its tokens rank; search.words_weight joins them to words"

GONE_KEYS: Mapping[str, str] = {
    "models.embedding.secondary": _ONE_ENCODER,
    "models.embedding.sentences": _ONE_ENCODER,
    "search.lexical_weight": _ONE_ENCODER,
    "search.cross_lexical_weight": _ONE_ENCODER,
    "search.secondary_weight": _ONE_ENCODER,
    "search.near_slot": _ONE_ENCODER,
    "search.far_slot": _ONE_ENCODER,
    "search.near_margin": _ONE_ENCODER,
    "search.rrf_lexical_weight": "both channels count the same in RRF",
}
"""Keys that an older kb had, and why there is nothing to set any more."""

# --- TOML files -----------------------------------------------------------------------------------------------------

MAX_BYTES = 1_000_000
MAX_KEY_PARTS = 16

# Comments and strings of each kind, also unfinished ones: no keys.
_QUOTED = (
    r'"""(?:\\.|[^\\])*?(?:"""|\Z)'
    r"|'''.*?(?:'''|\Z)"
    r'|"(?:\\.|[^"\\\n])*"?'
    r"|'[^'\n]*'?"
    r"|#[^\n]*"
)
_LONG_KEY = rf"(?<![\w.-])(?:[\w-]+[ \t]*\.[ \t]*){{{MAX_KEY_PARTS}}}"


def read_toml(file: Path, content: bytes | None = None) -> dict[str, Any]:
    """The tables of a TOML file; `content` is what it holds, if known.

    Raises: ConfigError for what is not TOML, is longer than a megabyte, has a key of more than 16 parts (the parser's
    time and memory grow with the square of them), or a number beyond 64 bits.
    """
    try:
        text = _text(file, content)
        if _has_long_key(text):
            raise _too_deep(file)
        table = tomllib.loads(text)
        if _has_huge_number(table):
            raise invalid_file(file, "a number beyond 64 bits", "TOML has none so large; write a smaller one")
    except ValueError as error:  # no TOML, no UTF-8, or a decimal number of thousands of digits
        raise invalid_file(file, str(error), "check the TOML syntax near that line") from error
    except RecursionError as error:
        raise _too_deep(file) from error
    except OSError as error:
        hint = "make the file readable, or name another with --config"
        raise invalid_file(file, error.strerror or str(error), hint) from error
    return table


def _has_long_key(text: str) -> bool:
    if not any(line.count(".") >= MAX_KEY_PARTS for line in text.split("\n")):
        return False  # a key is on one line
    return re.search(_LONG_KEY, re.sub(_QUOTED, "q", text, flags=re.DOTALL)) is not None


def _text(file: Path, content: bytes | None) -> str:
    if content is None:
        with file.open("rb") as opened:
            content = opened.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise invalid_file(file, f"longer than {MAX_BYTES:,} bytes", "name a configuration file with --config")
    return content.decode().removeprefix("\ufeff").replace("\r\n", "\n")


def invalid_file(file: Path, why: str, hint: str) -> ConfigError:
    """The error for a settings file that cannot be read; its details hold the path."""
    return ConfigError(f"{file}: {why}", hint, details={"path": str(file)})


def _too_deep(file: Path) -> ConfigError:
    return invalid_file(file, "nested too deeply", "sections and lists are all that a configuration has")


def _has_huge_number(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_has_huge_number, value.values()))
    if isinstance(value, list):
        return any(map(_has_huge_number, value))
    return isinstance(value, int) and value.bit_length() > 63


# --- the owner's lexicon --------------------------------------------------------------------------------------------

Synonyms = tuple[tuple[str, ...], ...]

MAX_WORD_CHARS = 100
_SHAPE = 'write: synonyms = [["k8s", "kubernetes"], ["연차", "휴가"]]'


def synonyms(config: Config) -> Synonyms:
    """The groups of synonyms in the lexicon now; empty if there is no lexicon and none was named.

    Raises: ConfigError for a named file that does not exist, and for a file that is no lexicon.
    """
    file = config.path(config.search.lexicon)
    try:
        found = os.stat(file)
    except OSError as error:
        if config.origins.get("search.lexicon") is None:
            return ()
        hint = "write it, or leave search.lexicon out of the configuration"
        raise invalid_file(file, error.strerror or str(error), hint) from error
    return _read(file, found.st_mtime_ns, found.st_size)


@functools.lru_cache(maxsize=4)
def _read(file: Path, mtime_ns: int, size: int) -> Synonyms:
    """The groups in a file of that time and size; a long-running process reads the file again when either changes."""
    table = read_toml(file)
    for key in table:
        if key != "synonyms":
            raise invalid_file(file, f"unknown key {key!r}", _SHAPE)
    groups = table.get("synonyms", [])
    if not isinstance(groups, list):
        raise invalid_file(file, "synonyms is not a list of groups", _SHAPE)
    return tuple(_group(file, number, group) for number, group in enumerate(groups, 1))


def _group(file: Path, number: int, group: Any) -> tuple[str, ...]:
    where = f"group {number}"
    if not isinstance(group, list) or not all(isinstance(word, str) for word in group):
        raise invalid_file(file, f"{where} is not a list of words", _SHAPE)
    words = tuple(dict.fromkeys(" ".join(word.split()) for word in group))
    if len(words) < 2:
        raise invalid_file(file, f"{where} has fewer than two different words", _SHAPE)
    for word in words:
        if not any(char.isalnum() for char in word) or len(word) > MAX_WORD_CHARS:
            hint = f"letters or digits, up to {MAX_WORD_CHARS} of them"
            raise invalid_file(file, f"{where}: {word[:40]!r} is no word", hint)
    return words
