"""Whether notes are found as well with source code beside them: judged sets alone, and with that of three packages."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from benchmarks.code_set import fetch_sources, files_of
from benchmarks.judged_set import JudgedSet, load_judged_set
from benchmarks.knowledge_base import KnowledgeBase, knowledge_base
from benchmarks.measurement import Measurement, Table, Target
from benchmarks.scoring import Scores, score
from kb.domain.search import SearchQuery
from kb.operations.search.search import search
from kb.operations.session.session import open_session

SETS = ("cranfield", "korquad-dev")
PACKAGES = ("click", "express", "flask")
_DEPTH = 100
_MOST_LOST = 0.003


def measure(data: Path | None) -> Measurement:
    """nDCG@10 of each set by words, alone and with code; `data` is the folder of the judged sets."""
    if data is None:
        return Measurement("code_beside", (), (), {"skipped": "needs --data DIR"})
    root = fetch_sources(Path.home() / ".cache" / "kb-benchmarks" / "code")
    code = [name for name in files_of(root) if name.partition("/")[0] in PACKAGES]
    rows: list[tuple[str | int | float, ...]] = []
    targets = []
    for name in SETS:
        judged = load_judged_set(data / name)
        with knowledge_base(judged.corpus) as base:
            base.ingest()
            alone, _ = _scores(base, judged)
        with tempfile.TemporaryDirectory(prefix="kb-beside-") as folder:
            workspace = Path(folder) / "both"
            shutil.copytree(judged.corpus, workspace)
            for path in code:
                (workspace / "code" / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(root / path, workspace / "code" / path)
            with knowledge_base(workspace) as base:
                base.ingest()
                beside, of_code = _scores(base, judged)
        lost = round(alone.ndcg_at_10 - beside.ndcg_at_10, 4)
        rows.append((name, len(judged.questions), round(alone.ndcg_at_10, 4), round(beside.ndcg_at_10, 4), of_code))
        targets.append(Target(f"{name}: nDCG@10 lost", lost, "≤", _MOST_LOST))
    columns = ("set", "questions", "alone", "with code", "code among ten")
    title = f"Notes with {len(code)} source files of {', '.join(PACKAGES)} beside them: nDCG@10 by words"
    return Measurement("code_beside", (Table(title, columns, tuple(rows)),), tuple(targets), {"files": len(code)})


def _scores(base: KnowledgeBase, judged: JudgedSet) -> tuple[Scores, float]:
    """The scores, source code counting as documents that nobody asked for; and how many of it are among ten, a mean."""
    found: dict[str, list[str]] = {}
    of_code = 0
    with open_session(base.config, many=True) as session:
        for question, text in judged.questions.items():
            hits = search(session, SearchQuery(text, "lexical", _DEPTH)).hits
            found[question] = list(dict.fromkeys(hit.doc_path for hit in hits))
            of_code += sum(path.startswith("code/") for path in found[question][:10])
    return score(judged.judgements, found), round(of_code / len(judged.questions), 3)
