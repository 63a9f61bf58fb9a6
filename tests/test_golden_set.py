"""The golden set of fixtures/golden: no kind of question may fall below its floor, and what breaks search shows."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from conftest import Kb, run_kb

from kb.config import load
from kb.domain.citations import LineCitation
from kb.domain.run_handle import RunHandle
from kb.domain.search import SearchQuery
from kb.embed.installed.encoder import PREFIXES
from kb.eval.golden import read_golden
from kb.language.korean import KoreanText, analyse
from kb.operations.ask.ask import ask
from kb.operations.ask.findings import AskRequest
from kb.operations.opening.base import open_base
from kb.operations.search.search import ranking_version, search
from kb.retrieve.judged import RULE, is_close

FIXTURE = Path(__file__).parents[1] / "fixtures/golden"
FLOORS = json.loads((FIXTURE / "floors.json").read_text(encoding="utf-8"))
MODELS = os.environ.get("KB_TEST_MODEL_DIR")

needs_models = pytest.mark.skipif(MODELS is None, reason="KB_TEST_MODEL_DIR names no models")


class Measured:
    """The notes of the fixture in a knowledge base of their own, asked all questions as often as one likes."""

    def __init__(self, directory: Path, *, embed: bool) -> None:
        config = directory / "kb.toml"
        config.write_text(
            f'[workspace]\nroot = "{FIXTURE / "notes"}"\n[eval]\nsuite = "{FIXTURE / "golden.yaml"}"\n'
            '[storage]\ndata_dir = "data"\ncache_dir = "cache"\nlog_dir = "logs"\n'
            + (f'model_dir = "{MODELS}"\n' if embed else ""),
            encoding="utf-8",
        )
        self.kb: Kb = lambda *args, **options: run_kb("--config", str(config), *args, **options)
        self.config = config
        self._ingest = ("ingest",) if embed else ("ingest", "--no-embed")
        self.sqlite = directory / "data/kb.sqlite"
        self.ingest()

    def ingest(self) -> None:
        """Indexes all notes again."""
        if self.sqlite.exists():
            with closing(sqlite3.connect(self.sqlite)) as db:
                db.execute("PRAGMA foreign_keys = ON")
                db.execute("DELETE FROM documents")
                db.commit()
        ran = self.kb(*self._ingest)
        assert (ran.code, ran.stderr) == (0, "")

    def ndcg_by_kind(self, mode: str) -> dict[str, float | None]:
        """nDCG@10 of each kind of question."""
        ran = self.kb("eval", "run", "--mode", mode, "--json")
        assert (ran.code, ran.stderr) == (0, "")
        return {group["label"]: group["ndcg_at_10"] for group in ran.json["groups"] if group["grouping"] == "category"}

    def run(self, name: str, mode: str) -> None:
        assert self.kb("eval", "run", "--mode", mode, "--name", name).code == 0


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """Indexed without vectors."""
    return Measured(tmp_path_factory.mktemp("golden"), embed=False)


@pytest.fixture(scope="module")
def meaning(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """Indexed with the vectors of the real models."""
    return Measured(tmp_path_factory.mktemp("golden"), embed=True)


@pytest.fixture
def breakable(words: Measured, tmp_path: Path) -> Measured:
    """A copy of `words` that a test may break, with the run `sound` in it."""
    copied = Measured.__new__(Measured)
    copied.__dict__.update(words.__dict__)
    shutil.copytree(words.sqlite.parents[1], tmp_path / "kb")
    config = tmp_path / "kb/kb.toml"
    copied.kb = lambda *args, **options: run_kb("--config", str(config), *args, **options)
    copied.sqlite = tmp_path / "kb/data/kb.sqlite"
    copied.run("sound", "lexical")
    return copied


def below_floor(found: dict[str, float | None], mode: str) -> dict[str, float | None]:
    floors = FLOORS[mode]
    return {kind: value for kind, value in found.items() if kind in floors and (value or 0) < floors[kind]}


def test_no_kind_falls_below_its_floor_by_words(words: Measured) -> None:
    assert below_floor(words.ndcg_by_kind("lexical"), "lexical") == {}


@needs_models
@pytest.mark.parametrize("mode", ["hybrid", "vector"])
def test_no_kind_falls_below_its_floor_by_meaning(mode: str, meaning: Measured) -> None:
    assert below_floor(meaning.ndcg_by_kind(mode), mode) == {}


@needs_models
def test_the_judge_reads_the_first_two_hits_where_they_are_close(meaning: Measured) -> None:
    config, read = load(str(meaning.config)), 0
    with open_base(config, many=True) as opened, opened.reading() as base:
        for question in read_golden(FIXTURE / "golden.yaml").questions[::9]:
            plain = SearchQuery(question.query, "hybrid", 3)
            before, judged = search(base, plain), search(base, plain._replace(judged=True))
            only = search(base, plain._replace(judged=True, k=1))
            logits = [hit.retrieval.judge_logit is not None for hit in judged.hits]
            assert sorted(hit.chunk_id for hit in judged.hits) == sorted(hit.chunk_id for hit in before.hits)
            assert [hit.chunk_id for hit in only.hits] == [hit.chunk_id for hit in judged.hits[:1]]
            assert not any(hit.retrieval.judge_logit is not None for hit in before.hits)
            assert logits in ([False] * len(logits), [True, True, False])
            assert any(logits) <= is_close(before)  # what is looked up is not read
            read += any(logits)
            assert judged.ranking_version.startswith(f"{before.ranking_version}/{RULE}-")
            assert judged.ranking_version == ranking_version(base, plain._replace(judged=True))
    assert read
    off = load(str(meaning.config), ["rerank.provider=none"])
    with open_base(off, many=True) as opened, opened.reading() as base:
        assert search(base, plain._replace(judged=True)) == before._replace(query=plain._replace(judged=True))


def states_by_kind(measured: Measured) -> dict[str, Counter[str]]:
    """How often each kind is answered, unsure or refused, without a model; `right` where a cited place is expected."""
    found: dict[str, Counter[str]] = {}
    with open_base(load(str(measured.config)), many=True) as session:
        for question in read_golden(FIXTURE / "golden.yaml").questions:
            answer = ask(
                session, AskRequest(question.query, "hybrid", 10, provider="extractive", keep=False), RunHandle()
            )
            cited = {each.citation.path for each in answer.citations if each.marker}
            right = answer.state != "refused" and not cited.isdisjoint(place.path for place in question.expected)
            found.setdefault(question.category or "", Counter()).update(
                ["asked", answer.state, *(["right"] if right else [])]
            )
    return found


@needs_models
def test_answers_of_no_kind_fall_below_their_floor(meaning: Measured) -> None:
    found = states_by_kind(meaning)
    shares = {kind: {state: counts[state] / counts["asked"] for state in counts} for kind, counts in found.items()}
    floors = FLOORS["answers"]
    below = {
        (kind, state): shares[kind].get(state, 0.0)
        for kind, floor in floors.items()
        for state in floor
        if shares[kind].get(state, 0.0) < floor[state]
    }
    assert below == {}
    assert shares["unanswerable"].get("answered", 0.0) <= FLOORS["most_unanswerable_answered"]


def fallen(measured: Measured, before: str, after: str) -> set[str]:
    """The metrics that kb eval compare shows in red; its exit code says so too."""
    ran = measured.kb("eval", "compare", before, after, "--json")
    regressed = {change["name"] for change in ran.json["metrics"] if change["regressed"]}
    assert ran.json["obstacles"] == []
    assert ran.code == (1 if regressed else 0)
    return regressed


@pytest.mark.slow
def test_indexing_anew_changes_nothing(breakable: Measured) -> None:
    breakable.ingest()
    breakable.run("again", "lexical")
    assert fallen(breakable, "sound", "again") == set()


@pytest.mark.slow
def test_a_broken_tokenizer_turns_the_comparison_red(breakable: Measured, monkeypatch: pytest.MonkeyPatch) -> None:
    def analyse_without_nouns(texts: Sequence[str]) -> list[KoreanText]:
        return [KoreanText(found.morphemes[::3], Counter()) for found in analyse(texts)]

    monkeypatch.setattr("kb.operations.ingest.read.analyse", analyse_without_nouns)
    breakable.ingest()
    breakable.run("broken", "lexical")
    assert fallen(breakable, "sound", "broken") >= {"hit_at_k", "mrr", "ndcg_at_10"}


@pytest.mark.slow
def test_an_off_by_one_citation_turns_the_comparison_red(breakable: Measured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "kb.retrieve.search.cite",
        lambda path, spans, section: LineCitation(path, spans[0]["start"] + 1, spans[-1]["end"] + 1, section),
    )
    breakable.run("shifted", "lexical")
    assert fallen(breakable, "sound", "shifted") == {"citation_exactness"}


@needs_models
def test_a_swapped_prefix_turns_the_comparison_red(meaning: Measured, monkeypatch: pytest.MonkeyPatch) -> None:
    """By meaning alone: beside words, which carry most questions, the fall is within the tolerance."""
    meaning.run("sound", "vector")
    monkeypatch.setitem(PREFIXES, "query", PREFIXES["passage"])
    meaning.run("swapped", "vector")
    assert fallen(meaning, "sound", "swapped") >= {"mrr", "ndcg_at_10"}
