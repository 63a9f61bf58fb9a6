"""The questions a scripted agent is asked, with what the passage that answers each is known by."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

QUESTIONS = Path(__file__).parent / "questions"


class AgentQuestion(NamedTuple):
    """A question, the documents that answer it, and patterns of which one must be in what was fetched (none: any)."""

    text: str
    files: frozenset[str]
    must: tuple[str, ...] = ()


def crossing_questions(folder: Path, most: int) -> list[AgentQuestion]:
    """Of the page pairs: the page in either language is the right one; titles and sentences, in even steps."""
    files: dict[str, set[str]] = defaultdict(set)
    with open(folder / "qrels_both.tsv", encoding="utf-8") as rows:
        for row in csv.DictReader(rows, delimiter="\t"):
            files[row["query_id"]].add(row["path"])
    lines = (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    asked = [json.loads(line) for line in lines]
    return [AgentQuestion(each["text"], frozenset(files[each["id"]])) for each in _spread(asked, most)]


def noted_questions(most: int) -> list[AgentQuestion]:
    """Of one person's Korean notes, asked by hand: those that they answer, in even steps."""
    lines = (QUESTIONS / "notes-ko.jsonl").read_text(encoding="utf-8").splitlines()
    asked = [each for each in map(json.loads, lines) if each["answerable"]]
    return [AgentQuestion(each["text"], frozenset(each["files"]), tuple(each["must"])) for each in _spread(asked, most)]


def _spread(items: list[Any], most: int) -> list[Any]:
    return [items[at * len(items) // most] for at in range(most)] if most < len(items) else items
