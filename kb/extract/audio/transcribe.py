"""Hears what is said in stretches of sound: whisper.cpp's segments, less those that are no speech, set on the clock.

Three gates keep sounds from becoming words: silence is not heard at all (`kb.extract.audio.sounding`), what Whisper
itself writes as a sound is dropped, and so is what it is not sure of, or says again and again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from kb.domain.derived import TranscriptSegment
from kb.errors import ExtractFailed
from kb.extract.audio.sounding import FRAME_MS, LEAST_LOUDNESS, Stretch
from kb.extract.audio.whisper import log_of_whisper

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


@dataclass(slots=True)
class Heard:
    """What is known of a recording after the stretches up to `until_ms`: all that the next ones depend on.

    `language` is empty until it is heard; `repeats` is how often the last text was said again. `left_out_ms` is how
    much was heard in each language that nobody asked for.
    """

    language: str = ""
    until_ms: int = 0
    segments: list[TranscriptSegment] = field(default_factory=list)
    last_text: str = ""
    repeats: int = 0
    left_out_ms: dict[str, int] = field(default_factory=dict)

    @staticmethod
    def nothing(language: str) -> Heard:
        """Before the first stretch; `language` as it is configured."""
        return Heard("" if language == AUTO_LANGUAGE or _several(language) else language)

    @staticmethod
    def from_json(data: bytes) -> Heard:
        """What `to_json` wrote, read back."""
        value = json.loads(data)
        return Heard(**{**value, "segments": [TranscriptSegment(**each) for each in value["segments"]]})

    def to_json(self) -> bytes:
        """The form in which a transcript that is not finished is kept."""
        return json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _several(language: str) -> tuple[str, ...]:
    """The languages that `ko+en` names; none where one is told, or is to be heard whatever it is."""
    return tuple(language.split("+")) if "+" in language else ()


class Listener:
    """A model that hears one recording, stretch by stretch, in the `language` that is configured.

    `auto` is what the first stretch is in. Of several each stretch is in one; what is in none of them is left out.
    """

    def __init__(self, model: Model, heard: Heard, on_heard_ms: Callable[[int], None], language: str = "auto") -> None:
        self._model = model
        self._heard = heard
        self._on_heard_ms = on_heard_ms
        self._several = _several(language)

    def hear(self, stretch: Stretch) -> None:
        """Adds what is said in the stretch to what is heard. Raises: ExtractFailed."""
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
    """The language spoken in the stretch: the likeliest, or where that is doubtful, the likeliest of the expected."""
    with log_of_whisper():
        (language, probability), all_languages = model.auto_detect_language(stretch.samples)
    if float(probability) >= LEAST_LANGUAGE_PROBABILITY:
        return str(language)
    return max(expected, key=lambda each: float(all_languages.get(each, 0.0)))


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
