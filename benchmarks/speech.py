"""Where the fixtures' English sentences are heard, in seconds from the truth; time against bare pywhispercpp."""

from __future__ import annotations

import json
import os
import time
from difflib import SequenceMatcher
from pathlib import Path

from benchmarks.measurement import Measurement, Table, Target
from kb.domain.derived import ExtractSettings, SpeechSettings, StepJob, Transcript, TranscriptSegment

SPEECH = Path(__file__).resolve().parents[1] / "fixtures" / "media" / "speech"
MODEL = "whisper-base"
NEAR_MS, LEAST_NEAR, TIME_LIMIT = 2000, 0.95, 1.15
THREADS = 1  # with more, threads that wait for each other count as work


def measure(data: Path | None = None, *, repeats: int = 2) -> Measurement:
    """The share of sentences heard within two seconds of their start, and CPU time over bare pywhispercpp's."""
    model_dir = Path(os.environ["KB_TEST_MODEL_DIR"])
    recording = SPEECH / "meeting.mp3"
    bare, ours = [], []
    for _ in range(repeats):
        started = time.process_time()
        _bare(model_dir, recording)
        bare.append(time.process_time() - started)
        started = time.process_time()
        transcript = transcribed(recording, model_dir, "en")
        ours.append(time.process_time() - started)
    sentences = json.loads((SPEECH / "truth.json").read_text(encoding="utf-8"))["meeting.mp3"]["sentences"]
    rows = []
    for start_ms, _, text in sentences:
        segment = heard_as(text, transcript)
        away_ms = abs(segment.start_ms - start_ms) if segment else None
        rows.append((text, segment.text if segment else "", -1 if away_ms is None else away_ms))
    near = sum(0 <= away_ms <= NEAR_MS for _, _, away_ms in rows) / len(rows)
    ratio = round(min(ours) / min(bare), 3)
    return Measurement(
        name="speech",
        tables=(Table("Sentences", ("said", "heard", "ms away"), tuple(rows)),),
        targets=(
            Target("sentences heard within 2 s", round(near, 3), "≥", LEAST_NEAR),
            Target("CPU time, times bare pywhispercpp's", ratio, "≤", TIME_LIMIT),
        ),
        figures={"near": near, "time_ratio": ratio},
    )


def transcribed(recording: Path, model_dir: Path, language: str) -> Transcript:
    """What kb hears in a recording."""
    from kb.extract.speech import derive

    settings = ExtractSettings(speech=SpeechSettings(MODEL, model_dir, language, threads=THREADS))
    job = StepJob(recording.read_bytes(), "audio/mp3", {}, settings, lambda progress: None)  # type: ignore[arg-type]
    return Transcript.from_json(json.loads(derive(job)))


def heard_as(sentence: str, transcript: Transcript) -> TranscriptSegment | None:
    """The segment that holds most of the sentence's words, at least half of them."""

    def share(segment: TranscriptSegment) -> float:
        said, heard = sentence.lower().split(), segment.text.lower().split()
        match = SequenceMatcher(None, said, heard, autojunk=False)
        return sum(block.size for block in match.get_matching_blocks()) / len(said)

    best = max(transcript.segments, key=share, default=None)
    return best if best and share(best) >= 0.5 else None


def _bare(model_dir: Path, recording: Path) -> None:
    import numpy as np

    from kb.extract.sound import samples
    from kb.extract.speech import GGML_FILE, open_whisper

    model = open_whisper(model_dir / MODEL / GGML_FILE, threads=THREADS)
    model.transcribe(np.concatenate(list(samples(recording.read_bytes()))), language="en")
