"""How likely what was found in source code answers the question: the evidence that the gate compares.

A definition that is named, a line of a stack trace and a line that calls what is asked for are there or not; how often
each is right, and how much the words of a description tell, was fitted on questions whose lines another program gives
(`python -m benchmarks code`). The weights are the model `code_right` of `kb/answer/data/weights.tsv`.
"""

from __future__ import annotations

import json
import math

from kb.answer.fitted import Fitted, fitted
from kb.answer.judging import likelihood
from kb.domain.answers.answer import Evidence
from kb.domain.code_hits import CodeFound
from kb.retrieve.code.question import FEW_WORDS
from kb.store import queries
from kb.store.connection import Connection

MODEL = "code_right"


def code_evidence(db: Connection, found: CodeFound) -> Evidence:
    """The evidence of what was found in source code."""
    return _evidence(code_features(db, found), fitted(MODEL), found)


def _evidence(features: dict[str, float], weights: Fitted, found: CodeFound) -> Evidence:
    # Of definitions that are named alike each may be meant.
    right = 0.0 if _misses_uses(found) else likelihood(weights, features) * found.shown_rivals
    first = found.hits[0]
    return Evidence(
        value=right,
        channel="code",
        version=weights.version,
        lexical=1.0 if first.is_named and found.words_beside <= FEW_WORDS else features.get("coverage", first.share),
        lexical_margin=features.get("margin", 0.0),
        nearness=None,
        right=right,
    )


def _misses_uses(found: CodeFound) -> bool:
    """Whether it is asked where something is used and no line uses it: its definition is no answer."""
    return found.wants_uses and found.is_of_code and found.hits[0].found_by != "use"


def code_features(db: Connection, found: CodeFound) -> dict[str, float]:
    """What is weighed of the first hit: how it was found; of words, how many of the question's it has."""
    first = found.hits[0]
    features = {"bias": 1.0}
    if first.found_by in ("place", "use"):
        return features | {first.found_by: 1.0}
    is_named = first.found_by == "definition" and found.words_beside <= FEW_WORDS
    if is_named:
        name = "named" if first.spelled else "named_in_other_case"
        return features | {name: 1.0}
    coverage, missing = _held(db, found)
    second = next((each for each in found.hits[1:] if not each.is_named), None)
    return features | {
        "described": 1.0,
        "named_among_words": float(first.is_named),
        "share": first.share,
        "margin": first.share - second.share if second else first.share,
        "coverage": coverage,
        "missing": missing,
        "words": math.log2(1 + len(found.tokens)),
    }


def _held(db: Connection, found: CodeFound) -> tuple[float, float]:
    """Of the question's words, weighed by their rarity: the share that the first hit has, and how rare the rarest is
    that it has not, as a part of the rarest of all."""
    total = queries.select_code_total(db)
    chunks = total.chunks if total else 0
    rows = queries.select_code_words(db, words_json=json.dumps(found.tokens), chunk_rowid=found.hits[0].chunk_rowid)
    weights = [math.log(1 + (max(chunks - row.chunks, 0) + 0.5) / (row.chunks + 0.5)) for row in rows]
    if not weights:
        return 0.0, 1.0
    held = sum(weight for weight, row in zip(weights, rows, strict=True) if row.is_held)
    lacking = max((weight for weight, row in zip(weights, rows, strict=True) if not row.is_held), default=0.0)
    return held / sum(weights), lacking / max(weights)
