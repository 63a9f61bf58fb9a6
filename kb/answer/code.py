"""Answers from source code: how likely what was found answers, and the definitions and statements that are quoted.

A definition that is named, a line of a stack trace and a line that calls what is asked for are there or not; how often
each is right, and how much the words of a description tell, was fitted on questions whose lines another program gives
(`python -m benchmarks code`). The weights are the model `code_right` of `kb/answer/data/weights.tsv`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence

from kb.answer.judging import Fitted, fitted, likelihood
from kb.answer.quoting import Quoted
from kb.domain.answers import Claim, Evidence
from kb.domain.citations import CodeCitation
from kb.domain.code_hits import SHOWN_RIVALS, CodeFound, CodeHit
from kb.domain.passages import Passage
from kb.retrieve.code_question import FEW_WORDS
from kb.store import queries
from kb.store.connection import Connection

MODEL = "code_right"


def code_evidence(db: Connection, found: CodeFound) -> Evidence:
    """The evidence of what was found in source code."""
    return _evidence(code_features(db, found), fitted(MODEL), found)


def _evidence(features: dict[str, float], weights: Fitted, found: CodeFound) -> Evidence:
    # Of definitions that are named alike each may be meant.
    right = 0.0 if _misses_uses(found) else likelihood(weights, features) * found.shown_rivals
    first = found.hits[0]
    return Evidence(
        value=right,
        channel="code",
        version=weights.version,
        lexical=1.0 if first.is_named and found.words_beside <= FEW_WORDS else features.get("coverage", first.share),
        lexical_margin=features.get("margin", 0.0),
        nearness=None,
        right=right,
    )


def _misses_uses(found: CodeFound) -> bool:
    """Whether it is asked where something is used and no line uses it: its definition is no answer."""
    return found.wants_uses and found.is_of_code and found.hits[0].found_by != "use"


def code_features(db: Connection, found: CodeFound) -> dict[str, float]:
    """What is weighed of the first hit: how it was found; of words, how many of the question's it has."""
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
    """Of the question's words, weighed by their rarity: the share that the first hit has, and how rare the rarest is
    that it has not, as a part of the rarest of all."""
    total = queries.select_code_total(db)
    chunks = total.chunks if total else 0
    rows = queries.select_code_words(db, words_json=json.dumps(found.tokens), chunk_rowid=found.hits[0].chunk_rowid)
    weights = [math.log(1 + (max(chunks - row.chunks, 0) + 0.5) / (row.chunks + 0.5)) for row in rows]
    if not weights:
        return 0.0, 1.0
    held = sum(weight for weight, row in zip(weights, rows, strict=True) if row.is_held)
    lacking = max((weight for weight, row in zip(weights, rows, strict=True) if not row.is_held), default=0.0)
    return held / sum(weights), lacking / max(weights)


# So many frames of a stack trace or callers are quoted at most; of what is described the first, and where kb is not
# sure the second.
_UNSURE = 2
_FRAMES = 3
_CALLERS = 6
# A definition of so many lines is quoted whole around the line of a trace; of a longer one the lines about it.
_WHOLE_LINES = 30
_AROUND = 6
# A statement is looked for on so many lines at most.
_STATEMENT_LINES = 12
_OPENS, _CLOSES = "([{", ")]}"
# A line that ends with these goes on below.
_GOES_ON = ("(", "[", ",", "\\", "=", "&&", "||", "+")


def answering(found: CodeFound, *, is_sure: bool) -> tuple[CodeHit, ...]:
    """The hits that an answer is made of, best first: those found like the first one."""
    first = found.hits[0]
    if first.found_by == "definition":
        return found.rivals[:SHOWN_RIVALS]
    alike = [each for each in found.hits if each.found_by == first.found_by]
    most = {"place": _FRAMES, "use": _CALLERS}.get(first.found_by, 1 if is_sure else _UNSURE)
    return tuple(alike[:most])


def is_cut(hit: CodeHit) -> bool:
    """Whether a definition goes on behind what is quoted of it."""
    cited = hit.citation
    is_whole = not isinstance(cited, CodeCitation) or cited.line_end <= hit.first_line + hit.text.count("\n")
    return hit.found_by == "definition" and not is_whole


def quote_code(hits: Sequence[CodeHit], passages: Sequence[Passage], first: int = 1) -> Quoted:
    """Pieces of these hits, word for word; `passages` are the same, in the same order, whole."""
    cited = tuple(passage._replace(number=place) for place, passage in enumerate(passages, first))
    claims: list[Claim] = []
    shown: list[str] = []
    for place, (hit, passage) in enumerate(zip(hits, cited, strict=True), first):
        lang = hit.citation.lang if isinstance(hit.citation, CodeCitation) else None
        pieces = list(_pieces(hit))
        for start, end in pieces:
            text = "\n".join(hit.text.split("\n")[start - hit.first_line : end - hit.first_line + 1])
            at = passage.citation
            assert isinstance(at, CodeCitation)  # source code is cited as nothing else
            claims.append(Claim(text, (place,), "supported", text, at._replace(line_start=start, line_end=end)))
            shown.append(_fenced(text, lang, place))
    return Quoted("\n\n".join(shown), tuple(claims), cited)


def _fenced(text: str, lang: str | None, place: int) -> str:
    fence = "~~~" if "```" in text else "```"
    return f"{fence}{lang or ''}\n{text}\n{fence}\n[{place}]"


def _pieces(hit: CodeHit) -> Iterator[tuple[int, int]]:
    """The lines to quote of a hit, from 1, both included: statements of uses, else what the hit cites of its chunk."""
    lines = hit.text.split("\n")
    first, last = hit.first_line, hit.first_line + len(lines) - 1
    if hit.found_by == "use":
        reached = 0
        for line in hit.lines:
            if line > reached:
                start, end = statement_at(lines, line - first)
                reached = first + end
                yield first + start, reached
        return
    cited = hit.citation
    start, end = (cited.line_start, cited.line_end) if isinstance(cited, CodeCitation) else (first, last)
    start, end = max(start, first), min(end, last)
    if hit.found_by == "place" and end - start >= _WHOLE_LINES and hit.lines:
        start, end = max(start, hit.lines[0] - _AROUND), min(end, hit.lines[0] + _AROUND)
    yield start, end


def statement_at(lines: Sequence[str], at: int) -> tuple[int, int]:
    """The first and last index of the statement around index `at`: as far as it is not ended and brackets stay open."""
    start = end = at
    while start > 0 and at - start < _STATEMENT_LINES:
        if _open(lines[start : at + 1]) >= 0 and not lines[start - 1].rstrip().endswith(_GOES_ON):
            break
        start -= 1
    while end + 1 < len(lines) and end - at < _STATEMENT_LINES:
        # What ends with the opening of a block is its head: the block is no part of the statement.
        if _open(lines[start : end + 1]) <= 0 or lines[end].rstrip().endswith("{"):
            break
        end += 1
    return start, end


def _open(lines: Sequence[str]) -> int:
    """How many brackets are opened in these lines more than closed."""
    text = "".join(lines)
    return sum(map(text.count, _OPENS)) - sum(map(text.count, _CLOSES))
