"""What a judge does on sources that had no part in its training: six candidates a question, near misses, twins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from training.base import Base
from training.encoder import Encoder
from training.judge import LONGEST, Judge
from training.objective import pooled
from training.questions import Source

_CANDIDATES = 6
_PAIRS_TOGETHER = 500


def judge_record(judge: Judge, finder: Encoder, base: Base, sources: Sequence[Source], step: int) -> dict[str, Any]:
    """Shares over the passages of each source, by its name.

    `found` and `first`: a right passage is nearest by the finder's vector, and best of the six nearest by the judge.
    `above_twin`: the right passage before its twin. `auroc`: a question is told from a near miss by its best score of
    six; a half is chance. `auroc_first`: the best of six is right, all else against it. None where there is nothing
    to compare.
    """
    figures = {source.name: _figures_of(judge, finder, base, source) for source in sources}
    return {"step": step, "judge": figures}


def judge_lines(record: Mapping[str, Any]) -> list[str]:
    """The figures as they are printed, a source a line."""

    def told(value: float | None) -> str:
        return "    -" if value is None else f"{value:.3f}"

    names = ("questions", "misses", "found", "first", "above_twin", "auroc", "auroc_first")
    lines = ["  " + "  ".join(["source    ", *names])]
    for name, figures in record["judge"].items():
        values = [f"{figures[key]:9}" if key in names[:2] else f"{told(figures[key]):>9}" for key in names]
        lines.append("  ".join([f"  {name:10}", *values]))
    return lines


def _figures_of(judge: Judge, finder: Encoder, base: Base, source: Source) -> dict[str, Any]:
    held = [base.passage_ids(passage.encoded_text()) for passage in source.passages]
    texts = [question.text for question in source.questions] + [text for text, _ in source.misses]
    asked = [base.question_ids(text) for text in texts]
    with finder.at_rest():
        vectors = [functional.normalize(pooled(finder(ids)), dim=-1) for ids in (asked, held)]
        near: list[list[int]] = (vectors[0] @ vectors[1].T).topk(min(_CANDIDATES, len(held)), dim=1).indices.tolist()
    twins = {at: question.twin for at, question in enumerate(source.questions) if question.twin is not None}
    wanted = [(at, passage) for at, row in enumerate(near) for passage in row]
    wanted += [(at, each) for at, twin in twins.items() for each in (source.questions[at].passage, twin)]
    wanted = list(dict.fromkeys(wanted))
    with judge.encoder.at_rest():
        pairs = [(asked[at], held[passage][:LONGEST]) for at, passage in wanted]
        parts = [judge(pairs[at : at + _PAIRS_TOGETHER]).scores for at in range(0, len(pairs), _PAIRS_TOGETHER)]
        score = dict(zip(wanted, torch.cat(parts).tolist(), strict=True))
    best = torch.tensor([max(score[at, passage] for passage in row) for at, row in enumerate(near)])
    own = len(source.questions)
    rights = [{question.passage, *question.others} for question in source.questions]

    def best_of(at: int) -> int:
        return max(near[at], key=lambda passage: score[at, passage])

    first = [best_of(at) in rights[at] for at in range(own)]
    is_right = torch.tensor([*first, *(False for _ in source.misses)])
    above = [score[at, source.questions[at].passage] > score[at, twin] for at, twin in twins.items()]
    return {
        "questions": own,
        "misses": len(source.misses),
        "found": round(sum(near[at][0] in rights[at] for at in range(own)) / own, 4),
        "first": round(sum(first) / own, 4),
        "above_twin": round(sum(above) / len(above), 4) if above else None,
        "auroc": _auroc(best[:own], best[own:]),
        "auroc_first": _auroc(best[is_right], best[~is_right]),
    }


def _auroc(above: Tensor, below: Tensor) -> float | None:
    """The share of pairs in which one of `above` is higher than one of `below`; None without pairs."""
    if not len(above) or not len(below):
        return None
    wins = (above[:, None] > below[None]).float() + 0.5 * (above[:, None] == below[None]).float()
    return round(wins.mean().item(), 4)
