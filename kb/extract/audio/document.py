"""Recording to document: what was said → a block a segment, each with its time.

transcript.json → segments → blocks → language → Document
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import PurePosixPath

from kb.domain.documents import Document, Metadata, Text, Warning
from kb.domain.ids import AssetId, document_id
from kb.domain.ingest.derived import Derived, DerivedName, Transcript, labelled_version
from kb.domain.paths import WorkspacePath
from kb.domain.spans import TimeSpan
from kb.extract.numbered_blocks import NumberedBlocks
from kb.language.detect import SAMPLE_CHARS, detect_language

# Bumped whenever the same segments would give other blocks, spans or metadata.
PARSER_VERSION = "audio-v1"


def assemble_audio(
    derived: Mapping[DerivedName, Derived], *, workspace_path: WorkspacePath, asset_id: AssetId
) -> Document:
    """The document of a recording whose speech was transcribed."""
    made = derived["transcript"]
    transcript = Transcript.from_json(json.loads(made.data))
    version = labelled_version(PARSER_VERSION, {"transcript": made.engine.label})
    doc_id = document_id(workspace_path, asset_id, version)
    numbered = NumberedBlocks(doc_id)
    at = 0
    for segment in transcript.segments:
        end = at + len(segment.text)
        span = TimeSpan(segment.start_ms, segment.end_ms, at, end, segment.speaker)
        numbered.add("paragraph", Text(segment.text), span)
        at = end + 1
    source_text = "\n".join(segment.text for segment in transcript.segments)
    return Document(
        doc_id=doc_id,
        asset_id=asset_id,
        workspace_path=workspace_path,
        title=PurePosixPath(workspace_path).stem,
        lang=detect_language(source_text[:SAMPLE_CHARS]),
        source_text=source_text,
        blocks=tuple(numbered.blocks),
        metadata=Metadata(source_type="reference", user={"duration_ms": transcript.duration_ms}),
        parser_version=version,
        warnings=() if numbered.blocks else (Warning("empty_file", "no speech in the recording"),),
    )
