"""Pages of results: cursors, with which a caller continues a list, and the number of tokens of a text.

A cursor names the corpus revision for which it is valid. It has a position and no permission: it gives access to
nothing else. As kb does not know which model will read a text, it counts the tokens of the configured embedding model;
its vocabulary of 250,000 pieces gives numbers close to those of larger language models, in Korean and English.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from zlib import compressobj, crc32, decompressobj
from zlib import error as DeflateError

from kb.config import Config
from kb.errors import InvalidCursor, KbError, StaleCursor
from kb.operations.opening.loaded_models import LoadedModels
from kb.store import queries
from kb.store.connection import Connection

MOST_CHARS = 20_000
_MOST_BYTES = 500_000  # inflated; 50 paths of 4,096 characters are less
_RAW = -15  # deflate without header and checksum
# What states begin and end with, and what is in them: a cursor shorter by a third. Old cursors need the same bytes.
_COMMON = (
    b'/README.md#L1-L2 notes/docs/.pdf#page=.py#symbol=","w":"documents","g":null,"n":50}{"k":"search","r":1,"q":,"s":"'
    b'{"k":"fetch","r":1,"t":[["docs/a.md#L1-L2"],["docs/a.md#L1-L2"]],"c":0,"at":[0,0,0]}'
)
ESTIMATE = "estimate"


def corpus_revision(db: Connection) -> int:
    """How often the corpus has changed."""
    found = queries.select_corpus_revision(db)
    return 0 if found is None else found.corpus_revision


def write_cursor(kind: str, revision: int, state: Mapping[str, Any]) -> str:
    """A cursor for one kind of list at a corpus revision, compressed, as an agent pays for each character."""
    state = {"k": kind, "r": revision, **state}
    deflated = compressobj(9, wbits=_RAW, zdict=_COMMON)
    text = json.dumps(state, ensure_ascii=False, separators=(",", ":"))
    body = deflated.compress(text.encode()) + deflated.flush()
    return base64.urlsafe_b64encode(crc32(body).to_bytes(4) + body).decode().rstrip("=")


def read_cursor(kind: str, revision: int, cursor: str) -> dict[str, Any]:
    """The state in a cursor of that kind. Raises: InvalidCursor; StaleCursor if the corpus has changed since."""
    state = _state(cursor)
    if state is None or state.get("k") != kind or not isinstance(state.get("r"), int):
        raise InvalidCursor(
            f"this is no cursor of {kind}", f"hand back next_cursor of the last {kind}, whole and unchanged"
        )
    if state["r"] != revision:
        raise StaleCursor("the corpus has changed since this cursor was given", f"{kind} again without a cursor")
    return state


def _state(cursor: str) -> dict[str, Any] | None:
    if len(cursor) > MOST_CHARS:
        return None
    try:
        data = base64.b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        if crc32(data[4:]).to_bytes(4) != data[:4]:
            return None
        state = json.loads(decompressobj(_RAW, _COMMON).decompress(data[4:], _MOST_BYTES))
    except (ValueError, binascii.Error, DeflateError, RecursionError):
        return None
    return state if isinstance(state, dict) else None


class TokenCounter(NamedTuple):
    """A function that counts tokens, and the name of its model, `estimate` without one."""

    name: str
    count: Callable[[str], int]


def token_counter(config: Config, models: LoadedModels) -> TokenCounter:
    """The token counter for a configuration; maps the vocabulary without loading it."""
    from kb.models.manifest import manifest_bytes

    name = config.models_embedding.model
    mark = manifest_bytes(models.model_dir, name)
    return models.kept(f"token counter {name}", mark, lambda: _counter(config, models))


def _counter(config: Config, models: LoadedModels) -> TokenCounter:
    from kb.embed.installed.vocabulary import VOCABULARY_FILE, word_tokens
    from kb.models.manifest import read_installed

    name = config.models_embedding.model
    try:
        read_installed(models.model_dir, name)
        tokens = word_tokens(models.model_dir / name / VOCABULARY_FILE)
    except KbError:
        from kb.chunk.tokens import estimate_tokens

        return TokenCounter(ESTIMATE, estimate_tokens)
    return TokenCounter(name, lambda text: len(tokens.token_ids(text.encode("utf-8", "replace").decode("utf-8"))))
