"""Subtitles, SubRip and WebVTT: the step `transcript`, whose document is that of a recording, cited by seconds."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence

from kb.domain.derived import Engine, ExtractSettings, Progress, StepJob, Transcript, TranscriptSegment, result_json
from kb.errors import ExtractFailed
from kb.extract.decode import decode

# Bumped whenever the same file would give other segments.
_ENGINE = Engine("kb", "captions-v1")

_MOMENT = r"(?:(\d{1,4}):)?(\d{1,2}):(\d{2})[.,](\d{3})"
_TIMES = re.compile(rf"\s*{_MOMENT}\s*-->\s*{_MOMENT}(?!\d)")
_SPEAKER = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]{1,200})>")
_MARKUP = re.compile(r"</?[a-z][^<>]*>|<[\d:.]+>|\{\\?[a-z]+[^{}]*\}", re.IGNORECASE)


def engine(settings: ExtractSettings) -> Engine:
    """The engine of this step, which is part of kb."""
    return _ENGINE


def derive(job: StepJob) -> bytes:
    """The cues as the segments of a transcript, in JSON. Raises: ExtractFailed if there are none."""
    job.on_progress(Progress(0, 1))
    text = decode(job.data).text
    cues = tuple(_cues(text.split("\n")))
    if not cues and text.strip():
        raise ExtractFailed("no line with the times of a cue", "is it a file of subtitles?")
    end_ms = max((cue.end_ms for cue in cues), default=0)
    found = Transcript(cues, end_ms, "", *_ENGINE[:2])
    return result_json(found.to_json())


def _cues(lines: Sequence[str]) -> Iterator[TranscriptSegment]:
    """The cues that have words. Neighbouring cues with the same text, as in automatic subtitles, become one."""
    before: TranscriptSegment | None = None
    for at, line in enumerate(lines):
        times = _TIMES.match(line)
        if times is None:
            continue
        end = next((below for below in range(at + 1, len(lines)) if _ends(lines, below)), len(lines))
        written = "\n".join(lines[at + 1 : end])
        speaker = _SPEAKER.search(written)
        said = " ".join(html.unescape(_MARKUP.sub("", written)).split())
        start_ms, end_ms = _ms(*times.groups()[:4]), _ms(*times.groups()[4:])
        cue = TranscriptSegment(start_ms, max(start_ms, end_ms), said, speaker[1].strip() if speaker else None)
        if before is not None and (before.text, before.speaker) == (cue.text, cue.speaker):
            before = TranscriptSegment(before.start_ms, cue.end_ms, said, cue.speaker)
            continue
        if before is not None and before.text:
            yield before
        before = cue
    if before is not None and before.text:
        yield before


def _ends(lines: Sequence[str], at: int) -> bool:
    return not lines[at].strip() or (_TIMES.match(lines[at]) is not None)


def _ms(hours: str | None, minutes: str, seconds: str, thousandths: str) -> int:
    return ((int(hours or 0) * 60 + int(minutes)) * 60 + int(seconds)) * 1000 + int(thousandths)
