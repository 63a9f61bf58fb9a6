"""Scores passages by tokens: the mean, over the question's tokens, of the best dot product with a passage's token.

Late interaction (Khattab and Zaharia 2020), for all passages at once in one graph; `kb.embed.passage_tokens` computes
it in numpy, which takes longer to load than this takes to run.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cache
from itertools import chain, repeat
from pathlib import Path

from kb.embed.installed.onnx_library import Session, Tensor, open_session

GRAPH_FILE = Path(__file__).parents[1] / "data/late_packed.onnx"

_FLOAT_BYTES = 4
_SCALE_BYTES = 2
# The product of two vectors of about length 1 is never lower.
_LEAST = -2.0


def late_scores(question: bytes, passages: Sequence[tuple[int, bytes]]) -> list[float]:
    """The score of each passage, given in stored form: its count of rows, above 0, and their bytes.

    `question` is float32[n, components], n > 0. Raises: ModelError without ONNX Runtime's library.
    """
    if not passages:
        return []
    counts = [count for count, _ in passages]
    halves = len(passages[0][1]) // counts[0] - _SCALE_BYTES
    given = {
        "question": Tensor("float32", (len(question) // (2 * _FLOAT_BYTES * halves), 2, halves), question),
        "rows": Tensor("uint8", (sum(counts), halves), b"".join(kept[: count * halves] for count, kept in passages)),
        "scales": Tensor("float16", (sum(counts), 1), b"".join(kept[count * halves :] for count, kept in passages)),
    }
    asked = given["question"].shape[0]
    passage = array("q", chain.from_iterable(map(repeat, range(len(counts)), counts)))
    given["passage"] = Tensor("int64", (len(passage), 1), passage)
    given["least"] = Tensor("float32", (len(counts), asked), array("f", [_LEAST]) * (len(counts) * asked))
    return list(_session().run(given, "scores").values)


@cache
def _session() -> Session:
    return open_session(GRAPH_FILE.read_bytes(), optimised=False)
