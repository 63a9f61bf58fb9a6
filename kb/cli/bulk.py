"""`kb search --bulk`: a stream of questions on stdin, a stream of results on stdout, one line each."""

from __future__ import annotations

import json
import sys

from kb.cli.session import print_json
from kb.config import Config
from kb.errors import KbError
from kb.operations.search import Searcher, open_searcher
from kb.wire.bulk_search_item import BulkSearchItemV1, bulk_search_item_v1
from kb.wire.bulk_search_query import search_query
from kb.wire.error import error_v1
from kb.wire.schemas import read_bulk_query
from kb.wire.search_response import search_response_v1


def run_bulk(config: Config) -> int:
    """Answers every line of stdin in order; a bad line is an item with an error. Exit code 0."""
    with open_searcher(config.sqlite, snippet_chars=config.search.snippet_chars) as answer:
        index = 0
        for line in sys.stdin.buffer:
            if line.strip():
                print_json(_answer_line(answer, index, line.decode("utf-8", "replace"), config.search.default_k))
                index += 1
    return 0


def _answer_line(answer: Searcher, index: int, line: str, default_k: int) -> BulkSearchItemV1:
    try:
        query = read_bulk_query(line)
        return bulk_search_item_v1(index, query, search_response_v1(answer(search_query(query, default_k))), None)
    except KbError as error:
        return bulk_search_item_v1(index, _as_read(line), None, error_v1(error))


def _as_read(line: str) -> object:
    try:
        return json.loads(line)
    except ValueError:
        return None
