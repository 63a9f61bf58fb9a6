"""Where the right passage stands among all passages of sources that had no part in training, by kind of question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from training.encoder import Encoder
from training.objective import late_scores, pooled
from training.questions import Source

TokenIds = Callable[[str], list[int]]
_TOGETHER = 64


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one kind of question: how many there are, and the shares with a right passage first and among three and ten."""

    kind: str
    questions: int
    by_vector: tuple[float, float, float]
    by_tokens: tuple[float, float, float]


def held_out_figures(
    encoder: Encoder, sources: Sequence[Source], token_ids: TokenIds
) -> tuple[list[Figures], float | None]:
    """Figures of all kinds (`all` first) over the passages of all `sources` together, and the share of questions of
    twins whose own passage comes before the twin by tokens; None without twins."""
    texts, questions, right, twins = [], [], [], []
    for source in sources:
        first = len(texts)
        texts += [passage.encoded_text() for passage in source.passages]
        for question in source.questions:
            questions.append(question)
            right.append([first + question.passage, *(first + other for other in question.others)])
            twins.append(None if question.twin is None else first + question.twin)
    with torch.inference_mode():
        passages = encoder([token_ids(f"passage: {text}") for text in texts])
        asked = encoder([token_ids(f"query: {question.text}") for question in questions])
        nearness = torch.nn.functional.normalize(pooled(asked), dim=-1)
        nearness = nearness @ torch.nn.functional.normalize(pooled(passages), dim=-1).T
        late = torch.cat(
            [
                torch.cat([late_scores(asked[at : at + _TOGETHER], passages[of : of + 200]) for of in range(0, len(passages), 200)], 1)
                for at in range(0, len(asked), _TOGETHER)
            ]
        )
    ranks = [[_rank(scores[at], right[at]) for at in range(len(questions))] for scores in (nearness, late)]
    of_kind = defaultdict(list)
    for at, question in enumerate(questions):
        of_kind["all"].append(at)
        of_kind[question.kind].append(at)
    figures = [
        Figures(kind, len(of), _shares([ranks[0][at] for at in of]), _shares([ranks[1][at] for at in of]))
        for kind, of in of_kind.items()
    ]
    above = [bool(late[at, right[at][0]] > late[at, twin]) for at, twin in enumerate(twins) if twin is not None]
    return figures, sum(above) / len(above) if above else None


def _rank(scores: Tensor, right: Sequence[int]) -> int:
    return int((scores > scores[list(right)].max()).sum())


def _shares(ranks: Sequence[int]) -> tuple[float, float, float]:
    first, three, ten = (sum(rank < most for rank in ranks) / len(ranks) for most in (1, 3, 10))
    return first, three, ten
