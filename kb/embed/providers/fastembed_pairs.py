"""Cross-encoders that fastembed knows, by their names: for machines that reach a model hub.

Only `kb models install NAME` fetches; a search opens what is in the hub cache below the model directory. fastembed cuts
a question and passage that are together above the model's window (512 tokens in most) at its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kb.embed.model_files import HUB
from kb.embed.providers.fastembed_adapter import HUB_DIRECTORY, load_fastembed
from kb.embed.text import encoder_text
from kb.errors import ModelCorrupt, ModelError, ModelMissing
from kb.private import fetching

_BATCH_PAIRS = 4


@dataclass(frozen=True, slots=True)
class HubScorer:
    """A cross-encoder in memory."""

    label: str
    _fastembed: Any

    def score(self, question: str, passages: Sequence[str]) -> list[float]:
        """One logit a passage."""
        texts = [encoder_text(passage) for passage in passages]
        # Padded to the longest of its batch: the lengths are kept together.
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        scores = self._fastembed.rerank(encoder_text(question), [texts[at] for at in order], batch_size=_BATCH_PAIRS)
        found = dict(zip(order, map(float, scores), strict=True))
        return [found[at] for at in range(len(texts))]


def known_scorer(name: str) -> str | None:
    """The full name of fastembed's cross-encoder called `name`; its owner (`BAAI/`) may be left out."""
    for known in _cross_encoder().list_supported_models():
        full = str(known["model"])
        if name.lower() in (full.lower(), full.lower().rpartition("/")[2]):
            return full
    return None


def scorer_name(name: str) -> str:
    """The full name. Raises: ModelMissing where fastembed knows none."""
    full = known_scorer(name)
    if full is None:
        known = ", ".join(sorted(str(each["model"]) for each in _cross_encoder().list_supported_models()))
        raise ModelMissing(f"fastembed knows no cross-encoder called {name}", f"set rerank.model to one of {known}")
    return full


def open_hub_scorer(model_dir: Path, name: str, threads: int | None) -> HubScorer:
    """The cross-encoder called `name` from the hub cache. Raises: ModelMissing, ModelCorrupt."""
    from onnxruntime.capi import onnxruntime_pybind11_state as failures

    full = scorer_name(name)
    try:
        loaded = _cross_encoder()(
            full, cache_dir=str(model_dir / HUB_DIRECTORY), threads=threads, local_files_only=True
        )
    except (failures.Fail, failures.InvalidProtobuf, failures.InvalidGraph) as error:
        raise ModelCorrupt(f"{full} does not load: {error}", f"kb models install {full}") from error
    except (ValueError, OSError) as error:
        raise ModelMissing(
            f"the cross-encoder {full} is not installed", f"run `kb models install {full}` where a hub can be reached"
        ) from error
    return HubScorer(f"{HUB}:{full}", loaded)


def fetch_hub_scorer(model_dir: Path, name: str) -> str:
    """The full name of the cross-encoder, fetched into the hub cache. Raises: ModelMissing; ModelError."""
    hub = model_dir / HUB_DIRECTORY
    with fetching(hub):
        full = scorer_name(name)
        try:
            _cross_encoder()(full, cache_dir=str(hub), lazy_load=True)
        except (ValueError, OSError) as error:
            raise ModelError(
                f"{full} could not be fetched: {error}",
                "a model hub must be reachable for it; rerank.provider = none does without",
            ) from error
    return full


def _cross_encoder() -> Any:
    """The class that fastembed's cross-encoders are made by."""
    load_fastembed()
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    return TextCrossEncoder
