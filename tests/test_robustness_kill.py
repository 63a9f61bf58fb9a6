"""An ingest killed at random moments: the store stays sound, the next ingest reaches the rows of an undisturbed one.

KB_KILLS sets how many kills there are; the moments are spread over the processor time of a run, the same each time.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from ingest_fixtures import Workspace

KILLS = int(os.environ.get("KB_KILLS", "10"))
NOTES = 150

_TESTS = Path(__file__).parent
# The timer of processor time sends SIGPROF, which nobody handles: the process ends like one that was killed.
_CHILD = """
import signal, sys, time
from ingest_fixtures import run_without_analyser
began = time.process_time()
signal.setitimer(signal.ITIMER_PROF, float(sys.argv[2]))
try:
    run_without_analyser(sys.argv[1])
finally:
    signal.setitimer(signal.ITIMER_PROF, 0)
    print(time.process_time() - began)
"""


def write_first_version(workspace: Workspace) -> None:
    generator = random.Random(11)
    words = "anchor barrel cabin deck engine flag galley hull island jetty keel lantern mast net oar pier quay".split()
    korean = "닻은 바다에 내린다 등대가 밤을 비춘다 항구에서 배가 떠난다 갑판을 닦는다".split()
    for number in range(NOTES):
        vocabulary = korean if number % 15 == 7 else words
        paragraphs = [" ".join(generator.choices(vocabulary, k=60)) for _ in range(4)]
        workspace.write(f"{number // 30}/note-{number:03}.md", f"# Note {number}\n\n" + "\n\n".join(paragraphs) + "\n")


def write_second_version(workspace: Workspace) -> None:
    """A third of the notes is rewritten, some are moved, some deleted, some new, two become twins."""
    for number in range(0, NOTES, 3):
        workspace.write(f"{number // 30}/note-{number:03}.md", f"# Note {number}\n\nRewritten, word{number}.\n")
    for number in range(1, NOTES, 15):
        workspace.move(f"{number // 30}/note-{number:03}.md", f"moved/note-{number:03}.md")
    for number in range(2, NOTES, 15):
        (workspace.root / f"{number // 30}/note-{number:03}.md").unlink()
    for number in range(30):
        workspace.write(f"new/note-{number:03}.md", f"# New {number}\n\n새 등대 {number}. A new lighthouse.\n")
    workspace.write("new/twin-a.md", "# Twin\n\nThe same.\n")
    workspace.write("new/twin-b.md", "# Twin\n\nThe same.\n")


def run(workspace: Workspace, ends_after_s: float = 0.0) -> subprocess.CompletedProcess[str]:
    """One ingest; the kernel ends it after that much processor time, wherever it is then."""
    return subprocess.run(
        [sys.executable, "-c", _CHILD, str(workspace.config_path), str(ends_after_s)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(_TESTS), str(_TESTS.parent)])},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )


def ingest(workspace: Workspace) -> float:
    """How many seconds of processor time an undisturbed ingest takes."""
    done = run(workspace)
    assert done.returncode == 0
    return float(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_killed_at_any_moment_the_next_ingest_reaches_the_same_rows(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "workspace")
    write_first_version(workspace)
    ingest(workspace)
    data, first = workspace.sqlite.parent, tmp_path / "first"
    shutil.copytree(data, first)
    write_second_version(workspace)
    run_seconds = ingest(workspace)
    undisturbed, copies = workspace.contents(), workspace.asset_copies()

    generator = random.Random(13)
    kills = between_documents = 0
    while kills < KILLS:
        shutil.rmtree(data)
        shutil.copytree(first, data)
        while kills < KILLS:
            ended = run(workspace, generator.uniform(0.02, 1.0) * run_seconds).returncode
            if ended == 0:
                break  # it was through before the blow
            assert ended == -signal.SIGPROF
            kills += 1
            assert workspace.is_sound()
            between_documents += workspace.contents()["documents"] != undisturbed["documents"]
        ingest(workspace)
        assert workspace.contents() == undisturbed
        assert workspace.asset_copies() >= copies
    assert between_documents
