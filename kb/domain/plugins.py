"""Protocols for plugins: readers of files, rules where passages begin, encoders, rerankers, judges.

Each is found by an entry point (docs/python.md). The entry point names a class, or a function without parameters, whose
result is one of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from kb.domain.embeddings import Role

PluginKind = Literal["extractor", "chunker", "embedder", "reranker", "claim_judge"]
PLUGIN_KINDS: tuple[PluginKind, ...] = ("extractor", "chunker", "embedder", "reranker", "claim_judge")


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Lines `first_line`..`last_line` of a text, from 1, both included, that belong together.

    A heading has its level, 1 to 6, and its `text` as it is shown; of other blocks `text` is what the lines say without
    markup, empty where that is the lines themselves.
    """

    first_line: int
    last_line: int
    text: str = ""
    heading_level: int = 0


@dataclass(frozen=True, slots=True)
class ExtractedText:
    """The content of a text file: its blocks from the top, none above the one before it; its title where it has one."""

    blocks: Sequence[TextBlock]
    title: str | None = None
    tags: Sequence[str] = ()


class TextExtractor(Protocol):
    """Reads text files of kinds that kb does not know. A passage of such a file is cited by the file's lines."""

    @property
    def extensions(self) -> Sequence[str]:
        """How the names of such files end, in lower case and without the dot: `sbv`."""

    def extract(self, text: str, extension: str) -> ExtractedText:
        """The blocks of a file with that extension, its text decoded, with `\\n` between the lines."""


class SectionChunker(Protocol):
    """Says where passages begin. What is longer than an embedder reads is cut further, as everywhere."""

    @property
    def kinds(self) -> Sequence[str]:
        """The kinds it cuts: `markdown`, or the names of extractors."""

    def starts(self, text: str, blocks: Sequence[TextBlock]) -> Sequence[int]:
        """Indexes into `blocks`, ascending, at which sections begin. Block 0 always does; listing it is optional."""


class TextEmbedder(Protocol):
    """Encodes texts; equal texts under one version of its package get equal vectors."""

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""

    def embed(self, texts: Sequence[str], role: Role) -> Sequence[Sequence[float]]:
        """A vector a text, in their order; of any length, as they are compared by cosine."""


class PassageReranker(Protocol):
    """Reads a question and a passage together."""

    def score(self, question: str, passages: Sequence[str]) -> Sequence[float]:
        """One number a passage, in their order, higher where it answers better."""


class SupportJudge(Protocol):
    """Says whether sources support a sentence that was written from them."""

    def judge(self, claim: str, sources: Sequence[str]) -> Literal["support", "contradiction", "unknown"]:
        """The verdict of the sources, at least one, on the claim; `unknown` if they show neither."""
