"""The effective configuration: defaults → file (TOML) → `KB_<SECTION>_<KEY>` → flags (frozen design §6).

The sections are tuples of plain values with their defaults, so that reading the configuration costs a search
nothing it can feel: a default's type is the key's type, and RULES holds what else a value must satisfy.
Only `operations` and the surfaces import this module; stages take plain values.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kb.errors import ConfigError, ConfigNotFound

SCHEMA_VERSION = 1


class _Section:
    """Values that cannot be changed. A plain class: six named tuples would cost a cold search four milliseconds."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be changed")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(getattr(self, key) == getattr(other, key) for key in keys(type(self)))

    __hash__ = None  # type: ignore[assignment]


def keys(section: type[_Section]) -> tuple[str, ...]:
    """The keys of a section, in the order they are written."""
    return tuple(section.__annotations__)


class WorkspaceConfig(_Section):
    """Where the notes lie and which of them are indexed (gitignore syntax; `.kbignore` adds to `exclude`)."""

    root: str = "~/KnowledgeBase"
    include: tuple[str, ...] = ("**/*.md",)
    exclude: tuple[str, ...] = (".git/**", "node_modules/**", ".obsidian/**")


class StorageConfig(_Section):
    """Where kb keeps what it makes. Files above `copy_threshold_mb` are referenced, not copied."""

    data_dir: str = "${XDG_DATA_HOME:-~/.local/share}/kb"
    sqlite: str = "{data_dir}/kb.sqlite"
    vector_dir: str = "{data_dir}/lancedb"
    asset_dir: str = "{data_dir}/assets"
    model_dir: str = "{data_dir}/models"
    cache_dir: str = "${XDG_CACHE_HOME:-~/.cache}/kb"
    log_dir: str = "${XDG_STATE_HOME:-~/.local/state}/kb/logs"
    copy_threshold_mb: int = 100
    cache_max_mb: int = 2000


class IndexingConfig(_Section):
    """What one ingest may read: a file above `max_file_mb` is a report item, not a document."""

    max_file_mb: int = 256


class ChunkingConfig(_Section):
    """How documents are cut. Sizes are estimated tokens of the default embedder."""

    target_tokens: int = 500
    overlap_tokens: int = 80
    respect_markdown_headings: bool = True
    chunker_version: str = "md-heading-v1"


class EmbeddingConfig(_Section):
    """The models that embed. `secondary` may be empty: then one model answers alone. `threads` 0 = all cores."""

    model: str = "multilingual-e5-small"
    secondary: str = "use-multilingual-v3"
    threads: int = 0


class SearchConfig(_Section):
    """How hits are found and shown. What the fusion's constants were fitted on stands in docs/retrieval.md."""

    default_k: int = 10
    mode: str = "hybrid"
    hybrid_fusion: str = "linear"
    lexical_weight: float = 0.25
    cross_lexical_weight: float = 0.1
    secondary_weight: float = 0.3
    near_slot: int = 1
    far_slot: int = 4
    near_margin: float = 0.02
    rrf_k: int = 60
    rrf_lexical_weight: float = 1.0
    candidate_depth: int = 50
    snippet_chars: int = 220


