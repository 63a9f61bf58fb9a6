"""A document's text as HTML: a note as it reads, and every line of a text with its colours."""

from __future__ import annotations

from kb.domain.kinds import KINDS
from kb.domain.results.viewing import DocumentView


def rendered(view: DocumentView) -> str | None:
    """A note as HTML in which nothing runs; None for what is no note, or is too long to be laid out."""
    if view.text is None or view.document.media_type != "markdown":
        return None
    from kb.extract.html import note_html

    return note_html(view.text)


def line_html(view: DocumentView) -> list[str] | None:
    """Each line of the text as HTML, from line 1; None where the document is cited by no lines."""
    if view.text is None:
        return None
    from kb.extract.html import highlighted_lines

    if view.document.media_type == "markdown":
        return highlighted_lines(view.text, "markdown")
    kind = KINDS.type_of(view.document.workspace_path)
    language = kind.language if kind is not None else None
    return highlighted_lines(view.text, language)
