"""What a result says of the words that were searched for in place of its question's, in the question's language."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kb.domain.search import Substitution
from kb.language.detect import query_language


def substitution_notes(question: str, read_as: str, substitutions: Sequence[Substitution]) -> Iterator[str]:
    """One sentence a substitution; none where a word that the documents have is searched in the other script too."""
    korean = query_language(question) == "ko"
    for each in substitutions:
        if each.reason in ("sound", "pair") and each.asked in read_as:
            continue
        searched = ", ".join(f'"{word}"' for word in each.searched)
        if each.reason in ("spelling", "keyboard"):
            said = (
                f'"{each.asked}" 대신 {searched} 검색'
                if korean
                else f'searched for {searched} instead of "{each.asked}"'
            )
        else:
            said = (
                f'"{each.asked}" 외에 {searched} 검색' if korean else f'searched for {searched} beside "{each.asked}"'
            )
        yield said
