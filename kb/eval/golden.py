"""Golden sets: questions with the passages that a good knowledge base should find. Reads and writes their YAML."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from kb.domain.citations import LineCitation, parse_citation
from kb.errors import GoldenInvalid, InvalidCitation


@dataclass(frozen=True, slots=True)
class Expectation:
    """One thing that a question should find: a file, lines of it (from 1, both included), a document or a passage.

    Exactly one of `path`, `doc_id` and `chunk_id` is set. Paths and lines stay valid when documents are cut again; ids
    do not. `grade` is the gain of finding it; `line` is its line in the golden file.
    """

    grade: int
    line: int
    path: str | None = None
    lines: tuple[int, int] | None = None
    doc_id: str | None = None
    chunk_id: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a golden set; an unanswerable question expects nothing.

    An answer should contain all strings of `must_contain` and none of `forbidden`.
    """

    id: str
    query: str
    line: int
    lang: str | None = None
    category: str | None = None
    answerable: bool = True
    expected: tuple[Expectation, ...] = ()
    must_contain: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GoldenSet:
    """The questions of one file, in its order; ids are unique."""

    suite: str
    file: Path
    questions: tuple[Question, ...]


_SHOWN_PROBLEMS = 5
_HINT = 'a question looks like: {id: q1, query: "언제 고치나?", expected: ["notes/a.md#L3-L9"]}'

_SET_KEYS = ("suite", "questions")
_QUESTION_KEYS = tuple(
    "id query lang category answerable expected expected_doc_ids expected_chunk_ids must_contain forbidden".split()
)
_EXPECTED_KEYS = ("path", "lines", "grade")
_LINE_FRAGMENT = re.compile(r"#L\d+(-L\d+)?$")


class Problem(Exception):
    """A fault at a line of a golden file, from 1."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(what)
        self.line = line
        self.what = what


def read_golden(file: Path) -> GoldenSet:
    """Reads the golden set in `file`. Raises: GoldenInvalid with every fault and its line."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise GoldenInvalid(f"{file} cannot be read: {reason}", "kb eval judge QUERY starts one") from error
    return parse_golden(text, file)


