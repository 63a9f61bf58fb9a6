"""What one question found, in the form `eval_query_results` keeps: the hits with their grades, citations checked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kb.domain.search import SearchHit
from kb.eval.expectations import Expected
from kb.eval.golden import Question

HoldsPassage = Callable[[SearchHit], bool | None]
"""Whether the lines a hit cites hold its passage; None where it cites no lines."""


def result_json(
    query_no: int,
    question: Question,
    lang: str,
    expected: Expected,
    hits: Sequence[SearchHit],
    texts: Sequence[str],
    latency_ms: float,
    holds: HoldsPassage,
) -> str:
    """The JSON object of one question's outcome; `texts` are the hits' passages in full, `query_no` counts from 1."""
    found = {
        "query_no": query_no,
        "query": question.query,
        "lang": lang,
        "category": question.category,
        "answerable": int(question.answerable),
        "latency_ms": round(latency_ms, 3),
        "expected": dict(expected.documents),
        "expected_grades": sorted(expected.documents.values(), reverse=True),
        "expects_passages": int(expected.names_passages),
        "answer_found": _answer_found(question, texts),
        "hits": list(_graded(expected, hits, holds)),
    }
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))


def _graded(expected: Expected, hits: Sequence[SearchHit], holds: HoldsPassage) -> Iterator[dict[str, Any]]:
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


def _answer_found(question: Question, texts: Sequence[str]) -> int | None:
    """Whether the hits together hold every string that belongs in the answer."""
    if not question.must_contain:
        return None
    whole = "\n".join(texts).casefold()
    return int(all(wanted.casefold() in whole for wanted in question.must_contain))


def cited_lines_hold(lines: Sequence[str], start: int, end: int, text: str) -> bool:
    """Whether lines `start` to `end` (from 1, both included) hold `text` word for word, and no line more."""
    cited = "\n".join(lines[start - 1 : end])
    at = cited.find(text)
    if at < 0 or end > len(lines):
        return False
    return at <= len(lines[start - 1]) and at + len(text) > len(cited) - len(lines[end - 1]) - (end == start)
