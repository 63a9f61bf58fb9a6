"""Text files that a plugin's extractor reads: bytes → the step `plugin-text` → Document."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kb.domain.derived import Derived, DerivedName, Engine, ExtractSettings, StepJob, labelled_version, result_json
from kb.domain.documents import Document, Heading, Metadata, Text
from kb.domain.ids import AssetId
from kb.domain.kinds import PLUGIN_VERSION
from kb.domain.plugins import ExtractedText, TextBlock
from kb.domain.spans import LineSpan
from kb.domain.text import WorkspacePath
from kb.errors import EngineFailed, PluginFailed
from kb.extract.decode import decode
from kb.extract.document_builder import DocumentBuilder, written_lines
from kb.plugins import Plugin, find_plugin, told_by

# Bumped whenever the same blocks would give another document.

_HINT = "tell its author, or list the file in .kbignore"
_LEVELS = range(7)


@dataclass(frozen=True, slots=True)
class PluginStep:
    """The step of the extractor called `name`."""

    name: str

    def engine(self, settings: ExtractSettings) -> Engine:
        """The plugin's extractor as an engine, with the version of its package. Raises: ModelMissing."""
        return Engine(self.name, find_plugin("extractor", self.name).version)

    def derive(self, job: StepJob) -> bytes:
        """The text and its blocks as JSON. Raises: ModelMissing where it is not installed, EngineFailed if it fails."""
        plugin = find_plugin("extractor", self.name)
        decoded = decode(job.data)
        extractor = plugin.load()
        try:
            with told_by(plugin, _HINT):
                found = extractor.extract(decoded.text, job.media_type.partition("/")[2])
                value = {
                    "text": decoded.text,
                    "title": None if found.title is None else str(found.title),
                    "tags": [str(tag) for tag in found.tags],
                    "blocks": list(_checked(plugin, found, decoded.text.split("\n"))),
                    "warnings": [each.note for each in decoded.warnings],
                }
        except PluginFailed as error:
            raise EngineFailed(error.message, error.hint) from error
        return result_json(value)


def _checked(plugin: Plugin, found: ExtractedText, lines: Sequence[str]) -> Iterator[tuple[int, int, str, int]]:
    """The first line, last line, text and heading level of each block, without blank lines at its ends.

    Raises: EngineFailed for lines that do not exist or are in two blocks.
    """
    for before, block in pairwise((TextBlock(0, 0), *found.blocks)):
        first, last = block.first_line, block.last_line
        if not before.last_line < first <= last <= len(lines) or block.heading_level not in _LEVELS:
            where = f"lines {first} to {last} after line {before.last_line}, of {len(lines)}"
            raise EngineFailed(f"{plugin.label} gave a block that cannot be: {where}", _HINT)
        start, end = written_lines(lines, first - 1, last)
        if start < end:
            yield start + 1, end, str(block.text), block.heading_level


def assemble_plugin(
    derived: Mapping[DerivedName, Derived], *, workspace_path: WorkspacePath, asset_id: AssetId
) -> Document:
    """The document; every block covers whole lines of the file."""
    step = derived["plugin-text"]
    found = json.loads(step.data)
    lines = found["text"].split("\n")
    version = labelled_version(PLUGIN_VERSION, {"plugin-text": step.engine.label})
    builder = DocumentBuilder(workspace_path, asset_id, version)
    for first, last, text, level in found["blocks"]:
        shown = text or "\n".join(lines[first - 1 : last])
        if level:
            builder.add("heading", Heading(level, shown), LineSpan(first, last))
        else:
            builder.add("paragraph", Text(shown), LineSpan(first, last))
    for note in found["warnings"]:
        builder.warn("encoding_fallback", note)
    if not builder.blocks:
        builder.warn("empty_file", "no text")
    metadata = Metadata(tags=tuple(found["tags"]), source_type="reference")
    return builder.document(found["text"], metadata, title=found["title"])