class Config(_Section):
    """All sections, and where the values came from."""

    workspace: WorkspaceConfig = WorkspaceConfig()
    storage: StorageConfig = StorageConfig()
    indexing: IndexingConfig = IndexingConfig()
    chunking: ChunkingConfig = ChunkingConfig()
    models_embedding: EmbeddingConfig = EmbeddingConfig()
    search: SearchConfig = SearchConfig()
    file: Path | None = None
    origins: Mapping[str, str] = {}  # "search.default_k" → "file" | "env KB_…" | "flag"; absent = default

    def with_file(self, file: Path) -> Config:
        """The same values, as if `file` held them."""
        return Config(**{**self.__dict__, "file": file})

    @property
    def workspace_root(self) -> Path:
        """The workspace root, absolute; a relative one counts from the configuration file's directory."""
        base = self.file.parent if self.file else Path.cwd()
        return Path(os.path.abspath(base / self.expand(self.workspace.root)))

    @property
    def data_dir(self) -> Path:
        """The data directory, absolute."""
        return self._path(expand_variables(self.storage.data_dir))

    @property
    def sqlite(self) -> Path:
        """The one SQLite file, absolute."""
        return self._path(self.expand(self.storage.sqlite))

    @property
    def asset_dir(self) -> Path:
        """Where content-addressed copies of the sources lie, absolute."""
        return self._path(self.expand(self.storage.asset_dir))

    @property
    def vector_dir(self) -> Path:
        """Where Lance keeps the vectors, absolute."""
        return self._path(self.expand(self.storage.vector_dir))

    @property
    def model_dir(self) -> Path:
        """Where models are installed, absolute."""
        return self._path(self.expand(self.storage.model_dir))

    @property
    def cache_dir(self) -> Path:
        """Where derived work is cached, absolute; losing it costs time only."""
        return self._path(self.expand(self.storage.cache_dir))

    @property
    def log_dir(self) -> Path:
        """Where `--debug` writes its log, absolute."""
        return self._path(self.expand(self.storage.log_dir))

    def expand(self, text: str) -> str:
        """`text` with `~`, `$VAR`, `${VAR:-default}` and `{data_dir}` replaced."""
        return expand_variables(text.replace("{data_dir}", str(self.data_dir)))

    def _path(self, text: str) -> Path:
        base = self.file.parent if self.file else Path.cwd()
        return Path(os.path.abspath(base / text))


SECTIONS: Mapping[str, Any] = {
    "workspace": WorkspaceConfig,
    "storage": StorageConfig,
    "indexing": IndexingConfig,
    "chunking": ChunkingConfig,
    "models.embedding": EmbeddingConfig,
    "search": SearchConfig,
}

Rule = tuple[Callable[[Any], bool], str]


def _at_least(least: int) -> Rule:
    return (lambda value: value >= least), f"at least {least}"


def _one_of(*choices: str) -> Rule:
    return (lambda value: value in choices), "one of " + ", ".join(choices)


RULES: Mapping[str, Rule] = {
    "workspace.root": ((lambda value: bool(value.strip())), "a directory"),
    "storage.copy_threshold_mb": _at_least(0),
    "indexing.max_file_mb": _at_least(1),
    "chunking.target_tokens": ((lambda value: 32 <= value <= 100_000), "between 32 and 100000"),
    "chunking.overlap_tokens": _at_least(0),
    "chunking.chunker_version": _one_of("md-heading-v1"),
    "storage.cache_max_mb": _at_least(0),
    "models.embedding.model": ((lambda value: bool(value.strip())), "the name of a model"),
    "models.embedding.threads": ((lambda value: 0 <= value <= 256), "between 0 (all cores) and 256"),
    "search.mode": _one_of("hybrid", "lexical", "vector"),
    "search.hybrid_fusion": _one_of("linear", "rrf"),
    "search.lexical_weight": ((lambda value: 0 <= value <= 1), "between 0 and 1"),
    "search.cross_lexical_weight": ((lambda value: 0 <= value <= 1), "between 0 and 1"),
    "search.near_slot": _at_least(0),
    "search.far_slot": _at_least(0),
    "search.near_margin": ((lambda value: 0 <= value <= 2), "between 0 and 2"),
    "search.secondary_weight": ((lambda value: 0 <= value <= 10), "between 0 and 10"),
    "search.rrf_k": _at_least(1),
    "search.rrf_lexical_weight": ((lambda value: 0 <= value <= 10), "between 0 and 10"),
    "search.candidate_depth": ((lambda value: 10 <= value <= 2000), "between 10 and 2000"),
    "search.default_k": ((lambda value: 1 <= value <= 1000), "between 1 and 1000"),
    "search.snippet_chars": ((lambda value: 20 <= value <= 10_000), "between 20 and 10000"),
}

