"""Hears what is said in stretches of sound: whisper.cpp's segments, less those that are no speech, set on the clock.

Three gates keep sounds from becoming words: silence is not heard at all (`kb.extract.sounding`), what Whisper itself
writes as a sound is dropped, and so is what it is not sure of, or says again and again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from kb.domain.derived import TranscriptSegment
from kb.errors import ExtractFailed
from kb.extract.sounding import FRAME_MS, LEAST_LOUDNESS, Stretch
from kb.extract.whisper import log_of_whisper

if TYPE_CHECKING:
    from pywhispercpp.model import Model, Segment

# Bumped whenever the same recording would give other segments under the same whisper.cpp and model.
METHOD_VERSION = "1"

AUTO_LANGUAGE = "auto"

# A language heard with less certainty than this gives way to the likelier of those that kb is made for.
LEAST_LANGUAGE_PROBABILITY = 0.5
HOME_LANGUAGES = ("en", "ko")

# The geometric mean of a segment's token probabilities below which it is taken for noise heard as words.
LEAST_CONFIDENCE = 0.4

_TICK_MS = 10  # whisper.cpp counts in hundredths of a second
_MOST_REPEATS = 2

# What Whisper writes for sounds: [BLANK_AUDIO], (upbeat music), *wind*, ♪.
_SOUND = re.compile(r"(?:\[[^\]]*\]|\([^)]*\)|\*[^*]*\*|\W)*")


class Listener:
    """A model that hears one recording, stretch by stretch; the first stretch decides the language."""

    def __init__(self, model: Model, language: str, on_heard_ms: Callable[[int], None]) -> None:
        self._model = model
        self._on_heard_ms = on_heard_ms
        self._last_text = ""
        self._repeats = 0
        self.language = "" if language == AUTO_LANGUAGE else language

    def hear(self, stretch: Stretch) -> Iterator[TranscriptSegment]:
        """What is said in the stretch, in order. Raises: ExtractFailed."""
        if not self.language:
            self.language = heard_language(self._model, stretch)

        def heard(segment: Segment) -> None:
            self._on_heard_ms(stretch.start_ms + segment.t1 * _TICK_MS)

        with log_of_whisper() as errors:
            found = self._model.transcribe(
                stretch.samples, language=self.language, extract_probability=True, new_segment_callback=heard
            )
        if errors:
            raise ExtractFailed(f"whisper.cpp failed: {errors[0]}")
        for segment in found:
            if self._is_speech(segment):
                yield placed(segment, stretch)

    def _is_speech(self, segment: Segment) -> bool:
        text = segment.text.strip()
        self._repeats = self._repeats + 1 if text == self._last_text else 0
        self._last_text = text
        return not _SOUND.fullmatch(text) and segment.probability >= LEAST_CONFIDENCE and self._repeats < _MOST_REPEATS


def heard_language(model: Model, stretch: Stretch) -> str:
    """The language spoken in the stretch: the likeliest, or where that is doubtful, the likelier of the home ones."""
    with log_of_whisper():
        (language, probability), all_languages = model.auto_detect_language(stretch.samples)
    if float(probability) >= LEAST_LANGUAGE_PROBABILITY:
        return str(language)
    return max(HOME_LANGUAGES, key=lambda home: float(all_languages[home]))


def placed(segment: Segment, stretch: Stretch) -> TranscriptSegment:
    """The segment on the recording's clock, without the quiet at its ends."""
    first, end = segment.t0 * _TICK_MS // FRAME_MS, max(1, segment.t1 * _TICK_MS // FRAME_MS)
    loud = [at for at, value in enumerate(stretch.loudness[first:end], first) if value >= LEAST_LOUDNESS]
    start_ms, end_ms = (loud[0] * FRAME_MS, (loud[-1] + 1) * FRAME_MS) if loud else (first * FRAME_MS, end * FRAME_MS)
    return TranscriptSegment(
        start_ms=stretch.start_ms + start_ms,
        end_ms=min(stretch.end_ms, stretch.start_ms + end_ms),
        text=segment.text.strip(),
        confidence=round(segment.probability, 3),
    )
