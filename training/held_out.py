"""Where the right passage is among all passages of sources that had no part in training, by kind and language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from training.base import Base
from training.encoder import Encoder
from training.objective import Mapped, kept_rows, late_scores, pooled
from training.questions import Question, Source

_QUESTIONS_TOGETHER = 64
_PASSAGES_TOGETHER = 200
_AMONG = (1, 3, 10)


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one kind of questions: how many, and the shares with a right passage first, among three and among ten."""

    kind: str
    questions: int
    by_vector: tuple[float, ...]
    by_tokens: tuple[float, ...]


def held_out_figures(
    encoder: Encoder, base: Base, sources: Sequence[Source], mapped: Mapped = map
) -> tuple[list[Figures], float | None]:
    """Figures over the passages of all `sources` together: of all questions, of each kind, of each language they are
    asked in; and the share of questions of twins whose passage comes before the twin by tokens, None without twins."""
    texts: list[str] = []
    questions: list[Question] = []
    right: list[list[int]] = []
    twins: list[tuple[int, int]] = []
    for source in sources:
        first = len(texts)
        texts += [passage.encoded_text() for passage in source.passages]
        for question in source.questions:
            if question.twin is not None:
                twins.append((len(questions), first + question.twin))
            questions.append(question)
            right.append([first + question.passage, *(first + other for other in question.others)])
    with encoder.at_rest():
        passages = encoder([base.passage_ids(text) for text in texts])
        asked = encoder([base.question_ids(question.text) for question in questions])
        vectors = [torch.nn.functional.normalize(pooled(states), dim=-1) for states in (asked, passages)]
        near = (vectors[0] @ vectors[1].T).cpu()
        rows = kept_rows(passages, mapped)
        late = torch.cat(
            [
                torch.cat(
                    [
                        late_scores(asked[at : at + _QUESTIONS_TOGETHER], rows[of : of + _PASSAGES_TOGETHER])
                        for of in range(0, len(passages), _PASSAGES_TOGETHER)
                    ],
                    1,
                )
                for at in range(0, len(asked), _QUESTIONS_TOGETHER)
            ]
        ).cpu()
    of_kind: dict[str, list[int]] = {"all": list(range(len(questions)))}
    for of in (lambda question: question.kind, lambda question: f"asked in {question.language}"):
        for name in sorted({of(question) for question in questions}):
            of_kind[name] = [at for at, question in enumerate(questions) if of(question) == name]
    ranks = [[_rank(scores[at], right[at]) for at in range(len(questions))] for scores in (near, late)]
    figures = [
        Figures(kind, len(of), *(_shares([ranks_by[at] for at in of]) for ranks_by in ranks))
        for kind, of in of_kind.items()
    ]
    above = [bool(late[at, right[at][0]] > late[at, twin]) for at, twin in twins]
    return figures, sum(above) / len(above) if above else None


def record_of(step: int, figures: Iterable[Figures], above: float | None) -> dict[str, Any]:
    """Figures as the record of a training has them."""
    kinds = {
        each.kind: {
            "questions": each.questions,
            "by_vector": [round(share, 4) for share in each.by_vector],
            "by_tokens": [round(share, 4) for share in each.by_tokens],
        }
        for each in figures
    }
    return {"step": step, "above_twin": None if above is None else round(above, 4), "kinds": kinds}


def lines_of(record: Mapping[str, Any]) -> list[str]:
    """Figures as they are printed: vector, then tokens, each with the right passage first and among three and ten."""
    lines = []
    for kind, figures in record["kinds"].items():
        halves = (" ".join(f"{share:.3f}" for share in figures[by]) for by in ("by_vector", "by_tokens"))
        lines.append(f"  {kind:12} {figures['questions']:5}  {'  '.join(halves)}")
    if record["above_twin"] is not None:
        lines.append(f"  the passage before its twin, by tokens: {record['above_twin']:.3f}")
    return lines


def _rank(scores: Tensor, right: Sequence[int]) -> int:
    """How many passages are before the best right one."""
    best = scores[list(right)].max()
    return int((scores > best).sum())


def _shares(ranks: Sequence[int]) -> tuple[float, ...]:
    return tuple(sum(rank < most for rank in ranks) / len(ranks) for most in _AMONG)
