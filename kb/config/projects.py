"""A project's knowledge base: `.kb/config.toml` in its folder, which says what of the folder is read, and nothing else.

It may come with a repository that somebody else wrote. So it counts only as long as its content is what the user has
trusted, all its folders are below its own, and everything else is as in the user's own configuration.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kb.config.keys import Config, SourceConfig, StorageConfig, WorkspaceConfig, expand_variables
from kb.config.reading import MAX_BYTES, checked, default_path, file_values, invalid_file, load, require_known_kinds
from kb.errors import ConfigError, write_errors
from kb.private import make_private_folder, replace_file

STARTER = """\
# The knowledge base of this folder, for kb. Whoever works here is asked before it is used: kb trust
# It may say what is read of this folder, and nothing else.

[workspace]
# root = "docs"                  # the folder with the notes, below this one
# exclude = ["build/**"]         # what is left out, beside .gitignore and .kbignore
# about = "What it holds"

# [[sources]]                    # a further folder, beside root
# name = "code"
# root = "src"
# kinds = ["code"]
"""

_SETTABLE = ("root", "include", "exclude", "about")
"""What a project may set of `[workspace]`; of `[[sources]]` all keys, which can only keep documents from readers."""

_PLACES = ("data_dir", "sqlite", "vector_dir", "vector_options", "asset_dir", "artifact_dir", "runs_dir")
"""The keys of `[storage]` that tell one knowledge base from another."""


def load_project(named: str, flags: Sequence[str], env: Mapping[str, str]) -> Config:
    """The configuration of a project that is trusted. Raises: ConfigError where it is not, and as `read_project`."""
    config, digest = read_project(named, flags, env)
    if _trusted(env).get(str(config.file)) != digest:
        raise ConfigError(
            f"{config.file} is not trusted, or has changed since", "kb trust shows what it sets, and asks"
        )
    return config


def read_project(named: str, flags: Sequence[str], env: Mapping[str, str]) -> tuple[Config, str]:
    """The user's configuration with a project's sources, a folder for their data, and the hash of the project's file.

    Raises: ConfigError for a key that a project may not set, and a folder that is not below the project's.
    """
    file = project_file(named)
    content = _content(file)
    found, sources = file_values(file, content)
    if os.path.join(os.path.realpath(os.path.expanduser("~")), "").startswith(os.path.join(file.parent.parent, "")):
        raise invalid_file(file, "your home directory is in its folder", "a project has a folder below it: kb init")
    settable = [f"workspace.{key}" for key in _SETTABLE]
    if refused := next((key for key in found if key not in settable), None):
        raise ConfigError(
            f"a project may not set {refused} ({file})",
            f"it may set {', '.join(settable)} and [[sources]]; your own configuration sets all else",
            details={"key": refused},
        )
    usual, root = default_path(env), file.parent.parent
    own = load(str(usual) if usual.exists() else os.devnull, flags, env)
    workspace = {key.partition(".")[2]: checked(key, value, str(file)) for key, value in found.items()}
    workspace |= {
        "root": str(root / workspace.get("root", "")),
        "exclude": (*workspace.get("exclude", WorkspaceConfig.exclude), ".kb/**"),
        "follow_outside": False,
    }
    storage = {key: value for key, value in own.storage.__dict__.items() if key not in _PLACES}
    storage |= {"data_dir": str(project_data(root, own)), "model_dir": str(own.model_dir)}
    further = (SourceConfig(**{**each.__dict__, "root": str(root / each.root)}) for each in sources)
    made = Config(
        **{
            **own.__dict__,
            "workspace": WorkspaceConfig(**workspace | _flagged(own, "workspace")),
            "storage": StorageConfig(**storage | _flagged(own, "storage")),
            "further_sources": tuple(further),
            "file": file,
            "owner": usual,
            "origins": {**own.origins, **dict.fromkeys((*found, "storage.data_dir", "storage.model_dir"), "project")},
        }
    )
    require_known_kinds(made, str(file))
    _require_below(made, root)
    return made, _digest(content)


def project_file(named: str) -> Path:
    """The file of a project, links to its folder followed."""
    return Path(os.path.realpath(Path(os.path.abspath(named)).parent.parent), ".kb", "config.toml")


def project_data(root: Path, own: Config) -> Path:
    """The data directory of the project in a folder: kb writes nothing into the project."""
    name = re.sub(r"[^\w-]", "-", root.name)
    return own.data_dir / "projects" / f"{name}-{hashlib.sha256(os.fsencode(root)).hexdigest()[:16]}"


def is_trusted(file: Path, env: Mapping[str, str]) -> bool:
    """Whether a project's file is there as it was trusted. Raises: ConfigError where it cannot be known."""
    trusted = _trusted(env).get(str(file))
    try:
        return trusted is not None and trusted == _digest(_content(file))
    except ConfigError:
        return False


