"""How well questions about source code find its lines: built from packages' sources, truth by universal-ctags."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import process_time
from typing import NamedTuple

from benchmarks import code_answers
from benchmarks.code_objects import measure_objects
from benchmarks.code_parsing import parsing
from benchmarks.code_set import KINDS, SEED, Question, fetch_sources, files_of, questions_of
from benchmarks.knowledge_base import knowledge_base
from benchmarks.measurement import Measurement, Table, Target
from kb.domain.citations import cited_lines
from kb.domain.results.ingest import IngestReport
from kb.domain.search import Passage, SearchQuery
from kb.operations.opening.base import open_base
from kb.operations.search.search import search

_DEPTH = 10
_OTHER_DRAWS = (15, 16, 17, 101, 102, 103)


class Outcome(NamedTuple):
    """Whether the first hit, or one of ten, holds the line; how far the first one's lines are the right ones."""

    line_at_1: float
    line_at_10: float
    iou_at_1: float | None


def measure(data: Path | None, *, verbose: bool = bool(os.environ.get("KB_CODE_MISSES"))) -> Measurement:
    """line@1, line@10 and IoU@1 by kind of question. `data` is where sources are kept; the user's cache without it."""
    cache = (data or Path.home() / ".cache" / "kb-benchmarks") / "code"
    root = fetch_sources(cache)
    files = files_of(root)
    questions = questions_of(root, files)
    with tempfile.TemporaryDirectory(prefix="kb-code-") as folder, knowledge_base(Path(folder)) as base:
        for name in files:
            (base.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / name, base.root / name)
        before = process_time()
        report = base.ingest()
        seconds = process_time() - before
        outcomes = []
        with open_base(base.config) as session:
            for question in questions:
                hits = search(session, SearchQuery(question.text, "lexical", _DEPTH)).hits
                outcomes.append(outcome(question, hits))
                if verbose and not outcomes[-1].line_at_1:
                    first = hits[0].citation.to_uri() if hits else "-"
                    right = f"{question.path}#L{question.line}-L{question.end}"
                    print(f"{question.kind}\t{question.text}\t{right}\t{first}")
            draws = {SEED: outcomes}
            others = {seed: questions_of(root, files, seed) for seed in _OTHER_DRAWS}
            for seed, drawn in others.items():
                draws[seed] = [
                    outcome(each, search(session, SearchQuery(each.text, "lexical", _DEPTH)).hits) for each in drawn
                ]
            judged = code_answers.judge_all(session, root, questions)
    objects, object_targets = measure_objects(cache)
    found = _measurement(questions, outcomes, len(files), report.counts.chunks_indexed, seconds)
    answers, targets = code_answers.tables(judged)
    return Measurement(
        found.name,
        (
            *found.tables,
            *objects,
            _by_draw({SEED: questions, **others}, draws),
            *answers,
            _stages(report, len(files), seconds),
            parsing(root, files),
        ),
        (*found.targets, *object_targets, *targets),
        found.figures,
    )


def _by_draw(questions: Mapping[int, Sequence[Question]], outcomes: Mapping[int, Sequence[Outcome]]) -> Table:
    """The same kinds of questions, drawn again: the weights of ranking were chosen on the first four draws."""
    rows = []
    for seed, drawn in questions.items():
        found = list(zip(drawn, outcomes[seed], strict=True))
        described = [each.line_at_1 for question, each in found if question.kind in ("doc", "behaviour")]
        named = [each.line_at_1 for question, each in found if question.kind in ("name", "bare name", "korean")]
        rows.append((f"draw {seed}", len(found), _mean(named), _mean(described), *_means(outcomes[seed])))
    columns = ("draw", "questions", "named line@1", "described line@1", "all line@1", "line@10", "IoU@1")
    return Table("By draw of questions; ranking was tuned on draws 14 to 17", columns, tuple(rows))


def _stages(report: IngestReport, files: int, cpu_s: float) -> Table:
    """Where the time of the ingest went: shares, which other work on the machine does not change."""
    total = sum(report.stages.ns.values()) or 1
    rows = [(name, round(ns / total, 3)) for name, ns in report.stages.ns.items()]
    return Table(
        f"Ingest of {files} files: {cpu_s:.1f} s of processor time, by stage",
        ("stage", "share of the time"),
        tuple(rows),
    )


def outcome(question: Question, hits: Sequence[Passage]) -> Outcome:
    """How the hits of one question compare with the lines that are right."""
    held = [_holds(question, hit) for hit in hits]
    return Outcome(float(any(held[:1])), float(any(held)), _iou(question, hits[0]) if hits else 0.0)


def _holds(question: Question, hit: Passage) -> bool:
    lines = cited_lines(hit.citation)
    return lines is not None and hit.doc_path == question.path and lines.start <= question.line <= lines.end


def _iou(question: Question, hit: Passage) -> float | None:
    """Lines in both, as a share of the lines in either; None where the end of the right ones is not known."""
    if not question.end:
        return None
    lines = cited_lines(hit.citation)
    if lines is None or hit.doc_path != question.path:
        return 0.0
    both = min(lines.end, question.end) - max(lines.start, question.start) + 1
    either = max(lines.end, question.end) - min(lines.start, question.start) + 1
    return max(0, both) / either


def _measurement(
    questions: Sequence[Question], outcomes: Sequence[Outcome], files: int, chunks: int, seconds: float
) -> Measurement:
    groups: dict[str, list[Outcome]] = {kind: [] for kind in KINDS}
    languages: dict[str, list[Outcome]] = {}
    for question, each in zip(questions, outcomes, strict=True):
        groups[question.kind].append(each)
        languages.setdefault(question.language, []).append(each)
    by_name = [*groups["name"], *groups["bare name"], *groups["korean"]]
    described = [*groups["doc"], *groups["behaviour"]]
    columns = ("questions", "line@1", "line@10", "IoU@1")
    every = _means(outcomes)
    return Measurement(
        "code",
        (
            Table(
                f"{files} source files, {chunks} chunks, by kind of question",
                ("kind", *columns),
                (*((kind, len(each), *_means(each)) for kind, each in groups.items()), ("all", len(outcomes), *every)),
            ),
            Table(
                "By language",
                ("language", *columns),
                tuple((name, len(each), *_means(each)) for name, each in sorted(languages.items())),
            ),
        ),
        (
            Target("definition by name line@1", _means(by_name)[0], "≥", 0.93),
            Target("described line@1", _means(described)[0], "≥", 0.88),
            Target("all line@1", every[0], "≥", 0.87),
            Target("all line@10", every[1], "≥", 0.98),
            Target("all IoU@1", every[2], "≥", 0.60),
        ),
        {"files": files, "chunks": chunks, "ingest_cpu_s": round(seconds, 2)},
    )


def _means(outcomes: Sequence[Outcome]) -> tuple[float, float, float]:
    known = [each.iou_at_1 for each in outcomes if each.iou_at_1 is not None]
    return (
        _mean([each.line_at_1 for each in outcomes]),
        _mean([each.line_at_10 for each in outcomes]),
        _mean(known),
    )


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 3) if values else 0.0
