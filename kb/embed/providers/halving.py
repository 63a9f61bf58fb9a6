"""Texts above what a model reads at once, where only the model can tell: halved until they fit, none of them cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kb.errors import PromptTooLong

# Below so many characters a text that is too long is no text: the model means something else.
_SHORTEST_CHARS = 16


def vectors_of(encode: Callable[[Sequence[str]], list[list[float]]], texts: Sequence[str]) -> list[list[float]]:
    """One vector a text; of one that does not fit, the mean over its pieces, weighed by their lengths.

    `encode` raises PromptTooLong where one of its texts does not fit. Raises: the same for a short one.
    """
    try:
        return encode(texts)
    except PromptTooLong:
        if len(texts) > 1:
            return [row for text in texts for row in vectors_of(encode, [text])]
        if len(texts[0]) < _SHORTEST_CHARS:
            raise
        return [_mean_of_halves(encode, texts[0])]


def _mean_of_halves(encode: Callable[[Sequence[str]], list[list[float]]], text: str) -> list[float]:
    middle = text.rfind(" ", 1, len(text) // 2) + 1 or len(text) // 2
    first, second = (vectors_of(encode, [half])[0] for half in (text[:middle], text[middle:]))
    share = middle / len(text)
    return [share * one + (1 - share) * other for one, other in zip(first, second, strict=True)]
