"""Characters read wrongly on the rendered fixtures, look by look; time against bare tesseract, two pages at once."""

from __future__ import annotations

import json
import os
import subprocess
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from benchmarks.measurement import Measurement, Table, Target
from kb.domain.derived import OcrText
from kb.extract.image import frames
from kb.extract.ocr.recognise import recognise

IMAGES = Path(__file__).resolve().parents[1] / "fixtures" / "media" / "images"
LANGUAGES = "kor+eng"
CLEAN_LIMIT, DEGRADED_LIMIT, TIME_LIMIT = 0.03, 0.10, 1.15


def measure(data: Path | None = None, *, repeats: int = 3) -> Measurement:
    """Character error by look and language, and CPU time as a ratio to bare tesseract's on the clean pages."""
    truth = json.loads((IMAGES / "truth.json").read_text(encoding="utf-8"))
    errors: dict[tuple[str, str], list[float]] = defaultdict(list)
    for name, read in zip(truth, _two_at_once(read_image, [IMAGES / name for name in truth]), strict=True):
        errors[truth[name]["look"], name[:2]].append(character_error(read.joined, "\n".join(truth[name]["lines"])))
    rows = tuple((look, lang, round(sum(rates) / len(rates), 4)) for (look, lang), rates in sorted(errors.items()))
    clean = max(rate for look, _, rate in rows if look == "clean")
    degraded = max(rate for look, _, rate in rows if look != "clean")
    ratio = round(_time_ratio([IMAGES / name for name in truth if truth[name]["look"] == "clean"], repeats), 3)
    return Measurement(
        name="ocr",
        tables=(Table("Character error", ("look", "language", "error"), rows),),
        targets=(
            Target("character error, clean", clean, "≤", CLEAN_LIMIT),
            Target("character error, the worst degraded look", degraded, "≤", DEGRADED_LIMIT),
            Target("CPU time, times bare tesseract's", ratio, "≤", TIME_LIMIT),
        ),
        figures={"errors": [list(row) for row in rows], "time_ratio": ratio},
    )


def read_image(path: Path) -> OcrText:
    """What kb reads in the first picture of a file."""
    frame = next(iter(frames(path.read_bytes())))
    return recognise(frame.grey, frame.to_original, frame.size, LANGUAGES)


def character_error(read: str, true: str) -> float:
    """The edits from `true` to `read` for each character of `true`; spaces count, their number does not."""
    return edits(read, true) / max(1, len(" ".join(true.split())))


def edits(read: str, true: str) -> int:
    """How many characters to insert, delete or replace lead from one text to the other (Levenshtein 1966)."""
    read, true = " ".join(read.split()), " ".join(true.split())
    letters = np.array([ord(letter) for letter in true], np.int64)
    places = np.arange(len(true) + 1)
    row = places
    for letter in read:
        kept = row[:-1] + (letters != ord(letter))
        row = np.concatenate(([row[0] + 1], np.minimum(row[1:] + 1, kept)))
        row = places + np.minimum.accumulate(row - places)
    return int(row[-1])


def _two_at_once(read: Callable[[Path], OcrText], paths: Sequence[Path]) -> list[OcrText]:
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(read, paths))


def _time_ratio(paths: Sequence[Path], repeats: int) -> float:
    """kb's CPU seconds for the pages over bare tesseract's, the best of some rounds that take turns."""
    read_image(paths[0])  # imports, and the program's version, once
    bare, ours = [], []
    for _ in range(repeats):
        bare.append(_cpu_seconds(lambda: _bare(paths)))
        ours.append(_cpu_seconds(lambda: _two_at_once(read_image, paths)))
    return min(ours) / min(bare)


def _bare(paths: Sequence[Path]) -> None:
    def run(path: Path) -> None:
        command = ["tesseract", str(path), "-", "-l", LANGUAGES, "tsv"]
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, "OMP_THREAD_LIMIT": "1"})

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, paths))


def _cpu_seconds(work: Callable[[], object]) -> float:
    before = os.times()
    work()
    after = os.times()
    return sum(after[:4]) - sum(before[:4])
