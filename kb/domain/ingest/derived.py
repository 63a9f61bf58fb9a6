"""What engines make of a file's bytes: the text of its pages, of its pixels, of its sound; a caption.

A derived result costs seconds, so it is kept twice: in the cache, by the file's content and the engine with all that
moves its output (`Engine.label`), and beside the index as `artifacts/<doc_id>/<name>.json`. Both hold the same bytes,
the JSON of one of the classes below. An extractor is therefore in two halves: one that derives, in a process of its
own, and one that builds the document from what was derived, at once and without an engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple, cast

from kb.domain.ids import Json
from kb.domain.media_citations import Box
from kb.domain.on_wire import on_wire

DerivedName = Literal["pdf-text", "ocr", "caption", "transcript", "plugin-text", "thumbnail"]
"""`thumbnail` is drawn to be looked at, and part of no document."""

DERIVED_NAMES: tuple[DerivedName, ...] = ("pdf-text", "ocr", "caption", "transcript", "plugin-text")


class Engine(NamedTuple):
    """What makes a derived result. Equal engines make equal results of equal bytes.

    `settings` names what moves the output and is not part of the version: languages, resolution, model.
    """

    name: str
    version: str
    settings: str = ""

    @property
    def label(self) -> str:
        """`tesseract-5.3.0,kor+eng`: part of the cache's key and of a document's `parser_version`."""
        return f"{self.name}-{self.version}" + (f",{self.settings}" if self.settings else "")


NOT_DERIVED = "none"
"""The label of a step that was needed and could not run: switched off, or not installed."""


def labelled_version(base: str, labels: Mapping[DerivedName, str]) -> str:
    """`pdf-v2;pdf-text=pymupdf-1.28.2;ocr=none`: a document's parser version, with the engines it depends on."""
    return ";".join([base, *(f"{name}={label}" for name, label in labels.items())])


def read_labels(parser_version: str) -> tuple[str, dict[DerivedName, str]]:
    """`labelled_version`, read back: the base, and the engine of each result."""
    base, *parts = parser_version.split(";")
    labels = {cast(DerivedName, name): label for name, _, label in (part.partition("=") for part in parts)}
    return base, labels


@dataclass(frozen=True, slots=True)
class Derived:
    """One derived result: its name, the engine that made it, and its JSON."""

    name: DerivedName
    engine: Engine
    data: bytes


@dataclass(frozen=True, slots=True)
class OcrRegion:
    """One line of recognised text: its place in the image, its confidence (0 to 1), and the block it belongs to.

    `block` counts from 0; lines of one block follow each other.
    """

    box: Box
    text: str
    confidence: float
    block: int


@dataclass(frozen=True, slots=True)
class OcrText:
    """The recognised lines of one image (or page) of `width` × `height` pixels, in reading order."""

    regions: tuple[OcrRegion, ...]
    width: int
    height: int
    engine: str
    engine_version: str

    @staticmethod
    def from_json(value: Any) -> OcrText:
        """What `to_json` wrote, read back."""
        regions = tuple(
            OcrRegion(Box(*line["box"]), line["text"], line["confidence"], line["block"]) for line in value["regions"]
        )
        return OcrText(regions, value["width"], value["height"], value["engine"], value["engine_version"])

    def to_json(self) -> dict[str, Json]:
        """The form that is cached, and kept as `ocr.json`."""
        return asdict(self)

    @property
    def joined(self) -> str:
        """The text: lines end in a newline, blocks are set apart by an empty line."""
        parts: list[str] = []
        for before, region in zip((None, *self.regions), self.regions, strict=False):
            if before is not None:
                parts.append("\n" if before.block == region.block else "\n\n")
            parts.append(region.text)
        return "".join(parts)


@dataclass(frozen=True, slots=True)
class ModelCaption:
    """What a vision model says an image shows."""

    text: str
    model: str
    model_version: str

    @staticmethod
    def from_json(value: Any) -> ModelCaption:
        """What `to_json` wrote, read back."""
        return ModelCaption(value["text"], value["model"], value["model_version"])

    def to_json(self) -> dict[str, Json]:
        """The form that is cached, and kept as `caption.json`."""
        return asdict(self)


@on_wire(title="SpokenV1", fields="start_ms end_ms text")
@dataclass(frozen=True, slots=True)
class TranscriptSegment:
    """A stretch of speech in a recording, in milliseconds from its start."""

    start_ms: int
    end_ms: int
    text: str
    speaker: str | None = None
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Transcript:
    """The speech of one recording of `duration_ms`, in order; `language` as the engine was told or found.

    `left_out_ms` is how much was heard in each language that was not asked for, and is in no segment.
    """

    segments: tuple[TranscriptSegment, ...]
    duration_ms: int
    language: str
    engine: str
    engine_version: str
    left_out_ms: Mapping[str, int] = field(default_factory=dict)

    @staticmethod
    def from_json(value: Any) -> Transcript:
        """What `to_json` wrote, read back."""
        return Transcript(**{**value, "segments": tuple(TranscriptSegment(**each) for each in value["segments"])})

    def to_json(self) -> dict[str, Json]:
        """The form that is cached, and kept as `transcript.json`."""
        return asdict(self)
