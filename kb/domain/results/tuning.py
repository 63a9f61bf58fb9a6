"""What trying many fusion rules has shown."""

from __future__ import annotations

from typing import NamedTuple, TypedDict

from kb.domain.results.measured import RunRow
from kb.domain.search import Fusion


class Difference(NamedTuple):
    """A mean paired difference, its interval at LEVEL, and how likely chance alone gives one as large."""

    mean: float
    low: float
    high: float
    p_value: float


SURE_BELOW_P = 0.05


class Setting(TypedDict):
    """One fusion rule of the grid, as `fill_grid.sql` takes it."""

    rule: Fusion
    lexical_weight: float
    rrf_k: int
    rrf_lexical_weight: float
    depth: int


class Scored(NamedTuple):
    """A rule and its mean nDCG@10 over all questions."""

    setting: Setting
    ndcg_at_10: float


class Tuning(NamedTuple):
    """What a grid has shown. `held_out` is the gain over the current rule on questions the choice did not see."""

    questions: int
    tried: int
    current: Scored
    best: Scored
    table: tuple[Scored, ...]
    held_out: Difference

    @property
    def is_gain(self) -> bool:
        """Whether the gain is beyond the noise."""
        return self.held_out.low > 0 and self.held_out.p_value < SURE_BELOW_P


def config_values(setting: Setting) -> dict[str, str | int | float]:
    """What the configuration says for a rule."""
    values: dict[str, str | int | float] = {"search.hybrid_fusion": setting["rule"]}
    if setting["rule"] == "linear":
        values["search.lexical_weight"] = setting["lexical_weight"]
    else:
        values["search.rrf_k"] = setting["rrf_k"]
        values["search.rrf_lexical_weight"] = setting["rrf_lexical_weight"]
    return {**values, "search.candidate_depth": setting["depth"]}


class TuneReport(NamedTuple):
    """The run that was tuned on, and what came of it."""

    run: RunRow
    tuning: Tuning


class Worth(NamedTuple):
    """How a rule ranks: one question, or all of them on average. `first_rank` is of the first relevant document."""

    ndcg_at_10: float
    recall_at_10: float
    first_rank: int | None = None


class TriedQuestion(NamedTuple):
    """A question under the rule that is in force and under the one that is tried."""

    query_id: str
    query: str
    lang: str | None
    category: str | None
    now: Worth
    tried: Worth


class Trial(NamedTuple):
    """One fusion rule tried on a run's candidates. `is_read`: passages are read now, which the rule does not order."""

    run: RunRow
    current: Setting
    setting: Setting
    now: Worth
    tried: Worth
    questions: tuple[TriedQuestion, ...]
    is_read: bool
