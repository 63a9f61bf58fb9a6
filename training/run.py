"""The steps of a training, and the checkpoint from which an interrupted one goes on as though it had not been."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor, nn

from kb.assemble.e5_weights import E5Weights
from training.base import Base
from training.batches import Batch
from training.encoder import Encoder
from training.objective import Mapped, step_loss
from training.questions import BadData, Source

PRECISIONS: Mapping[str, torch.dtype] = {"bfloat16": torch.bfloat16, "float32": torch.float32}
TOLD_STEPS = 10
_WARM_STEPS = 20
_LOWEST_RATE = 0.03
_DECAY = 0.01
_HEADS_SHARE = 3.0
_PAGES_WEIGHT = 0.5
_LONGEST_GRADIENT = 1.0
_SAVED_SECONDS = 120
_TIMED_TEXTS, _TIMED_STEPS = 12, 3


B = TypeVar("B")


class Learner(Protocol):
    """What is trained: an encoder's update, or a judge."""

    def learned(self) -> Iterator[tuple[str, nn.Parameter]]: ...

    @property
    def precision_name(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Plan:
    """How many steps, and how far each goes: the rate rises for some steps, then falls like a cosine."""

    steps: int
    rate: float

    def rate_at(self, step: int) -> float:
        warm = min(_WARM_STEPS, max(1, self.steps // 5))
        falling = 0.5 * (1 + math.cos(math.pi * step / self.steps))
        return self.rate * min(1, (step + 1) / warm) * max(_LOWEST_RATE, falling)


@dataclass(slots=True)
class Course:
    """What a training has done so far: `losses` has the means of each ten steps, `recent` those since, `figures` what
    the held-out files gave."""

    step: int = 0
    seconds: float = 0.0
    losses: list[dict[str, float]] = field(default_factory=list)
    recent: list[dict[str, float]] = field(default_factory=list)
    figures: list[dict[str, Any]] = field(default_factory=list)


class Stopped(Exception):
    """The training was told to stop, and saved what it had."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A file with all that an interrupted training needs; `identity` tells whether it is one of the same training."""

    path: Path
    identity: Mapping[str, Any]

    def saved(self) -> dict[str, Any] | None:
        """What was saved; None where nothing was. Raises: BadData for a checkpoint of another training."""
        if not self.path.is_file():
            return None
        try:
            state: dict[str, Any] = torch.load(self.path, map_location="cpu", weights_only=True)
            saved = state["identity"]
        except Exception as error:
            raise BadData(self.path, None, f"this is no checkpoint: {error}", "delete it, or add --fresh") from error
        before, now = ({**each, **each["asked"], "asked": None} for each in (saved, self.identity))
        other = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
        if other:
            hint = "give the same settings and data, another --out, or --fresh to begin again"
            raise BadData(self.path, None, f"this is a checkpoint of another training: {', '.join(other)}", hint)
        return state

    def save(self, learner: Learner, optimizer: torch.optim.Optimizer, course: Course) -> None:
        """Write all of it, whole or not at all."""
        partial = self.path.with_name(f"{self.path.name}.partial")
        learned = {name: parameter.detach().cpu() for name, parameter in learner.learned()}
        state = {
            "identity": dict(self.identity),
            "precision": learner.precision_name,
            "learned": learned,
            "optimizer": optimizer.state_dict(),
            "course": asdict(course),
        }
        torch.save(state, partial)
        os.replace(partial, self.path)


def train(
    learner: Learner,
    batches: Iterable[B],
    loss: Callable[[B], tuple[Tensor, dict[str, float]]],
    plan: Plan,
    checkpoint: Checkpoint,
    *,
    told: Callable[[Course], None],
    stops: Callable[[], bool],
) -> Course:
    """Train for all steps of the plan, from the checkpoint where there is one; `told` is called after each step.

    `loss` gives what a batch's step lowers, with its parts.

    Raises: Stopped after the step in which `stops` came to be true; FloatingPointError where the loss is no number.
    """
    parameters = dict(learner.learned())
    optimizer = _optimizer(parameters)
    course = _resumed(parameters, optimizer, checkpoint)
    saved = time.monotonic()
    for batch in islice(batches, course.step, plan.steps):
        began = time.monotonic()
        for group in optimizer.param_groups:
            group["lr"] = plan.rate_at(course.step) * group["share"]
        course.recent.append(_step(*loss(batch), optimizer))
        course.step += 1
        course.seconds += time.monotonic() - began
        if len(course.recent) == TOLD_STEPS or course.step == plan.steps:
            means = {name: sum(each[name] for each in course.recent) / len(course.recent) for name in course.recent[0]}
            course.losses.append({"step": course.step, **{name: round(value, 4) for name, value in means.items()}})
            course.recent.clear()
        told(course)
        if stops() and course.step < plan.steps:
            checkpoint.save(learner, optimizer, course)
            raise Stopped
        if time.monotonic() - saved > _SAVED_SECONDS:
            checkpoint.save(learner, optimizer, course)
            saved = time.monotonic()
    checkpoint.save(learner, optimizer, course)
    return course


def encoder_loss(encoder: Encoder, base: Base, batch: Batch, mapped: Mapped | None) -> tuple[Tensor, dict[str, float]]:
    """A step's loss, its parts, and the shares of questions whose passage came first; `mapped` clusters tokens."""
    ids = [base.question_ids(text) for text in batch.questions] + [base.passage_ids(text) for text in batch.passages]
    states = encoder(ids)
    asking = len(batch.questions)
    loss = step_loss(states[:asking], states[asking:], batch, encoder.precision, mapped)
    return loss.total, {
        "vector": loss.vector,
        "tokens": loss.tokens,
        "right_by_vector": loss.right_by_vector,
        "right_by_tokens": loss.right_by_tokens,
        "texts": float(len(ids)),
    }


def paired_loss(
    encoder: Encoder, base: Base, batches: tuple[Batch, Batch], mapped: Mapped
) -> tuple[Tensor, dict[str, float]]:
    """The loss of a step's questions and half of that of its sections, whose tokens are not clustered."""
    loss, parts = encoder_loss(encoder, base, batches[0], mapped)
    of_pages, told = encoder_loss(encoder, base, batches[1], None)
    return loss + _PAGES_WEIGHT * of_pages, parts | {f"pages_{name}": told[name] for name in ("vector", "tokens")}


def _step(loss: Tensor, parts: dict[str, float], optimizer: torch.optim.Optimizer) -> dict[str, float]:
    if not math.isfinite(loss.item()):
        raise FloatingPointError("the loss is no number any more: try a lower --rate")
    optimizer.zero_grad()
    loss.backward()
    learned = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    torch.nn.utils.clip_grad_norm_(learned, _LONGEST_GRADIENT)
    optimizer.step()
    return parts


def _optimizer(parameters: Mapping[str, nn.Parameter]) -> torch.optim.Optimizer:
    """Matrices are drawn towards nothing, which is the base; the norms, whose base is not nothing, are not drawn.

    Heads begin from nothing and learn three times as fast.
    """
    groups: dict[str, dict[str, Any]] = {
        "matrices": {"params": [], "weight_decay": _DECAY, "share": 1.0},
        "norms": {"params": [], "weight_decay": 0.0, "share": 1.0},
        "heads": {"params": [], "weight_decay": _DECAY, "share": _HEADS_SHARE},
    }
    for name, parameter in parameters.items():
        of = "heads" if name.startswith("head.") else "matrices" if name.endswith((".up", ".down")) else "norms"
        groups[of]["params"].append(parameter)
    return torch.optim.AdamW([group for group in groups.values() if group["params"]])


def _resumed(parameters: Mapping[str, Tensor], optimizer: torch.optim.Optimizer, checkpoint: Checkpoint) -> Course:
    state = checkpoint.saved()
    if state is None:
        return Course()
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(state["learned"][name])
    optimizer.load_state_dict(state["optimizer"])
    return Course(**state["course"])


def within_reach(source: Source, base: Base) -> Source:
    """The source without the questions whose answers end past what the encoder sees of their passages."""

    def is_seen(passage: int, end: int) -> bool:
        place = source.passages[passage]
        if len(base.passage_ids(place.encoded_text())) < base.longest_passage:
            return True
        return len(base.passage_ids(place.encoded_text(place.text[:end]))) < base.longest_passage

    kept = [each for each in source.questions if each.answer is None or is_seen(each.passage, each.answer[1])]
    return Source(source.name, source.sha256, source.passages, kept, source.pairs, source.misses)


def seconds_by_precision(
    weights: E5Weights, rank: int, texts: Sequence[list[int]], device: torch.device
) -> dict[str, float]:
    """What a small step takes in each precision: the least of some, after one that is not measured."""
    least = {}
    for name, precision in PRECISIONS.items():
        encoder = Encoder(weights, rank, precision).to(device)
        seconds = []
        for _ in range(1 + _TIMED_STEPS):
            began = time.monotonic()
            torch.stack([states.mean() for states in encoder(texts[:_TIMED_TEXTS])]).sum().backward()
            if device.type == "cuda":
                torch.cuda.synchronize()
            seconds.append(time.monotonic() - began)
        least[name] = min(seconds[1:])
    return least
