"""A folder of documents with judged questions: `corpus/**/*.md`, `queries.jsonl`, `qrels.tsv`."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from benchmarks.scoring import Judgements


class JudgedSet(NamedTuple):
    """Questions with at least one relevant document; `judgements` names documents by their path below `corpus`."""

    name: str
    corpus: Path
    questions: dict[str, str]
    judgements: Judgements


def load_judged_set(folder: Path) -> JudgedSet:
    """The set in `folder`; questions that nobody judged are left out."""
    judgements: dict[str, dict[str, int]] = defaultdict(dict)
    with (folder / "qrels.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if int(row["relevance"]) > 0:
                judgements[row["query_id"]][row["path"]] = int(row["relevance"])
    with (folder / "queries.jsonl").open(encoding="utf-8") as file:
        questions = {item["id"]: item["text"] for item in map(json.loads, file) if item["id"] in judgements}
    return JudgedSet(folder.name, folder / "corpus", questions, {asked: judgements[asked] for asked in questions})


def sample_questions(judged: JudgedSet, at_most: int) -> JudgedSet:
    """The set with `at_most` of its questions, in even steps from the first; 0 keeps all."""
    total = len(judged.questions)
    if not at_most or total <= at_most:
        return judged
    asked = list(judged.questions)
    kept = [asked[number * total // at_most] for number in range(at_most)]
    return judged._replace(
        questions={question: judged.questions[question] for question in kept},
        judgements={question: judged.judgements[question] for question in kept},
    )
