"""The step `transcript`: a recording's bytes → what is said in it, and when, as `transcript.json`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.metadata import version
from typing import TYPE_CHECKING

from kb.domain.derived import Engine, ExtractSettings, Job, Progress, Results, Transcript
from kb.errors import ModelMissing
from kb.extract.audio.file import SAMPLE_RATE_HZ, duration_ms, samples
from kb.extract.audio.sounding import sounding_stretches
from kb.extract.audio.transcribe import METHOD_VERSION, Heard, Listener
from kb.extract.audio.whisper import GGML_FILE, kept_whisper
from kb.models.manifest import read_installed
from kb.models.requirements import Lack, lacking_packages, missing, require

if TYPE_CHECKING:
    from kb.extract.audio.file import Samples

ENGINE = "whisper.cpp"

_REPORTED_EVERY_SAMPLES = 60 * SAMPLE_RATE_HZ


def engine(settings: ExtractSettings) -> Engine | None:
    """whisper.cpp with the configured model, as it is installed. Raises: ModelMissing, ModelCorrupt."""
    if settings.speech is None:
        return None
    lacks = lacking_packages(("av", "pywhispercpp"), "audio")
    try:
        model = read_installed(settings.speech.model_dir, settings.speech.model).model
    except ModelMissing as error:
        raise missing("recordings", [*lacks, Lack(f"the model {settings.speech.model}", str(error.hint))]) from error
    require("recordings", lacks)
    program = version("pywhispercpp")
    return Engine(ENGINE, f"{program}-{METHOD_VERSION}", f"{model.name}-{model.version}+{settings.speech.language}")


def is_needed(earlier: Results) -> bool:
    """Always: what a recording says is in its sound."""
    return True


def derive(job: Job) -> bytes:
    """The transcript; each stretch that is heard is kept. Raises: ExtractFailed, ModelCorrupt."""
    speech, made_by = job.settings.speech, engine(job.settings)
    assert speech is not None
    assert made_by is not None
    sound = _CountedSound(job)
    heard = Heard.from_json(job.kept) if job.kept else Heard.nothing(speech.language)
    listener: Listener | None = None
    for stretch in sounding_stretches(sound):
        if stretch.end_ms <= heard.until_ms:
            continue
        if listener is None:  # a silent recording loads no model
            model = kept_whisper(speech.model_dir / speech.model / GGML_FILE, speech.threads)
            listener = Listener(model, heard, sound.report, speech.language)
        listener.hear(stretch)
        job.on_kept(heard.to_json())
    transcript = Transcript(
        tuple(heard.segments), sound.elapsed_ms, heard.language, made_by.name, made_by.version, heard.left_out_ms
    )
    return json.dumps(transcript.to_json(), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


class _CountedSound:
    """The samples of a job's recording, counted as they pass and reported once a minute of sound."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._claimed_ms = duration_ms(job.data) or 0
        self._count = 0

    def __iter__(self) -> Iterator[Samples]:
        reported = 0
        for part in samples(self._job.data):
            yield part
            self._count += len(part)
            if self._count - reported >= _REPORTED_EVERY_SAMPLES:
                reported = self._count
                self.report(self.elapsed_ms)

    @property
    def elapsed_ms(self) -> int:
        """How much has passed."""
        return self._count * 1000 // SAMPLE_RATE_HZ

    def report(self, done_ms: int) -> None:
        """Tells how far the recording is heard."""
        self._job.on_progress(Progress(done_ms, max(done_ms, self._claimed_ms)))
