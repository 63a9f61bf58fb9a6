"""Written questions with the passages that answer them, read from their files and checked line by line.

Three forms are read: notes (a passage and its questions a line), documents (`NAME.questions.jsonl` beside
`NAME.passages.jsonl`, whose texts may be in a checkout of somebody else's repository) and twins (two passages with the
same words a line; each question is answered by one of them).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kb.embed.text import passage_text

LANGUAGES = ("ko", "en")
_PASSAGES, _QUESTIONS = ".passages.jsonl", ".questions.jsonl"


class BadData(ValueError):
    """What is wrong with the data, and in which line of which file."""

    def __init__(self, path: Path, line: int | None, problem: str, hint: str | None = None) -> None:
        super().__init__(f"{path}:{line}: {problem}" if line else f"{path}: {problem}")
        self.hint = hint


class CheckoutMissing(BadData):
    """The passages of a file are in a repository of which no checkout was named."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage as the encoder sees it."""

    title: str
    headings: tuple[str, ...]
    text: str

    def encoded_text(self, text: str | None = None) -> str:
        """What is embedded: this passage's text, or another in its place, under its title and headings."""
        return passage_text(self.title, self.headings, self.text if text is None else text)


@dataclass(frozen=True, slots=True)
class Question:
    """A question; `passage` and `others` (those that answer it too) are numbers of passages of its source.

    `answer` is where the answer is in the passage's text; `twin` the passage that shares the words, not the answer.
    """

    text: str
    kind: str
    language: str
    passage: int
    answer: tuple[int, int] | None
    others: tuple[int, ...] = ()
    twin: int | None = None


@dataclass(slots=True)
class Source:
    """One file's passages and questions; `pairs` are its twins, `sha256` that of the file of questions.

    `misses` are near misses: questions that the passage they name does not answer.
    """

    name: str
    sha256: str
    passages: list[Passage] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    pairs: list[tuple[int, int]] = field(default_factory=list)
    misses: list[tuple[str, int]] = field(default_factory=list)

    def first(self, share: float) -> Source:
        """The first passages of this source, so many of one, with their questions."""
        kept = int(len(self.passages) * share) // 2 * 2
        questions = [
            replace(question, others=tuple(other for other in question.others if other < kept))
            for question in self.questions
            if question.passage < kept
        ]
        pairs = [pair for pair in self.pairs if max(pair) < kept]
        misses = [miss for miss in self.misses if miss[1] < kept]
        return Source(self.name, self.sha256, self.passages[:kept], questions, pairs, misses)


def source_files(paths: Sequence[Path]) -> list[Path]:
    """The files of questions that `paths` name, and those in the folders that they name, in the order of their names.

    Raises: BadData for a path that is not there, and for a folder without such files.
    """
    files = []
    for path in paths:
        if path.is_dir():
            found = sorted(each for each in path.rglob("*.jsonl") if not each.name.endswith(_PASSAGES))
            if not found:
                raise BadData(path, None, "the folder has no .jsonl file")
            files += found
        elif path.is_file():
            files.append(path)
        else:
            raise BadData(path, None, "there is no such file or folder")
    return files


def read_source(path: Path, checkouts: Path | None = None) -> Source:
    """The questions of the file at `path`, with their passages.

    `checkouts` is the folder with the repositories that passages are taken from.

    Raises: BadData, which names the line; CheckoutMissing where a repository is not in `checkouts`.
    """
    source = Source(path.name.removesuffix(".jsonl").removesuffix(".questions"), _sha256(path))
    passages = _read_passages(path, checkouts) if path.name.endswith(_QUESTIONS) else None
    numbers: dict[str, int] = {}
    others: list[tuple[int, _Row]] = []
    for row in _rows(path):
        name = row.text("id")
        if name in numbers:
            raise row.wrong(f"the id {name} is there twice")
        if "a" in row.values:
            numbers[name] = len(source.passages)
            _add_twins(source, row)
            continue
        if passages is not None and name not in passages:
            raise row.wrong(f"no passage has the id {name}")
        numbers[name] = len(source.passages)
        source.passages.append(row.passage("text") if passages is None else passages[name])
        source.misses += [(miss.text("q"), numbers[name]) for miss in row.questions("not_here")]
        for question in row.questions():
            if question.values.get("also"):
                others.append((len(source.questions), question))
            source.questions.append(_question(question, source.passages, numbers[name]))
    for index, row in others:
        own = source.questions[index].passage
        unknown = [name for name in row.values["also"] if name not in numbers]
        if unknown:
            raise row.wrong(f"`also` names {unknown[0]}, which is no id of the file")
        also = tuple(numbers[name] for name in row.values["also"] if numbers[name] != own)
        source.questions[index] = replace(source.questions[index], others=also)
    if not source.questions:
        raise BadData(path, None, "the file has no question")
    if source.pairs and 2 * len(source.pairs) < len(source.passages):
        raise BadData(path, None, "twins and other passages are in one file")
    return source