def parse_golden(text: str, file: Path) -> GoldenSet:
    """Parses a golden set. Raises: GoldenInvalid with every fault and its line."""
    loader = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
    try:
        root = yaml.compose(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise invalid(file, [Problem(line, f"not YAML: {error.problem}")]) from error
    except yaml.YAMLError as error:
        raise invalid(file, [Problem(1, f"not YAML: {error}")]) from error
    problems: list[Problem] = []
    suite = file.stem
    questions: tuple[Question, ...] = ()
    try:
        keys = _mapping(root, _SET_KEYS) if root is not None else {}
        suite = _text(keys["suite"]) if "suite" in keys else suite
        questions = tuple(_questions(keys.get("questions"), problems))
    except Problem as problem:
        problems.append(problem)
    if problems:
        raise invalid(file, problems)
    if not questions:
        raise invalid(file, [Problem(1, "no questions")])
    return GoldenSet(suite, file, questions)


def invalid(file: Path, problems: Sequence[Problem], hint: str = _HINT) -> GoldenInvalid:
    """The error for the problems of a file; it lists the first few in full."""
    ordered = sorted(problems, key=lambda problem: problem.line)
    shown = "; ".join(f"{file}:{problem.line}: {problem.what}" for problem in ordered[:_SHOWN_PROBLEMS])
    rest = len(ordered) - _SHOWN_PROBLEMS
    return GoldenInvalid(shown + (f"; and {rest} more" if rest > 0 else ""), hint)


def write_golden(golden: GoldenSet) -> str:
    """The text of a golden set, one block per question; parsing it gives an equal set."""
    blocks = [f"suite: {_quoted(golden.suite)}\nquestions:\n", *map(question_yaml, golden.questions)]
    return "\n".join(blocks)


def question_yaml(question: Question) -> str:
    """One question as an item of the list `questions`. Strings are written as in JSON, which is valid YAML."""
    lines = [f"- id: {_quoted(question.id)}", f"  query: {_quoted(question.query)}"]
    lines += [f"  {key}: {_quoted(value)}" for key in ("lang", "category") if (value := getattr(question, key))]
    if not question.answerable:
        lines.append("  answerable: false")
    if question.expected:
        lines.append("  expected:")
        lines += [f"  - {_expectation_yaml(expectation)}" for expectation in question.expected]
    for key in ("must_contain", "forbidden"):
        if values := getattr(question, key):
            lines.append(f"  {key}: [{', '.join(map(_quoted, values))}]")
    return "\n".join(lines) + "\n"


def _expectation_yaml(expectation: Expectation) -> str:
    path = expectation.path or ""
    start, end = expectation.lines or (0, 0)
    if expectation.grade == 1 and expectation.lines:
        return _quoted(f"{path}#L{start}-L{end}")
    if expectation.grade == 1 and not _LINE_FRAGMENT.search(path):
        return _quoted(path)
    lines = f", lines: {start}-{end}" if expectation.lines else ""
    return f"{{path: {_quoted(path)}{lines}, grade: {expectation.grade}}}"


def _questions(node: yaml.Node | None, problems: list[Problem]) -> Iterator[Question]:
    """The questions that can be asked; faults, repeated ids among them, are added to `problems`."""
    seen: dict[str, int] = {}
    for item in _sequence(node) if node is not None else ():
        try:
            question = _question(item)
        except Problem as problem:
            problems.append(problem)
            continue
        if question.id in seen:
            problems.append(Problem(question.line, f"id {question.id!r} stands already in line {seen[question.id]}"))
        seen.setdefault(question.id, question.line)
        yield question


def _question(node: yaml.Node) -> Question:
    keys = _mapping(node, _QUESTION_KEYS)
    for needed in ("id", "query"):
        if needed not in keys:
            raise Problem(_line(node), f"a question without {needed!r}")
    expected = [
        *(_expectation(item) for item in _sequence(keys.get("expected"))),
        *(Expectation(1, _line(item), doc_id=_text(item)) for item in _sequence(keys.get("expected_doc_ids"))),
        *(Expectation(1, _line(item), chunk_id=_text(item)) for item in _sequence(keys.get("expected_chunk_ids"))),
    ]
    question = Question(
        id=_text(keys["id"]),
        query=_text(keys["query"]),
        line=_line(node),
        lang=_text(keys["lang"]) if "lang" in keys else None,
        category=_text(keys["category"]) if "category" in keys else None,
        answerable=_truth(keys["answerable"]) if "answerable" in keys else True,
        expected=tuple(expected),
        must_contain=tuple(map(_text, _sequence(keys.get("must_contain")))),
        forbidden=tuple(map(_text, _sequence(keys.get("forbidden")))),
    )
    if not question.answerable and (question.expected or question.must_contain):
        raise Problem(_line(node), f"{question.id!r} is unanswerable and expects something all the same")
    return question


def _expectation(node: yaml.Node) -> Expectation:
    """Parses an expectation: `path`, `path#L3-L9`, or a mapping of path, lines and grade. Raises: Problem."""
    if isinstance(node, yaml.ScalarNode):
        text, line = _text(node), _line(node)
        if not _LINE_FRAGMENT.search(text):
            return Expectation(1, line, path=text)
        try:
            citation = parse_citation(text)
        except InvalidCitation as error:
            raise Problem(line, error.message) from error
        if not isinstance(citation, LineCitation):
            raise Problem(line, f"{text} is not a range of lines")
        return Expectation(1, line, path=citation.path, lines=(citation.start, citation.end))
    keys = _mapping(node, _EXPECTED_KEYS)
    if "path" not in keys:
        raise Problem(_line(node), "an expectation without 'path'")
    grade = _number(keys["grade"]) if "grade" in keys else 1
    if grade < 1:
        raise Problem(_line(node), f"grade is {grade}; what is not relevant is left out")
    lines = _lines(keys["lines"]) if "lines" in keys else None
    return Expectation(grade, _line(node), path=_text(keys["path"]), lines=lines)


def read_expected(value: object, line: int) -> tuple[Expectation, ...]:
    """Parses the expectations in a JSON value, one or a list, each written as in a golden set. Raises: Problem."""
    node = yaml.compose(json.dumps(value, ensure_ascii=False), Loader=yaml.SafeLoader)
    items = _sequence(node) if isinstance(node, yaml.SequenceNode) else [node] if node is not None else []
    try:
        return tuple(replace(_expectation(item), line=line) for item in items)
    except Problem as problem:
        raise Problem(line, problem.what) from problem


def _lines(node: yaml.Node) -> tuple[int, int]:
    """Parses a range of lines: `12-20` or `12`. Raises: Problem."""
    first, dash, last = _text(node).partition("-")
    try:
        start, end = int(first), int(last if dash else first)
    except ValueError:
        raise Problem(_line(node), f"lines is {_text(node)!r}; it looks like 12-20") from None
    if not 1 <= start <= end:
        raise Problem(_line(node), f"lines {start}-{end} cannot be: they count from 1, the first before the last")
    return start, end


def _mapping(node: yaml.Node | None, known: Sequence[str]) -> dict[str, yaml.Node]:
    if not isinstance(node, yaml.MappingNode):
        raise Problem(_line(node), f"expected keys ({', '.join(known)})")
    keys: dict[str, yaml.Node] = {}
    for key_node, value in node.value:
        key = _text(key_node)
        if key not in known:
            raise Problem(_line(key_node), f"unknown key {key!r}; known are {', '.join(known)}")
        if key in keys:
            raise Problem(_line(key_node), f"{key!r} is here twice")
        keys[key] = value
    return keys


def _sequence(node: yaml.Node | None) -> list[yaml.Node]:
    if node is None:
        return []
    if not isinstance(node, yaml.SequenceNode):
        raise Problem(_line(node), "expected a list")
    return list(node.value)


def _text(node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode) or not node.value.strip():
        raise Problem(_line(node), "expected a text")
    return unicodedata.normalize("NFC", str(node.value))


def _truth(node: yaml.Node) -> bool:
    if isinstance(node, yaml.ScalarNode) and node.value in ("true", "false"):
        return bool(node.value == "true")
    raise Problem(_line(node), "expected true or false")


def _number(node: yaml.Node) -> int:
    try:
        return int(_text(node))
    except ValueError:
        raise Problem(_line(node), f"expected a whole number, not {_text(node)!r}") from None


def _line(node: yaml.Node | None) -> int:
    return int(node.start_mark.line) + 1 if node is not None else 1


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
