"""What puts the right page first, by kind of question: words, the vector, the tokens, and sums of the last with words.

Every question is asked once as `kb search` asks it; the other rules order the candidates it gave. `kb` is the order
of the hits, with what look-ups do last. It needs the installed models: KB_TEST_MODEL_DIR names their directory. What it
embedded is kept beside them, so that only the first run waits for the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.embedded_base import embedded
from benchmarks.installed_models import CACHE, installed_models
from benchmarks.judged_set import load_judged_set
from benchmarks.knowledge_base import KnowledgeBase
from benchmarks.measurement import Cell, Measurement, Table, Target
from benchmarks.progress import step
from benchmarks.question_sets import Asked, question_set
from benchmarks.remembered_questions import remembered_questions
from benchmarks.scoring import score_one
from kb.domain.filters import SearchFilters
from kb.domain.search import Passage, SearchQuery
from kb.operations.opening.base import open_base
from kb.operations.search.search import bind_question, search
from kb.store import queries

QUESTIONS = 300
"""How many questions of a judged set are asked unless told otherwise; of the others all."""

VAULTS = ("ask-fastapi", "notes-ko", "manual", "archive")
JUDGED = ("cranfield", "korquad-dev", "squad2-dev")
WEIGHTS = (0.2, 0.3, 0.35, 0.4, 0.45, 0.5)
CROSSING = "xling-fastapi"
HITS = 10
_EVERY = 1_000_000

PARAPHRASES = ("paraphrase",)
ACROSS = ("cross", "cross_lingual", "other_language")

LEAST_HITS = {"ask-fastapi": (0.85, 0.95), "notes-ko": (0.92, 0.97), "manual": (0.80, 0.90), "archive": (0.84, 0.93)}
LEAST_NDCG_AT_10 = {"cranfield": 0.556, "korquad-dev": 0.976, "squad2-dev": 0.95}
LEAST_PARAPHRASES, LEAST_ACROSS, LEAST_CROSS_RECALL = 0.50, 0.80, 0.95

Rule = Callable[[Passage], float]


def _meaning(each: Passage) -> float:
    return each.retrieval.vector_share or 0.0


def _sum(weight: float) -> Rule:
    return lambda each: _meaning(each) + weight * (each.retrieval.lexical_share or 0.0) ** 1.5


RULES: Mapping[str, Rule] = {
    "words": lambda each: each.retrieval.lexical_share or 0.0,
    "vector": lambda each: each.retrieval.vector_score or 0.0,
    "tokens": _meaning,
    **{f"+ {weight:.2f}".replace("0.", "."): _sum(weight) for weight in WEIGHTS},
}
COLUMNS = (*RULES, "kb")


class _Figures(NamedTuple):
    hit_at_1: float
    hit_at_3: float
    ndcg_at_10: float


class _Found(NamedTuple):
    set_name: str
    asked: Asked
    figures: Sequence[_Figures]


def measure(
    data: Path | None, *, questions: int = QUESTIONS, sets: Sequence[str] = (*VAULTS, *JUDGED, CROSSING)
) -> Measurement:
    """hit@1, hit@3 and nDCG@10 of every rule, by set and by kind; recall@10 of the copy in the other language."""
    if data is None:
        raise SystemExit("hybrid needs --data DIR")
    with remembered_questions(installed_models() / CACHE / "questions.sqlite"):
        found = [each for name in sets if name != CROSSING for each in _asked(name, data, questions)]
        across = _across(data / CROSSING) if CROSSING in sets else {}
    whole = {name: [each for each in found if each.set_name == name] for name in sets if name != CROSSING}
    tables = [
        Table(f"{figure}, by set", ("set", "questions", *COLUMNS), tuple(_rows(whole, at)))
        for at, figure in enumerate(("hit@1", "hit@3", "nDCG@10"))
    ]
    kinds = {
        (name, kind): [each for each in rows if each.asked.kind == kind]
        for name, rows in whole.items()
        for kind in sorted({each.asked.kind for each in rows})
    }
    tables.append(Table("hit@1, by kind", ("set", "kind", "questions", *COLUMNS), tuple(_rows(kinds, 0))))
    pooled = {
        "paraphrases": [each for each in found if each.asked.kind in PARAPHRASES and each.set_name in VAULTS],
        "the other language": [each for each in found if each.asked.kind in ACROSS and each.set_name in VAULTS],
    }
    pooled = {name: rows for name, rows in pooled.items() if rows}
    tables.append(Table("hit@1, pooled over the vaults", ("kind", "questions", *COLUMNS), tuple(_rows(pooled, 0))))
    if across:
        rows = tuple((lang, *figures) for lang, figures in across.items())
        tables.append(Table("Recall@10 in an index of both languages", ("question", "own copy", "other copy"), rows))
    return Measurement("hybrid", tuple(tables), tuple(_targets(whole, pooled, across)))


def _asked(name: str, data: Path, at_most: int) -> list[_Found]:
    with question_set(name, data, at_most) as questions, embedded(questions.root, name) as base, step(f"{name}: asked"):
        answered = [asked for asked in questions.questions if asked.files]
        return [_Found(name, asked, figures) for asked, figures in zip(answered, _search(base, answered), strict=True)]


def _search(base: KnowledgeBase, questions: Sequence[Asked]) -> list[list[_Figures]]:
    """The figures of each question by each rule, those of the hits last."""
    found = []
    with open_base(base.config, many=True) as session:
        for asked in questions:
            query = SearchQuery(asked.text, "hybrid", HITS * 3, SearchFilters(as_text=True))
            with session.snapshot() as connected:
                result = search(connected, query)
                params: dict[str, Any] = {**bind_question(connected, query)[2], "k": _EVERY, "shown": _EVERY}
                candidates = queries.search_hybrid(connected.db, **params)
            orders = [
                [each.workspace_path for each in sorted(candidates, key=lambda each: (-rule(each), each.rank))]
                for rule in RULES.values()
            ]
            orders.append([hit.doc_path for hit in result.hits])
            found.append([_figures(order, asked.files) for order in orders])
    return found


def _figures(paths: Sequence[str], grades: Mapping[str, float]) -> _Figures:
    """hit@1 and hit@3 of passages, nDCG@10 of the documents in the order of their first passage."""
    first = next((at for at, path in enumerate(paths) if path in grades), len(paths))
    found = score_one({path: int(grade) for path, grade in grades.items()}, list(dict.fromkeys(paths)))
    return _Figures(float(first < min(1, len(paths))), float(first < min(3, len(paths))), found.ndcg_at_10)


def _means(rows: Sequence[_Found], figure: int) -> list[float]:
    return [
        round(float(mean), 3) for mean in np.mean([[rule[figure] for rule in each.figures] for each in rows], axis=0)
    ]


def _rows(
    groups: Mapping[str, Sequence[_Found]] | Mapping[tuple[str, str], Sequence[_Found]], figure: int
) -> list[tuple[Cell, ...]]:
    return [
        (*((key,) if isinstance(key, str) else key), len(rows), *_means(rows, figure)) for key, rows in groups.items()
    ]


def _across(folder: Path) -> dict[str, tuple[float, float]]:
    """By the question's language: recall@10 of the copy in the own and in the other language."""
    judged = load_judged_set(folder)
    found: dict[str, list[tuple[bool, bool]]] = {}
    with embedded(judged.corpus, judged.name) as base, open_base(base.config, many=True) as session:
        for asked, text in judged.questions.items():
            hits = search(session, SearchQuery(text, "hybrid", HITS * 3, SearchFilters(as_text=True))).hits
            best = list(dict.fromkeys(hit.doc_path for hit in hits))[:HITS]
            (path,) = judged.judgements[asked]
            lang = asked[:2]
            own = f"{lang}/{path.partition('/')[2]}"
            found.setdefault(lang, []).append((own in best, path in best))
    return {
        lang: (
            round(float(np.mean([own for own, _ in rows])), 3),
            round(float(np.mean([other for _, other in rows])), 3),
        )
        for lang, rows in sorted(found.items())
    }


def _targets(
    whole: Mapping[str, Sequence[_Found]],
    pooled: Mapping[str, Sequence[_Found]],
    across: Mapping[str, tuple[float, float]],
) -> list[Target]:
    targets = []
    for name, rows in whole.items():
        of_kb = [_means(rows, figure)[-1] for figure in range(3)]
        if name in LEAST_HITS:
            for at, figure in enumerate(("hit@1", "hit@3")):
                targets.append(Target(f"{name}: {figure}", of_kb[at], "≥", LEAST_HITS[name][at]))
        if name in LEAST_NDCG_AT_10:
            targets.append(Target(f"{name}: nDCG@10", of_kb[2], "≥", LEAST_NDCG_AT_10[name]))
    least = {"paraphrases": LEAST_PARAPHRASES, "the other language": LEAST_ACROSS}
    targets += [Target(f"{kind}: hit@1", _means(rows, 0)[-1], "≥", least[kind]) for kind, rows in pooled.items()]
    return targets + [
        Target(f"{lang} → other: recall@10", other, "≥", LEAST_CROSS_RECALL) for lang, (_, other) in across.items()
    ]