@dataclass(frozen=True, slots=True)
class _Row:
    """An object of a file's line, with the checks of its fields."""

    path: Path
    line: int
    values: dict[str, Any]

    def wrong(self, problem: str) -> BadData:
        return BadData(self.path, self.line, problem)

    def text(self, name: str) -> str:
        value = self.values.get(name)
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(f"`{name}` is missing, or is no text")
        return value

    def passage(self, name: str) -> Passage:
        return self.passage_of(self.text(name))

    def passage_of(self, text: str) -> Passage:
        headings = self.values.get("heading") or []
        if not isinstance(headings, list) or not all(isinstance(each, str) for each in headings):
            raise self.wrong("`heading` is no list of texts")
        return Passage(self.text("title"), tuple(headings), text)

    def questions(self, name: str = "questions") -> Iterator[_Row]:
        questions = self.values.get(name, None if name == "questions" else [])
        if not isinstance(questions, list) or not all(isinstance(each, dict) for each in questions):
            raise self.wrong(f"`{name}` is missing, or is no list of objects")
        for values in questions:
            yield _Row(self.path, self.line, values)


def check_apart(training: Mapping[Path, Source], held_out: Mapping[Path, Source]) -> None:
    """Raises BadData where a passage of a held-out file is in a training file too."""
    known = {passage.text: path for path, source in training.items() for passage in source.passages}
    for path, source in held_out.items():
        for passage in source.passages:
            if passage.text in known:
                raise BadData(path, None, f"a passage of this held-out file is in {known[passage.text]} too")


def _add_twins(source: Source, row: _Row) -> None:
    numbers = {of: len(source.passages) + at for at, of in enumerate("ab")}
    source.passages += [row.passage(of) for of in "ab"]
    source.pairs.append((numbers["a"], numbers["b"]))
    for question in row.questions():
        of = question.text("of")
        if of not in numbers:
            raise question.wrong(f"`of` is {of}, not a or b")
        twin = numbers["b" if of == "a" else "a"]
        source.questions.append(replace(_question(question, source.passages, numbers[of]), twin=twin))


def _question(row: _Row, passages: Sequence[Passage], passage: int) -> Question:
    language = row.text("lang")
    if language not in LANGUAGES:
        raise row.wrong(f"`lang` is {language}, not one of {', '.join(LANGUAGES)}")
    return Question(row.text("q"), row.text("kind"), language, passage, _answer(row, passages[passage].text))


def _answer(row: _Row, text: str) -> tuple[int, int] | None:
    """Where the answer is: told as [begin, end], or as words of the text; None where the question names none."""
    answer = row.values.get("answer")
    if not answer:
        return None
    if isinstance(answer, list) and len(answer) == 2:
        begin, end = answer
        if not 0 <= begin < end <= len(text):
            raise row.wrong(f"the answer {answer} is outside the passage")
        return begin, end
    if not isinstance(answer, str) or answer not in text:
        raise row.wrong(f"the answer to “{row.values['q']}” is not in the passage, word for word")
    begin = text.index(answer)
    return begin, begin + len(answer)


def _read_passages(questions: Path, checkouts: Path | None) -> dict[str, Passage]:
    """The passages beside a file of questions, by id: each with its text, or with where a repository has it."""
    path = questions.with_name(questions.name.removesuffix(_QUESTIONS) + _PASSAGES)
    if not path.is_file():
        raise BadData(questions, None, f"the passages are missing: {path.name}")
    passages: dict[str, Passage] = {}
    files: dict[Path, str] = {}
    for row in _rows(path):
        if "repository" in row.values:
            passages[row.text("id")] = row.passage_of(_text_of_checkout(row, checkouts, files))
        else:
            passages[row.text("id")] = row.passage("text")
    return passages


def checkout_of(path: Path, line: int, repository: str, commit: str, checkouts: Path | None) -> Path:
    """The folder in `checkouts` of a repository that a line of a file names. Raises: CheckoutMissing."""
    place = checkouts / repository.rpartition("/")[2] if checkouts else None
    if place is None or not place.is_dir():
        hint = f"check out {repository} at {commit} and name the folder it is in by --checkouts"
        raise CheckoutMissing(path, line, f"the passages are in {repository}, and no checkout is there", hint)
    return place


def _text_of_checkout(row: _Row, checkouts: Path | None, files: dict[Path, str]) -> str:
    repository, commit = row.text("repository"), row.text("commit")
    file = checkout_of(row.path, row.line, repository, commit, checkouts) / row.text("path")
    try:
        if file not in files:
            files[file] = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadData(row.path, row.line, f"{file} cannot be read: {error}") from error
    begin, end = row.values["chars"]
    text = files[file][begin:end]
    if hashlib.sha256(text.encode()).hexdigest() != row.values["sha256"]:
        raise BadData(row.path, row.line, f"{file} has another text there", f"check out {repository} at {commit}")
    return text


def _rows(path: Path) -> Iterator[_Row]:
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                values = json.loads(line)
            except ValueError as error:
                raise BadData(path, number, f"the line is no JSON: {error}") from error
            if not isinstance(values, dict):
                raise BadData(path, number, "the line is no JSON object")
            yield _Row(path, number, values)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
