"""Answers from source code: how likely the hits answer the question, and the definitions and statements to quote.

A named definition, a line of a stack trace and a line that calls the name are either found or not. How often each is
right, and how much the words of a description count, was fitted on questions whose correct lines another program gives
(`python -m benchmarks code`). The weights are the model `code_right` of `kb/answer/data/weights.tsv`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence

from kb.answer.judging import Judgement, fitted, likelihood
from kb.answer.quoting import Quoted
from kb.domain.answers import Claim, Evidence
from kb.domain.citations import CodeCitation
from kb.domain.code_hits import SHOWN_RIVALS, CodeFound, CodeHit
from kb.domain.search import Passage
from kb.retrieve.code_question import FEW_WORDS
from kb.store import queries
from kb.store.connection import Connection

MODEL = "code_right"


def judge_code(db: Connection, found: CodeFound) -> Judgement:
    """How likely the hits in source code answer the question."""
    features, weights, first = _features(db, found), fitted(MODEL), found.hits[0]
    # Of several definitions with one name, any may be meant.
    right = 0.0 if _misses_uses(found) else likelihood(weights, features) * found.shown_rivals
    held = 1.0 if first.is_named and found.words_beside <= FEW_WORDS else features.get("coverage", first.share)
    return Judgement(Evidence(right, "code", weights.version, held, features.get("margin", 0.0), None, right))


def _misses_uses(found: CodeFound) -> bool:
    """Whether the question asks for the uses of something but the first hit is none: a definition is no answer."""
    return found.wants_uses and found.is_of_code and found.hits[0].found_by != "use"


def _features(db: Connection, found: CodeFound) -> dict[str, float]:
    """The features of the first hit: how it was found and, if by words, how many of the question's it has."""
    first = found.hits[0]
    features = {"bias": 1.0}
    if first.found_by in ("place", "use"):
        return features | {first.found_by: 1.0}
    is_named = first.found_by == "definition" and found.words_beside <= FEW_WORDS
    if is_named:
        name = "named" if first.spelled else "named_in_other_case"
        return features | {name: 1.0}
    coverage, missing = _held(db, found)
    second = next((each for each in found.hits[1:] if not each.is_named), None)
    return features | {
        "described": 1.0,
        "named_among_words": float(first.is_named),
        "share": first.share,
        "margin": first.share - second.share if second else first.share,
        "coverage": coverage,
        "missing": missing,
        "words": math.log2(1 + len(found.tokens)),
    }


def _held(db: Connection, found: CodeFound) -> tuple[float, float]:
    """The share of the question's words that the first hit has, weighted by rarity, and the rarity of the rarest word
    that it lacks, relative to the rarest word of all.
    """
    total = queries.select_code_total(db)
    chunks = total.chunks if total else 0
    rows = queries.select_code_words(
        db, words_json=json.dumps(found.tokens), chunk_rowid=found.hits[0].passage.chunk_rowid
    )
    weights = [math.log(1 + (max(chunks - row.chunks, 0) + 0.5) / (row.chunks + 0.5)) for row in rows]
    if not weights:
        return 0.0, 1.0
    held = sum(weight for weight, row in zip(weights, rows, strict=True) if row.is_held)
    lacking = max((weight for weight, row in zip(weights, rows, strict=True) if not row.is_held), default=0.0)
    return held / sum(weights), lacking / max(weights)


# The most frames of a stack trace or callers to quote. Of hits for a description, the first is quoted, and the second
# too where kb is not sure.
_UNSURE = 2
_FRAMES = 3
_CALLERS = 6
# Up to this many lines, a definition is quoted whole around the line of a trace; of a longer one, the nearby lines.
_WHOLE_LINES = 30
_AROUND = 6
# The most lines to search for a statement.
_STATEMENT_LINES = 12
_OPENS, _CLOSES = "([{", ")]}"
# A line that ends with one of these continues below.
_GOES_ON = ("(", "[", ",", "\\", "=", "&&", "||", "+")


