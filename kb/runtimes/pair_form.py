"""The form that some cross-encoders bring for a pair: a text with `{query}` and `{document}` in it."""

from __future__ import annotations

from collections.abc import Sequence


def texts_of(template: str, question: str, passage: str) -> Sequence[tuple[str, bool]]:
    """A file's own form of a pair in pieces, and which of them are the form's, whose marks count as marks."""
    pieces: list[tuple[str, bool]] = [(template, True)]
    for place, text in (("{query}", question), ("{document}", passage)):
        pieces = [
            part for piece, is_form in pieces for part in (_filled(piece, place, text) if is_form else [(piece, False)])
        ]
    return [piece for piece in pieces if piece[0]]


def _filled(form: str, place: str, text: str) -> list[tuple[str, bool]]:
    before, found, behind = form.partition(place)
    return [(before, True), (text, False), (behind, True)] if found else [(form, True)]
