"""How often the answer to a question is in the sentences chosen without a model, and in the lines they cite.

Every answerable question of both sets is asked of kb's own hybrid search, and the sentences are chosen from its first
passages. The shipped weights were fitted on these sets; so each half of the articles is also answered with weights that
were fitted without it, and each language with those of the other.
"""

from __future__ import annotations

import functools
import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from time import process_time
from typing import NamedTuple
from zlib import crc32

import numpy as np

from benchmarks.embedded_base import embedded
from benchmarks.installed_models import CACHE, installed_models
from benchmarks.judged_set import JudgedSet, load_judged_set, sample_questions
from benchmarks.knowledge_base import KnowledgeBase
from benchmarks.measurement import Measurement, Table, Target
from benchmarks.progress import step
from benchmarks.remembered_questions import remembered_questions
from benchmarks.sentence_weights import Example, fit_weights
from kb.answer.extractive import choose_sentences, extractive_weights, fewest, sentence_citation
from kb.domain.citations import LineCitation
from kb.domain.passages import Passage, Sentence, TermWeight
from kb.domain.search import SearchFilters, SearchQuery
from kb.operations.ask.findings import hit_passage
from kb.operations.search.search import search
from kb.operations.session.session import open_session
from kb.retrieve.signals import Signals, sentence_signals, term_weights
from kb.retrieve.terms import read_query

LEAST_FOUND = {"korquad-dev": (0.81, 0.91), "squad2-dev": (0.73, 0.87)}
"""Set → the least share of questions whose answer is in the best sentence, and in the best three."""

PASSAGES = 5
SENTENCES = 3


class Answerable(NamedTuple):
    """A question with what search found for it, and the strings any of which is the answer."""

    text: str
    golds: tuple[str, ...]
    relevant: frozenset[str]
    article: str
    terms: tuple[TermWeight, ...]
    passages: tuple[Passage, ...]

    def is_answered_by(self, sentences: Iterable[Sentence]) -> bool:
        """Whether the answer is in one of the sentences."""
        return any(gold in sentence.text for sentence in sentences for gold in self.golds)

    def half(self) -> int:
        """0 or 1: which half of the articles it is about."""
        return crc32(self.article.encode()) % 2


class Examined(NamedTuple):
    """A question's sentences as an example for fitting, and their texts, by which repetitions are told."""

    question: Answerable
    example: Example
    sentences: tuple[Sentence, ...]


def measure(data: Path | None, *, questions: int = 0) -> Measurement:
    """The share of questions answered by the best sentence, the best three, and as few as are shown.

    `questions` is how many of each set are asked at most, in even steps; 0 asks all.
    """
    if data is None:
        raise SystemExit("extractive needs --data DIR")
    rows: list[tuple[str | int | float, ...]] = []
    targets: list[Target] = []
    examined: dict[str, list[Examined]] = {}
    with remembered_questions(installed_models() / CACHE / "questions.sqlite"):
        for name, least in LEAST_FOUND.items():
            judged = sample_questions(load_judged_set(data / name), questions)
            with embedded(judged.corpus, name) as base:
                with step(f"{name}: {len(judged.questions)} questions"):
                    asked = _ask(base, judged, _golds(data / name))
                row, wrong = _answer(asked, _line_reader(base))
            rows.append((name, len(asked), *row))
            for figure, value, limit in zip(("best sentence", "best three"), row, least, strict=False):
                targets.append(Target(f"{name}: answer in the {figure}", value, "≥", limit))
            targets.append(Target(f"{name}: quotes not in the lines they cite", wrong, "≤", 0))
            examined[name] = [_examine(question) for question in asked]
    with step("weights fitted without what they are tried on"):
        held_out = _held_out(examined)
    fitted = Signals(*fit_weights([[each.example for each in group] for group in examined.values()]).round(1).tolist())
    columns = ("best one", "best three", "as shown", "best three, right document", "sentences shown", "CPU ms")
    tables = (
        Table("Questions answered", ("set", "questions", *columns, "quotes checked", "wrong"), tuple(rows)),
        Table("Answered with weights fitted elsewhere", ("set", "fitted on", "best one", "best three"), held_out),
        Table(
            "Weights",
            ("signal", "shipped", "fitted now"),
            tuple(zip(Signals._fields, extractive_weights(), fitted, strict=True)),
        ),
    )
    return Measurement("extractive", tables, tuple(targets), {"weights": fitted._asdict()})


def _golds(folder: Path) -> dict[str, tuple[str, ...]]:
    with (folder / "answers.jsonl").open(encoding="utf-8") as file:
        return {item["id"]: tuple(item["answers"]) for item in map(json.loads, file) if item["answers"]}


