"""Late interaction by the graphs: what numpy gives, for any counts of rows, and the files are what the writer makes."""

from __future__ import annotations

from pathlib import Path

import apsw
import numpy as np
import pytest
from conftest import tool

from kb.embed.installed.late_interaction import GRAPH_DIR, PACKED, PLAIN, late_scores, token_scores
from kb.embed.passage_tokens import late_score, packed_tokens, unpacked
from kb.retrieve.search import add_maxsim


def states(rng: np.random.Generator, tokens: int, components: int = 384) -> np.ndarray:
    drawn = rng.standard_normal((tokens, components)).astype("<f4")
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


@pytest.mark.parametrize("seed", range(8))
def test_the_scores_are_those_of_the_oracle(seed: int) -> None:
    rng = np.random.default_rng(seed)
    components = (384, 16)[seed % 2]
    question = states(rng, int(rng.integers(1, 40)), components)
    passages = [states(rng, int(n), components) for n in rng.integers(1, 500, int(rng.integers(1, 60)))]
    kept = [packed_tokens(each) for each in passages]
    found = late_scores(question.tobytes(), [(each.count, each.tokens) for each in kept])
    assert found == pytest.approx([late_score(question, unpacked(each)) for each in kept], abs=1e-5)
    found = token_scores(question.tobytes(), [each.tobytes() for each in passages], components)
    assert found == pytest.approx([late_score(question, each) for each in passages], abs=1e-5)


def test_of_nothing_there_is_no_score() -> None:
    assert late_scores(b"", []) == token_scores(b"", [], 384) == []


def test_maxsim_gives_the_scores_of_all_rows_by_their_numbers() -> None:
    rng = np.random.default_rng(9)
    question = states(rng, 5)
    kept = {number: packed_tokens(states(rng, 30 * number)) for number in (3, 1, 2)}
    db = apsw.Connection(":memory:")
    add_maxsim(db)
    db.execute("CREATE TABLE kept (number, count, tokens)")
    db.executemany("INSERT INTO kept VALUES (?, ?, ?)", [(n, each.count, each.tokens) for n, each in kept.items()])
    asked = "SELECT key, value FROM json_each((SELECT maxsim(?, number, count, tokens) FROM kept WHERE number < ?))"
    found = {int(number): score for number, score in db.execute(asked, (question.tobytes(), 9))}
    assert found == pytest.approx({n: late_score(question, unpacked(each)) for n, each in kept.items()}, abs=1e-5)
    assert db.execute(asked, (question.tobytes(), 0)).fetchall() == []


def test_the_graphs_of_the_package_are_those_that_are_written_now(tmp_path: Path) -> None:
    tool("make_late_graphs").write_graphs(tmp_path)
    for name in (PACKED, PLAIN):
        now = "run tools/make_late_graphs"
        assert (tmp_path / name).read_bytes() == (GRAPH_DIR / name).read_bytes(), now
