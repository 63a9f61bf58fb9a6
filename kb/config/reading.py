"""Reads the configuration: defaults → file (TOML) → `KB_<SECTION>_<KEY>` → flags, each value checked as it is set."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kb.config.rules import JOINED, MEANINGS, RULES, SECRETS
from kb.config.sections import SCHEMA_VERSION, SECTIONS, Config, ExposureConfig, field_of, keys
from kb.config.showing import toml_value
from kb.config.toml_file import invalid_file, read_toml
from kb.config.variables import expand_variables
from kb.errors import ConfigError, ConfigNotFound

_TYPE_NAMES = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a string",
    tuple: "a list of strings",
}


def default_path(env: Mapping[str, str]) -> Path:
    """Where the configuration file is looked for when none is named; the same on Linux and macOS."""
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
    if file is not None:
        for key, value in _file_values(file).items():
            values[key], origins[key] = _checked(key, value, str(file)), "file"
    for name, key, text in _env_values(env):
        values[key], origins[key] = _checked(key, _from_text(key, text, name), name), f"env {name}"
    for flag in flags:
        key, equals, text = flag.partition("=")
        if not equals:
            raise ConfigError(f"--set takes section.key=value, not {flag!r}", "example: --set search.default_k=5")
        if _is_fixed(key, text, "--set"):
            continue
        _require_known(key, "--set")
        values[key], origins[key] = _checked(key, _from_text(key, text, "--set"), "--set"), "flag"
    return _checked_whole(_build(values, file, origins))


def with_exposure_now(config: Config) -> Config:
    """The same values, but what `[exposure]` of the file says now; what a variable or a flag had set stays.

    Raises: ConfigError where the file cannot be read any more: nobody knows then what it hides.
    """
    file = config.file or default_path(os.environ)
    found = _file_values(file) if config.file or file.exists() else {}
    own: dict[str, Any] = {}
    for key in keys(ExposureConfig):
        name = f"exposure.{key}"
        if config.origins.get(name, "file") != "file":
            own[key] = getattr(config.exposure, key)
        elif name in found:
            own[key] = _checked(name, found[name], str(file))
    return Config(**{**config.__dict__, "exposure": ExposureConfig(**own)})


def _checked_whole(config: Config) -> Config:
    if config.chunking.overlap_tokens >= config.chunking.target_tokens:
        raise ConfigError(
            f"chunking.overlap_tokens ({config.chunking.overlap_tokens}) must be below "
            f"chunking.target_tokens ({config.chunking.target_tokens})",
            "an overlap of 15 % of the target is usual",
            details={"key": "chunking.overlap_tokens"},
        )
    return config


def _file_values(file: Path) -> dict[str, Any]:
    table = read_toml(file)
    version = table.pop("schema_version", SCHEMA_VERSION)
    if version != SCHEMA_VERSION:
        raise invalid_file(file, f"schema_version {version!r}; this kb reads {SCHEMA_VERSION}", "update kb")
    return dict(_flatten(table, "", str(file)))


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


def _known_keys() -> list[str]:
    return [f"{name}.{key}" for name, section in SECTIONS.items() for key in keys(section)]


def _require_known(key: str, where: str) -> None:
    section, _, name = key.rpartition(".")
    if section not in SECTIONS or name not in keys(SECTIONS[section]):
        _unknown(key, _known_keys(), where, "key")


def _is_fixed(key: str, text: str, where: str) -> bool:
    """Whether the key decides nothing and says what is so anyway.

    Raises: ConfigError where it says something else, or is one that an older kb had.
    """
    section, _, name = key.rpartition(".")
    if section in SECTIONS and name in keys(SECTIONS[section]):
        return False
    from kb.config.fixed_keys import FIXED_KEYS, GONE_KEYS

    if key in GONE_KEYS:
        raise ConfigError(f"{key} is no more ({where}): {GONE_KEYS[key]}", "take it out", details={"key": key})
    if key not in FIXED_KEYS:
        return False
    accepted, reason, instead = FIXED_KEYS[key]
    if text.strip('"').lower() != toml_value(accepted).strip('"'):
        raise ConfigError(
            f"{key} cannot be {text} ({where}): {reason}",
            f"leave it out; what to set instead: {instead}",
            details={"key": key},
        )
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
    raise ConfigError(f"unknown {what} {key} ({where})", hint, details={"key": key})


def _default(key: str) -> Any:
    section, _, name = key.rpartition(".")
    return getattr(SECTIONS[section], name)


def _from_text(key: str, text: str, where: str) -> Any:
    """The value of an environment variable or flag, read as its key's type."""
    kind = type(_default(key))
    try:
        if kind is bool:
            return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}[text.lower()]
        if kind is tuple:
            return [part.strip() for part in text.split(",") if part.strip()]
        return kind(text)
    except (ValueError, KeyError) as error:
        message = f"{key} must be {_TYPE_NAMES[kind]}, not {text!r} ({where})"
        raise ConfigError(message, _meaning(key), details={"key": key}) from error


def _checked(key: str, value: Any, where: str) -> Any:
    kind = type(_default(key))
    if kind is float and type(value) is int:
        value = float(value)
    if kind is tuple and isinstance(value, list) and all(isinstance(item, str) for item in value):
        value = tuple(value)
    if key in JOINED and isinstance(value, list) and all(isinstance(item, str) for item in value):
        value = "+".join(value)
    if type(value) is not kind:
        raise ConfigError(
            f"{key} must be {_TYPE_NAMES[kind]}{_told(key, value)} ({where})", _meaning(key), details={"key": key}
        )
    accepts, wanted = RULES.get(key, (None, ""))
    if accepts is not None and not accepts(value):
        raise ConfigError(f"{key} must be {wanted}{_told(key, value)} ({where})", _meaning(key), details={"key": key})
    return value


def _told(key: str, value: Any) -> str:
    """A wrong value as an error names it; a secret one is not named."""
    return "" if key in SECRETS else f", not {value!r}"


def _meaning(key: str) -> str:
    return f"it says {MEANINGS[key]}; the default is {toml_value(_default(key))}"


def _build(values: Mapping[str, Any], file: Path | None, origins: Mapping[str, str]) -> Config:
    sections: dict[str, Any] = {}
    for name, section in SECTIONS.items():
        own = {key: values[f"{name}.{key}"] for key in keys(section) if f"{name}.{key}" in values}
        sections[field_of(name)] = section(**own)
    return Config(**sections, file=file, origins=origins)
