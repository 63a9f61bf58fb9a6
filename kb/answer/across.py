"""A question and passages in another language → the sentences nearest to it.

Words say nothing here: an encoder compares, given from above as a function.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence

from kb.answer.extractive import Chosen
from kb.domain.passages import Passage, Sentence
from kb.language.sentences import sentences

Similarity = Callable[[str, Sequence[str]], Sequence[float]]
"""A question and sentences → the cosine of the question to each of them."""

_PASSAGES = 3
_SENTENCES_EACH = 8  # comparing one takes as long as encoding it
_BESIDE_THE_BEST = 0.1  # in cosine: what is further off says something else
_SHARPNESS = 20.0

# Lines that only stand for something: tags, pictures, includes.
_MARKUP = re.compile(r"\s*(?:</?[a-zA-Z][^>]*>\s*|!\[[^\]]*\]\([^)]*\)\s*|\{[*%#{].*[*%#}]\}\s*)+")


def choose_across(
    question: str, passages: Sequence[Passage], similarity: Similarity, *, limit: int
) -> tuple[Chosen, ...]:
    """At most `limit` sentences of the first passages in another language, nearest first; each near the very best."""
    found = [sentence for passage in _foreign(passages) for sentence in _prose(passage)]
    if not found:
        return ()
    cosines = similarity(question, [sentence.text for sentence in found])
    ranked = sorted(zip(cosines, found, strict=True), key=lambda pair: (-pair[0], pair[1].passage, pair[1].start))
    best = ranked[0][0]
    total = sum(math.exp(_SHARPNESS * (cosine - best)) for cosine in cosines)
    return tuple(
        Chosen(sentence, cosine, math.exp(_SHARPNESS * (cosine - best)) / total)
        for cosine, sentence in ranked[:limit]
        if cosine >= best - _BESIDE_THE_BEST
    )


def _foreign(passages: Sequence[Passage]) -> list[Passage]:
    return [passage for passage in passages if not passage.retrieval.is_own][:_PASSAGES]


def _prose(passage: Passage) -> Iterator[Sentence]:
    told = (sentence for sentence in sentences(passage) if not _MARKUP.fullmatch(sentence.text))
    for _, sentence in zip(range(_SENTENCES_EACH), told, strict=False):
        yield sentence
