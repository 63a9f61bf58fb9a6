"""What a step is: a module that derives one result from a file's bytes with an engine (`kb.domain.ingest.derived`).

A step's module has three functions, and the extractor's module builds the document from what the steps derived:

    engine(settings)    which engine would do it; asked in the main process, so it loads nothing
    is_needed(earlier)  whether there is anything to do, after the steps before it
    derive(job)         the result as JSON; runs in a worker process, which may be killed
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias

from kb.domain.documents import Document
from kb.domain.ids import AssetId
from kb.domain.ingest.derived import Derived, DerivedName, Engine
from kb.domain.kinds import MediaType
from kb.domain.paths import WorkspacePath

Results: TypeAlias = Mapping[DerivedName, bytes]
"""What earlier steps derived from the same file, as JSON."""


@dataclass(frozen=True, slots=True)
class OcrSettings:
    """`languages` as tesseract names them; `page_dpi` is how fine the pages of a PDF are rasterised."""

    languages: str
    page_dpi: int


@dataclass(frozen=True, slots=True)
class CaptionSettings:
    """The vision model that describes images, and where Ollama answers."""

    model: str
    endpoint: str


@dataclass(frozen=True, slots=True)
class SpeechSettings:
    """The speech model and where models are installed; `language` is a code, or `auto` to let it be heard."""

    model: str
    model_dir: Path
    language: str
    threads: int


@dataclass(frozen=True, slots=True)
class ExtractSettings:
    """What the configuration says of every engine; None where one is switched off.

    `pdf_passwords` are those of encrypted PDFs, given for such a file alone; they are shown nowhere.
    """

    ocr: OcrSettings | None = None
    caption: CaptionSettings | None = None
    speech: SpeechSettings | None = None
    pdf_passwords: tuple[str, ...] = field(default=(), repr=False)


class Progress(NamedTuple):
    """How far a step has come: `done` of `total` pages, or milliseconds of sound."""

    done: int
    total: int


OnProgress: TypeAlias = Callable[[Progress], None]

OnKept: TypeAlias = Callable[[bytes], None]
"""Takes what a step has derived so far, in a form of its own, in place of what it gave before."""


def keep_nothing(so_far: bytes) -> None:
    """Forgets what it is given: for a step that runs to its end at once."""


@dataclass(frozen=True, slots=True)
class Job:
    """One file for one step. `on_progress` must be called every few seconds: a silent worker counts as hung.

    A step that takes minutes hands what it has so far to `on_kept`. When its run is stopped, the next one with equal
    bytes and an equal engine gets it back as `kept`.
    """

    data: bytes
    media_type: MediaType
    earlier: Results
    settings: ExtractSettings
    on_progress: OnProgress
    kept: bytes | None = None
    on_kept: OnKept = keep_nothing


class StepModule(Protocol):
    """A module that derives one result."""

    def engine(self, settings: ExtractSettings) -> Engine | None:
        """The engine that would do it; None where it is switched off.

        Raises: ModelMissing where it is not installed.
        """

    def is_needed(self, earlier: Results) -> bool:
        """Whether there is anything for the engine to do."""

    def derive(self, job: Job) -> bytes:
        """The result as JSON. Raises: ExtractFailed for a file that cannot be read."""


class Extract(Protocol):
    """Reads one file's bytes into a document; raises `ExtractFailed` where there is nothing to keep."""

    def __call__(self, data: bytes, *, workspace_path: WorkspacePath, asset_id: AssetId) -> Document:
        """The document in `data`."""


class Assemble(Protocol):
    """Builds a file's document from what was derived from its bytes; runs no engine."""

    def __call__(
        self, derived: Mapping[DerivedName, Derived], *, workspace_path: WorkspacePath, asset_id: AssetId
    ) -> Document:
        """The document; `parser_version` is `labelled_version` of what it was made with."""
