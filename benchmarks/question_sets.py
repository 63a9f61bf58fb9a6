"""Questions in an owner's own words, by kind, with the files and expressions of a right answer; judged sets too."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import yaml

from benchmarks.judged_set import load_judged_set
from benchmarks.question_vaults import VAULTS

HERE = Path(__file__).parent
GOLDEN = HERE.parent / "fixtures" / "golden"


class Asked(NamedTuple):
    """A question of one kind. `files` grade the documents that answer it; an expression of `must` is in the answer.

    Without files nothing answers it. Without `must` the document decides whether an answer is right.
    """

    id: str
    text: str
    lang: str
    kind: str
    files: Mapping[str, float]
    must: tuple[str, ...] = ()
    answerable: bool = True

    def is_answered_by(self, pieces: Iterable[tuple[str, str]]) -> bool:
        """Whether one of the pieces, each a file and its text, answers it."""
        return any(
            path in self.files and (not self.must or any(re.search(must, text, re.IGNORECASE) for must in self.must))
            for path, text in pieces
        )


class QuestionSet(NamedTuple):
    """Questions over the documents below `root`."""

    name: str
    root: Path
    questions: tuple[Asked, ...]


NAMES = (
    "ask-fastapi",
    "notes-ko",
    "manual",
    "archive",
    "golden",
    "korquad-dev",
    "squad2-dev",
    "cranfield",
    "korquad-refusal-dev",
    "few-korean",
    "few-english",
)


@contextmanager
def question_set(name: str, data: Path, at_most: int = 0) -> Iterator[QuestionSet]:
    """One set, its documents in place; `at_most` of the questions of a judged set in even steps, 0 = all."""
    if name == "ask-fastapi":
        with TemporaryDirectory() as folder:
            root = Path(folder) / "vault"
            shutil.copytree(data / "xling-fastapi" / "corpus", root)
            for line in (data / name / "removed.txt").read_text(encoding="utf-8").split():
                (root / line).unlink()
            yield QuestionSet(name, root, tuple(_own(data / name / "questions.jsonl")))
    elif name.startswith("few-"):
        with TemporaryDirectory() as folder:
            VAULTS[name](data, Path(folder))
            asked = _own(data / "ask-fastapi" / "questions.jsonl")
            yield QuestionSet(name, Path(folder), tuple(_answered_in(Path(folder), asked)))
    elif name == "notes-ko":
        yield QuestionSet(name, data / name, tuple(_own(HERE / "questions" / "notes-ko.jsonl")))
    elif name in VAULTS:
        with TemporaryDirectory() as folder:
            VAULTS[name](data, Path(folder))
            yield QuestionSet(name, Path(folder), tuple(_own(HERE / "questions" / f"{name}.jsonl")))
    elif name == "golden":
        yield QuestionSet(name, GOLDEN / "notes", tuple(_golden()))
    elif name == "korquad-refusal-dev":
        yield QuestionSet(name, data / name / "corpus", tuple(_refusal(data / name / "queries.jsonl")))
    else:
        yield QuestionSet(name, data / name / "corpus", tuple(_judged(data / name, at_most)))


def _own(path: Path) -> Iterator[Asked]:
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        files = dict.fromkeys(row["files"], 1.0)
        yield Asked(row["id"], row["text"], row["lang"], row["kind"], files, tuple(row["must"]), row["answerable"])


def _answered_in(root: Path, asked: Iterable[Asked]) -> Iterator[Asked]:
    """The questions that are answered below `root`; of kind `cross` those in another language than all that answers."""
    for each in asked:
        files = {path: grade for path, grade in each.files.items() if (root / path).exists()}
        if files:
            is_across = all(path.partition("/")[0] != each.lang for path in files)
            yield each._replace(files=files, kind="cross" if is_across else each.kind)


def _golden() -> Iterator[Asked]:
    for row in yaml.safe_load((GOLDEN / "golden.yaml").read_text(encoding="utf-8"))["questions"]:
        files = {place.split("#")[0]: 1.0 for place in row.get("expected", [])}
        yield Asked(row["id"], row["query"], row["lang"], row["category"], files, answerable=bool(files))


def _refusal(path: Path) -> Iterator[Asked]:
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        kind = "words shared" if row["answerable"] else "missing article"
        yield Asked(row["id"], row["text"], row.get("lang", "ko"), kind, {}, answerable=row["answerable"])


def _judged(folder: Path, at_most: int) -> Iterator[Asked]:
    judged = load_judged_set(folder)
    lang = "ko" if folder.name.startswith("korquad") else "en"
    asked = list(judged.questions)
    kept = asked if not at_most or len(asked) <= at_most else [asked[n * len(asked) // at_most] for n in range(at_most)]
    for identity in kept:
        files = {path: float(grade) for path, grade in judged.judgements[identity].items()}
        yield Asked(identity, judged.questions[identity], lang, "words shared", files)
