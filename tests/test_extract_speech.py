"""Hearing speech: decoding, silence left out, segments on the clock, and the fixtures' sentences at their seconds."""

from __future__ import annotations

import io
import json
import sys
import wave
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from media_fixtures import MODELS, SPEECH, needs_decoder, needs_whisper, truth
from numpy.typing import NDArray

from kb.domain.derived import (
    Derived,
    Engine,
    ExtractSettings,
    Progress,
    SpeechSettings,
    StepJob,
    Transcript,
    TranscriptSegment,
)
from kb.domain.ids import AssetId
from kb.domain.kinds import MediaType
from kb.domain.spans import TimeSpan
from kb.domain.text import WorkspacePath
from kb.errors import ModelMissing
from kb.extract import speech
from kb.extract.sound import SAMPLE_RATE_HZ, Stretch, duration_ms, samples, sounding_stretches
from kb.extract.speech import Heard, Listener, assemble_audio, derive, engine, placed

sys.path.append(str(Path(__file__).parents[1]))

from benchmarks.speech import LEAST_NEAR, NEAR_MS, heard_as, transcribed

Sound = NDArray[np.float32]


def tone(seconds: float, loudness: float = 0.2) -> Sound:
    at = np.arange(int(seconds * SAMPLE_RATE_HZ)) / SAMPLE_RATE_HZ
    return (loudness * np.sin(2 * np.pi * 300 * at)).astype(np.float32)


def silence(seconds: float) -> Sound:
    return np.zeros(int(seconds * SAMPLE_RATE_HZ), np.float32)


