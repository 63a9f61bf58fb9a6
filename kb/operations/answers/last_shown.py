"""Stores the list that was shown last, hits or the places of an answer: `kb open N` opens its entry N.

It is a small file in the data directory, as a search that wrote to the database would have to wait for its lock.
"""

from __future__ import annotations

import json
from collections.abc import Set
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kb.domain.citations import Citation, citation_from_json, citation_to_json
from kb.domain.search import Passage, SearchResult
from kb.errors import StoreError, UsageError
from kb.private import replace_file

if TYPE_CHECKING:
    from kb.domain.answers import Answer  # a search need not load it


class ShownPlace(NamedTuple):
    """A numbered place of a list: its citation, the file on this machine, and its vault where several were searched."""

    number: int
    citation: Citation
    source_path: str
    vault: str | None = None


class LastShown(NamedTuple):
    """The numbered places that the last search or answer printed, with its question."""

    command: str
    question: str
    places: tuple[ShownPlace, ...]

    def numbered(self, number: int, more: str = "") -> ShownPlace:
        """The place with that number. Raises: UsageError, whose hint gives the valid numbers and `more`."""
        found = next((place for place in self.places if place.number == number), None)
        if found is None:
            held = ", ".join(str(place.number) for place in self.places) or "no place"
            raise UsageError(
                f"no number {number} in what kb {self.command} {self.question!r} showed", f"it showed {held}{more}"
            )
        return found


def shown_hits(result: SearchResult) -> LastShown:
    """The hits of a search by their ranks."""
    places = tuple(ShownPlace(hit.rank, hit.citation, hit.source_path, hit.vault) for hit in result.hits)
    return LastShown("search", result.query.text, places)


def shown_files(result: SearchResult) -> LastShown:
    """The files of a search, numbered in order; each file is listed once, with its best hit."""
    best: dict[str, Passage] = {}
    for hit in result.hits:
        best.setdefault(hit.source_path, hit)
    places = (
        ShownPlace(number, each.citation, path, each.vault) for number, (path, each) in enumerate(best.items(), 1)
    )
    return LastShown("search", result.query.text, tuple(places))


def shown_answer(answer: Answer) -> LastShown:
    """The places of an answer by their markers; those of a refusal, which have no markers, are numbered in order."""
    marked = {int(each.marker[1:-1]): each for each in answer.citations if each.marker is not None}
    numbered = marked or dict(enumerate(answer.citations, 1))
    places = tuple(ShownPlace(number, each.citation, each.source_path) for number, each in numbered.items())
    return LastShown("ask", answer.question, places)


def keep_shown(file: Path, shown: LastShown) -> str | None:
    """Stores the shown list for the next `kb open`; returns the reason if it cannot be stored."""
    if not file.parent.is_dir():
        return None  # no knowledge base, so no place was shown
    stored = {
        "command": shown.command,
        "question": shown.question,
        "places": [{**each._asdict(), "citation": citation_to_json(each.citation)} for each in shown.places],
    }
    try:
        replace_file(file, json.dumps(stored, ensure_ascii=False).encode("utf-8", "surrogateescape"))
    except OSError as error:
        return f"kb open N cannot count in this list: {file} cannot be written ({error.strerror})"
    return None


def forget_shown(file: Path, paths: Set[str]) -> None:
    """Deletes the last shown list if one of its places is at one of the paths, or if it cannot be read."""
    try:
        shown = last_shown(file)
    except StoreError:
        shown = LastShown("", "", ())
    if shown is not None and (not shown.places or any(place.citation.path in paths for place in shown.places)):
        file.unlink(missing_ok=True)


def last_shown(file: Path) -> LastShown | None:
    """The list shown last; None if there is none. Raises: StoreError for a file that cannot be parsed."""
    try:
        stored = json.loads(file.read_text(encoding="utf-8", errors="surrogateescape"))
        places = tuple(
            ShownPlace(each["number"], citation_from_json(each["citation"]), each["source_path"], each.get("vault"))
            for each in stored["places"]
        )
        return LastShown(stored["command"], stored["question"], places)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{file} cannot be read: {error}", "search or ask again, then kb open N") from error