def answering(found: CodeFound, *, is_sure: bool) -> tuple[CodeHit, ...]:
    """The hits to answer from, best first: those found in the same way as the first hit, up to a limit for each way."""
    first = found.hits[0]
    if first.found_by == "definition":
        return found.rivals[:SHOWN_RIVALS]
    alike = [each for each in found.hits if each.found_by == first.found_by]
    most = {"place": _FRAMES, "use": _CALLERS}.get(first.found_by, 1 if is_sure else _UNSURE)
    return tuple(alike[:most])


def is_cut(hit: CodeHit) -> bool:
    """Whether a definition continues after its quoted lines."""
    cited = hit.passage.citation
    is_whole = not isinstance(cited, CodeCitation) or cited.line_end <= hit.first_line + hit.passage.text.count("\n")
    return hit.found_by == "definition" and not is_whole


def quote_code(hits: Sequence[CodeHit], passages: Sequence[Passage], first: int = 1) -> Quoted:
    """Quotes pieces of these hits word for word; `passages` are the whole passages of the hits, in the same order."""
    cited = tuple(passage._replace(number=place) for place, passage in enumerate(passages, first))
    claims: list[Claim] = []
    shown: list[str] = []
    for place, (hit, passage) in enumerate(zip(hits, cited, strict=True), first):
        lang = hit.passage.citation.lang if isinstance(hit.passage.citation, CodeCitation) else None
        pieces = list(_pieces(hit))
        for start, end in pieces:
            text = "\n".join(hit.passage.text.split("\n")[start - hit.first_line : end - hit.first_line + 1])
            at = passage.citation
            assert isinstance(at, CodeCitation)  # source code has no other citations
            claims.append(Claim(text, (place,), "supported", text, at._replace(line_start=start, line_end=end)))
            shown.append(_fenced(text, lang, place))
    return Quoted("\n\n".join(shown), tuple(claims), cited)


def _fenced(text: str, lang: str | None, place: int) -> str:
    fence = "~~~" if "```" in text else "```"
    return f"{fence}{lang or ''}\n{text}\n{fence}\n[{place}]"


def _pieces(hit: CodeHit) -> Iterator[tuple[int, int]]:
    """The ranges of lines to quote from a hit, from 1, both ends included: statements that use the name, or else the
    part of the chunk that the hit cites.
    """
    lines = hit.passage.text.split("\n")
    first, last = hit.first_line, hit.first_line + len(lines) - 1
    if hit.found_by == "use":
        reached = 0
        for line in hit.lines:
            if line > reached:
                start, end = statement_at(lines, line - first)
                reached = first + end
                yield first + start, reached
        return
    cited = hit.passage.citation
    start, end = (cited.line_start, cited.line_end) if isinstance(cited, CodeCitation) else (first, last)
    start, end = max(start, first), min(end, last)
    if hit.found_by == "place" and end - start >= _WHOLE_LINES and hit.lines:
        start, end = max(start, hit.lines[0] - _AROUND), min(end, hit.lines[0] + _AROUND)
    yield start, end


def statement_at(lines: Sequence[str], at: int) -> tuple[int, int]:
    """The first and last index of the lines of the statement around `at`; it continues while brackets are open."""
    start = end = at
    while start > 0 and at - start < _STATEMENT_LINES:
        if _open(lines[start : at + 1]) >= 0 and not lines[start - 1].rstrip().endswith(_GOES_ON):
            break
        start -= 1
    while end + 1 < len(lines) and end - at < _STATEMENT_LINES:
        # A line that opens a block is its head: the block is no part of the statement.
        if _open(lines[start : end + 1]) <= 0 or lines[end].rstrip().endswith("{"):
            break
        end += 1
    return start, end


def _open(lines: Sequence[str]) -> int:
    """How many more brackets these lines open than close."""
    text = "".join(lines)
    return sum(map(text.count, _OPENS)) - sum(map(text.count, _CLOSES))
