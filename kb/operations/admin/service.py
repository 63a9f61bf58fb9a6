"""The service that runs `kb watch` from login on: a user unit of systemd, or a launch agent of macOS."""

from __future__ import annotations

import os
import plistlib
import subprocess
import sys
from binascii import crc32
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kb.errors import FileError, NotFound, UsageError, write_errors
from kb.private import replace_file

_UNIT = """\
[Unit]
Description=kb watch: the index of {root} as its files are

[Service]
ExecStart={command}
Restart=on-failure
RestartSec=30

[Install]
WantedBy=default.target
"""


class Service(NamedTuple):
    """A service: its file and the content of that, and the commands that start and stop the service."""

    file: Path
    content: bytes
    start: tuple[Sequence[str], ...]
    stop: tuple[Sequence[str], ...]


def watch_service(
    options: Sequence[str], root: Path, env: Mapping[str, str], platform: str = sys.platform, *, is_usual: bool
) -> Service:
    """The service of `kb OPTIONS watch`; `is_usual`: it is for the default configuration, so its name has no number."""
    command = [sys.executable, "-P", "-m", "kb", *options, "watch"]
    name = "kb-watch" if is_usual else f"kb-watch-{crc32(os.fsencode(os.sep.join(options))):08x}"
    if platform == "darwin":
        file = Path(os.path.expanduser("~/Library/LaunchAgents")) / f"{name}.plist"
        agent = {"Label": name, "ProgramArguments": command, "RunAtLoad": True, "KeepAlive": {"SuccessfulExit": False}}
        domain = f"gui/{os.getuid()}"
        loaded = ("launchctl", "bootstrap", domain, str(file))
        return Service(file, plistlib.dumps(agent), (loaded,), (("launchctl", "bootout", f"{domain}/{name}"),))
    folder = Path(env.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")) / "systemd/user"
    unit = _UNIT.format(root=_escaped(str(root)), command=" ".join(map(_quoted, command)))
    systemctl = ("systemctl", "--user")
    start, stop = (
        (*systemctl, "enable", "--now", f"{name}.service"),
        (*systemctl, "disable", "--now", f"{name}.service"),
    )
    return Service(folder / f"{name}.service", unit.encode(), ((*systemctl, "daemon-reload"), start), (stop,))


def install(service: Service) -> None:
    """Writes the file of the service and starts it. Raises: FileError, UsageError."""
    with write_errors(service.file, "make the folder writable", kind=FileError):
        service.file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(service.file, service.content)
    for command in service.start:
        _run(command, f"the service is written: {service.file}")


def uninstall(service: Service) -> None:
    """Stops the service and removes its file. Raises: NotFound, FileError, UsageError."""
    if not service.file.exists():
        raise NotFound(f"there is no {service.file}", "kb watch --install makes it")
    for command in service.stop:
        _run(command, f"remove {service.file} by hand")
    service.file.unlink()


def _run(command: Sequence[str], hint: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise UsageError(f"{command[0]} cannot be run: {error.strerror}", hint) from error
    if done.returncode:
        raise UsageError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}", hint)


def _quoted(word: str) -> str:
    """A word of a command line in a systemd unit, which would replace `$` and `%` in it."""
    return '"' + _escaped(word).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$") + '"'


def _escaped(text: str) -> str:
    return text.replace("%", "%%").replace("\n", " ")
