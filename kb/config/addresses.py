"""Addresses of object stores. Only the owner's configuration may say what is written there, and with which options."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kb.domain.embeddings import VectorAddress
from kb.errors import ConfigError

if TYPE_CHECKING:
    from kb.config.keys import Config, StorageConfig

_ADDRESS = re.compile(r"(?:s3|gs|az)://[^/\s?#@]+(?:/[^\s?#]*)?")
_SECRET = re.compile(
    "secret|token|password|credential|sas|(?:access|account|api|customer|encryption|master)_?key|service_account",
    re.IGNORECASE,
)
_ENDPOINT = re.compile(r"(?:AWS|AZURE|GOOGLE)_\w*(?:ENDPOINT|BASE_URL)\w*", re.IGNORECASE)
_PASSWORD = re.compile(r"//[^/]*@")
_CLIENT = ("storage.vector_options", "storage.allow_http")
_THIS_MACHINE = ("127.0.0.1", "::1", "localhost")


def vector_address(storage: StorageConfig) -> VectorAddress:
    """The address in `storage.vector_dir` with the options of its client. Raises: ConfigError."""
    return _address(storage, storage.vector_dir, os.environ)


def snapshot_address(config: Config, uri: str) -> VectorAddress:
    """The address that a call names, with the client's options of the configuration file. Raises: ConfigError."""
    _require_own(config, _CLIENT, f"{uri} is another machine")
    return _address(config.storage, uri, os.environ)


def _address(storage: StorageConfig, text: str, env: Mapping[str, str]) -> VectorAddress:
    """An address with the options of its client.

    Raises: ConfigError for one that no object store has, a credential among the options, an endpoint that the options
    do not name, or one without TLS on another machine.
    """
    uri, options = text.rstrip("/"), dict[str, str]()
    if not _ADDRESS.fullmatch(uri):
        shown = _PASSWORD.sub("//…@", uri.partition("?")[0])
        raise _wrong(f"an address cannot be {shown}", "a folder, or s3://BUCKET/FOLDER, gs://… or az://…")
    for pair in storage.vector_options:
        name, equals, value = pair.partition("=")
        if not equals or _SECRET.search(name) or "@" in value:
            raise _wrong(
                f"storage.vector_options has a credential, {name}"
                if equals
                else "storage.vector_options lacks a value",
                "aws_region=eu-central-1, for example; credentials are in the environment alone (AWS_ACCESS_KEY_ID, …)",
            )
        options[name.strip().lower()] = value.strip()
    for name, value in env.items():
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
    """Raises ConfigError if vectors would go to an address that the owner's configuration file does not name."""
    if is_address(config.storage.vector_dir):
        _require_own(config, ("storage.vector_dir", *_CLIENT), "storage.vector_dir sends vectors to another machine")
        vector_address(config.storage)


def _require_own(config: Config, keys: Sequence[str], why: str) -> None:
    """Raises ConfigError if anything but a configuration file that only its owner may write sets one of the keys."""
    for key in keys:
        if (origin := config.origins.get(key, "file")) != "file":
            raise _wrong(
                f"{why}, so that {key} is taken from the configuration file alone, "
                f"not from {origin.replace('flag', '--set')}",
                "write it there; kb config show names the file",
            )
    if config.file is not None:
        found = os.stat(config.file)
        if found.st_uid not in (0, os.geteuid()) or found.st_mode & 0o022:
            raise _wrong(
                f"{why}, as {config.file} says, and others may write it", f"chmod go-w {config.file}, and make it yours"
            )


def is_address(text: str) -> bool:
    """Whether a value is meant as an address, perhaps mistyped; no folder has such a name."""
    return re.match(r"[A-Za-z][\w+.-]*:/", text) is not None


def _wrong(message: str, hint: str) -> ConfigError:
    return ConfigError(message, hint, details={"key": "storage.vector_dir"})