def trusted_projects(env: Mapping[str, str]) -> list[Path]:
    """The files of projects that were trusted, as they were then. Raises: ConfigError."""
    return [Path(file) for file in sorted(_trusted(env))]


def trust(file: Path, digest: str, env: Mapping[str, str]) -> None:
    """Trusts a project's file as long as its content has that hash. Raises: ConfigError, StoreReadOnly."""
    _keep(_trusted(env) | {str(file): digest}, env)


def distrust(file: Path, env: Mapping[str, str]) -> bool:
    """Trusts a project's file no more; whether it was trusted. Raises: ConfigError, StoreReadOnly."""
    trusted = _trusted(env)
    was = trusted.pop(str(file), None) is not None
    _keep(trusted, env)
    return was


def _flagged(own: Config, section: str) -> dict[str, Any]:
    """The values of a section that --set gave."""
    names = [name.partition(".")[2] for name, origin in own.origins.items() if origin == "flag"]
    values = getattr(own, section)
    return {name: getattr(values, name) for name in names if own.origins.get(f"{section}.{name}") == "flag"}


def _require_below(config: Config, root: Path) -> None:
    """Raises ConfigError for a folder that is not below the project's, links followed."""
    above = os.path.join(os.path.realpath(root), "")
    for each in config.sources.every:
        if not os.path.join(os.path.realpath(each.root), "").startswith(above):
            raise ConfigError(
                f"the source {each.name} of the project {root} is in {each.root}, which leads out of it",
                "a project has sources below its own folder alone; kb source add adds others to your own",
            )


def _content(file: Path) -> bytes:
    """The bytes of a project's file. Raises: ConfigError for a link, what is no file, and more than a megabyte."""
    root = os.path.realpath(file.parent.parent)
    if os.path.realpath(file) != os.path.join(root, ".kb", "config.toml"):
        raise invalid_file(file, "it is a symbolic link", "a project has a folder .kb with a file config.toml")
    try:
        opened = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(opened, "rb") as stream:
            if not stat.S_ISREG(os.fstat(opened).st_mode):
                raise invalid_file(file, "it is no regular file", "a project has a file .kb/config.toml")
            content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise invalid_file(file, error.strerror or str(error), "make it readable") from error
    if len(content) > MAX_BYTES:
        raise invalid_file(file, f"longer than {MAX_BYTES:,} bytes", "a project says what is read of its folder")
    return content


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _state(env: Mapping[str, str]) -> Path:
    return Path(expand_variables("${XDG_STATE_HOME:-~/.local/state}/kb/trusted.json", env))


def _trusted(env: Mapping[str, str]) -> dict[str, str]:
    """The hashes of the contents that were trusted, by file."""
    file = _state(env)
    try:
        stored = json.loads(file.read_text(encoding="utf-8", errors="surrogateescape"))
        return {str(path): str(digest) for path, digest in stored.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError) as error:
        raise invalid_file(file, f"cannot be read: {error}", "remove it, and trust your projects again") from error


def _keep(trusted: Mapping[str, str], env: Mapping[str, str]) -> None:
    file = _state(env)
    with write_errors(file, "make its folder writable"):
        make_private_folder(file.parent)
        replace_file(file, json.dumps(trusted, indent=1).encode("utf-8", "surrogateescape"))
