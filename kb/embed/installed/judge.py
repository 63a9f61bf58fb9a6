"""The judge: a cross-encoder that reads a question and a passage as one text (Nogueira & Cho 2019).

It scores whether the passage answers, and how likely each of its sentences is the answer. Its files stand beside the
encoder's; it has the same vocabulary and base, and an update of its own.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from heapq import nlargest
from pathlib import Path
from typing import NamedTuple

from kb.domain.answers import PassageReading
from kb.domain.search import Passage, Sentence
from kb.embed.installed.encoder import FIRST, LAST, PREFIXES, TOKEN_IDS
from kb.embed.installed.onnx_library import Session, Tensor, open_session
from kb.embed.installed.vocabulary import VOCABULARY_FILE, WordTokens, word_tokens
from kb.embed.text import encoder_text, passage_text

JUDGE_FILE, JUDGE_WEIGHTS_FILE = "onnx/judge.onnx", "onnx/judge.bin"

# The graph's second input, and its outputs.
BEGIN, SCORE, ANSWERS = "begin", "score", "answers"

LONGEST_QUESTION = 60
"""The tokens of a question that are read."""

LONGEST_PASSAGE = 449
"""The tokens of a passage that are read: with the question and three marks as many as the base has positions."""

# A sentence's score is the mean of its likeliest tokens.
_LIKELIEST = 5


class InstalledJudge(NamedTuple):
    """The loaded judge. Several threads may use it."""

    session: Session
    tokens: WordTokens

    def read(self, question: str, passage: Passage, sentences: Sequence[Sentence]) -> PassageReading:
        """Reads a passage under its headings, and scores these sentences of it. Raises: ModelError."""
        text = PREFIXES["passage"] + passage_text(passage.title, passage.heading_path, passage.text)
        above = len(text) - len(passage.text)
        asked = self._ids(PREFIXES["query"] + question)[:LONGEST_QUESTION]
        read = self._ids(text)[:LONGEST_PASSAGE]
        ids = array("q", (FIRST, *asked, LAST, *read, LAST))
        begin = array("q", (len(asked) + 2,))
        given = {TOKEN_IDS: Tensor("int64", (1, len(ids)), ids), BEGIN: Tensor("int64", (1,), begin)}
        if not sentences:
            return PassageReading(self.session.run(given, SCORE).values[0], ())
        score, answers = self.session.outputs(given, (SCORE, ANSWERS))
        scores = []
        for each in sentences:
            first, last = (len(self._ids(text[: above + at].rstrip())) for at in (each.start, each.end))
            likeliest = nlargest(_LIKELIEST, answers.values[first : max(last, first + 1)])
            scores.append(sum(likeliest) / len(likeliest) if likeliest else min(answers.values))
        return PassageReading(score.values[0], tuple(scores))

    def _ids(self, text: str) -> list[int]:
        return self.tokens.token_ids(encoder_text(text))


def open_installed_judge(directory: Path) -> InstalledJudge | None:
    """The judge in an encoder's `directory`; None where an earlier kb assembled it. Raises: ModelError."""
    if not (directory / JUDGE_FILE).is_file():
        return None
    session = open_session(directory / JUDGE_FILE, optimised=False)  # optimised, it would run no faster
    return InstalledJudge(session, word_tokens(directory / VOCABULARY_FILE))
