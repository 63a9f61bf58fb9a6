"""fetched_texts.v1: texts at places, compact; what the tool `fetch` gives beside its text."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from kb.domain.results.fetched import NO_PICTURES, Fetched, FetchedPlace, Neighbour, Pictures


class FetchedTextV1(TypedDict):
    """The text at one place, word for word but for hidden characters; `hash` is the BLAKE3 of the text with them.

    `first_line` is the line of the file that `text` begins with, null where it has no lines. `before` and `after` cite
    the passages around it. `is_current`: the file has not changed since it was indexed. `is_cut`: the rest comes with
    `next_cursor`.
    """

    citation: str
    title: str
    section: list[str]
    text: str
    first_line: int | None
    total_lines: int | None
    hash: str
    is_current: bool
    before: str | None
    after: str | None
    is_cut: bool


class NotFetchedV1(TypedDict):
    """A place that could not be fetched, and what to do."""

    place: str
    code: str
    message: str
    hint: str | None


class GivenPictureV1(TypedDict):
    """A picture that comes beside the text, in the same order."""

    place: str
    media_type: str


class FetchedTextsV1(TypedDict):
    """What was fetched, in the order it was asked for; `pictures` is there where they were asked for."""

    schema_version: Literal["fetched_texts.v1"]
    places: list[FetchedTextV1]
    failures: list[NotFetchedV1]
    tokens: int
    next_cursor: str | None
    pictures: NotRequired[list[GivenPictureV1]]


def fetched_texts_v1(fetched: Fetched, shown: Pictures = NO_PICTURES) -> FetchedTextsV1:
    """The wire form of what was fetched."""
    given: FetchedTextsV1 = {
        "schema_version": "fetched_texts.v1",
        "places": [_place(each) for each in fetched.places],
        "failures": [
            {"place": each.target, "code": each.error.code, "message": each.error.message, "hint": each.error.hint}
            for each in fetched.failures
        ],
        "tokens": fetched.tokens,
        "next_cursor": fetched.next_cursor,
    }
    if shown.given:
        given["pictures"] = [{"place": each.place, "media_type": each.media_type} for each in shown.given]
    return given


def _place(place: FetchedPlace) -> FetchedTextV1:
    return {
        "citation": place.citation.to_uri(),
        "title": place.title,
        "section": list(place.heading_path),
        "text": place.text,
        "first_line": place.first_line,
        "total_lines": place.total_lines,
        "hash": place.hash,
        "is_current": place.is_current,
        "before": _uri(place.before),
        "after": _uri(place.after),
        "is_cut": place.is_cut,
    }


def _uri(neighbour: Neighbour | None) -> str | None:
    return None if neighbour is None else neighbour.uri
