"""Whether notes are found as well with source code beside them: judged sets alone, and with that of three packages."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from benchmarks.code_set import fetch_sources, files_of
from benchmarks.embedded_base import embedded
from benchmarks.judged_set import JudgedSet, load_judged_set, sample_questions
from benchmarks.knowledge_base import KnowledgeBase
from benchmarks.measurement import Measurement, Table, Target
from benchmarks.scoring import Scores, score
from kb.domain.filters import SearchFilters
from kb.domain.search import SearchMode, SearchQuery
from kb.operations.opening.base import open_base
from kb.operations.search.search import search

SETS = ("cranfield", "korquad-dev")
MODES: tuple[SearchMode, ...] = ("lexical", "hybrid")
PACKAGES = ("click", "express", "flask")
_DEPTH = 100
_MOST_LOST = 0.003


def measure(data: Path | None, *, questions: int = 0) -> Measurement:
    """nDCG@10 of each set in each mode, alone and with code; `data` is the folder of the judged sets.

    All documents are there whatever part of the questions is asked; 0 asks all.
    """
    if data is None:
        return Measurement("code_beside", (), (), {"skipped": "needs --data DIR"})
    root = fetch_sources(Path.home() / ".cache" / "kb-benchmarks" / "code")
    code = [name for name in files_of(root) if name.partition("/")[0] in PACKAGES]
    rows: list[tuple[str | int | float, ...]] = []
    targets = []
    for name in SETS:
        judged = sample_questions(load_judged_set(data / name), questions)
        with embedded(judged.corpus, name) as base:
            alone = [_scores(base, judged, mode) for mode in MODES]
        with tempfile.TemporaryDirectory(prefix="kb-beside-") as folder:
            workspace = Path(folder) / "both"
            shutil.copytree(judged.corpus, workspace)
            for path in code:
                (workspace / "code" / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(root / path, workspace / "code" / path)
            with embedded(workspace, f"{name} with code") as base:
                beside = [_scores(base, judged, mode) for mode in MODES]
        for mode, (own, _), (mixed, of_code) in zip(MODES, alone, beside, strict=True):
            figures = round(own.ndcg_at_10, 4), round(mixed.ndcg_at_10, 4), of_code
            rows.append((name, mode, len(judged.questions), *figures))
            lost = round(own.ndcg_at_10 - mixed.ndcg_at_10, 4)
            targets.append(Target(f"{name}, {mode}: nDCG@10 lost", lost, "≤", _MOST_LOST))
    columns = ("set", "mode", "questions", "alone", "with code", "code among ten")
    title = f"Notes with {len(code)} source files of {', '.join(PACKAGES)} beside them: nDCG@10"
    return Measurement("code_beside", (Table(title, columns, tuple(rows)),), tuple(targets), {"files": len(code)})


def _scores(base: KnowledgeBase, judged: JudgedSet, mode: SearchMode) -> tuple[Scores, float]:
    """The scores, source code counting as documents that nobody asked for; and how many of it are among ten, a mean."""
    found: dict[str, list[str]] = {}
    of_code = 0
    with open_base(base.config, many=True) as session:
        for question, text in judged.questions.items():
            hits = search(session, SearchQuery(text, mode, _DEPTH, SearchFilters(as_text=True))).hits
            found[question] = list(dict.fromkeys(hit.doc_path for hit in hits))
            of_code += sum(path.startswith("code/") for path in found[question][:10])
    return score(judged.judgements, found), round(of_code / len(judged.questions), 3)
