"""Derived results: what engines read from a file (text of pages, pixels and sound; a caption), and their steps.

A derived result costs seconds, so it is kept twice: in the cache, by the file's content and the engine with all that
moves its output (`Engine.label`), and beside the index as `artifacts/<doc_id>/<name>.json`. Both hold the same bytes,
the JSON of one of the classes below. An extractor is therefore in two halves: steps that derive, in a worker process,
and one that builds the document from what was derived, at once and without an engine.

The module of a step derives one result, by these functions:

    engine(settings)    which engine would do it; asked in the main process, so it loads nothing
    is_needed(earlier)  whether there is anything to do, after the steps before it; only of a step that is asked
    derive(job)         the result as JSON; runs in a worker process, which may be killed
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, cast

from kb.domain.citations import Box
from kb.domain.documents import Document
from kb.domain.ids import AssetId, Json
from kb.domain.kinds import MediaType
from kb.domain.on_wire import on_wire
from kb.domain.text import WorkspacePath

DerivedName = Literal[
    "pdf-text", "ocr", "caption", "transcript", "plugin-text", "parts", "thumbnail", "page-words", "members"
]
"""`thumbnail`, a picture, and `page-words` are for people, `members` those of an archive: not part of a document."""

DERIVED_NAMES: tuple[DerivedName, ...] = ("pdf-text", "ocr", "caption", "transcript", "plugin-text", "parts")


def result_json(value: object) -> bytes:
    """A derived result as it is stored: compact JSON in UTF-8, with `?` for half a surrogate pair."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


class Engine(NamedTuple):
    """The engine that makes a derived result. Equal engines make equal results from equal bytes.

    `settings` names everything else that changes the output: languages, resolution, model.
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

IN_PART = "in-part"
"""Behind the settings of an engine whose process ended before its result was whole: the next run goes on with it."""


def labelled_version(base: str, labels: Mapping[DerivedName, str]) -> str:
    """`pdf-v2;pdf-text=pymupdf-1.28.2;ocr=none`: a document's parser version, with the engines it depends on."""
    return ";".join([base, *(f"{name}={label}" for name, label in labels.items())])


def read_labels(parser_version: str) -> tuple[str, dict[DerivedName, str]]:
    """Parses what `labelled_version` wrote: the base version, and the engine of each result."""
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
        """Reads back what `to_json` wrote."""
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
        """Reads back what `to_json` wrote."""
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
    """The speech of one recording of `duration_ms`, in order; `language` is the configured or the detected one.

    `left_out_ms`: milliseconds of speech by language, for languages that were not asked for; no segment contains it.
    """

    segments: tuple[TranscriptSegment, ...]
    duration_ms: int
    language: str
    engine: str
    engine_version: str
    left_out_ms: Mapping[str, int] = field(default_factory=dict)

    @staticmethod
    def from_json(value: Any) -> Transcript:
        """Reads back what `to_json` wrote."""
        return Transcript(**{**value, "segments": tuple(TranscriptSegment(**each) for each in value["segments"])})

    def to_json(self) -> dict[str, Json]:
        """The form that is cached, and kept as `transcript.json`."""
        return asdict(self)


Results: TypeAlias = Mapping[DerivedName, bytes]
"""What earlier steps derived from the same file, as JSON."""


@dataclass(frozen=True, slots=True)
class OcrSettings:
    """`languages` are tesseract's names of languages; `page_dpi` is the resolution at which PDF pages are rendered."""

    languages: str
    page_dpi: int


@dataclass(frozen=True, slots=True)
class CaptionSettings:
    """The vision model that describes images, and the address of the Ollama server that runs it."""

    model: str
    endpoint: str


@dataclass(frozen=True, slots=True)
class SpeechSettings:
    """The speech model, and the folder of installed models; `language` is a code, or `auto` to detect it."""

    model: str
    model_dir: Path
    language: str
    threads: int


@dataclass(frozen=True, slots=True)
class ExtractSettings:
    """The settings of every engine; None for an engine that is switched off.

    `pdf_passwords` are tried on encrypted PDFs only, and are shown nowhere.
    """

    ocr: OcrSettings | None = None
    caption: CaptionSettings | None = None
    speech: SpeechSettings | None = None
    pdf_passwords: tuple[str, ...] = field(default=(), repr=False)


class Progress(NamedTuple):
    """The progress of a step: `done` of `total` pages, or milliseconds of sound."""

    done: int
    total: int


OnProgress: TypeAlias = Callable[[Progress], None]

OnKept: TypeAlias = Callable[[bytes], None]
"""Receives a step's partial result, in the step's own form; it replaces the one before."""


def keep_nothing(so_far: bytes) -> None:
    """Drops partial results: for a step that cannot be resumed."""


@dataclass(slots=True)
class Inside:
    """How many more bytes the files inside one file (an archive, a mailbox) may expand to, at all levels together."""

    left_bytes: int = 100_000_000

    @classmethod
    def of(cls, data: bytes) -> Inside:
        """The limit for one file: 100 MB plus eight times the size of `data`."""
        return cls(100_000_000 + 8 * len(data))


@dataclass(frozen=True, slots=True)
class StepJob:
    """The work of one step on one file. `on_progress` must be called every few seconds: a silent worker counts as hung.

    A step that takes minutes hands its partial result to `on_kept`. If the run is stopped, the next run gives that
    result back as `kept`, provided that the bytes and the engine are the same.
    """

    data: bytes
    media_type: MediaType
    earlier: Results
    settings: ExtractSettings
    on_progress: OnProgress
    kept: bytes | None = None
    on_kept: OnKept = keep_nothing
    inside: Inside = field(default_factory=Inside)


class StepModule(Protocol):
    """A module that derives one result."""

    def engine(self, settings: ExtractSettings) -> Engine | None:
        """The engine that would do this step; None if switched off. Raises: ModelMissing if it is not installed."""

    def derive(self, job: StepJob) -> bytes:
        """The result as JSON. Raises: ExtractFailed for a file that cannot be read."""


class AskedStepModule(StepModule, Protocol):
    """A module that derives one result where there is anything to do."""

    def is_needed(self, earlier: Results) -> bool:
        """Whether there is anything for the engine to do, after the steps before it."""


class Extract(Protocol):
    """Reads one file's bytes into a document; raises `ExtractFailed` where there is nothing to keep."""

    def __call__(self, data: bytes, *, workspace_path: WorkspacePath, asset_id: AssetId) -> Document:
        """Reads `data` as a document."""


class ExtractWith(Protocol):
    """Reads one file's bytes into a document, with what steps have derived from it, if anything."""

    def __call__(
        self, data: bytes, derived: Mapping[DerivedName, Derived], *, workspace_path: WorkspacePath, asset_id: AssetId
    ) -> Document:
        """Reads `data` as a document."""


class Assemble(Protocol):
    """Builds a file's document from the derived results of its bytes; runs no engine."""

    def __call__(
        self, derived: Mapping[DerivedName, Derived], *, workspace_path: WorkspacePath, asset_id: AssetId
    ) -> Document:
        """Builds the document; its `parser_version` is the `labelled_version` of its engines."""
