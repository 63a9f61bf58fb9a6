"""vault_map.v1: what a list of documents does not show."""

from __future__ import annotations

from itertools import groupby
from typing import Literal

from typing_extensions import TypedDict

from kb.domain.results.viewing import VaultMap


class MonthV1(TypedDict):
    """Documents of a month, by language and kind."""

    month: str
    lang: str | None
    media: str
    documents: int


class NamedDocumentV1(TypedDict):
    """A document, by its path."""

    doc_path: str
    title: str


class CoverageV1(TypedDict):
    """How many passages a model in use has embedded; those of source code are not."""

    slot: Literal["primary", "secondary"]
    model_id: str
    passages: int
    embedded: int


class UnembeddedV1(TypedDict):
    """A document of which `missing` of its `passages` have no vector under the primary model."""

    doc_path: str
    title: str
    passages: int
    missing: int


class VaultMapV1(TypedDict):
    """Documents over time, groups of files with the same bytes, notes that link to nothing, what is embedded."""

    schema_version: Literal["vault_map.v1"]
    months: list[MonthV1]
    copies: list[list[NamedDocumentV1]]
    unlinked: list[NamedDocumentV1]
    coverage: list[CoverageV1]
    unembedded: list[UnembeddedV1]


def vault_map_v1(found: VaultMap) -> VaultMapV1:
    """The wire form of the map."""
    return {
        "schema_version": "vault_map.v1",
        "months": [
            {"month": each.month, "lang": each.lang, "media": each.media, "documents": each.documents}
            for each in found.months
        ],
        "copies": [
            [{"doc_path": each.workspace_path, "title": each.title} for each in group]
            for _, group in groupby(found.copies, key=lambda each: each.asset_id)
        ],
        "unlinked": [{"doc_path": each.workspace_path, "title": each.title} for each in found.unlinked],
        "coverage": [
            {
                "slot": each.slot,  # type: ignore[typeddict-item]  # CHECKed by the table
                "model_id": each.model_id,
                "passages": each.chunks,
                "embedded": each.embedded,
            }
            for each in found.coverage
        ],
        "unembedded": [
            {"doc_path": each.workspace_path, "title": each.title, "passages": each.chunks, "missing": each.missing}
            for each in found.unembedded
        ],
    }
