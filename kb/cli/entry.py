"""The start of the process: what the console script `kb` calls.

A question is handed to the `kb watch` of its configuration, if one runs (`kb.cli.watch_workers`), which has loaded kb
and the models already. Until then this file imports only what the interpreter has loaded. If no `kb watch` answers at
once, this process runs the command itself, with the same output.
"""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from typing import NoReturn, TypeAlias

    # The environment, the umask, and for each standard stream its encoding, its errors and whether it is unbuffered.
    Surroundings: TypeAlias = tuple[dict[str, str], int, list[tuple[str, str, bool]]]
    # The configuration file, the arguments, and the surroundings.
    Request: TypeAlias = tuple[str, list[str], Surroundings]

HANDED_OVER = ("search", "ask", "fetch", "open")

# Python looks for circular garbage whenever it has so many more objects. By its default of 700 that is a tenth of the
# work of a cold search, which makes 20,000, and nearly none of them garbage.
_COLLECTED_EVERY = 30_000

GIVE_UP_S = 0.2
"""How long each step of handing over may take."""

# What both sides say. First the request: its length in four bytes, and what `marshal` makes of it. With GO go the
# descriptors of the standard streams and of the working directory; before, a process that is stopped would keep them
# open, and whoever reads them waiting.
READY, GO, INTERRUPT = b"R", b"G", b"I"
# Then, each with one more byte: the exit code, or a program to run here.
ENDED, RUN = b"E", b"X"
LENGTH_BYTES = 4


def run() -> NoReturn:
    """Runs kb on the process's arguments and exits.

    Exceptions that `kb.cli.main` cannot catch, or that occur while it reports an error, end the process here: Ctrl-C at
    any moment, and a library that cannot be imported.
    """
    try:
        code = hand_over(sys.argv[1:])
        if code is None:
            gc.set_threshold(_COLLECTED_EVERY)
            from kb.cli.deferred import defer

            defer()
            from kb.cli.main import run_here

            code = run_here(sys.argv[1:])
            gc.freeze()  # the process ends: what is left need not be searched for circular garbage
        sys.exit(code)
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001  what main could not take
        _end(error)


def _end(error: BaseException) -> NoReturn:
    said, code = ("aborted", 130) if isinstance(error, KeyboardInterrupt) else (_said(error), 2)
    _say(said)
    sys.exit(code)


def _said(error: BaseException) -> str:
    return f"error: kb could not be started: {type(error).__name__}: {error}\n  hint: install kb again"


def _say(text: str) -> None:
    try:
        os.write(2, f"{text}\n".encode(errors="replace"))
    except OSError:  # nobody reads it
        return


def socket_path(config: str) -> str:
    """The socket of the `kb watch` of this configuration file, of this installation and Python."""
    from binascii import crc32

    folder = os.environ.get("XDG_RUNTIME_DIR") or f"/tmp/kb-{os.geteuid()}"
    name = "\0".join((config, __file__, sys.prefix, sys.version))
    return f"{folder}/kb-{crc32(name.encode(errors='surrogateescape')):08x}.sock"


def config_path(named: str | None, vault: str | None = None) -> str:
    """The absolute path of a call's configuration file, as `kb.config` finds it, but without variables replaced."""
    if not (named or vault):
        named, vault = os.environ.get("KB_CONFIG"), os.environ.get("KB_VAULT")
    if named:
        return os.path.abspath(named)
    folder = os.path.join(os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"), "kb")
    if vault and vault not in ("default", "all"):
        return os.path.realpath(f"{folder}/vaults/{vault}/config.toml")
    return os.path.join(folder, "config.toml")


def hand_over(args: list[str]) -> int | None:
    """The exit code of a command that `kb watch` has run; None if this process has to run it."""
    command, named, vault = _command(args)
    if command not in HANDED_OVER or "_KB_COMPLETE" in os.environ:
        return None
    config = config_path(named, vault)
    is_usual = config == config_path(None, "default") and os.path.isdir(os.path.dirname(socket_path(config)))
    if is_usual:
        from kb.cli.projects import project_above

        if (project := project_above()) and os.path.exists(socket_path(project)):
            config = project
    path = socket_path(config)
    try:
        found = os.lstat(path)
    except OSError:
        return None
    streams = (sys.stdin, sys.stdout, sys.stderr)
    if found.st_uid != os.geteuid() or None in streams or sys.getfilesystemencoding() != "utf-8":
        return None
    conn = _accepted(path, (config, args, _surroundings()))
    return None if conn is None else _ended(conn)


def _command(args: list[str]) -> tuple[str | None, str | None, str | None]:
    """The command after kb's options, and the configuration file and the vault that are named, None where missing."""
    named = vault = None
    rest = iter(args)
    for arg in rest:
        if arg == "--config":
            named = next(rest, None)
        elif arg.startswith("--config="):
            named = arg.partition("=")[2]
        elif arg == "--vault":
            vault = next(rest, None)
        elif arg.startswith("--vault="):
            vault = arg.partition("=")[2]
        elif arg == "--set":
            next(rest, None)
        elif not arg.startswith("-"):
            return arg, named, vault
    return None, named, vault


def _surroundings() -> Surroundings:
    umask = os.umask(0o077)
    os.umask(umask)
    streams = (sys.stdin, sys.stdout, sys.stderr)
    forms = [(each.encoding, each.errors or "strict", getattr(each, "write_through", False)) for each in streams]
    return dict(os.environ), umask, forms


def _accepted(path: str, request: Request) -> socket | None:
    """The connection to a process that has begun to run the command; None if none has."""
    import marshal
    from _socket import AF_UNIX, SCM_RIGHTS, SOCK_STREAM, SOL_SOCKET, socket

    conn = socket(AF_UNIX, SOCK_STREAM)
    try:
        conn.settimeout(GIVE_UP_S)
        conn.connect(path)
        body = marshal.dumps(request)
        conn.sendall(len(body).to_bytes(LENGTH_BYTES, "big") + body)
        if conn.recv(1) == READY:  # until now it has printed nothing
            here = os.open(".", os.O_RDONLY | os.O_CLOEXEC)
            descriptors = b"".join(each.to_bytes(4, sys.byteorder) for each in (0, 1, 2, here))
            conn.sendmsg([GO], [(SOL_SOCKET, SCM_RIGHTS, descriptors)])
            os.close(here)
            conn.settimeout(None)
            return conn
    except OSError:
        pass
    conn.close()
    return None


def _ended(conn: socket) -> int:
    """Waits for the command to end and returns its exit code; passes Ctrl-C on."""
    while True:
        try:
            said = conn.recv(2)
            if said[:1] != RUN:
                break
            _run_here(conn)
        except KeyboardInterrupt:
            try:
                conn.sendall(INTERRUPT)
            except OSError:  # it has ended meanwhile
                continue
        except OSError:
            said = b""
            break
    if said[:1] == ENDED:
        return said[1]
    _say("error: the process of kb watch that ran this command has ended\n  hint: run the command again")
    return 2


def _run_here(conn: socket) -> None:
    """Runs a program, such as an editor, on this process's terminal, and sends back its exit code or why it failed."""
    import marshal
    import struct
    import subprocess

    command = marshal.loads(_exactly(conn, int.from_bytes(_exactly(conn, LENGTH_BYTES), "big")))
    try:
        code, failed = subprocess.call(command), 0
    except OSError as error:
        code, failed = 0, error.errno or 0
    conn.sendall(struct.pack("ii", code, failed))


def _exactly(conn: socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = conn.recv(count - len(data))
        if not more:
            raise OSError("the connection ended")
        data += more
    return data
