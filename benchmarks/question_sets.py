"""Questions in an owner's own words, by kind, with the files and expressions of a right answer; judged sets too."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import yaml

from benchmarks.judged_set import load_judged_set
from benchmarks.question_vaults import VAULTS

HERE = Path(__file__).parent
GOLDEN = HERE.parent / "fixtures" / "golden"


class Asked(NamedTuple):
    """A question of one kind. `files` grade the documents that answer it; an expression of `must` is in the answer.

    Without files nothing answers it. Without `must` the document decides whether an answer is right. `twin` is one that
    differs from it in what is asked; `answer` is a text of the document. `other` matches a value of something else.
    """

    id: str
    text: str
    lang: str
    kind: str
    files: Mapping[str, float]
    must: tuple[str, ...] = ()
    answerable: bool = True
    twin: str = ""
    answer: str = ""
    other: str = ""

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


HELD_OUT = "held-out"
KINDS = "kinds"
_READERS = ("n4", "d1", "t8")
"""The question files that no part of training sees."""

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
    HELD_OUT,
    KINDS,
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
    elif name == HELD_OUT:
        with TemporaryDirectory() as folder:
            yield QuestionSet(name, Path(folder), tuple(_held_out(data / "reader-questions", Path(folder))))
    elif name == KINDS:
        source = HERE / "questions" / KINDS
        yield QuestionSet(name, source / "vault", tuple(_own(source / "questions.jsonl", _expression)))
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


def _own(path: Path, expression: Callable[[str], str] = str) -> Iterator[Asked]:
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        files, must = dict.fromkeys(row["files"], 1.0), tuple(map(expression, row["must"]))
        other = expression(row["other"]) if "other" in row else ""
        yield Asked(row["id"], row["text"], row["lang"], row["kind"], files, must, row["answerable"], other=other)


def _expression(text: str) -> str:
    """Matches the text, with any white space between its words and no digit at its ends."""
    spaced = r"\s+".join(map(re.escape, text.split()))
    return rf"(?<!\d){spaced}(?!\d)"


def _held_out(source: Path, root: Path) -> Iterator[Asked]:
    """The questions of the held-out files; writes each passage below `root`, as a file of its own."""
    for name in _READERS:
        for row in _passages(source, name):
            for letter, text in ((letter, row.get(letter)) for letter in ("text", "a", "b")):
                if text is not None:
                    _write_passage(root / f"{name}/{row['id']}-{letter}.md", row, text)
            for number, asked in enumerate(row["questions"]):
                own = asked.get("of", "text")
                twin = {"a": f"{name}/{row['id']}-b.md", "b": f"{name}/{row['id']}-a.md"}.get(own, "")
                files = {f"{name}/{row['id']}-{own}.md": 1.0}
                yield Asked(
                    f"{row['id']}-{number}",
                    asked["q"],
                    asked["lang"],
                    asked["kind"],
                    files,
                    twin=twin,
                    answer=asked["answer"],
                )


def _passages(source: Path, name: str) -> Iterator[dict[str, Any]]:
    """The passages of a file with their questions, which may lie in a file of their own."""
    for path in (source / f"{name}.jsonl", source / "twins" / f"{name}.jsonl"):
        if path.exists():
            yield from _lines(path)
            return
    asked = {row["id"]: row["questions"] for row in _lines(source / f"{name}.questions.jsonl")}
    for row in _lines(source / f"{name}.passages.jsonl"):
        yield {**row, "questions": asked.get(row["id"], [])}


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())


def _write_passage(path: Path, row: Mapping[str, Any], text: str) -> None:
    """A passage below the headings that it does not begin with itself."""
    path.parent.mkdir(exist_ok=True)
    first = text.partition("\n")[0].lstrip("# ")
    above = [heading for heading in row["heading"] if not first.startswith(heading)]
    lines = [f"{'#' * level} {heading}" for level, heading in enumerate(above, 1)]
    title = json.dumps(row["title"], ensure_ascii=False)
    path.write_text("\n\n".join([f"---\ntitle: {title}\n---", *lines, text]) + "\n", encoding="utf-8")


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