# What each key decides: the hint of a wrong value, and the table of docs/configuration.md.
MEANINGS: Mapping[str, str] = {
    "workspace.root": "the folder your notes lie in; a relative one counts from the configuration file's folder",
    "workspace.include": "which files are read, as gitignore patterns",
    "workspace.exclude": "which files and folders are left out, as gitignore patterns, beside .gitignore and .kbignore",
    "storage.data_dir": "where kb keeps what it makes",
    "storage.sqlite": "the one SQLite file with everything that is indexed",
    "storage.vector_dir": "where Lance keeps the vectors, a table a model",
    "storage.asset_dir": "where copies of your files lie, each under the hash of its content",
    "storage.model_dir": "where models are installed",
    "storage.cache_dir": "where vectors are kept by their text, so that nothing is embedded twice; may be deleted",
    "storage.log_dir": "where --debug writes its log, one file a day",
    "storage.copy_threshold_mb": "files above so many megabytes are referred to, not copied",
    "storage.cache_max_mb": "what that cache may take",
    "indexing.max_file_mb": "files above so many megabytes are reported, not read",
    "chunking.target_tokens": "how long a passage may get, in estimated tokens; never beyond what an embedder reads",
    "chunking.overlap_tokens": "how much two neighbouring passages of one long section share, in estimated tokens",
    "chunking.respect_markdown_headings": "whether a heading always begins a new passage",
    "chunking.chunker_version": "how documents are cut; another value indexes everything anew",
    "models.embedding.model": "the model that embeds: one that kb models list shows, or any fastembed name",
    "models.embedding.secondary": "a second model for passages in another language than the question; empty = none",
    "models.embedding.threads": "cores one model may use; 0 = all",
    "search.default_k": "how many hits are shown when --k does not say",
    "search.mode": "how a question is answered when --mode does not say: hybrid, lexical or vector",
    "search.hybrid_fusion": "how words and meaning are joined: linear or rrf",
    "search.lexical_weight": "what words count beside meaning in the linear rule, 0 to 1",
    "search.cross_lexical_weight": "the same for passages in another language than the question",
    "search.secondary_weight": "what the second model's cosine counts beside the first's, in another language",
    "search.near_slot": "own-language hits before the first in another language, where that one is near",
    "search.far_slot": "the same where it is not",
    "search.near_margin": "how much less near than the best own-language passage still counts as near, in cosine",
    "search.rrf_k": "rank constant of RRF",
    "search.rrf_lexical_weight": "what words count beside meaning in RRF",
    "search.candidate_depth": "candidates each channel gives to the fusion",
    "search.snippet_chars": "how much of a passage a hit shows, in characters",
}

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
        _require_known(key, "--set")
        values[key], origins[key] = _checked(key, _from_text(key, text, "--set"), "--set"), "flag"
    return _checked_whole(_build(values, file, origins))


def _checked_whole(config: Config) -> Config:
    if config.chunking.overlap_tokens >= config.chunking.target_tokens:
        raise ConfigError(
            f"chunking.overlap_tokens ({config.chunking.overlap_tokens}) must be below "
            f"chunking.target_tokens ({config.chunking.target_tokens})",
            "an overlap of 15 % of the target is usual",
        )
    return config


def items(config: Config) -> list[tuple[str, Any, str]]:
    """Every key with its value and origin, in the order of the sections."""
    return [
        (f"{name}.{key}", getattr(getattr(config, _field(name)), key), config.origins.get(f"{name}.{key}", "default"))
        for name, section in SECTIONS.items()
        for key in keys(section)
    ]


def to_toml(config: Config, *, with_origins: bool) -> str:
    """The configuration as TOML, every key present; with a comment wherever a value is not the default."""
    lines = [f"schema_version = {SCHEMA_VERSION}"]
    section = ""
    for key, value, origin in items(config):
        head, _, name = key.rpartition(".")
        if head != section:
            section = head
            lines += ["", f"[{head}]"]
        comment = f"  # {origin}" if with_origins and origin != "default" else ""
        lines.append(f"{name} = {_toml_value(value)}{comment}")
    return "\n".join(lines) + "\n"


