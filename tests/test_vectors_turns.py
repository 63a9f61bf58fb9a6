"""Embedding that lets other processes write in between."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from conftest import Vault, run_kb
from fake_embedder import FakeEmbedder, FakeModels, Vectors, fake_models
from vector_stores import (
    BATCH_CHUNKS,
    Stores,
    chunk_count,
    committed,
    config_of,
    indexed,
    private,
    rows,
    small_batches,
    stores,
    undisturbed,
    vault,
)

from kb.domain.embeddings import Role
from kb.domain.ingest_events import EmbedProgress
from kb.domain.run_handle import RunHandle
from kb.operations.embedding.plan import embedding_plan
from kb.operations.embedding.turns import Turns, embed_in_turns

__all__ = ["fake_models", "indexed", "private", "small_batches", "undisturbed", "vault"]

pytestmark = pytest.mark.slow


def embed(vault: Vault, turns: Turns, handle: RunHandle) -> list[str]:
    config = config_of(vault)
    return embed_in_turns(config.sqlite, embedding_plan(config), handle, turns)


def asking(turns: Turns) -> RunHandle:
    """A handle that asks for a turn whenever something was embedded."""
    return RunHandle(lambda event: turns.ask() if isinstance(event, EmbedProgress) and event.done else None)


def test_with_turns_in_between_the_vectors_are_those_of_an_undisturbed_run(
    vault: Vault, undisturbed: Stores, fake_models: FakeModels
) -> None:
    held: list[int] = []
    turns = Turns(lambda: held.append(len(committed(vault))))
    assert embed(vault, turns, asking(turns)) == []
    assert stores(vault.config) == undisturbed
    assert fake_models.calls == chunk_count(vault), "each passage once"
    assert held[0] > 0, "what was embedded is stored before a turn"
    assert held == sorted(set(held)), "each turn comes after something was embedded"
    assert rows(vault, "SELECT kind, outcome FROM job_records WHERE kind = 'embedding'") == [("embedding", "succeeded")]


def test_a_change_is_ingested_in_a_turn_and_embedded_after_it(vault: Vault) -> None:
    name = next(iter(vault.root.rglob("*.md"))).name
    codes: list[int] = []

    def change() -> None:
        (vault.root / f"turn{len(codes)}.md").write_text(f"# Turn\n\nThe walrus {len(codes)}.\n", encoding="utf-8")
        next(vault.root.rglob(name)).unlink(missing_ok=True) if not codes else None
        codes.append(run_kb("--config", str(vault.config), "ingest", "--no-embed").code)

    turns = Turns(change)
    turns.ask()
    embed(vault, turns, RunHandle())
    assert codes == [0]
    assert len(committed(vault)) == chunk_count(vault)
    assert rows(vault, "SELECT count(*) FROM documents WHERE workspace_path = 'turn0.md'") == [(1,)]


def test_a_run_that_is_canceled_in_a_turn_ends_with_what_it_has(vault: Vault) -> None:
    handle = RunHandle()
    turns = Turns(handle.cancel)
    turns.ask()
    embed(vault, turns, handle)
    held = len(committed(vault))
    assert BATCH_CHUNKS <= held < chunk_count(vault)


@pytest.mark.parametrize("name", ["fake-missing"])
def test_without_the_model_there_is_a_note(vault: Vault, name: str) -> None:
    config = config_of(vault, f"models.embedding.model={name}")
    never: Callable[[], None] = lambda: pytest.fail("nothing is embedded")  # noqa: E731
    (note,) = embed_in_turns(config.sqlite, embedding_plan(config), RunHandle(), Turns(never))
    assert note.startswith(f"the model {name} is not installed: passages are found by their words only")


def test_a_signal_lets_changes_be_read_before_all_is_embedded(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    embed_before = FakeEmbedder.embed

    def embed_then_change(embedder: FakeEmbedder, texts: Sequence[str], role: Role) -> Vectors:
        if not (vault.root / "changed.md").exists():
            (vault.root / "changed.md").write_text("# Changed\n\nThe walrus.\n", encoding="utf-8")
            os.kill(os.getpid(), signal.SIGUSR1)
        return embed_before(embedder, texts, role)

    monkeypatch.setattr(FakeEmbedder, "embed", embed_then_change)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    try:
        ran = run_kb("--config", str(vault.config), "ingest", "--json", "--for-watch")
    finally:
        signal.signal(signal.SIGUSR1, signal.SIG_DFL)
    assert (ran.code, ran.lines[0]["kind"]) == (0, "scan_started")
    assert len(committed(vault)) == chunk_count(vault)
    assert rows(vault, "SELECT count(*) FROM documents WHERE workspace_path = 'changed.md'") == [(1,)]
    kinds = rows(vault, "SELECT kind FROM job_records WHERE outcome = 'succeeded' ORDER BY created_at")
    assert [kind for (kind,) in kinds] == ["ingest", "watch", "embedding", "watch"]
