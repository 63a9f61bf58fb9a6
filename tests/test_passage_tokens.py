"""The tokens of a passage: few rows, four bits, and nearly the score that all tokens give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kb.embed.passage_tokens import late_score, packed_tokens, unpacked
from kb.embed.text import tokens_bytes

Floats = NDArray[np.float32]


def states(count: int, components: int, seed: int) -> Floats:
    return np.random.default_rng(seed).standard_normal((count, components)).astype(np.float32) * 3


def unit(rows: Floats) -> Floats:
    lengths: Floats = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / lengths


@given(st.integers(1, 700), st.sampled_from([2, 8, 32]), st.integers(0, 2**16))
def test_a_passage_keeps_one_row_for_eight_tokens(count: int, components: int, seed: int) -> None:
    kept = packed_tokens(states(count, components, seed))
    assert kept[:3] == (max(1, count // 8), components, 4)
    assert len(kept.tokens) == tokens_bytes(kept.count, components)


@given(st.integers(1, 60), st.integers(0, 2**16))
def test_what_is_unpacked_is_what_was_packed_to_half_a_step(count: int, seed: int) -> None:
    """Of passages of one row, whose clusters are known: the mean of all their tokens."""
    given_states = states(min(count, 15), 16, seed)
    mean = unit(unit(given_states).mean(axis=0, keepdims=True))
    rows = unpacked(packed_tokens(given_states))
    step = np.abs(mean).max() / 7
    assert np.abs(rows - mean).max() <= step * 0.51
    assert rows.dtype == np.float32


def test_the_low_half_of_a_byte_is_a_component_of_the_first_half() -> None:
    kept = packed_tokens(np.array([[7.0, -7.0, 3.0, 0.0]], np.float32))
    assert list(kept.tokens[:2]) == [15 | 11 << 4, 1 | 8 << 4]
    assert np.frombuffer(kept.tokens[2:], "<f2")[0] == pytest.approx(1 / np.sqrt(107), rel=1e-3)


@given(st.integers(1, 6), st.integers(8, 40), st.integers(0, 2**16))
def test_alike_tokens_share_a_row(groups: int, each: int, seed: int) -> None:
    """Groups of tokens about directions of their own, in any order: each direction is near a row."""
    random = np.random.default_rng(seed)
    directions = np.eye(64, dtype=np.float32)[random.permutation(64)[:groups]]
    tokens = np.repeat(directions, each, axis=0) + random.standard_normal((groups * each, 64)).astype(np.float32) * 0.01
    rows = unpacked(packed_tokens(tokens[random.permutation(len(tokens))]))
    assert ((directions @ rows.T).max(axis=1) > 0.97).all()


@given(st.integers(1, 200), st.integers(0, 2**16))
def test_the_order_of_clustering_does_not_depend_on_the_scale_of_the_states(count: int, seed: int) -> None:
    given_states = states(count, 32, seed)
    assert packed_tokens(given_states) == packed_tokens(given_states * np.float32(4))


def test_equal_tokens_are_clustered_too() -> None:
    kept = packed_tokens(np.ones((100, 8), np.float32))
    assert kept.count == 12
    assert np.isfinite(unpacked(kept)).all()


@given(st.integers(1, 9), st.integers(1, 30), st.integers(0, 2**16))
def test_the_late_score_is_the_mean_of_each_tokens_best(asked: int, count: int, seed: int) -> None:
    question, rows = unit(states(asked, 16, seed)), unit(states(count, 16, seed + 1))
    best = [max(float(token @ row) for row in rows) for token in question]
    assert late_score(question, rows) == pytest.approx(sum(best) / asked, abs=1e-5)


@settings(max_examples=20)
@given(st.integers(16, 40), st.integers(0, 2**16))
def test_wards_rule_merges_what_adds_least_to_the_spread(count: int, seed: int) -> None:
    """Against the rule by its definition: of all pairs the nearest, one merge at a time."""
    tokens = unit(states(count, 8, seed))
    clusters = [[at] for at in range(count)]
    while len(clusters) > count // 8:
        pairs = [(_spread(tokens, a, b), i, j) for i, a in enumerate(clusters) for j, b in enumerate(clusters[:i])]
        _, first, second = min(pairs)
        clusters[second] += clusters.pop(first)
    means = unit(np.stack([tokens[each].mean(axis=0) for each in clusters]))
    rows = unpacked(packed_tokens(tokens))
    # A component is off by half a step at most, a fourteenth of the largest.
    assert ((means @ rows.T).max(axis=1) > 1 - 8**0.5 / 14 - 0.01).all()


def _spread(tokens: Floats, one: list[int], other: list[int]) -> float:
    apart = tokens[one].mean(axis=0) - tokens[other].mean(axis=0)
    return len(one) * len(other) / (len(one) + len(other)) * float(apart @ apart)
