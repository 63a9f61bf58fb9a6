"""What is learned: of all passages of a step, the one that answers a question is nearest, by vector and by tokens.

InfoNCE (van den Oord et al. 2018) over the cosine of the mean vectors, over that of their first components (Kusupati
et al. 2022, Matryoshka), and over late interaction (Khattab & Zaharia 2020): the mean, over the question's tokens, of
the best cosine among the passage's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeAlias

import torch
import torch.nn.functional as functional
from torch import Tensor

from kb.embed.installed.encoder import PREFIX_TOKENS
from kb.embed.passage_tokens import row_labels
from training.batches import Batch

# The marks and the pieces of "query:" are not the question's own tokens.
QUESTION_HEAD, QUESTION_TAIL = 1 + PREFIX_TOKENS, 1
SHORT_COMPONENTS = 128
_VECTOR_TEMPERATURE = 0.02
_TOKEN_TEMPERATURE = 0.03
_SHORT_WEIGHT = 0.3
_NEVER = -1e4
# Questions whose tokens are compared at once.
_TOGETHER = 16

# `map`, or that of a pool of processes.
Mapped: TypeAlias = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


@dataclass(frozen=True, slots=True)
class Loss:
    """The sum that is lowered, its parts, and the share of questions whose passage came first by each."""

    total: Tensor
    vector: float
    tokens: float
    right_by_vector: float
    right_by_tokens: float


def step_loss(
    questions: list[Tensor], passages: list[Tensor], batch: Batch, precision: torch.dtype, mapped: Mapped | None = map
) -> Loss:
    """Of token states float32[tokens, hidden] each: of the batch's questions and of its passages.

    `precision` is that of the tokens' products; `mapped` clusters the tokens of a passage, None compares all of them.
    """
    barred = torch.zeros(len(questions), len(passages), dtype=torch.bool, device=questions[0].device)
    for passage, question in batch.only_for.items():
        barred[:, passage] = True
        barred[question, passage] = False
    for question, others in enumerate(batch.barred):
        barred[question, others] = True
    right = torch.tensor(batch.right, device=barred.device)
    asked, stored = pooled(questions), pooled(passages)

    def cosines(components: int | None) -> Tensor:
        ends = [functional.normalize(vectors[:, :components], dim=-1) for vectors in (asked, stored)]
        return (ends[0] @ ends[1].T / _VECTOR_TEMPERATURE).masked_fill(barred, _NEVER)

    vector_scores = cosines(None)
    rows = passages if mapped is None else kept_rows(passages, mapped)
    token_scores = (late_scores(questions, rows, precision) / _TOKEN_TEMPERATURE).masked_fill(barred, _NEVER)
    by_vector = functional.cross_entropy(vector_scores, right)
    by_short = functional.cross_entropy(cosines(SHORT_COMPONENTS), right)
    by_tokens = functional.cross_entropy(token_scores, right)
    return Loss(
        by_vector + _SHORT_WEIGHT * by_short + by_tokens,
        by_vector.item(),
        by_tokens.item(),
        (vector_scores.argmax(1) == right).float().mean().item(),
        (token_scores.argmax(1) == right).float().mean().item(),
    )


def pooled(states: list[Tensor]) -> Tensor:
    """[texts, hidden], the mean of each text's token states."""
    return torch.stack([each.mean(0) for each in states])


def asking(states: Tensor) -> Tensor:
    """The states of a question's own tokens, or all where it has none."""
    own = states[QUESTION_HEAD:-QUESTION_TAIL]
    return own if len(own) else states


def kept_rows(passages: Sequence[Tensor], mapped: Mapped = map) -> list[Tensor]:
    """The states of passages' tokens as kb keeps them, but for the four bits: [max(1, tokens // 8), hidden], L2 = 1.

    Which tokens share a row is not learned; the rows are.
    """
    units = [functional.normalize(states, dim=-1) for states in passages]
    whole = torch.cat([unit.detach() for unit in units]).cpu().numpy()
    ends = list(accumulate(map(len, units)))
    stretches = (whole[end - len(unit) : end] for unit, end in zip(units, ends, strict=True))
    kept = []
    for unit, labels in zip(units, mapped(row_labels, stretches), strict=True):
        rows = torch.zeros(int(labels.max()) + 1, unit.shape[1], device=unit.device, dtype=unit.dtype)
        kept.append(functional.normalize(rows.index_add(0, torch.from_numpy(labels).to(unit.device), unit), dim=-1))
    return kept


def late_scores(questions: list[Tensor], passages: list[Tensor], precision: torch.dtype = torch.float32) -> Tensor:
    """[questions, passages]: the mean over a question's tokens of the best cosine among a passage's."""
    longest = max(map(len, passages))
    stored = torch.stack(
        [functional.pad(functional.normalize(each, dim=-1), (0, 0, 0, longest - len(each))) for each in passages]
    ).to(precision)
    lengths = torch.tensor([len(each) for each in passages], device=stored.device)
    padding = torch.arange(longest, device=stored.device)[None] >= lengths[:, None]
    asked = [functional.normalize(asking(each), dim=-1).to(precision) for each in questions]
    best = torch.cat(
        [
            (torch.cat(asked[at : at + _TOGETHER]) @ stored.transpose(1, 2))
            .masked_fill(padding[:, None], -1)
            .amax(-1)
            .T.float()
            for at in range(0, len(asked), _TOGETHER)
        ]
    )
    counts = torch.tensor([len(each) for each in asked], device=best.device)
    owners = torch.arange(len(asked), device=best.device).repeat_interleave(counts)
    return torch.zeros(len(asked), len(passages), device=best.device).index_add(0, owners, best) / counts[:, None]
