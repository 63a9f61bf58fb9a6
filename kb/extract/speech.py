"""Recordings: bytes → the step `transcript` → a block for each segment of speech, with its time → Document.

whisper.cpp transcribes the stretches of sound (`kb.extract.sound`) through pywhispercpp; its segments get times of the
recording. Three gates keep noises from becoming words: silence is never transcribed, segments that Whisper marks as
noise are dropped, and so are doubtful and often repeated segments.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from kb.domain.derived import (
    Derived,
    DerivedName,
    Engine,
    ExtractSettings,
    Progress,
    StepJob,
    Transcript,
    TranscriptSegment,
    labelled_version,
    result_json,
)
from kb.domain.documents import Document, Metadata, Text
from kb.domain.ids import AssetId
from kb.domain.spans import TimeSpan
from kb.domain.text import WorkspacePath
from kb.errors import ExtractFailed, ModelCorrupt, ModelMissing
from kb.extract.document_builder import DocumentBuilder
from kb.extract.registry import EXTRACTORS
from kb.extract.sound import FRAME_MS, LEAST_LOUDNESS, SAMPLE_RATE_HZ, Stretch, duration_ms, samples, sounding_stretches
from kb.models.manifest import read_installed
from kb.models.requirements import Lack, lacking_packages, missing, require

if TYPE_CHECKING:
    from pywhispercpp.model import Model, Segment

    from kb.extract.sound import Samples

# Bumped whenever the same segments would give other blocks, spans or metadata.
PARSER_VERSION = EXTRACTORS["audio"].parser_version

# Bumped whenever the same recording would give other segments under the same whisper.cpp and model.
METHOD_VERSION = "1"

ENGINE = "whisper.cpp"
GGML_FILE = "ggml-model.bin"
AUTO_LANGUAGE = "auto"

# A language detected with less certainty than this is replaced by the likelier of kb's home languages.
LEAST_LANGUAGE_PROBABILITY = 0.5
HOME_LANGUAGES = ("en", "ko")

# Below this geometric mean of its token probabilities, a segment is taken for noise.
LEAST_CONFIDENCE = 0.4

_TICK_MS = 10  # whisper.cpp counts in hundredths of a second
_MOST_REPEATS = 2
_REPORTED_EVERY_SAMPLES = 60 * SAMPLE_RATE_HZ
_ERROR_LEVEL = 4  # of whisper.cpp's log

# Whisper's text for sounds: [BLANK_AUDIO], (upbeat music), *wind*, ♪.
_SOUND = re.compile(r"(?:\[[^\]]*\]|\([^)]*\)|\*[^*]*\*|\W)*")


def engine(settings: ExtractSettings) -> Engine | None:
    """whisper.cpp with the configured model; None if it is switched off. Raises: ModelMissing, ModelCorrupt."""
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


def derive(job: StepJob) -> bytes:
    """The transcript; each finished stretch is cached. Raises: ExtractFailed, ModelCorrupt."""
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
    return result_json(transcript.to_json())


class _CountedSound:
    """The samples of a recording, counted as they pass; reports the progress once per minute of sound."""

    def __init__(self, job: StepJob) -> None:
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
        """The duration of the samples that have passed."""
        return self._count * 1000 // SAMPLE_RATE_HZ

    def report(self, done_ms: int) -> None:
        """Reports how much of the recording is done."""
        self._job.on_progress(Progress(done_ms, max(done_ms, self._claimed_ms)))


def assemble_audio(
    derived: Mapping[DerivedName, Derived], *, workspace_path: WorkspacePath, asset_id: AssetId
) -> Document:
    """The document of a recording whose speech was transcribed."""
    step = derived["transcript"]
    transcript = Transcript.from_json(json.loads(step.data))
    label = labelled_version(PARSER_VERSION, {"transcript": step.engine.label})
    builder = DocumentBuilder(workspace_path, asset_id, label)
    at = 0
    for segment in transcript.segments:
        end = at + len(segment.text)
        span = TimeSpan(segment.start_ms, segment.end_ms, at, end, segment.speaker)
        builder.add("paragraph", Text(segment.text), span)
        at = end + 1
    for language, ms in transcript.left_out_ms.items():
        seconds = max(1, round(ms / 1000))
        note = f"{seconds} s heard in {language}, which audio.language does not name, are left out"
        builder.warn("language_left_out", note)
    if not builder.blocks and not builder.warnings:
        builder.warn("empty_file", "no speech in the recording")
    metadata = Metadata(source_type="reference", user={"duration_ms": transcript.duration_ms})
    return builder.document("\n".join(segment.text for segment in transcript.segments), metadata)


@dataclass(slots=True)
class Heard:
    """The state of a transcription after the stretches up to `until_ms`: everything that the next stretches depend on.

    `language` is empty until it is detected; `repeats` counts how often the last text was repeated. `left_out_ms` is
    the time of speech in each language that is not configured.
    """

    language: str = ""
    until_ms: int = 0
    segments: list[TranscriptSegment] = field(default_factory=list)
    last_text: str = ""
    repeats: int = 0
    left_out_ms: dict[str, int] = field(default_factory=dict)

    @staticmethod
    def nothing(language: str) -> Heard:
        """The state before the first stretch; `language` is the configured one."""
        return Heard("" if language == AUTO_LANGUAGE or _several(language) else language)

    @staticmethod
    def from_json(data: bytes) -> Heard:
        """Reads back what `to_json` wrote."""
        value = json.loads(data)
        return Heard(**{**value, "segments": [TranscriptSegment(**each) for each in value["segments"]]})

    def to_json(self) -> bytes:
        """The state as JSON: the partial result of the step."""
        return result_json(asdict(self))


def _several(language: str) -> tuple[str, ...]:
    """The languages in `ko+en`; empty for a single language or `auto`."""
    return tuple(language.split("+")) if "+" in language else ()


class Listener:
    """A model that transcribes one recording, stretch by stretch, in the configured `language`.

    `auto` means the language of the first stretch. With several languages, each stretch has one of them; a stretch in
    another language is left out.
    """

    def __init__(self, model: Model, heard: Heard, on_heard_ms: Callable[[int], None], language: str = "auto") -> None:
        self._model = model
        self._heard = heard
        self._on_heard_ms = on_heard_ms
        self._several = _several(language)

    def hear(self, stretch: Stretch) -> None:
        """Transcribes the stretch and appends its speech to `heard`. Raises: ExtractFailed."""
        heard = self._heard
        if self._several:
            heard.language = heard_language(self._model, stretch, self._several)
            if heard.language not in self._several:
                before = heard.left_out_ms.get(heard.language, 0)
                heard.left_out_ms[heard.language] = before + stretch.end_ms - stretch.start_ms
                heard.until_ms = stretch.end_ms
                self._on_heard_ms(stretch.end_ms)
                return
        elif not heard.language:
            heard.language = heard_language(self._model, stretch)

        def report(segment: Segment) -> None:
            self._on_heard_ms(stretch.start_ms + segment.t1 * _TICK_MS)

        with log_of_whisper() as errors:
            found = self._model.transcribe(
                stretch.samples, language=heard.language, extract_probability=True, new_segment_callback=report
            )
        if errors:
            raise ExtractFailed(f"whisper.cpp failed: {errors[0]}")
        heard.segments.extend(placed(segment, stretch) for segment in found if self._is_speech(segment))
        heard.until_ms = stretch.end_ms

    def _is_speech(self, segment: Segment) -> bool:
        heard, text = self._heard, segment.text.strip()
        heard.repeats = heard.repeats + 1 if text == heard.last_text else 0
        heard.last_text = text
        return not _SOUND.fullmatch(text) and segment.probability >= LEAST_CONFIDENCE and heard.repeats < _MOST_REPEATS


def heard_language(model: Model, stretch: Stretch, expected: Collection[str] = HOME_LANGUAGES) -> str:
    """The most likely language of the stretch; if that is doubtful, the most likely of the expected ones."""
    with log_of_whisper():
        (language, probability), all_languages = model.auto_detect_language(stretch.samples)
    if float(probability) >= LEAST_LANGUAGE_PROBABILITY:
        return str(language)
    return max(expected, key=lambda each: float(all_languages.get(each, 0.0)))


def placed(segment: Segment, stretch: Stretch) -> TranscriptSegment:
    """The segment with times from the start of the recording, without the silence at its ends."""
    first, end = segment.t0 * _TICK_MS // FRAME_MS, max(1, segment.t1 * _TICK_MS // FRAME_MS)
    loud = [at for at, value in enumerate(stretch.loudness[first:end], first) if value >= LEAST_LOUDNESS]
    start_ms, end_ms = (loud[0] * FRAME_MS, (loud[-1] + 1) * FRAME_MS) if loud else (first * FRAME_MS, end * FRAME_MS)
    return TranscriptSegment(
        start_ms=stretch.start_ms + start_ms,
        end_ms=min(stretch.end_ms, stretch.start_ms + end_ms),
        text=segment.text.strip(),
        confidence=round(segment.probability, 3),
    )


def open_whisper(ggml: Path, threads: int) -> Model:
    """Loads the model in the file `ggml`, for `threads` cores. Raises: ModelCorrupt."""
    from pywhispercpp.model import Model

    with log_of_whisper() as errors:
        model = Model(str(ggml), n_threads=threads, print_progress=False)
    if errors:  # the library returns a model even so, and ends the process when it is used
        raise ModelCorrupt(
            f"whisper.cpp cannot load {ggml}: {errors[0]}", f"run `kb models install --force {ggml.parent.name}`"
        )
    return model


@lru_cache(maxsize=1)
def kept_whisper(ggml: Path, threads: int) -> Model:
    """The model as from `open_whisper`, loaded once per process, as whisper.cpp frees little of a dropped model."""
    return open_whisper(ggml, threads)


@contextmanager
def log_of_whisper() -> Iterator[list[str]]:
    """Collects the errors that whisper.cpp logs inside the block; afterwards they are printed again."""
    from _pywhispercpp import whisper_log_set

    errors: list[str] = []

    def keep(level: int, line: str) -> None:
        if level >= _ERROR_LEVEL:
            errors.append(line.strip())

    whisper_log_set(keep)
    try:
        yield errors
    finally:
        whisper_log_set(None)  # a Python function would be called after the interpreter's end
