"""The longest step of an ingest shows how far it is: passages done, how fast, and the time left, per model."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from on_terminal import Screen

from kb.cli.output.progress import interruptible, show_progress
from kb.domain.ingest_events import AssetFinished, AssetStarted, EmbedAgain, EmbedProgress, ScanCompleted, ScanStarted
from kb.domain.run_handle import StepProgress


@contextmanager
def terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Screen]:
    """A terminal of that width as standard error."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm-256color")
    with Screen() as screen, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", screen.file)
        yield screen


@pytest.mark.parametrize("columns", [60, 120])
def test_embedding_shows_passages_rate_and_time_left_per_model(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(columns, monkeypatch) as screen, show_progress() as on_event:
        on_event(EmbedProgress("kb-encoder-1", 0, 6000))
        first = screen.wait_for("0/6,000 passages")
        on_event(EmbedProgress("kb-encoder-1", 20, 6000))
        on_event(EmbedProgress("kb-encoder-1", 40, 6000))
        assert "/s " in screen.wait_for(" left")
        on_event(EmbedProgress("kb-encoder-1", 6000, 6000))
        on_event(EmbedProgress("another-encoder", 0, 5000))
        last = screen.wait_for("0/5,000 passages")
    assert "?" not in first
    assert "scanning" not in first
    assert "6,000/6,000 passages" in last


@pytest.mark.parametrize(
    ("seconds", "by_old", "said"),
    [
        (39.6, True, "some 40 s; searches use the old vectors until it is done"),
        (750.0, True, "some 12 min; searches use the old vectors until it is done"),
        (9000.0, False, "some 2.5 h; searches are by words until it is done"),
    ],
)
def test_an_index_that_is_embedded_again_says_how_long_and_what_is_searched(
    seconds: float, by_old: bool, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    event = EmbedAgain("kb-encoder-1", 6000, seconds, by_old)
    line = f"embedding 6,000 passages again with kb-encoder-1, {said}"
    with show_progress() as on_event:
        on_event(event)
        on_event(EmbedProgress("kb-encoder-1", 0, 6000))
    assert capsys.readouterr().err == f"{line}\n"
    with terminal(120, monkeypatch) as screen, show_progress() as on_event:
        on_event(EmbedProgress("kb-encoder-1", 0, 6000))
        on_event(event)
        screen.wait_for(line)
        on_event(EmbedProgress("kb-encoder-1", 20, 6000))
        screen.wait_for("20/6,000 passages")


def test_a_first_embedding_says_that_words_are_searched_already(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(100, monkeypatch) as screen, show_progress() as on_event:
        on_event(EmbedProgress("kb-encoder-1", 0, 6000))
        assert "all text is found by its words now" in screen.wait_for("0/6,000 passages")


def test_a_long_path_in_hand_takes_one_line_and_keeps_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(60, monkeypatch) as screen, show_progress() as on_event:
        on_event(ScanStarted("/notes"))
        on_event(ScanCompleted(3, 0))
        on_event(AssetStarted(1, 3, "long/" * 30 + "게이트웨이.md", "text/markdown"))
        shown = screen.wait_for("게이트웨이.md")
        on_event(AssetFinished(1, 3, "long/" * 30 + "게이트웨이.md", "new", 2))
        screen.wait_for("1/3 files")
    assert "…" in shown


def test_ctrl_c_is_answered_on_a_line_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(60, monkeypatch) as screen, interruptible(show_progress()) as handle:
        handle.tell(EmbedProgress("kb-encoder-1", 0, 6000))
        screen.wait_for("0/6,000 passages")
        os.kill(os.getpid(), signal.SIGINT)
        shown = screen.wait_for("press again to stop at once")
        assert handle.is_canceled()
    line = next(line for line in shown.replace("\r", "\n").splitlines() if "stopping" in line)
    assert line.startswith("stopping after the current step; ")


def test_another_program_stops_work_without_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with interruptible(show_progress()) as handle:
        os.kill(os.getpid(), signal.SIGTERM)
        assert handle.is_canceled()
    assert (capsys.readouterr().err, signal.getsignal(signal.SIGTERM)) == ("", before)


@pytest.mark.parametrize("columns", [60, 120])
def test_a_rebuild_shows_how_many_vectors_are_written_or_that_it_is_at_work(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with terminal(columns, monkeypatch) as screen, show_progress() as on_event:
        on_event(StepProgress("full-text index", 0, 0, "passages"))
        screen.wait_for("rebuilding …")
        on_event(StepProgress("Lance table of kb-encoder-1", 0, 9000, "vectors"))
        screen.wait_for("0/9,000 vectors")
        on_event(StepProgress("Lance table of kb-encoder-1", 4096, 9000, "vectors"))
        shown = screen.wait_for("4,096/9,000 vectors")
    assert "full-text index" in shown
    assert "Lance table of kb-encoder-1" in shown
