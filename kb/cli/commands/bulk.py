"""`kb search --bulk`: a stream of questions on stdin, a stream of results on stdout, one line each."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import BinaryIO

from kb.cli.output.printing import print_json
from kb.config import Config
from kb.domain.results.search_page import BulkSearchItem
from kb.domain.search import SearchDefaults, SearchMode, SearchResponse
from kb.errors import KbError, UsageError
from kb.operations.opening.base import Base, open_base
from kb.operations.search.search import search
from kb.wire.arguments import search_query
from kb.wire.schemas import read_bulk_query, read_json_line

MAX_LINE_BYTES = 1_000_000


def run_bulk(config: Config, mode: SearchMode | None, k: int | None) -> int:
    """Answers every line of stdin in order; `mode` and `k` apply to lines that set neither.

    A bad line gives an item with an error; after the last line the command fails.
    Raises: StoreError where the knowledge base cannot be read; UsageError where a line was bad.
    """
    with open_base(config, many=True) as session:
        with session.reading():
            pass  # fails here, once, if the knowledge base cannot be read
        defaults = session.defaults._replace(mode=mode or session.defaults.mode, k=k or session.defaults.k)
        index = bad = 0
        for line in _lines(sys.stdin.buffer):
            if line.strip():
                item = _answer_line(session, index, line, defaults)
                print_json(item)
                index += 1
                bad += item.error is not None
    if bad:
        raise UsageError(f"{bad} of {index} lines could not be answered", "their items say why")
    return 0


def _lines(stdin: BinaryIO) -> Iterator[bytes]:
    """Yields the lines; of a line above the limit, its beginning, one byte longer than the limit."""
    while line := stdin.readline(MAX_LINE_BYTES + 1):
        rest = line
        while len(rest) > MAX_LINE_BYTES and not rest.endswith(b"\n"):
            rest = stdin.readline(MAX_LINE_BYTES + 1)
        yield line


def _answer_line(session: Base, index: int, line: bytes, defaults: SearchDefaults) -> BulkSearchItem:
    value: object = None
    try:
        if len(line) > MAX_LINE_BYTES:
            raise UsageError(f"a line of more than {MAX_LINE_BYTES:,} bytes", "a question is one line of JSON")
        value = read_json_line(line)
        query = search_query(read_bulk_query(value), defaults)
        return BulkSearchItem(index, value, SearchResponse(search(session, query)), None)
    except KbError as error:
        return BulkSearchItem(index, value, None, error)
