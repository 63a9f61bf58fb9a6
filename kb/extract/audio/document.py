"""Recording to document: what was said → a block a segment, each with its time.

transcript.json → segments → blocks → language → Document
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from kb.domain.derived import Derived, DerivedName, Transcript, labelled_version
from kb.domain.documents import Document, Metadata, Text, Warning
from kb.domain.ids import AssetId
from kb.domain.paths import WorkspacePath
from kb.domain.spans import TimeSpan
from kb.extract.numbered_blocks import DerivedBlocks

# Bumped whenever the same segments would give other blocks, spans or metadata.
PARSER_VERSION = "audio-v1"


def assemble_audio(
    derived: Mapping[DerivedName, Derived], *, workspace_path: WorkspacePath, asset_id: AssetId
) -> Document:
    """The document of a recording whose speech was transcribed."""
    made = derived["transcript"]
    transcript = Transcript.from_json(json.loads(made.data))
    version = labelled_version(PARSER_VERSION, {"transcript": made.engine.label})
    numbered = DerivedBlocks(workspace_path, asset_id, version)
    at = 0
    for segment in transcript.segments:
        end = at + len(segment.text)
        span = TimeSpan(segment.start_ms, segment.end_ms, at, end, segment.speaker)
        numbered.add("paragraph", Text(segment.text), span)
        at = end + 1
    source_text = "\n".join(segment.text for segment in transcript.segments)
    metadata = Metadata(source_type="reference", user={"duration_ms": transcript.duration_ms})
    left_out = transcript.left_out_ms
    warnings = [Warning("language_left_out", _left_out(code, ms)) for code, ms in left_out.items()]
    if not numbered.blocks and not warnings:
        warnings.append(Warning("empty_file", "no speech in the recording"))
    return numbered.document(source_text, metadata, warnings)


def _left_out(language: str, ms: int) -> str:
    return f"{max(1, round(ms / 1000))} s heard in {language}, which audio.language does not name, are left out"