def wav(sound: Sound) -> bytes:
    data = io.BytesIO()
    with wave.open(data, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(SAMPLE_RATE_HZ)
        file.writeframes((sound * 32767).astype("<i2").tobytes())
    return data.getvalue()


@pytest.mark.parametrize("piece", [100, 4800, 1_000_000])
def test_silence_is_left_out_however_the_sound_arrives(piece: int) -> None:
    sound = np.concatenate([silence(5), tone(2), silence(1), tone(1), silence(20), tone(3), silence(4)])
    parts = (sound[at : at + piece] for at in range(0, len(sound), piece))
    first, second = sounding_stretches(parts)
    assert first.start_ms == pytest.approx(5000 - 300, abs=40)
    assert first.end_ms == pytest.approx(9000 + 300, abs=40)
    assert second.start_ms == pytest.approx(29_000 - 300, abs=40)
    assert second.end_ms == pytest.approx(32_000 + 300, abs=40)


@pytest.mark.slow
def test_three_hours_of_silence_are_nothing() -> None:
    minute = silence(60)
    assert list(sounding_stretches(minute for _ in range(180))) == []


def test_a_click_is_nothing() -> None:
    assert list(sounding_stretches([silence(1), tone(0.05), silence(19)])) == []


def test_long_speech_is_cut_at_a_breath() -> None:
    speech = [part for _ in range(20) for part in (tone(15), silence(0.6))]
    stretches = list(sounding_stretches(speech))
    assert len(stretches) == 2
    assert stretches[0].end_ms <= stretches[1].start_ms + 30
    assert all(stretch.end_ms - stretch.start_ms <= 300_000 for stretch in stretches)
    assert sum(len(stretch.samples) for stretch in stretches) >= 19.9 * 15 * SAMPLE_RATE_HZ


def segment(t0: int, t1: int, text: str, probability: float = 0.8) -> Any:
    return SimpleNamespace(t0=t0, t1=t1, text=text, probability=probability)


def stretch_of(sound: Sound, start_ms: int = 0) -> Stretch:
    (found,) = sounding_stretches([sound])
    return found._replace(start_ms=start_ms)


def test_a_segment_loses_the_quiet_at_its_ends() -> None:
    made = placed(segment(0, 400, " Hello. "), stretch_of(np.concatenate([tone(0.3), silence(1), tone(1), silence(2)])))
    assert (made.start_ms, made.text) == (0, "Hello.")
    made = placed(segment(50, 400, "Hello."), stretch_of(np.concatenate([tone(0.3), silence(1), tone(1)]), 60_000))
    assert made.start_ms == pytest.approx(61_300, abs=40)
    assert made.end_ms == pytest.approx(62_300, abs=40)


class SpeakingModel:
    """Stands for a loaded model: it says what it was given, and hears one language with some certainty."""

    def __init__(self, *said: Any, language: str = "en", certainty: float = 0.9) -> None:
        self.said, self.heard = list(said), {"en": 0.01, "ko": 0.02, language: certainty}
        self.language = language
        self.asked: list[str] = []

    def transcribe(self, sound: Sound, *, language: str, new_segment_callback: Any, **options: Any) -> list[Any]:
        self.asked.append(language)
        for each in self.said:
            new_segment_callback(each)
        return self.said

    def auto_detect_language(self, sound: Sound) -> Any:
        return (self.language, self.heard[self.language]), self.heard


def heard_by(model: SpeakingModel, language: str, stretches: int = 1) -> Heard:
    known = Heard.nothing(language)
    listener = Listener(model, known, lambda ms: None, language)  # type: ignore[arg-type]
    for _ in range(stretches):
        listener.hear(stretch_of(tone(2)))
    return known


@pytest.fixture
def no_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """whisper.cpp is not there to log anything."""
    from contextlib import contextmanager

    @contextmanager
    def quiet() -> Iterator[list[str]]:
        yield []

    monkeypatch.setattr(speech, "log_of_whisper", quiet)


@pytest.mark.usefixtures("no_log")
@pytest.mark.parametrize("text", ["[BLANK_AUDIO]", "(upbeat music)", "♪♪", "*wind*", "...", "[Music] (laughs)", " - "])
def test_sounds_are_no_words(text: str) -> None:
    model = SpeakingModel(segment(0, 100, text), segment(100, 200, "word"))
    assert [each.text for each in heard_by(model, "en").segments] == ["word"]


@pytest.mark.usefixtures("no_log")
def test_doubtful_and_repeated_words_are_dropped() -> None:
    model = SpeakingModel(segment(0, 50, "maybe", 0.2), *(segment(50, 99, "Thank you.") for _ in range(9)))
    assert [each.text for each in heard_by(model, "en").segments] == ["Thank you."] * 2


@pytest.mark.usefixtures("no_log")
@pytest.mark.parametrize(
    ("heard", "certainty", "taken"), [("de", 0.9, "de"), ("de", 0.4, "ko"), ("en", 0.4, "en"), ("ko", 0.97, "ko")]
)
def test_the_language_that_is_heard_and_the_floor_below_it(heard: str, certainty: float, taken: str) -> None:
    model = SpeakingModel(language=heard, certainty=certainty)
    known = heard_by(model, "auto", stretches=2)
    assert (known.language, model.asked) == (taken, [taken, taken])


@pytest.mark.usefixtures("no_log")
@pytest.mark.parametrize(
    ("heard", "certainty", "taken"), [("ko", 0.9, "ko"), ("en", 0.9, "en"), ("th", 0.4, "ko"), ("de", 0.3, "ko")]
)
def test_of_several_languages_the_likeliest_is_heard(heard: str, certainty: float, taken: str) -> None:
    model = SpeakingModel(segment(0, 100, "word"), language=heard, certainty=certainty)
    known = heard_by(model, "ko+en", stretches=2)
    assert (model.asked, known.left_out_ms) == ([taken, taken], {})


@pytest.mark.usefixtures("no_log")
def test_what_is_heard_in_none_of_several_languages_is_left_out_and_counted() -> None:
    model = SpeakingModel(segment(0, 100, "อือออออ"), language="th", certainty=0.9)
    known = heard_by(model, "ko+en", stretches=2)
    assert (known.segments, model.asked, set(known.left_out_ms)) == ([], [], {"th"})
    assert known.left_out_ms["th"] == pytest.approx(4000, abs=700)
    assert Heard.from_json(known.to_json()) == known
    transcript = Transcript((), 4000, "th", "whisper.cpp", "1", known.left_out_ms)
    assert Transcript.from_json(json.loads(json.dumps(transcript.to_json()))) == transcript
    (warning,) = assembled(transcript).warnings
    assert warning.note == "4 s heard in th, which audio.language does not name, are left out"


def assembled(transcript: Transcript) -> Any:
    data = json.dumps(transcript.to_json()).encode()
    derived = Derived("transcript", Engine("whisper.cpp", "1", "base"), data)
    return assemble_audio({"transcript": derived}, workspace_path=WorkspacePath("a.mp3"), asset_id=AssetId("0" * 32))


@pytest.mark.slow
@needs_decoder
@pytest.mark.parametrize("name", ["meeting.mp3", "korean.m4a"])
def test_compressed_recordings_are_decoded_whole(name: str) -> None:
    data = (SPEECH / name).read_bytes()
    last_end_ms = next(value for key, value in truth(SPEECH).items() if key == name)["sentences"][-1][1]
    count = sum(len(part) for part in samples(data))
    assert count * 1000 // SAMPLE_RATE_HZ == pytest.approx(last_end_ms, abs=250)
    assert duration_ms(data) == pytest.approx(last_end_ms, abs=250)


@needs_decoder
@pytest.mark.parametrize("container", ["flac", "ogg", "wav", "mp4", "mp3", "aiff", "webm", "mov", "matroska"])
def test_containers(container: str) -> None:
    import av

    codecs = {"flac": "flac", "wav": "pcm_s16le", "mp4": "aac", "mov": "aac", "mp3": "libmp3lame", "aiff": "pcm_s16be"}
    codec = codecs.get(container, "libopus")
    data = io.BytesIO()
    with av.open(data, "w", format=container) as target:
        stream = target.add_stream(codec, rate=48_000, layout="stereo")
        frame = av.AudioFrame.from_ndarray((tone(2)[None, :] * 30_000).astype(np.int16), format="s16", layout="mono")
        frame.rate = SAMPLE_RATE_HZ
        for resampled in av.AudioResampler(stream.format, "stereo", 48_000, frame_size=960).resample(frame):
            target.mux(stream.encode(resampled))
        target.mux(stream.encode(None))
    count = sum(len(part) for part in samples(data.getvalue()))
    assert count == pytest.approx(2 * SAMPLE_RATE_HZ, rel=0.06)


@needs_decoder
def test_a_damaged_middle_is_left_out() -> None:
    data = bytearray((SPEECH / "meeting.mp3").read_bytes())
    data[40_000:44_000] = b"\x55" * 4000
    count = sum(len(part) for part in samples(bytes(data)))
    assert count > 35 * SAMPLE_RATE_HZ


def settings(language: str = "auto", model_dir: Path = MODELS) -> ExtractSettings:
    return ExtractSettings(speech=SpeechSettings("whisper-base", model_dir, language, threads=2))


@needs_decoder
def test_a_model_that_is_not_installed_is_named(tmp_path: Path) -> None:
    pytest.importorskip("pywhispercpp")
    with pytest.raises(ModelMissing, match="whisper-base"):
        engine(settings(model_dir=tmp_path))


@needs_decoder
@needs_whisper
def test_a_silent_recording_loads_no_model_and_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speech, "kept_whisper", None)
    told: list[Progress] = []
    job = StepJob(wav(silence(150)), MediaType("audio/wav"), {}, settings(), told.append)
    transcript = Transcript.from_json(json.loads(derive(job)))
    assert (transcript.segments, transcript.duration_ms) == ((), 150_000)
    assert [step.done for step in told] == sorted(step.done for step in told) != []


