"""folder.v1: a page of what lies in a folder; what the page of `kb web` lists documents by."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from kb.domain.results.inspection import FolderPage


class SubfolderV1(TypedDict):
    """A folder in it, and how many documents are below that."""

    name: str
    documents: int


class FolderDocumentV1(TypedDict):
    """A document in it."""

    doc_path: str
    title: str
    media_type: str
    lang: str | None
    passages: int


class FolderV1(TypedDict):
    """What lies in the folder `path`, "" being the top; folders first. `has_more`: there is another page behind it."""

    schema_version: Literal["folder.v1"]
    path: str
    folders: list[SubfolderV1]
    documents: list[FolderDocumentV1]
    has_more: bool


def folder_v1(page: FolderPage) -> FolderV1:
    """The wire form of a page of a folder."""
    return {
        "schema_version": "folder.v1",
        "path": page.folder,
        "folders": [
            {"name": each.name, "documents": each.documents} for each in page.entries if each.workspace_path is None
        ],
        "documents": [
            {
                "doc_path": each.workspace_path,
                "title": each.title or each.name,
                "media_type": each.media_type or "",
                "lang": each.lang,
                "passages": each.chunk_count or 0,
            }
            for each in page.entries
            if each.workspace_path is not None
        ],
        "has_more": page.has_more,
    }
