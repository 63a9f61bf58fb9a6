"""What of `[storage]` sends vectors to another machine, and who may say so: the owner's configuration file alone."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kb.domain.embeddings import VectorAddress
from kb.errors import ConfigError

if TYPE_CHECKING:
    from kb.config.keys import Config, StorageConfig

_ADDRESS = re.compile(r"(?:s3|gs|az)://[^/\s?#@]+(?:/[^\s?#]*)?")
_SECRET = re.compile("secret|token|password|credential|sas|(?:access|account|api)_?key|service_account", re.IGNORECASE)
_ENDPOINT = re.compile(r"(?:AWS|AZURE|GOOGLE)_\w*(?:ENDPOINT|BASE_URL)\w*", re.IGNORECASE)
_THIS_MACHINE = ("127.0.0.1", "::1", "localhost")


def vector_address(storage: StorageConfig, env: Mapping[str, str] | None = None) -> VectorAddress:
    """The address in `storage.vector_dir` with the options of its client.

    Raises: ConfigError for one that no object store has, a credential among the options, an endpoint that the options
    do not name, or one without TLS on another machine.
    """
    uri, options = storage.vector_dir.rstrip("/"), dict[str, str]()
    if not _ADDRESS.fullmatch(uri):
        raise _wrong(f"storage.vector_dir cannot be {uri}", "a folder, or s3://BUCKET/FOLDER, gs://… or az://…")
    for pair in storage.vector_options:
        name, equals, value = pair.partition("=")
        if not equals or _SECRET.search(name):
            raise _wrong(
                f"storage.vector_options has {name!r}" + (", a credential" if equals else " without a value"),
                "aws_region=eu-central-1, for example; credentials are in the environment alone (AWS_ACCESS_KEY_ID, …)",
            )
        options[name.strip().lower()] = value.strip()
    for name, value in (os.environ if env is None else env).items():
        if _ENDPOINT.fullmatch(name) and value and value not in options.values():
            raise _wrong(
                f"{name} in the environment would send the vectors to {value}",
                f'unset it, or name it in the configuration file: vector_options = ["aws_endpoint={value}"]',
            )
    plain = [value for value in options.values() if value.lower().startswith("http://")]
    far = [value for value in plain if urlsplit(value).hostname not in _THIS_MACHINE]
    if far and not storage.allow_http:
        raise _wrong(
            f"{far[0]} is another machine, and http:// lets anybody between read the vectors",
            "https://, or storage.allow_http = true in the configuration file",
        )
    return VectorAddress(uri, tuple(sorted((options | {"allow_http": str(bool(plain)).lower()}).items())))


def require_owner(config: Config) -> None:
    """Raises ConfigError where vectors would go to an address that the owner's configuration file does not name."""
    keys = ("vector_dir", "vector_options", "allow_http") if is_address(config.storage.vector_dir) else ()
    for key in (f"storage.{name}" for name in keys):
        if (origin := config.origins.get(key, "file")) != "file":
            raise _wrong(
                f"{key} sends vectors to another machine, so that it is taken from the configuration file alone, "
                f"not from {origin.replace('flag', '--set')}",
                "write it there; kb config show names the file",
            )
    if keys and config.file is not None:
        found = os.stat(config.file)
        if found.st_uid not in (0, os.geteuid()) or found.st_mode & 0o022:
            raise _wrong(
                f"{config.file} sends vectors to another machine, and others may write it",
                f"chmod go-w {config.file}, and make it yours",
            )
    if keys:
        vector_address(config.storage)


def is_address(text: str) -> bool:
    """Whether a value is meant as an address, though perhaps mistyped: no folder is named so."""
    return re.match(r"[A-Za-z][\w+.-]*:/", text) is not None


def _wrong(message: str, hint: str) -> ConfigError:
    return ConfigError(message, hint, details={"key": "storage.vector_dir"})
