"""Standard input and output as the event loop itself reads and writes them: no call waits for a thread's turn.

The library gives each line in, each line out and each flush to a worker thread: three changes of thread a call, each of
which waits for its turn where the processors are busy.
"""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.stdio import stdio_server

_CHUNK_BYTES = 65_536


@asynccontextmanager
async def served_stdio() -> AsyncIterator[Any]:
    """The streams of messages; meanwhile nothing else reads standard input, and what is printed goes to standard error.

    A file in the place of a pipe is read as the library does it.
    """
    if not (_can_wait(0) and _can_wait(1)):
        async with stdio_server() as streams:
            yield streams
        return
    sys.stdout.flush()
    kept = os.dup(0), os.dup(1)
    source, sink = os.dup(0), os.dup(1)  # closed with their ends
    _divert()
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    read_end, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(source, "rb", 0))
    write_end, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(sink, "wb", 0))
    writer = asyncio.StreamWriter(write_end, protocol, None, loop)
    try:
        async with stdio_server(_Lines(reader), _Written(writer)) as streams:  # type: ignore[arg-type]
            yield streams
    finally:
        read_end.close()
        write_end.close()
        for fd, end in enumerate(kept):
            os.set_blocking(end, True)
            os.dup2(end, fd)
            os.close(end)


def _can_wait(fd: int) -> bool:
    """Whether the event loop can wait for it: a pipe, a socket or a terminal."""
    try:
        mode = os.fstat(fd).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or (stat.S_ISCHR(mode) and os.isatty(fd))


def _divert() -> None:
    """Standard input is at its end from now on, and standard output is standard error."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)


class _Lines:
    """The lines that come in, however long they are."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    async def __aiter__(self) -> AsyncIterator[str]:
        parts: list[bytes] = []
        while chunk := await self._reader.read(_CHUNK_BYTES):
            *ended, rest = chunk.split(b"\n")
            for line in ended:
                yield b"".join((*parts, line)).decode("utf-8", "replace")
                parts = []
            parts.append(rest)
        if last := b"".join(parts):
            yield last.decode("utf-8", "replace")


class _Written:
    """The lines that go out; whoever does not read them is waited for."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def write(self, text: str) -> None:
        self._writer.write(text.encode("utf-8", "replace"))

    async def flush(self) -> None:
        await self._writer.drain()
