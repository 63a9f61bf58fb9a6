"""How well words, meaning and both find documents on judged sets: each language alone, both together, and across.

It needs the installed models: KB_TEST_MODEL_DIR names their directory. What it embedded is kept beside them, passages
and questions alike, so that only the first run waits for the models.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.embedded_base import embedded
from benchmarks.installed_models import CACHE, installed_models
from benchmarks.judged_set import JudgedSet, load_judged_set, sample_questions
from benchmarks.knowledge_base import KnowledgeBase
from benchmarks.measurement import Measurement, Table, Target
from benchmarks.progress import step
from benchmarks.remembered_questions import remembered_questions
from benchmarks.retrieval import SETS, search_all
from benchmarks.scoring import score
from kb.config import load
from kb.domain.search import SearchMode

_UNREAD = "rerank.provider=none"
# Column → the mode and the settings it is asked with: each channel, both as a statement merges them, and as shipped.
RULES: Mapping[str, tuple[SearchMode, tuple[str, ...]]] = {
    "words": ("lexical", ()),
    "meaning": ("vector", ()),
    "rrf": ("hybrid", ("search.hybrid_fusion=rrf", _UNREAD)),
    "linear": ("hybrid", (_UNREAD,)),
    "read": ("hybrid", ()),
}
LEAST_NDCG_AT_10 = {"cranfield": 0.55, "korquad-dev": 0.975, "squad2-dev": 0.93}
QUESTIONS = 300
"""How many of a set's questions are asked unless told otherwise; pages in two languages are few, and all asked."""

HITS = 30
"""Passages asked for, a question: enough for ten documents."""

TOGETHER = ("korquad-dev", "squad2-dev")
LARGEST_FALL = 0.005
CROSSING = "xling-fastapi"
LANGS = ("ko", "en")
LEAST_CROSS_RECALL = 0.65
LEAST_CROSS_GAIN = 1.5
LARGEST_OWN_FALL = 0.01


def measure(data: Path | None, *, questions: int = QUESTIONS) -> Measurement:
    """nDCG@10 of every rule on every set; recall@10 in the own and in the other language.

    `questions` is how many of each set are asked at most, in even steps; 0 asks all.
    """
    if data is None:
        raise SystemExit("hybrid needs --data DIR")
    with remembered_questions(installed_models() / CACHE / "questions.sqlite"):
        return _measure(data, questions)


def _measure(data: Path, questions: int) -> Measurement:
    targets: list[Target] = []
    judged = {name: sample_questions(load_judged_set(data / name), questions) for name in SETS}
    alone = {name: _alone(judged[name]) for name in SETS}
    for name, scores in alone.items():
        targets.append(Target(f"{name}: nDCG@10, read", scores["read"], "≥", LEAST_NDCG_AT_10[name]))
        best = max(scores["words"], scores["meaning"])
        targets.append(Target(f"{name}: linear − best channel", round(scores["linear"] - best, 4), "≥", 0))
    together = _together([judged[name] for name in TOGETHER])
    for name, value in together.items():
        fall = round(alone[name]["read"] - value, 4)
        targets.append(Target(f"{name} beside {'/'.join(set(TOGETHER) - {name})}: fall", fall, "≤", LARGEST_FALL))
    across = _across(data / CROSSING)
    for lang in LANGS:
        plain, linear = across["rrf", lang], across["linear", lang]
        targets.append(Target(f"{lang} → other: recall@10, read", across["read", lang][1], "≥", LEAST_CROSS_RECALL))
        gain = round(linear[1] / plain[1], 2)
        targets.append(Target(f"{lang} → other: linear / plain RRF", gain, "≥", LEAST_CROSS_GAIN))
        targets.append(
            Target(f"{lang} → own: plain RRF − linear", round(plain[0] - linear[0], 4), "≤", LARGEST_OWN_FALL)
        )
    tables = (
        Table(
            "nDCG@10, one set in the index",
            ("set", "questions", *RULES),
            tuple(
                (name, len(judged[name].questions), *(scores[rule] for rule in RULES)) for name, scores in alone.items()
            ),
        ),
        Table(
            "nDCG@10, two sets in one index (read)",
            ("set", "alone", "together"),
            tuple((name, alone[name]["read"], value) for name, value in together.items()),
        ),
        Table(
            "Recall@10, pages in both languages in one index",
            ("question", "rule", "own copy", "other copy"),
            tuple((lang, rule, *across[rule, lang]) for lang in LANGS for rule in RULES),
        ),
    )
    return Measurement("hybrid", tables, tuple(targets), {"alone": alone, "together": together})


def _alone(judged: JudgedSet) -> dict[str, float]:
    with embedded(judged.corpus, judged.name) as base:
        return {rule: _ndcg(base, judged, rule) for rule in RULES}


def _together(sets: list[JudgedSet]) -> dict[str, float]:
    """nDCG@10 of each set's questions where all the sets' documents are in one index."""
    with tempfile.TemporaryDirectory(prefix="kb-benchmark-") as root:
        for judged in sets:
            (Path(root) / judged.name).symlink_to(judged.corpus.resolve())
        with embedded(Path(root), "together") as base:
            return {judged.name: _ndcg(base, _below(judged), "read") for judged in sets}


def _below(judged: JudgedSet) -> JudgedSet:
    """The set with its documents in a folder of its name."""
    moved = {
        asked: {f"{judged.name}/{path}": grade for path, grade in found.items()}
        for asked, found in judged.judgements.items()
    }
    return judged._replace(judgements=moved)


def _across(folder: Path) -> dict[tuple[str, str], tuple[float, float]]:
    """By rule and the question's language: recall@10 of the copy in the own and in the other language."""
    judged = load_judged_set(folder)
    with embedded(judged.corpus, judged.name) as base:
        found: dict[tuple[str, str], tuple[float, float]] = {}
        for rule in RULES:
            paths = _asked(base, judged, rule)
            for lang in LANGS:
                asked = [question for question in judged.questions if question.startswith(lang)]
                hits = [(paths.get(question, [])[:10], next(iter(judged.judgements[question]))) for question in asked]
                own = sum(f"{lang}/{path.partition('/')[2]}" in best for best, path in hits) / len(asked)
                other = sum(path in best for best, path in hits) / len(asked)
                found[rule, lang] = (round(own, 3), round(other, 3))
    return found


def _ndcg(base: KnowledgeBase, judged: JudgedSet, rule: str) -> float:
    return round(score(judged.judgements, _asked(base, judged, rule)).ndcg_at_10, 4)


def _asked(base: KnowledgeBase, judged: JudgedSet, rule: str) -> dict[str, list[str]]:
    """Question id → paths, best first."""
    mode, settings = RULES[rule]
    ruled = base._replace(config=load(str(base.config_path), settings))
    with step(f"{judged.name}: {len(judged.questions)} questions by {rule}"):
        return search_all(ruled, judged, mode, chunks=HITS).paths()
