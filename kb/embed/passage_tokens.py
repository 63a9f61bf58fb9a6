"""Compresses the tokens of a passage: pools similar ones, with four bits per component; and scores by them.

Late interaction (ColBERT, Khattab and Zaharia 2020) over pooled tokens (Clavié et al. 2024): one row for eight tokens,
the mean of a cluster by Ward's criterion. A row of 384 components takes 194 bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from kb.domain.embeddings import PassageTokens
from kb.embed.codec import normalised
from kb.embed.text import TOKEN_BITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kb.domain.embeddings import Vectors

    Labels: TypeAlias = NDArray[np.intp]

TOKENS_A_ROW = 8

# Values of a component are -7 to 7 times the row's scale, stored as 1 to 15.
_LARGEST = 7
_ZERO = 8
# The scale of a row whose tokens cancel out.
_SMALLEST = 1e-3
# The most tokens clustered at once: the matrix of their pairs must stay small, also for a long passage.
_AT_ONCE = 512


def packed_tokens(states: Vectors) -> PassageTokens:
    """The rows of a passage's token states, float32[n, d] of any length, n > 0 and d even: max(1, n // 8) of them."""
    unit = normalised(states)
    labels = row_labels(unit)
    sums = np.zeros((labels.max() + 1, unit.shape[1]), np.float32)
    np.add.at(sums, labels, unit)
    rows = normalised(sums)
    scales = (np.abs(rows).max(axis=1).clip(_SMALLEST) / _LARGEST).astype("<f2")
    values = np.rint(rows / scales.astype(np.float32)[:, None]).clip(-_LARGEST, _LARGEST).astype(np.int8) + _ZERO
    low, high = np.split(values.astype(np.uint8), 2, axis=1)
    count, components = rows.shape
    return PassageTokens(count, components, TOKEN_BITS, (low | high << 4).tobytes() + scales.tobytes())


def unpacked(kept: PassageTokens) -> Vectors:
    """float32[count, components], L2 of about 1: the stored rows, not normalised again."""
    at = kept.count * kept.components // 2
    packed = np.frombuffer(kept.tokens, np.uint8, at).reshape(kept.count, -1)
    scales = np.frombuffer(kept.tokens, "<f2", kept.count, at).astype(np.float32)
    values = np.concatenate([packed & 15, packed >> 4], axis=1).astype(np.float32) - _ZERO
    rows: Vectors = values * scales[:, None]
    return rows


def late_score(question: Vectors, rows: Vectors) -> float:
    """The mean, over the question's tokens, of the best dot product with a row; `rows`: float32[count > 0, d]."""
    return float((question @ rows.T).max(axis=1).mean())


def row_labels(unit: Vectors) -> Labels:
    """intp[n] from 0: the row of each of a passage's n tokens, float32[n, d] with L2 = 1."""
    labels, rows = [], 0
    for stretch in _stretches(unit):
        wanted = max(1, len(stretch) // TOKENS_A_ROW)
        labels.append(_ward(stretch, wanted) + rows)
        rows += wanted
    return np.concatenate(labels)


def _stretches(unit: Vectors) -> Iterator[Vectors]:
    """The tokens in runs to cluster at once, none with fewer tokens than a row's."""
    ends = [*range(_AT_ONCE, len(unit) - TOKENS_A_ROW + 1, _AT_ONCE), len(unit)]
    for start, end in zip([0, *ends], ends, strict=False):
        yield unit[start:end]


def _ward(points: Vectors, wanted: int) -> Labels:
    """intp[n] from 0: the cluster of each point, of `wanted` clusters by Ward's criterion, numbered by first point.

    All mutual nearest neighbours are merged at once: the criterion is reducible, so the tree is the same as with one
    merge at a time (Murtagh 1983). Only its lowest merges are used.
    """
    needed = len(points) - wanted
    parent = list(range(len(points)))
    for _, first, second in sorted(_merges(points, needed))[:needed]:
        parent[_root(parent, second)] = _root(parent, first)
    _, labels = np.unique([_root(parent, at) for at in range(len(points))], return_inverse=True)
    return labels


def _root(parent: list[int], at: int) -> int:
    while parent[at] != at:
        at = parent[at]
    return at


def _merges(points: Vectors, needed: int) -> list[tuple[float, int, int]]:
    """Merges of the tree, at least the `needed` lowest: height, and a point of either cluster."""
    merges: list[tuple[float, int, int]] = []
    sizes, members = np.ones(len(points), np.float32), np.arange(len(points))
    apart = np.maximum(1 - points @ points.T, 0)  # half the squared distance, as of two clusters of one point
    apart = np.minimum(apart, apart.T)  # symmetric to the last bit, so that some pair is mutually nearest
    np.fill_diagonal(apart, np.inf)
    while len(sizes) > 1:
        nearest = apart.argmin(axis=1)
        least = apart.min()
        if sum(height <= least for height, _, _ in merges) >= needed:
            break  # later merges are higher
        places = np.arange(len(nearest))
        first = np.flatnonzero((nearest[nearest] == places) & (places < nearest))
        second = nearest[first]
        heights = apart[first, second]
        merges += zip(heights.tolist(), members[first].tolist(), members[second].tolist(), strict=True)
        left = np.ones(len(sizes), bool)
        left[second] = False
        columns = _merged(apart, first, second, heights, sizes, sizes)
        merged_sizes = sizes.copy()
        merged_sizes[first] += sizes[second]
        apart[:, first] = columns
        apart = apart[:, left]
        apart[first] = _merged(apart.T, first, second, heights, sizes, merged_sizes[left]).T
        apart = apart[left]
        apart = np.minimum(apart, apart.T)
        np.fill_diagonal(apart, np.inf)
        sizes, members = merged_sizes[left], members[left]
    return merges


def _merged(
    apart: Vectors, first: Labels, second: Labels, heights: Vectors, sizes: Vectors, others: Vectors
) -> Vectors:
    """float32[rows, pairs]: the distances of the row clusters, of sizes `others`, from the merged column pairs (Lance
    and Williams 1967)."""
    one, other, row = sizes[first], sizes[second], others[:, None]
    total = (one + row) * apart[:, first] + (other + row) * apart[:, second] - row * heights
    merged: Vectors = total / (one + other + row)
    return merged
