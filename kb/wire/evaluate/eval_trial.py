"""eval_trial.v1: what one fusion rule would make of a run's questions; what the sliders of `kb web` are answered."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from kb.domain.results.tuning import Setting, Trial, TriedQuestion, Worth, config_values


class FusionRuleV1(TypedDict):
    """A fusion rule, and how many candidates of each channel it looks at."""

    rule: Literal["linear", "rrf", "cosine"]
    lexical_weight: float
    rrf_k: int
    rrf_lexical_weight: float
    depth: int


class RuleWorthV1(TypedDict):
    """How a rule ranks; `first_rank` is that of the first relevant document, null in means and where there is none."""

    ndcg_at_10: float
    recall_at_10: float
    first_rank: int | None


class TriedQuestionV1(TypedDict):
    """A question, ranked by the rule of the run and by the one that is tried."""

    query_id: str
    query: str
    lang: str | None
    category: str | None
    now: RuleWorthV1
    tried: RuleWorthV1


class EvalTrialV1(TypedDict):
    """`settings` are the configuration's keys for the rule that is tried.

    With `is_read` passages are read before they are shown: the rule then orders them where they have no sentences'
    vectors, and nothing else.
    """

    schema_version: Literal["eval_trial.v1"]
    run_id: str
    run_name: str | None
    suite: str
    is_read: bool
    least_depth: int
    current: FusionRuleV1
    rule: FusionRuleV1
    settings: dict[str, str | int | float]
    now: RuleWorthV1
    tried: RuleWorthV1
    questions: list[TriedQuestionV1]


def eval_trial_v1(trial: Trial) -> EvalTrialV1:
    """The wire form of a trial."""
    return {
        "schema_version": "eval_trial.v1",
        "run_id": trial.run.run_id,
        "run_name": trial.run.name,
        "suite": trial.run.suite,
        "is_read": trial.is_read,
        "least_depth": 2 * trial.run.k,
        "current": _rule(trial.current),
        "rule": _rule(trial.setting),
        "settings": config_values(trial.setting),
        "now": _worth(trial.now),
        "tried": _worth(trial.tried),
        "questions": [_question(each) for each in trial.questions],
    }


def _rule(setting: Setting) -> FusionRuleV1:
    return {
        "rule": setting["rule"],
        "lexical_weight": setting["lexical_weight"],
        "rrf_k": setting["rrf_k"],
        "rrf_lexical_weight": setting["rrf_lexical_weight"],
        "depth": setting["depth"],
    }


def _worth(worth: Worth) -> RuleWorthV1:
    return {"ndcg_at_10": worth.ndcg_at_10, "recall_at_10": worth.recall_at_10, "first_rank": worth.first_rank}


def _question(each: TriedQuestion) -> TriedQuestionV1:
    return {
        "query_id": each.query_id,
        "query": each.query,
        "lang": each.lang,
        "category": each.category,
        "now": _worth(each.now),
        "tried": _worth(each.tried),
    }