def _ask(base: KnowledgeBase, judged: JudgedSet, golds: dict[str, tuple[str, ...]]) -> list[Answerable]:
    """Every answerable question with its terms and the passages search finds for it."""
    with closing(sqlite3.connect(base.config.sqlite)) as db:
        chunks = {row[0]: (row[1], row[2]) for row in db.execute("SELECT chunk_id, text, lang FROM chunks")}
    asked = []
    with open_session(base.config, many=True) as session, session.reading() as held:
        for question, text in judged.questions.items():
            if question not in golds:
                continue
            relevant = frozenset(judged.judgements[question])
            article = str(Path(min(relevant)).parent)
            hits = search(session, SearchQuery(text, "hybrid", PASSAGES, SearchFilters(as_text=True))).hits
            passages = tuple(hit_passage(number, hit, *chunks[hit.chunk_id]) for number, hit in enumerate(hits, 1))
            terms = term_weights(held.db, read_query(held.db, text).searched)
            asked.append(Answerable(text, golds[question], relevant, article, terms, passages))
    return asked


def _answer(asked: Sequence[Answerable], lines: Callable[[str], list[bytes]]) -> tuple[tuple[float, ...], int]:
    """The figures of a set, and how many of the sentences chosen are not in the lines they cite."""
    best = three = shown = right = sentences = quotes = wrong = 0
    start = process_time()
    chosen_for = [choose_sentences(each.text, each.terms, each.passages, limit=SENTENCES) for each in asked]
    spent_ms = 1000 * (process_time() - start)
    for question, chosen in zip(asked, chosen_for, strict=True):
        found = [each.sentence for each in chosen]
        kept = len(fewest(chosen))
        best += question.is_answered_by(found[:1])
        three += question.is_answered_by(found)
        shown += question.is_answered_by(found[:kept])
        right += question.is_answered_by(
            each for each in found if question.passages[each.passage - 1].doc_path in question.relevant
        )
        sentences += kept
        quotes += len(found)
        wrong += sum(not _stands(question.passages[each.passage - 1], each, lines) for each in found)
    shares = (round(count / len(asked), 4) for count in (best, three, shown, right))
    return (*shares, round(sentences / len(asked), 2), round(spent_ms / len(asked), 2), quotes, wrong), wrong


def _stands(passage: Passage, sentence: Sentence, lines: Callable[[str], list[bytes]]) -> bool:
    """Whether the cited lines of the file hold the sentence, byte for byte, and none of them is cited in vain."""
    cited = sentence_citation(passage, sentence)
    assert isinstance(cited, LineCitation)
    quoted = sentence.text.encode()
    return quoted in b"\n".join(lines(cited.path)[cited.start - 1 : cited.end]) and (
        quoted.count(b"\n") == cited.end - cited.start
    )


def _line_reader(base: KnowledgeBase) -> Callable[[str], list[bytes]]:
    @functools.cache
    def lines(path: str) -> list[bytes]:
        return (base.root / path).read_bytes().splitlines()

    return lines


def _examine(question: Answerable) -> Examined:
    scored = list(sentence_signals(question.text, question.terms, question.passages))
    holds = [
        question.passages[sentence.passage - 1].doc_path in question.relevant and question.is_answered_by([sentence])
        for sentence, _ in scored
    ]
    example = Example(np.array([signals for _, signals in scored]), np.array(holds, dtype=np.bool_))
    return Examined(question, example, tuple(sentence for sentence, _ in scored))


def _held_out(examined: dict[str, list[Examined]]) -> tuple[tuple[str | float, ...], ...]:
    """Set, what the weights were fitted on, and the shares answered by the best sentence and the best three."""
    rows: list[tuple[str | float, ...]] = []
    for name, group in examined.items():
        others = [each for other, group in examined.items() if other != name for each in group]
        halves = [[each for each in group if each.question.half() == half] for half in (0, 1)]
        answered = np.zeros(2)
        for half, tried in enumerate(halves):
            fitted = fit_weights(
                [[each.example for each in both if each.question.half() != half] for both in examined.values()]
            )
            answered += _answered(tried, fitted)
        rows.append((name, "the other half of all articles", *(answered / len(group)).round(4).tolist()))
        crossed = _answered(group, fit_weights([[each.example for each in others]]))
        rows.append((name, "the other language", *(crossed / len(group)).round(4).tolist()))
    return tuple(rows)


def _answered(tried: Sequence[Examined], weights: np.ndarray) -> np.ndarray:
    """How many questions the best sentence answers, and how many the best three."""
    answered = np.zeros(2)
    for question, example, sentences in tried:
        apart: dict[str, Sentence] = {}
        for at in np.argsort(-(example.signals @ weights), kind="stable") if sentences else ():
            apart.setdefault(" ".join(sentences[at].text.split()), sentences[at])
        best = list(apart.values())[:SENTENCES]
        answered += (question.is_answered_by(best[:1]), question.is_answered_by(best))
    return answered
