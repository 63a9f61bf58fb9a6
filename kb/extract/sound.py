"""A recording's bytes → mono samples at 16 kHz → its stretches of audible sound.

PyAV's FFmpeg libraries decode it piece by piece, so that a long recording is never in memory as a whole. Damaged
packets are left out; a file without decodable sound is refused. Silence is never passed to the recogniser: Whisper
turns it into learned phrases (`Thank you for watching`), and takes as long as for speech.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kb.errors import ExtractFailed, worded

if TYPE_CHECKING:
    import numpy as np
    from av.container import InputContainer
    from numpy.typing import NDArray

    Samples: TypeAlias = NDArray[np.float32]
    """float32[n], −1 to 1."""

SAMPLE_RATE_HZ = 16_000

_HINT = "play it, and save it again"

# FFmpeg detects a format by the content, whatever the name: a playlist or session description called talk.mp3 would
# make it open sockets and other files. Only formats that contain their sound are read, and no other source.
_FORMATS = "aac,aiff,amr,ape,asf,au,avi,caf,flac,matroska,mov,mp3,mp4,mpeg,mpegts,ogg,tta,w64,wav,webm,wv"
_OPEN_OPTIONS = {"format_whitelist": _FORMATS, "protocol_whitelist": "none"}

FRAME_MS = 30
_FRAME_SAMPLES = SAMPLE_RATE_HZ * FRAME_MS // 1000

# Root mean square of a frame: −48 dB of full scale. Rooms hum below it, quiet speakers speak above it.
LEAST_LOUDNESS = 0.004

_LEAD_FRAMES = 10
# Whisper processes half a minute at once: splitting at shorter pauses would cost more than it saves.
_PAUSE_FRAMES = 10_000 // FRAME_MS
_BREATH_FRAMES = 300 // FRAME_MS
_WISHED_FRAMES = 240_000 // FRAME_MS
_MOST_FRAMES = 300_000 // FRAME_MS
_LEAST_LOUD_FRAMES = 3


def duration_ms(data: bytes) -> int | None:
    """The duration in the file's header; None if it has none. Raises: ExtractFailed."""
    with _opened(data) as container:
        return container.duration // 1000 if container.duration else None


def samples(data: bytes) -> Iterator[Samples]:
    """The sound of the file's first audio track. Raises: ExtractFailed."""
    import av

    decoded = False
    with _opened(data) as container:
        resampler = av.AudioResampler(format="flt", layout="mono", rate=SAMPLE_RATE_HZ)
        for packet in container.demux(container.streams.audio[0]):
            try:
                frames = packet.decode()
            except av.FFmpegError:
                continue
            for frame in frames:
                for even in resampler.resample(frame):
                    decoded = True
                    yield even.to_ndarray()[0]
        if decoded:
            for even in resampler.resample(None):
                yield even.to_ndarray()[0]
    if not decoded:
        raise ExtractFailed("no sound in the file can be decoded", _HINT)


@contextmanager
def _opened(data: bytes) -> Iterator[InputContainer]:
    import av

    try:
        with av.open(io.BytesIO(data), mode="r", options=dict(_OPEN_OPTIONS)) as container:
            if not container.streams.audio:
                raise ExtractFailed("the file holds no sound", "is it a recording?")
            yield container
    except av.FFmpegError as error:
        raise ExtractFailed(f"not a recording, or damaged: {error.strerror or worded(error)}", _HINT) from error


class Stretch(NamedTuple):
    """Sound without a long pause, at most five minutes. `loudness` is float32[frames]; a frame is 30 ms."""

    start_ms: int
    samples: Samples
    loudness: NDArray[np.float32]

    @property
    def end_ms(self) -> int:
        """The end in milliseconds from the start of the recording."""
        return self.start_ms + len(self.samples) * 1000 // SAMPLE_RATE_HZ


def sounding_stretches(parts: Iterable[Samples]) -> Iterator[Stretch]:
    """The stretches of a recording, in order, each with a little silence around it."""
    import numpy as np

    held: list[Samples] = []  # frames of the stretch, or the silence before it
    loudness: list[float] = []
    first, loud, quiet = 0, 0, 0  # number of the first frame held, loud frames among them, quiet ones at the end

    def stretch(kept: int) -> Stretch:
        return Stretch(first * FRAME_MS, np.concatenate(held[:kept]), np.array(loudness[:kept], np.float32))

    for at, frame in enumerate(_frames(parts)):
        held.append(frame)
        loudness.append(math.sqrt(float(frame @ frame) / len(frame)))
        if loudness[-1] >= LEAST_LOUDNESS:
            loud, quiet = loud + 1, 0
        else:
            quiet += 1
        long = len(held) >= _MOST_FRAMES or (len(held) >= _WISHED_FRAMES and quiet >= _BREATH_FRAMES)
        if loud and (quiet >= _PAUSE_FRAMES or long):
            if loud >= _LEAST_LOUD_FRAMES:
                yield stretch(len(held) - max(0, quiet - _LEAD_FRAMES))
            held, loudness, loud, quiet, first = [], [], 0, 0, at + 1
        elif not loud and len(held) > _LEAD_FRAMES:
            del held[0], loudness[0]
            first += 1
    if loud >= _LEAST_LOUD_FRAMES:
        yield stretch(len(held) - max(0, quiet - _LEAD_FRAMES))


def _frames(parts: Iterable[Samples]) -> Iterator[Samples]:
    """The samples in frames of 30 ms; the last one is padded with silence."""
    import numpy as np

    rest = np.zeros(0, np.float32)
    for part in parts:
        joined = np.concatenate((rest, part)) if len(rest) else part
        whole = len(joined) // _FRAME_SAMPLES * _FRAME_SAMPLES
        yield from joined[:whole].reshape(-1, _FRAME_SAMPLES)
        rest = joined[whole:]
    if len(rest):
        yield np.concatenate((rest, np.zeros(_FRAME_SAMPLES - len(rest), np.float32)))
