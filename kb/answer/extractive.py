"""A question and its passages → the sentences that carry the answer, word for word, best first; no model.

Each sentence gets a few signals, none on the scale of the search's score, and a score that is linear in them. The
weights are data (`data/weights.tsv`); how they were fitted and what they reach is in docs/answers.md.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Sequence

from kb.answer.fitted import fitted
from kb.domain.citations import Citation, CodeCitation, LineCitation, cite
from kb.domain.passages import Passage, Sentence, TermWeight
from kb.records import NamedTuple
from kb.retrieve.signals import Signals, sentence_signals


@functools.cache
def extractive_weights() -> Signals:
    """What each signal counts."""
    return Signals(**fitted("extractive").weights)


class Chosen(NamedTuple):
    """A sentence that may carry the answer. `share` is its part, in [0, 1], of what speaks for all sentences at once.

    `score` is a weighted sum of signals, `share` the softmax of the scores over every sentence of the passages given.
    """

    sentence: Sentence
    score: float
    share: float


def choose_sentences(
    question: str, terms: Sequence[TermWeight], passages: Sequence[Passage], *, limit: int
) -> tuple[Chosen, ...]:
    """At most `limit` sentences of the passages, best first; of sentences that read alike the best one.

    `terms` are the question's terms as it was searched. The same input gives the same output, whatever the passages'
    order: ties go to the lower passage number, then to the earlier sentence.
    """
    weights = extractive_weights()
    scored = [
        (sum(map(float.__mul__, weights, signals)), sentence)
        for sentence, signals in sentence_signals(question, terms, passages)
    ]
    scored.sort(key=lambda pair: (-pair[0], pair[1].passage, pair[1].start))
    if not scored or limit < 1:
        return ()
    total = sum(math.exp(score - scored[0][0]) for score, _ in scored)
    chosen: dict[str, Chosen] = {}
    for score, sentence in scored:
        spelling = " ".join(sentence.text.split())
        if spelling not in chosen:
            chosen[spelling] = Chosen(sentence, score, math.exp(score - scored[0][0]) / total)
        if len(chosen) == limit:
            break
    return tuple(chosen.values())


def fewest(chosen: Sequence[Chosen], *, certainty: float = 0.9) -> tuple[Chosen, ...]:
    """The first of the chosen sentences, as few as together reach `certainty` of the share, all where they do not."""
    reached = 0.0
    for count, each in enumerate(chosen, 1):
        reached += each.share
        if reached >= certainty:
            return tuple(chosen[:count])
    return tuple(chosen)


def sentence_citation(passage: Passage, sentence: Sentence) -> Citation:
    """Where a sentence stands: its own lines, moments or regions; the passage's place in what has none of these."""
    cited = passage.citation
    if passage.spans_json:
        spans = json.loads(passage.spans_json)
        origin = spans[0]["char_start"]
        own = [
            each
            for each in spans
            if each["char_start"] < sentence.end + origin and each["char_end"] > sentence.start + origin
        ]
        return cite(cited.path, own or spans, None)
    if isinstance(cited, CodeCitation):
        first = cited.line_start + passage.text.count("\n", 0, sentence.start)
        return cited._replace(line_start=first, line_end=first + sentence.text.count("\n"))
    if not isinstance(cited, LineCitation):
        return cited
    start = cited.start + passage.text.count("\n", 0, sentence.start)
    return cited._replace(start=start, end=start + sentence.text.count("\n"))
