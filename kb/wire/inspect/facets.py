"""facets.v1: how many documents each value of a filter leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from typing_extensions import TypedDict

from kb.domain.results.viewing import FacetCount


class FacetValueV1(TypedDict):
    """A value and its documents."""

    value: str
    documents: int


class FacetsV1(TypedDict):
    """The values of each filter, the commonest first, each counted with the other filters in force."""

    schema_version: Literal["facets.v1"]
    media: list[FacetValueV1]
    lang: list[FacetValueV1]
    tag: list[FacetValueV1]
    folder: list[FacetValueV1]
    trust: list[FacetValueV1]
    kind: list[FacetValueV1]
    code_lang: list[FacetValueV1]


def facets_v1(counts: Sequence[FacetCount]) -> FacetsV1:
    """The wire form of the counts."""

    def of(facet: str) -> list[FacetValueV1]:
        return [{"value": each.value, "documents": each.documents} for each in counts if each.facet == facet]

    return {
        "schema_version": "facets.v1",
        "media": of("media"),
        "lang": of("lang"),
        "tag": of("tag"),
        "folder": of("folder"),
        "trust": of("trust"),
        "kind": of("kind"),
        "code_lang": of("code_lang"),
    }
