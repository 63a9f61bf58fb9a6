"""Where a passage stands in its source. Lines count from 1; ends are inclusive for lines, exclusive for bytes."""

from __future__ import annotations

from dataclasses import dataclass

from kb.domain.ids import Json


@dataclass(frozen=True, slots=True)
class LineSpan:
    """Whole lines `start`..`end` of a text file, counted from 1, both included."""

    start: int
    end: int

    def to_json(self) -> dict[str, Json]:
        """The stored form, as in `blocks.source_span_json`."""
        return {"kind": "line", "start": self.start, "end": self.end}


# Pages, regions, times and code units join this union with the extractors that make them.
SourceSpan = LineSpan
