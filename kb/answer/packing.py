"""Hits → the passages a model is given: best first, whole where they fit, within a budget of its own tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kb.domain.passages import Passage
from kb.language.sentences import sentences

# A passage cut to less than this says too little to be worth its heading.
_LEAST_CHARS = 80


def pack(passages: Sequence[Passage], budget_tokens: int, cost_tokens: Callable[[Passage], int]) -> tuple[Passage, ...]:
    """The passages that fit the budget, numbered from 1 in their order.

    One that does not fit is left out and the next one tried; where none has fitted so far it is cut behind a sentence,
    if what is left says enough. Where that is nowhere so, any sentence is better than none. `cost_tokens` counts a
    passage as the prompt will show it.
    """
    packed: list[Passage] = []
    cut: list[Passage] = []
    left = budget_tokens
    for passage in passages:
        numbered = passage._replace(number=len(packed) + 1)
        cost = cost_tokens(numbered)
        if cost > left and not packed and (shortened := _shortened(numbered, left, cost_tokens)):
            if len(shortened.text) >= _LEAST_CHARS:
                return (shortened,)
            cut.append(shortened)
        if cost <= left:
            packed.append(numbered)
            left -= cost
    return tuple(packed or cut[:1])


def _shortened(passage: Passage, budget_tokens: int, cost_tokens: Callable[[Passage], int]) -> Passage | None:
    """The most of a passage's first sentences that fits; None where not even the first does."""
    best: Passage | None = None
    for sentence in sentences(passage):
        shorter = passage._replace(text=passage.text[: sentence.end])
        if cost_tokens(shorter) > budget_tokens:
            break
        best = shorter
    return best
