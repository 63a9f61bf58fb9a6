"""The step `plugin-text`: a file's bytes → its text and blocks, as another package's extractor reads it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kb.domain.derived import Engine, ExtractSettings, Job, Results
from kb.domain.plugins import ExtractedText, TextBlock
from kb.errors import EngineFailed, PluginFailed
from kb.extract.decode import decode
from kb.plugins import Plugin, find_plugin, told_by

_HINT = "tell its author, or list the file in .kbignore"
_LEVELS = range(7)


@dataclass(frozen=True, slots=True)
class PluginStep:
    """The step of the extractor called `name`."""

    name: str

    def engine(self, settings: ExtractSettings) -> Engine:
        """The extractor, by the version of its package. Raises: ModelMissing."""
        return Engine(self.name, find_plugin("extractor", self.name).version)

    def is_needed(self, earlier: Results) -> bool:
        """Always: nothing else reads such a file."""
        return True

    def derive(self, job: Job) -> bytes:
        """The text with its blocks. Raises: ModelMissing where it is not installed, EngineFailed where it fails."""
        plugin = find_plugin("extractor", self.name)
        decoded = decode(job.data)
        extractor = plugin.load()
        try:
            with told_by(plugin, _HINT):
                found = extractor.extract(decoded.text, job.media_type.partition("/")[2])
                lines = decoded.text.split("\n")
                value = {
                    "text": decoded.text,
                    "title": None if found.title is None else str(found.title),
                    "tags": [str(tag) for tag in found.tags],
                    "blocks": list(_checked(plugin, found, lines)),
                    "warnings": [each.note for each in decoded.warnings],
                }
        except PluginFailed as error:
            raise EngineFailed(error.message, error.hint) from error
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _checked(plugin: Plugin, found: ExtractedText, lines: Sequence[str]) -> Iterator[tuple[int, int, str, int]]:
    """The blocks as they are kept, without blank lines at their ends and those that have no others.

    Raises: EngineFailed for lines that are not there, or are in two blocks.
    """
    for before, block in pairwise((TextBlock(0, 0), *found.blocks)):
        first, last = block.first_line, block.last_line
        if not before.last_line < first <= last <= len(lines) or block.heading_level not in _LEVELS:
            where = f"lines {first} to {last} after line {before.last_line}, of {len(lines)}"
            raise EngineFailed(f"{plugin.label} gave a block that cannot be: {where}", _HINT)
        while first <= last and not lines[first - 1].strip():
            first += 1
        while last >= first and not lines[last - 1].strip():
            last -= 1
        if first <= last:
            yield first, last, str(block.text), block.heading_level
