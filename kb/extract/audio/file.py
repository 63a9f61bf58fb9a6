"""A recording's bytes → mono samples at 16 kHz, a little at a time, by the FFmpeg libraries that PyAV ships.

A recording of hours never lies in memory as a whole. A damaged packet is left out; a file without any sound that can be
decoded is refused.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from kb.errors import ExtractFailed, worded

if TYPE_CHECKING:
    import numpy as np
    from av.container import InputContainer
    from numpy.typing import NDArray

    Samples: TypeAlias = NDArray[np.float32]
    """float32[n], −1 to 1."""

SAMPLE_RATE_HZ = 16_000

_HINT = "play it, and save it again"

# FFmpeg tells a format by the content, whatever the name: a playlist or session description called talk.mp3 would have
# it open sockets and other files. Only formats that hold their sound themselves are read, and from nowhere else.
_FORMATS = "aac,aiff,amr,ape,asf,au,avi,caf,flac,matroska,mov,mp3,mp4,mpeg,mpegts,ogg,tta,w64,wav,webm,wv"
_OPEN_OPTIONS = {"format_whitelist": _FORMATS, "protocol_whitelist": "none"}


def duration_ms(data: bytes) -> int | None:
    """How long the file says it is; None where it does not say. Raises: ExtractFailed."""
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
