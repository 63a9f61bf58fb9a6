"""Finds the expected passages of questions in this index, and grades hits and answers for `eval_query_results`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kb.domain.answers import Answer
from kb.domain.search import Passage
from kb.eval.golden import Expectation, GoldenSet, Problem, Question, invalid
from kb.language.occurrences import occurrences, occurs
from kb.store import queries


class ExpectedResults(NamedTuple):
    """The expected results of a question: the grades of documents by path, and of passages by id.

    `names_passages`: the question expects lines or passages, not only whole documents. `sources` gives the file of each
    document on this machine, by path.
    """

    documents: Mapping[str, int]
    passages: Mapping[str, int]
    names_passages: bool
    sources: Mapping[str, str]


def resolve(golden: GoldenSet, passages: Iterable[queries.PassageLines]) -> dict[str, ExpectedResults]:
    """The expected results of each question in this index, by question id.

    Raises: GoldenInvalid with the expectations that are not in the index, and their lines.
    """
    by_path: dict[str, list[queries.PassageLines]] = defaultdict(list)
    path_of: dict[str, str] = {}
    for passage in passages:
        by_path[passage.workspace_path].append(passage)
        path_of[passage.doc_id] = path_of[passage.chunk_id] = passage.workspace_path
    problems: list[Problem] = []
    found: dict[str, ExpectedResults] = {}
    for question in golden.questions:
        try:
            found[question.id] = _resolve_question(question, by_path, path_of)
        except Problem as problem:
            problems.append(problem)
    if problems:
        raise invalid(golden.file, problems, "kb ingest indexes new files; kb list docs shows their paths")
    return found


def _resolve_question(
    question: Question, by_path: Mapping[str, Sequence[queries.PassageLines]], path_of: Mapping[str, str]
) -> ExpectedResults:
    documents: dict[str, int] = {}
    passages: dict[str, int] = {}
    sources: dict[str, str] = {}
    names_passages = False
    for expectation in question.expected:
        covered = _covered(expectation, by_path, path_of)
        names_passages = names_passages or bool(expectation.lines or expectation.chunk_id)
        for passage in covered:
            sources[passage.workspace_path] = passage.source_path
            documents[passage.workspace_path] = max(expectation.grade, documents.get(passage.workspace_path, 0))
            passages[passage.chunk_id] = max(expectation.grade, passages.get(passage.chunk_id, 0))
    return ExpectedResults(documents, passages, names_passages, sources)


def _covered(
    expectation: Expectation, by_path: Mapping[str, Sequence[queries.PassageLines]], path_of: Mapping[str, str]
) -> Sequence[queries.PassageLines]:
    """The passages that an expectation covers. Raises: Problem if there are none."""
    named = expectation.doc_id or expectation.chunk_id
    path = expectation.path or path_of.get(named or "", "")
    passages = by_path.get(path, ())
    if not passages:
        raise Problem(expectation.line, f"{named or path} is not in this knowledge base")
    if expectation.chunk_id:
        return [passage for passage in passages if passage.chunk_id == expectation.chunk_id]
    if expectation.lines is None:
        return passages
    start, end = expectation.lines
    spans = [(each.line_start, each.line_end) for each in passages if each.line_start and each.line_end]
    if not spans:
        raise Problem(expectation.line, f"{path} has no lines to expect")
    last = max(span[1] for span in spans)
    if end > last:
        raise Problem(expectation.line, f"{path} has text up to line {last}, not {end}")
    covered = [each for each in passages if (each.line_start or end + 1) <= end and start <= (each.line_end or 0)]
    if not covered:
        raise Problem(expectation.line, f"no passage of {path} is in lines {start}-{end}")
    return covered


def graded(
    expected: ExpectedResults, hits: Sequence[Passage], holds: Callable[[Passage], bool | None]
) -> Iterator[dict[str, Any]]:
    """The hits of a question as rows, each with the grades of its passage and document.

    `holds` tells whether the lines that a hit cites contain its passage, and None if it cites no lines.
    """
    documents: set[str] = set()
    for hit in hits:
        is_first = hit.doc_path not in documents
        documents.add(hit.doc_path)
        exact = holds(hit)
        yield {
            "rank": hit.rank,
            "citation": hit.citation.to_uri(),
            "path": hit.doc_path,
            "chunk_id": hit.chunk_id,
            "score": round(hit.score, 6),
            "lexical_rank": hit.retrieval.lexical_rank,
            "vector_rank": hit.retrieval.vector_rank,
            "grade": expected.passages.get(hit.chunk_id, 0),
            "doc_rank": len(documents) if is_first else None,
            "doc_grade": expected.documents.get(hit.doc_path, 0),
            "exact": None if exact is None else int(exact),
        }


def answered(question: Question, answer: Answer, ms: float) -> dict[str, Any]:
    """An answer as a row; unless it refuses, with whether it has all required and no forbidden strings."""
    refused = answer.refusal_reason is not None
    found = holds_all(question.must_contain, answer.text)
    is_wrong = any(occurs(unwanted, answer.text, "words") for unwanted in question.forbidden)
    return {
        "refused": int(refused),
        "evidence": None if answer.retrieval.evidence is None else answer.retrieval.evidence.value,
        "ms": round(ms, 1),
        "text": answer.text,
        "must_contain": None if refused else found,
        "forbidden": None if refused or not question.forbidden else int(not is_wrong),
    }


def holds_all(wanted: Sequence[str], text: str) -> int | None:
    """1 if the text contains every wanted string, else 0; None if no string is wanted."""
    if not wanted:
        return None
    return int(all(occurs(each, text, "words") for each in wanted))


def cited_lines_hold(lines: Sequence[str], start: int, end: int, text: str) -> bool:
    """Whether lines `start` to `end` (from 1, both included) contain `text` word for word, and no line too many."""
    cited = "\n".join(lines[start - 1 : end])
    if end > len(lines):
        return False
    first_line_end, last_line_start = len(lines[start - 1]), len(cited) - len(lines[end - 1]) - (end == start)
    return any(at <= first_line_end and to > last_line_start for at, to in occurrences(text, cited, "verbatim"))
