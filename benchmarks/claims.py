"""How sentences written about a passage are checked: true ones supported, false ones not.

The pairs are `benchmarks/questions/claims.jsonl`, in Korean, English and across: a passage, a sentence, whether it is
true, and how it was made from the passage. The rules were written looking at the part `dev`; `test` is by other authors
and was only measured. With `--data DIR`, also `claims/c1.jsonl` and `claims/c2.jsonl` there, whose sentences are never
in the words of their passage.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import process_time
from typing import NamedTuple

from benchmarks.measurement import Cell, Measurement, Table, Target
from kb.answer.claims import judge_claim
from kb.domain.answers import Verdict
from kb.domain.citations import LineCitation
from kb.domain.search import Passage

PAIRS = Path(__file__).with_name("questions") / "claims.jsonl"
MOST_FALSE_SUPPORTED = 0.05
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
    asked = [*pairs(), *(written_pairs(data / "claims") if data is not None else ())]
    started = process_time()
    judged = [(pair, verdict_on(pair)) for pair in asked]
    milliseconds = 1000 * (process_time() - started) / len(judged)
    targets: list[Target] = []
    for split in dict.fromkeys(pair.split for pair in asked):
        supported, dropped = figures([each for each in judged if each[0].split == split])
        targets += [
            Target(f"{split}: false marked supported", supported, "≤", MOST_FALSE_SUPPORTED),
            Target(f"{split}: true dropped", dropped, "≤", MOST_TRUE_DROPPED),
        ]
    tables = (
        _table("Sentences judged", "kind", [("all", p, v) for p, v in judged]),
        _table("Sentences judged, by kind", "kind", [(p.kind, p, v) for p, v in judged]),
        _table("Sentences judged, by languages", "sentence", [(p.languages, p, v) for p, v in judged]),
    )
    return Measurement(
        "claims", tables, tuple(targets), {"pairs": len(judged)}, (f"{milliseconds:.1f} ms per sentence",)
    )


def pairs() -> Iterator[Pair]:
    """The pairs of `dev` and `test` in their order."""
    for line in PAIRS.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        for claim in row["claims"]:
            yield Pair(
                row["split"], row["source"], row["lang"], claim["text"], claim["lang"], claim["kind"], claim["true"]
            )


def written_pairs(folder: Path) -> Iterator[Pair]:
    """The pairs of `c1` and `c2`; what a passage says nothing of is as false as what it contradicts."""
    for name in ("c1", "c2"):
        for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            for claim in row["claims"]:
                label = claim["label"]
                yield Pair(
                    name,
                    f"# {row['title']}\n\n{row['text']}",
                    row["lang"],
                    claim["s"],
                    claim["lang"],
                    label,
                    label == "supported",
                )


def verdict_on(pair: Pair) -> Verdict:
    """What the rules say of a pair's sentence."""
    return judge_claim(pair.text, "", [passage_of(pair)]).verdict


def passage_of(pair: Pair) -> Passage:
    """A pair's source as a passage without a title."""
    return Passage(
        number=1,
        chunk_id="0" * 32,
        doc_id="0" * 32,
        workspace_path="notes.md",
        source_path="notes.md",
        title="",
        heading_path_json="[]",
        section_label=None,
        lang=pair.source_lang,
        text=pair.source,
        source_spans_json="[]",
        chunker_version="",
        cited=LineCitation("notes.md", 1, 1),
        score=1.0,
    )


def figures(judged: Sequence[tuple[Pair, Verdict]]) -> tuple[float, float]:
    """The share of false sentences that are supported, and of true ones that are dropped."""
    false = [verdict for pair, verdict in judged if not pair.true]
    true = [verdict for pair, verdict in judged if pair.true]
    return round(false.count("support") / len(false), 3), round(true.count("contradiction") / len(true), 3)


def _table(title: str, column: str, judged: Sequence[tuple[str, Pair, Verdict]]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    groups: dict[tuple[str, str, str], Counter[Verdict]] = {}
    for label, pair, verdict in judged:
        groups.setdefault((label, pair.split, "true" if pair.true else "false"), Counter())[verdict] += 1
    for group, counted in sorted(groups.items()):
        shares = (round(counted[verdict] / counted.total(), 3) for verdict in VERDICTS)
        rows.append((*group, counted.total(), *shares))
    return Table(title, (column, "part", "is", "sentences", "supported", "not checked", "dropped"), tuple(rows))
