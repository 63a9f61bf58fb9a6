"""Files of known text written by other programs (`fixtures/formats`), and what is read of them."""

from __future__ import annotations

import re
from pathlib import Path

from kb.chunk.chunkers import cut_document
from kb.domain.documents import Chunk, ChunkPolicy, Document
from kb.domain.ids import AssetId
from kb.domain.kinds import family_of, media_type_of
from kb.domain.text import WorkspacePath
from kb.extract.registry import extractor_of

FORMATS = Path(__file__).resolve().parents[1] / "fixtures/formats"

_MARKS = re.compile(r"^\s*(?:#+ |- |\d\. |> |\|[-:|\s]+\|$|```\w*$)|[*|“”\"]")


def known(language: str) -> list[str]:
    """Every line of the known text without Markdown, its words single-spaced."""
    body = (FORMATS / f"known-{language}.md").read_text(encoding="utf-8").split("---\n", 2)[2]
    return [plain for line in body.splitlines() if (plain := bare(line))]


def bare(text: str) -> str:
    """The words of a text alone, without marks, quotation marks and bars."""
    return " ".join(_MARKS.sub(" ", text).split())


def read(path: Path, name: str | None = None) -> Document:
    """The document of a file that needs no engine, called `name`."""
    called = name or path.name
    media_type = media_type_of(called)
    assert media_type is not None
    return extractor_of(family_of(media_type)).document(
        path.read_bytes(), {}, workspace_path=WorkspacePath(called), asset_id=AssetId("0" * 32)
    )


def chunks_of(document: Document, target_tokens: int = 80) -> tuple[Chunk, ...]:
    """Its passages, small ones unless told otherwise."""
    media_type = media_type_of(document.workspace_path)
    assert media_type is not None
    return cut_document(document, family_of(media_type), ChunkPolicy(target_tokens, 0, True, "md-heading-v1"))


def recall(wanted: list[str], texts: list[str]) -> float:
    """The share of the known lines that a text holds."""
    bared = [bare(text.replace("\n", " ")) for text in texts]
    return sum(any(line in text for text in bared) for line in wanted) / len(wanted)
