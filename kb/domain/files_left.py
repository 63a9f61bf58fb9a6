"""Estimates how long the files that an ingest has not read yet will take, from how long files of their kinds took."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from time import monotonic

from kb.domain.ingest_events import AssetFinished, AssetStarted, EmbedProgress, ScanCompleted
from kb.domain.kinds import MediaType, family_of
from kb.domain.run_handle import RunEvent

# After fewer files of a kind its time is not known: of those read side by side the first takes the time of all.
_LEAST_FILES = 3

# A document that is read a second time, for its pictures.
_PICTURES = "pictures inside"


class FilesLeft:
    """The files of a run that are left, by kind, and the seconds that each kind took so far."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        """`clock` gives seconds."""
        self._clock = clock
        self._since = clock()
        self._left: Counter[str] = Counter()
        self._read: Counter[str] = Counter()
        self._took_s: defaultdict[str, float] = defaultdict(float)
        self._kind = ""

    def note(self, event: RunEvent) -> None:
        """Takes the next event of the run."""
        if isinstance(event, ScanCompleted):
            self._begin(event.kinds)
        elif isinstance(event, EmbedProgress):  # its time is not of files
            self._since = self._clock()
        elif isinstance(event, AssetStarted):
            family = family_of(MediaType(event.media))
            self._kind = family if self._left[family] else _PICTURES
        elif isinstance(event, AssetFinished):
            now = self._clock()
            self._left[self._kind] -= 1
            self._read[self._kind] += 1
            self._took_s[self._kind] += now - self._since
            self._since = now
            self._left[_PICTURES] = event.total - event.idx - sum(self._left.values()) + self._left[_PICTURES]

    def seconds(self) -> float | None:
        """The seconds for all that is left; None while too few files of one of its kinds were read."""
        left = {kind: files for kind, files in self._left.items() if files > 0}
        if not left or any(self._read[kind] < _LEAST_FILES for kind in left):
            return None
        return sum(files * self._took_s[kind] / self._read[kind] for kind, files in left.items())

    def _begin(self, kinds: Mapping[str, int]) -> None:
        self._since = self._clock()
        self._left = Counter(kinds)