def expand_variables(text: str, env: Mapping[str, str] | None = None) -> str:
    """`text` with a leading `~`, `$VAR`, `${VAR}` and `${VAR:-default}` replaced, as a shell would.

    Raises: ConfigError for a variable that is not set and has no default.
    """
    env = os.environ if env is None else env

    def value(match: re.Match[str]) -> str:
        name = match["plain"] or match["braced"]
        found = env.get(name, "")
        if found or match["default"] is not None:
            return found or match["default"]
        raise ConfigError(f"the environment variable {name} in {text!r} is not set", f"set it, or write ${{{name}:-…}}")

    if "$" in text:
        names = r"\$(?:(?P<plain>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)(?::-(?P<default>[^}]*))?\})"
        text = re.sub(names, value, text)
    if text == "~" or text.startswith("~/"):
        home = env.get("HOME")
        return (home + text[1:]) if home else os.path.expanduser(text)
    return text


def _file_values(file: Path) -> dict[str, Any]:
    import tomllib

    try:
        table = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: {error}", "check the TOML syntax near that line") from error
    except OSError as error:
        raise ConfigError(
            f"{file}: {error.strerror}", "make the file readable, or name another with --config"
        ) from error
    version = table.pop("schema_version", SCHEMA_VERSION)
    if version != SCHEMA_VERSION:
        raise ConfigError(f"{file}: schema_version {version!r}; this kb reads {SCHEMA_VERSION}", "update kb")
    return dict(_flatten(table, "", str(file)))


def _flatten(table: Mapping[str, Any], prefix: str, where: str) -> list[tuple[str, Any]]:
    flat: list[tuple[str, Any]] = []
    for name, value in table.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict):
            if not any(section == key or section.startswith(key + ".") for section in SECTIONS):
                _unknown(key, list(SECTIONS), where, "section")
            flat += _flatten(value, key + ".", where)
        else:
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
                _require_known(key, name)
                found.append((name, key, env[name]))
    return found


def _known_keys() -> list[str]:
    return [f"{name}.{key}" for name, section in SECTIONS.items() for key in keys(section)]


def _require_known(key: str, where: str) -> None:
    section, _, name = key.rpartition(".")
    if section not in SECTIONS or name not in keys(SECTIONS[section]):
        _unknown(key, _known_keys(), where, "key")


def _unknown(key: str, valid: Sequence[str], where: str, what: str) -> None:
    from difflib import get_close_matches

    name = key.rpartition(".")[2]
    near = [known for known in valid if known.rpartition(".")[2] == name] or get_close_matches(
        key, valid, n=1, cutoff=0.5
    )
    hint = f"did you mean {near[0]}?" if near else "valid: " + ", ".join(valid)
    raise ConfigError(f"unknown {what} {key} ({where})", hint)


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
        raise ConfigError(f"{key} must be {_TYPE_NAMES[kind]}, not {text!r} ({where})", _meaning(key)) from error


def _checked(key: str, value: Any, where: str) -> Any:
    kind = type(_default(key))
    if kind is float and type(value) is int:
        value = float(value)
    if kind is tuple and isinstance(value, list) and all(isinstance(item, str) for item in value):
        value = tuple(value)
    if type(value) is not kind:
        raise ConfigError(f"{key} must be {_TYPE_NAMES[kind]}, not {value!r} ({where})", _meaning(key))
    accepts, wanted = RULES.get(key, (None, ""))
    if accepts is not None and not accepts(value):
        raise ConfigError(f"{key} must be {wanted}, not {value!r} ({where})", _meaning(key))
    return value


def _meaning(key: str) -> str:
    return f"it says {MEANINGS[key]}; the default is {_toml_value(_default(key))}"


def _build(values: Mapping[str, Any], file: Path | None, origins: Mapping[str, str]) -> Config:
    sections: dict[str, Any] = {}
    for name, section in SECTIONS.items():
        own = {key: values[f"{name}.{key}"] for key in keys(section) if f"{name}.{key}" in values}
        sections[_field(name)] = section(**own)
    return Config(**sections, file=file, origins=origins)


def _field(section: str) -> str:
    """The field of Config that holds a section: `models.embedding` → `models_embedding`."""
    return section.replace(".", "_")


def _toml_value(value: Any) -> str:
    import json

    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml_value(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # JSON allows it raw, TOML does not
