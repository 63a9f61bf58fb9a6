"""Atoms to chunks: which neighbouring atoms share one, and what a chunk repeats of the one before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from kb.chunk.pieces import Atom

# A last chunk below this share of the limit is merged with the one before it, or evened out with it.
TINY_SHARE = 0.15

Run = list[Atom]


@dataclass(frozen=True, slots=True)
class Unit:
    """The atoms of one block, kept together where they fit."""

    atoms: tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class Sizes:
    """In estimated tokens: the size to fill, the size never to exceed, and how much to repeat."""

    limit: float
    window: float
    overlap: float

    @property
    def tiny(self) -> float:
        """Below this, a chunk says too little to stand alone."""
        return self.limit * TINY_SHARE


def size_of(run: Sequence[Atom]) -> float:
    """The tokens of a run, the hidden text between its atoms counted."""
    return sum(atom.weight_tokens + atom.lead_tokens for atom in run) - run[0].lead_tokens if run else 0.0


def pack(units: Sequence[Unit], sizes: Sizes) -> list[Run]:
    """`units` as runs of at most `sizes.limit` tokens, blocks cut only where they do not fit a run of their own.

    A tiny run takes an uncut block up to the window, and runs after the first leave room for overlap.
    """
    runs: list[Run] = [[]]
    size = 0.0
    for unit in units:
        capacity = sizes.limit if len(runs) == 1 else sizes.limit - sizes.overlap
        unit_size = size_of(unit.atoms) + unit.atoms[0].lead_tokens
        keeps_tiny_company = 0 < size < sizes.tiny and len(unit.atoms) == 1
        if size + unit_size <= (sizes.window if keeps_tiny_company else capacity):
            runs[-1].extend(unit.atoms)
            size += unit_size
            continue
        if size >= sizes.tiny and unit_size <= capacity:
            runs.append([])
            size = 0.0
        for atom in unit.atoms:
            capacity = sizes.limit if len(runs) == 1 else sizes.limit - sizes.overlap
            if runs[-1] and size + atom.weight_tokens + atom.lead_tokens > capacity:
                runs.append([])
                size = 0.0
            size += atom.weight_tokens + (atom.lead_tokens if runs[-1] else 0.0)
            runs[-1].append(atom)
    return _evened(runs, sizes)


def with_overlap(runs: Sequence[Run], sizes: Sizes) -> Iterator[Run]:
    """Each run with up to `sizes.overlap` tokens of the run before it in front, never across a heading."""
    for index, run in enumerate(runs):
        previous = runs[index - 1] if index else []
        room = min(sizes.overlap, sizes.limit - size_of(run) - run[0].lead_tokens)
        tail = len(previous)
        while tail > 1 and not run[0].is_heading and not previous[tail - 1].is_heading:
            room -= previous[tail - 1].weight_tokens + (previous[tail].lead_tokens if tail < len(previous) else 0.0)
            if room < 0:
                break
            tail -= 1
        yield [*previous[tail:], *run]


def _evened(runs: list[Run], sizes: Sizes) -> list[Run]:
    """`runs` without a tiny last one, where its neighbour can take it in or share with it."""
    if len(runs) < 2 or size_of(runs[-1]) >= sizes.tiny or runs[-1][0].is_heading:
        return runs
    atoms = [*runs[-2], *runs[-1]]
    if size_of(atoms) <= sizes.window:
        return [*runs[:-2], atoms]
    sums = list(accumulate(atom.weight_tokens + atom.lead_tokens for atom in atoms))
    cut = min(range(1, len(atoms)), key=lambda at: max(sums[at - 1], sums[-1] - sums[at - 1]))
    return [*runs[:-2], atoms[:cut], atoms[cut:]]