class StoppedAtOnce(Exception):
    """The run ends here."""


@needs_decoder
@pytest.mark.usefixtures("no_log")
def test_a_recording_that_was_interrupted_goes_on_from_its_last_stretch(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pywhispercpp")
    model = SpeakingModel(segment(0, 100, "Said again."))
    monkeypatch.setattr(speech, "kept_whisper", lambda *args: model)
    monkeypatch.setattr(speech, "engine", lambda settings: Engine("whisper.cpp", "1"))
    sound = wav(np.concatenate([part for _ in range(4) for part in (tone(1), silence(11))]))
    kept: list[bytes] = []

    def keep(so_far: bytes) -> None:
        kept.append(so_far)
        if len(kept) == 3:
            raise StoppedAtOnce

    job = StepJob(sound, MediaType("audio/wav"), {}, settings(), lambda progress: None, on_kept=keep)
    with pytest.raises(StoppedAtOnce):
        derive(job)
    assert [each.text for each in Heard.from_json(kept[-1]).segments] == ["Said again."] * 2
    model.asked.clear()
    resumed = derive(replace(job, kept=kept[-1]))
    assert len(model.asked) == 1, "only the stretch that was not heard yet"
    assert resumed == derive(replace(job, on_kept=lambda so_far: None)), "as if it had not been interrupted"


@needs_decoder
@pytest.mark.usefixtures("no_log")
def test_recordings_of_one_process_are_heard_by_one_model(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pywhispercpp")
    opened: list[SpeakingModel] = []

    def open_another(ggml: Path, threads: int) -> SpeakingModel:
        opened.append(SpeakingModel(segment(0, 100, "Said.")))
        return opened[-1]

    monkeypatch.setattr(speech, "open_whisper", open_another)
    monkeypatch.setattr(speech, "engine", lambda settings: Engine("whisper.cpp", "1"))
    speech.kept_whisper.cache_clear()
    try:
        for seconds in (1, 2):
            derive(StepJob(wav(tone(seconds)), MediaType("audio/wav"), {}, settings(), lambda progress: None))
    finally:
        speech.kept_whisper.cache_clear()
    (model,) = opened
    assert len(model.asked) == 2


@needs_decoder
@needs_whisper
def test_english_sentences_are_heard_at_their_second() -> None:
    transcript = transcribed(SPEECH / "meeting.mp3", MODELS, "en")
    near = 0
    sentences = truth(SPEECH)["meeting.mp3"]["sentences"]
    for start_ms, _, text in sentences:
        heard = heard_as(text, transcript)
        near += heard is not None and abs(heard.start_ms - start_ms) <= NEAR_MS
    assert near / len(sentences) >= LEAST_NEAR


def test_the_document_of_a_recording() -> None:
    segments = (TranscriptSegment(600, 2000, "Good morning."), TranscriptSegment(2500, 4000, "We begin."))
    transcript = Transcript(segments, 9000, "en", "whisper.cpp", "1-1")
    derived = Derived("transcript", Engine("whisper.cpp", "1-1", "m+en"), json.dumps(transcript.to_json()).encode())
    made = assemble_audio({"transcript": derived}, workspace_path=WorkspacePath("talk.mp3"), asset_id=AssetId("a" * 32))
    assert made.source_text == "Good morning.\nWe begin."
    span = made.blocks[1].span
    assert isinstance(span, TimeSpan)
    assert (span.start_ms, made.source_text[span.char_start : span.char_end]) == (2500, "We begin.")
    assert made.parser_version == "audio-v1;transcript=whisper.cpp-1-1,m+en"
