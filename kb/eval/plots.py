"""Draws the plots of a comparison as SVG text: no library, no script, colours by CSS class."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from html import escape

from kb.domain.results.evaluation import MetricChange

_CURVE_POINTS = 240

NOT_FOUND = None
"""The rank of a question whose ranking holds nothing relevant."""


def direction(change: MetricChange) -> str:
    """`worse` or `better` if the change exceeds the noise, else ""."""
    return "worse" if change.regressed or change.high < 0 else "better" if change.low > 0 else ""


def interval(change: MetricChange, *, reach: float, tolerance: float) -> str:
    """The plot of one difference with its interval, on an axis from −reach to reach; the band is the tolerance."""
    low, mean, high = change.low, change.difference, change.high
    width, height = 300, 26
    middle = height / 2

    def x(value: float) -> float:
        return width / 2 + value / reach * (width / 2 - 6)

    kind = direction(change) or "same"
    left = max(x(-tolerance), 0.0)
    return _svg(
        width,
        height,
        [
            f'<rect class="band" x="{left:.1f}" y="2" width="{width / 2 - left:.1f}" height="{height - 4}"/>',
            f'<line class="zero" x1="{width / 2}" y1="0" x2="{width / 2}" y2="{height}"/>',
            f'<line class="{kind} bar" x1="{x(low):.1f}" y1="{middle}" x2="{x(high):.1f}" y2="{middle}"/>',
            *(
                f'<line class="{kind} cap" x1="{x(end):.1f}" y1="{middle - 4}" x2="{x(end):.1f}" y2="{middle + 4}"/>'
                for end in (low, high)
            ),
            f'<circle class="{kind} dot" cx="{x(mean):.1f}" cy="{middle}" r="4.5"/>',
        ],
        f"{mean:+.3f}, between {low:+.3f} and {high:+.3f}",
    )


def grouped_bars(groups: Sequence[tuple[str, float, float]]) -> str:
    """The plot of groups, each given by its label and its means before and after (0 to 1): two bars per group."""
    row, left, width = 40, 130, 480
    height = row * len(groups) + 26
    scale = width - left - 60

    def x(value: float) -> float:
        return left + value * scale

    parts = _grid_x([0, 0.25, 0.5, 0.75, 1], x, height - 22, "{:g}")
    for at, (label, before, after) in enumerate(groups):
        top = at * row + 6
        parts.append(f'<text class="label" x="{left - 10}" y="{top + 17}" text-anchor="end">{_short(label, 17)}</text>')
        for offset, kind, value in ((0, "before", before), (13, "after", after)):
            parts.append(
                f'<rect class="{kind}" x="{left}" y="{top + offset}" width="{value * scale:.1f}" height="11" rx="2"/>'
            )
            parts.append(f'<text class="tick" x="{x(value) + 6:.1f}" y="{top + offset + 9.5}">{value:.3f}</text>')
    return _svg(width, height, parts, "Means of both runs by group")


def risk_coverage(before: Sequence[tuple[float, bool]], after: Sequence[tuple[float, bool]]) -> str:
    """The plot of the share of wrong first hits among the questions a run is surest of, for every share of questions.

    Each argument has, for each question of a run, how sure the run was of its first hit, and whether that hit was
    right.
    """
    left, top, width, height = 48, 12, 480, 300
    right, bottom = width - 14, height - 40
    curves = {"before": _risks(before), "after": _risks(after)}
    highest = max((risk for curve in curves.values() for _, risk in curve), default=0.0)
    ceiling = max(0.1, math.ceil(highest * 10) / 10)

    def x(coverage: float) -> float:
        return left + coverage * (right - left)

    def y(risk: float) -> float:
        return bottom - risk / ceiling * (bottom - top)

    parts = _grid_x([0, 0.25, 0.5, 0.75, 1], x, bottom, "{:.0%}")
    for at in range(5):
        risk = ceiling * at / 4
        parts.append(f'<line class="grid" x1="{left}" y1="{y(risk):.1f}" x2="{right}" y2="{y(risk):.1f}"/>')
        parts.append(f'<text class="tick" x="{left - 8}" y="{y(risk) + 4:.1f}" text-anchor="end">{risk:.0%}</text>')
    for kind, curve in curves.items():
        thinned = [*curve[:: max(1, len(curve) // _CURVE_POINTS)], *curve[-1:]]
        points = " ".join(f"{x(coverage):.1f},{y(risk):.1f}" for coverage, risk in thinned)
        parts.append(f'<polyline class="{kind} curve" points="{points}"/>')
    parts.append(
        f'<text class="tick" x="{(left + right) / 2}" y="{height - 6}" text-anchor="middle">questions answered</text>'
    )
    return _svg(width, height, parts, "Risk by coverage")


def rank_movement(ranks: Iterable[tuple[int | None, int | None]], k: int) -> str:
    """The plot of the rank of the first relevant hit before and after: a line for each move, the thicker the more
    questions made it.
    """
    left, top, width = 70, 22, 480
    right = width - 70
    places: list[int | None] = [*range(1, min(k, 10) + 1), NOT_FOUND]
    step = 25
    height = top + step * len(places) + 8
    moves = Counter((_place(old, k), _place(new, k)) for old, new in ranks)

    def y(place: int | None) -> float:
        return top + step * places.index(place) + step / 2 + (6 if place is NOT_FOUND else 0)

    totals: tuple[Counter[int | None], Counter[int | None]] = (Counter(), Counter())
    for places_moved, count in moves.items():
        for side, place in enumerate(places_moved):
            totals[side][place] += count
    parts = []
    most = max(moves.values(), default=1)
    for (old, new), count in sorted(moves.items(), key=lambda item: item[0][0] != item[0][1]):
        kind = "same" if old == new else "better" if _worth(new) > _worth(old) else "worse"
        thick = 1.2 + 13 * math.sqrt(count / most)
        middle = (left + right) / 2
        path = f"M{left} {y(old):.1f}C{middle} {y(old):.1f} {middle} {y(new):.1f} {right} {y(new):.1f}"
        said = f"{_rank_name(old)} → {_rank_name(new)}: {count}"
        parts.append(f'<path class="{kind} flow" d="{path}" stroke-width="{thick:.1f}"><title>{said}</title></path>')
    for place in places:
        name = _rank_name(place)
        for at, anchor, side in ((left - 10, "end", 0), (right + 10, "start", 1)):
            count = totals[side][place]
            shown = f"{name} · {count}" if side else f"{count} · {name}"
            parts.append(f'<text class="tick" x="{at}" y="{y(place) + 4:.1f}" text-anchor="{anchor}">{shown}</text>')
    parts.append(f'<text class="label" x="{left}" y="14" text-anchor="middle">before</text>')
    parts.append(f'<text class="label" x="{right}" y="14" text-anchor="middle">after</text>')
    return _svg(width, height, parts, "Rank of the first relevant hit, before and after")


def sorted_changes(changes: Sequence[float]) -> str:
    """The plot of one bar per question, from the largest loss to the largest gain."""
    left, top, width, height = 48, 12, 480, 306
    right, bottom = width - 14, height - 28
    ordered = sorted(changes)
    reach = max((abs(change) for change in ordered), default=0.0) or 1.0
    middle = (top + bottom) / 2
    step = (right - left) / max(1, len(ordered))

    def y(value: float) -> float:
        return middle - value / reach * (bottom - top) / 2

    parts = []
    for value in (reach, reach / 2, 0.0, -reach / 2, -reach):
        parts.append(f'<line class="grid" x1="{left}" y1="{y(value):.1f}" x2="{right}" y2="{y(value):.1f}"/>')
        parts.append(f'<text class="tick" x="{left - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value:+.2f}</text>')
    for at, value in enumerate(ordered):
        if value:
            kind = "better" if value > 0 else "worse"
            high, low = sorted((y(value), middle))
            parts.append(
                f'<rect class="{kind}" x="{left + at * step:.2f}" y="{high:.1f}" '
                f'width="{max(step * 0.85, 0.6):.2f}" height="{low - high:.1f}"/>'
            )
    fell, rose = sum(value < 0 for value in ordered), sum(value > 0 for value in ordered)
    said = f"{fell} fell, {len(ordered) - fell - rose} stayed, {rose} rose"
    parts.append(f'<text class="tick" x="{(left + right) / 2}" y="{height - 6}" text-anchor="middle">{said}</text>')
    return _svg(width, height, parts, "Change of every question")


def _risks(confidences: Sequence[tuple[float, bool]]) -> list[tuple[float, float]]:
    """The pairs (coverage, risk) after each question, the surest question first (El-Yaniv and Wiener 2010)."""
    wrong = 0
    curve = []
    for at, (_, is_right) in enumerate(sorted(confidences, key=lambda each: -each[0]), 1):
        wrong += not is_right
        curve.append((at / len(confidences), wrong / at))
    return curve


def _place(rank: int | None, k: int) -> int | None:
    return rank if rank is not None and rank <= min(k, 10) else NOT_FOUND


def _worth(place: int | None) -> float:
    return 0.0 if place is NOT_FOUND else 1 / place


def _rank_name(place: int | None) -> str:
    return "none" if place is NOT_FOUND else str(place)


def _grid_x(values: Sequence[float], x: Callable[[float], float], bottom: float, form: str) -> list[str]:
    parts = []
    for value in values:
        parts.append(f'<line class="grid" x1="{x(value):.1f}" y1="4" x2="{x(value):.1f}" y2="{bottom:.1f}"/>')
        said = form.format(value)
        parts.append(f'<text class="tick" x="{x(value):.1f}" y="{bottom + 16:.1f}" text-anchor="middle">{said}</text>')
    return parts


def _short(text: str, chars: int) -> str:
    return escape(text if len(text) <= chars else text[: chars - 1] + "…")


def _svg(width: float, height: float, parts: Sequence[str], label: str) -> str:
    inner = "".join(parts)
    return f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label)}">{inner}</svg>'
