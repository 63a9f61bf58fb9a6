"""Which cluster is used, and which documents never go there: plain values from the configuration."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kb.config import Config

if TYPE_CHECKING:
    from kb.operations.opening.exposure import Rules

# Fewer new passages are embedded here, before a cluster is reached.
AWAY_FROM_PASSAGES = 64

# The tag that says it itself, whatever is configured.
_ALWAYS = "#never-to-cluster"


class ComputePlan(NamedTuple):
    """The scheduler, "" for no cluster. `kept_here` are the rules for documents that never go to it.

    `model_dir` is the model folder of this machine, which workers on this machine read.
    """

    scheduler: str = ""
    is_insecure: bool = False
    in_flight_bytes: int = 0
    kept_here: Rules | None = None
    processes: int = 1
    model_dir: Path = Path()


HERE = ComputePlan()


def compute_plan(config: Config) -> ComputePlan:
    """The plan of a configuration."""
    compute = config.compute
    return ComputePlan(
        compute.scheduler,
        compute.insecure,
        compute.in_flight_mb * 1_000_000,
        _kept_here(config),
        os.cpu_count() or 1,
        config.model_dir,
    )


def _kept_here(config: Config) -> Rules:
    """The documents that never go to a cluster."""
    from kb.operations.opening.exposure import parsed_rules  # a search plans no ingest

    written = (_ALWAYS, *config.compute.never_to_cluster)
    sources = config.sources
    kept = tuple(each.name for each in sources.further if "never_to_cluster" in each.kept_from)
    return parsed_rules(written)._replace(sources=sources, kept_sources=kept)
