"""near_documents.v1: the documents nearest to one by meaning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from typing_extensions import TypedDict

from kb.domain.results.viewing import NearDocument


class NearDocumentV1(TypedDict):
    """A document; `cosine` is that of the nearest two of their passages."""

    doc_path: str
    title: str
    cosine: float


class NearDocumentsV1(TypedDict):
    """The nearest first."""

    schema_version: Literal["near_documents.v1"]
    doc_path: str
    near: list[NearDocumentV1]


def near_documents_v1(path: str, found: Sequence[NearDocument]) -> NearDocumentsV1:
    """The wire form of what is near the document at `path`."""
    return {
        "schema_version": "near_documents.v1",
        "doc_path": path,
        "near": [
            {"doc_path": each.workspace_path, "title": each.title, "cosine": round(1 - each.distance, 4)}
            for each in found
        ],
    }
