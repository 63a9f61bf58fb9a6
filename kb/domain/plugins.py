"""Protocols for plugins: extractors, chunkers, encoders, rerankers and judges.

kb finds a plugin by its entry point (docs/python.md), which names a class, or a function without parameters that
returns an object of one of these protocols.
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

    A heading has its level, 1 to 6, as `heading_level`, and `text` is the heading as shown. For other blocks `text` is
    the content of the lines without markup; it is empty if the lines have no markup.
    """

    first_line: int
    last_line: int
    text: str = ""
    heading_level: int = 0


@dataclass(frozen=True, slots=True)
class ExtractedText:
    """The content of a text file: its blocks from top to bottom, and its title, if it has one."""

    blocks: Sequence[TextBlock]
    title: str | None = None
    tags: Sequence[str] = ()


class TextExtractor(Protocol):
    """Reads text files of kinds that kb does not know. Their passages are cited by lines."""

    @property
    def extensions(self) -> Sequence[str]:
        """The extensions of such files, in lower case and without the dot: `sbv`."""

    def extract(self, text: str, extension: str) -> ExtractedText:
        """The blocks of a file with that extension; `text` is its decoded content with `\\n` line ends."""


class SectionChunker(Protocol):
    """Says where sections begin. kb cuts sections further that are longer than an embedder reads."""

    @property
    def kinds(self) -> Sequence[str]:
        """The kinds of files that the chunker cuts: `markdown`, or names of extractors."""

    def starts(self, text: str, blocks: Sequence[TextBlock]) -> Sequence[int]:
        """Indices into `blocks`, ascending, at which sections begin. Block 0 begins one, listed or not."""


class TextEmbedder(Protocol):
    """Encodes texts. Equal texts must get equal vectors as long as the version of the plugin's package is the same."""

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""

    def embed(self, texts: Sequence[str], role: Role) -> Sequence[Sequence[float]]:
        """One vector for each text, in order; its norm does not matter, as vectors are compared by cosine."""


class PassageReranker(Protocol):
    """Scores a question and passages by reading both together."""

    def score(self, question: str, passages: Sequence[str]) -> Sequence[float]:
        """One score for each passage, in their order; a higher score means a better answer."""


class SupportJudge(Protocol):
    """Judges whether sources support a sentence that a model wrote from them."""

    def judge(self, claim: str, sources: Sequence[str]) -> Literal["support", "contradiction", "unknown"]:
        """The verdict of the sources (at least one) on the claim; `unknown` if they show neither."""
