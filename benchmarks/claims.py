"""How sentences written about a passage are judged: true ones kept, false ones not marked as supported.

The pairs are `benchmarks/questions/claims.jsonl`, written for this, in Korean and English and across: a passage, a
sentence, whether it is true, and how it was made from the passage. Rules were written looking at the part `dev`; `test`
was only measured. Sentences are compared across languages where KB_TEST_MODEL_DIR names the installed models.
"""

from __future__ import annotations

import functools
import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import process_time
from typing import NamedTuple

from benchmarks.measurement import Cell, Measurement, Table, Target
from kb.answer.claims.rules import RuleJudge
from kb.answer.claims.support import Meaning, meaning_by
from kb.domain.answers.claims import ClaimJudge, Verdict
from kb.domain.citations import LineCitation
from kb.domain.passages import Passage
from kb.domain.search import RetrievalDetail
from kb.embed.encoders import query_encoder
from kb.embed.installed.late_interaction import token_scores
from kb.models.manifest import ENCODER

PAIRS = Path(__file__).with_name("questions") / "claims.jsonl"
MOST_FALSE_SUPPORTED = 0.10
MOST_TRUE_DROPPED = 0.05
VERDICTS: tuple[Verdict, ...] = ("support", "unknown", "contradiction")


class Pair(NamedTuple):
    """A passage and a sentence about it."""

    split: str
    source: str
    source_lang: str
    text: str
    lang: str
    kind: str
    true: bool

    @property
    def languages(self) -> str:
        """The sentence's language, and the passage's where that is another."""
        return self.lang if self.lang == self.source_lang else f"{self.lang} of {self.source_lang}"


def measure(data: Path | None = None) -> Measurement:
    """The share of false sentences supported and of true ones dropped, by part, kind and languages."""
    judge = RuleJudge(_meaning())
    started = process_time()
    judged = [(pair, verdict_on(pair, judge)) for pair in pairs()]
    milliseconds = 1000 * (process_time() - started) / len(judged)
    targets: list[Target] = []
    for split in ("dev", "test"):
        part = [each for each in judged if each[0].split == split]
        supported, dropped = figures(part)
        targets += [
            Target(f"{split}: false marked supported", supported, "≤", MOST_FALSE_SUPPORTED),
            Target(f"{split}: true dropped", dropped, "≤", MOST_TRUE_DROPPED),
        ]
    tables = (
        _table("Sentences judged, by kind", "kind", [(p.kind, p, v) for p, v in judged]),
        _table("Sentences judged, by languages", "sentence", [(p.languages, p, v) for p, v in judged]),
    )
    return Measurement(
        "claims", tables, tuple(targets), {"pairs": len(judged)}, (f"{milliseconds:.1f} ms per sentence",)
    )


def pairs() -> Iterator[Pair]:
    """All pairs in their order."""
    for line in PAIRS.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        for claim in row["claims"]:
            yield Pair(
                row["split"], row["source"], row["lang"], claim["text"], claim["lang"], claim["kind"], claim["true"]
            )


def verdict_on(pair: Pair, judge: ClaimJudge) -> Verdict:
    """What a judge says of a pair's sentence."""
    return judge.judge(pair.text, "", [passage_of(pair)]).verdict


def passage_of(pair: Pair) -> Passage:
    """A pair's source as a passage without a title."""
    citation = LineCitation("notes.md", 1, 1)
    detail = RetrievalDetail("lexical", 1.0, 1, None, None)
    return Passage(
        number=1,
        chunk_id="0" * 32,
        doc_id="0" * 32,
        doc_path="notes.md",
        source_path="notes.md",
        title="",
        heading_path=(),
        section_label=None,
        lang=pair.source_lang,
        text=pair.source,
        citation=citation,
        score=1.0,
        retrieval=detail,
    )


def figures(judged: Sequence[tuple[Pair, Verdict]]) -> tuple[float, float]:
    """The share of false sentences that are supported, and of true ones that are dropped."""
    false = [verdict for pair, verdict in judged if not pair.true]
    true = [verdict for pair, verdict in judged if pair.true]
    return round(false.count("support") / len(false), 3), round(true.count("contradiction") / len(true), 3)


def _meaning() -> Meaning | None:
    directory = os.environ.get("KB_TEST_MODEL_DIR")
    if directory is None:
        return None
    encoder = query_encoder(Path(directory), ENCODER)

    @functools.cache
    def tokens(text: str) -> bytes:
        return encoder.encode(text).tokens or b""

    def similarity(text: str, others: Sequence[str]) -> list[float]:
        return token_scores(tokens(text), list(map(tokens, others)), encoder.model.dimensions)

    return meaning_by(ENCODER, similarity)


def _table(title: str, column: str, judged: Sequence[tuple[str, Pair, Verdict]]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    groups: dict[tuple[str, str, str], Counter[Verdict]] = {}
    for label, pair, verdict in judged:
        groups.setdefault((label, pair.split, "true" if pair.true else "false"), Counter())[verdict] += 1
    for group, counted in sorted(groups.items()):
        shares = (round(counted[verdict] / counted.total(), 3) for verdict in VERDICTS)
        rows.append((*group, counted.total(), *shares))
    return Table(title, (column, "part", "is", "sentences", "supported", "weak", "dropped"), tuple(rows))
