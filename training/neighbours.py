"""Which passages a step shows together: those of one source that the encoder takes for answers to others' questions.

A step teaches most where a wrong passage is near the question (Karpukhin et al. 2020, hard negatives). Words would
only find wrong passages in the question's language; the encoder's vectors find them in both.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from training.base import Base
from training.encoder import Encoder
from training.objective import pooled
from training.questions import Source

_NEAREST = 12
# As much of a passage as its vector takes; the whole would take twice the time and find the same.
_TOKENS = 160


def neighbours(encoder: Encoder, base: Base, source: Source) -> list[list[int]]:
    """The passages nearest to each passage's questions among those that do not answer them, the nearest first.

    Twins are shown together anyway: a source of twins has no neighbours.
    """
    if source.pairs:
        return []
    with encoder.at_rest():
        asked = _vectors(encoder, [base.question_ids(question.text) for question in source.questions])
        held = _vectors(encoder, [base.passage_ids(each.encoded_text())[:_TOKENS] for each in source.passages])
        cosines = asked @ held.T
        nearest = torch.full((len(source.passages), len(source.passages)), -1.0, device=cosines.device)
        for at, question in enumerate(source.questions):
            cosines[at, [question.passage, *question.others]] = -1
            nearest[question.passage] = torch.maximum(nearest[question.passage], cosines[at])
        order = nearest.argsort(dim=1, descending=True, stable=True)[:, :_NEAREST].tolist()
    return [[other for other in row if nearest[at, other] > -1] for at, row in enumerate(order)]


def _vectors(encoder: Encoder, texts: Sequence[list[int]]) -> Tensor:
    return functional.normalize(pooled(encoder(texts)), dim=-1)
