"""A text file that another package's extractor read: its lines, blocks and title → Document."""

from __future__ import annotations

import json
from collections.abc import Mapping

from kb.domain.derived import Derived, DerivedName, labelled_version
from kb.domain.documents import Document, Heading, Metadata, Text, Warning
from kb.domain.ids import AssetId
from kb.domain.paths import WorkspacePath
from kb.domain.spans import LineSpan
from kb.extract.numbered_blocks import DerivedBlocks

# Bumped whenever the same blocks would give another document.
PARSER_VERSION = "plugin-v1"


def assemble_plugin(
    derived: Mapping[DerivedName, Derived], *, workspace_path: WorkspacePath, asset_id: AssetId
) -> Document:
    """The document; every block is whole lines of the file."""
    made = derived["plugin-text"]
    found = json.loads(made.data)
    lines = found["text"].split("\n")
    numbered = DerivedBlocks(
        workspace_path, asset_id, labelled_version(PARSER_VERSION, {"plugin-text": made.engine.label})
    )
    for first, last, text, level in found["blocks"]:
        shown = text or "\n".join(lines[first - 1 : last])
        if level:
            numbered.add("heading", Heading(level, shown), LineSpan(first, last))
        else:
            numbered.add("paragraph", Text(shown), LineSpan(first, last))
    warnings = [Warning("encoding_fallback", note) for note in found["warnings"]]
    if not numbered.blocks:
        warnings.append(Warning("empty_file", "no text"))
    metadata = Metadata(tags=tuple(found["tags"]), source_type="reference")
    return numbered.document(found["text"], metadata, warnings, title=found["title"])
