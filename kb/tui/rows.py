"""Formats text of documents and results for a terminal: cleaned, and as rows of a list.

Nothing in a text may move the cursor, change colours or turn the line around.
"""

from __future__ import annotations

import re

from rich.table import Table
from rich.text import Text

from kb.answer.wording import hop_line
from kb.domain.answers import Answer, AnswerCitation, Hop, SpanKind
from kb.domain.citations import Citation, CodeCitation
from kb.domain.results.answers import AnswerSummary
from kb.domain.search import Passage
from kb.domain.text import plain


def clean(text: str) -> str:
    """`plain` text with a mark for characters without a width too, as Textual counts cells; tabs become spaces."""
    return re.sub("[\u200b\ufeff]", "\N{REPLACEMENT CHARACTER}", plain(text)).expandtabs(4)


def clean_line(text: str) -> str:
    """`text` cleaned, on one line."""
    return " ".join(clean(text).split())


PLACE, QUIET, HEADING, MATCH = "cyan", "dim", "bold", "bold underline"
_PAINT: dict[SpanKind, str] = {"piece": HEADING, "claim": "", "marker": PLACE, "beside": QUIET, "plain": ""}
STATES = {
    "answered": ("green", "Answered from your notes"),
    "unsure": ("yellow", "Perhaps"),
    "refused": ("dim", "No answer found in your notes"),
}


def hit_row(hit: Passage, mark: str) -> Table:
    """A hit: its number and place, its heading, its snippet with the matches marked. `mark` is how it was judged."""
    heading = hit.citation.name if isinstance(hit.citation, CodeCitation) else None
    return _row(
        f"{mark}{hit.rank:>2}",
        Text(clean_line(hit.citation.to_uri()), PLACE),
        Text(clean_line(heading or " › ".join(hit.heading_path) or hit.title), HEADING),
        _snippet(hit),
    )


def _row(number: str, *lines: Text) -> Table:
    """Lines behind a number, each folded so that it stays behind it."""
    row = Table.grid(padding=(0, 1), expand=True)
    row.add_column(style=QUIET, no_wrap=True)
    row.add_column(ratio=1, overflow="fold")
    for index, line in enumerate(lines):
        row.add_row("" if index else number, line)
    return row


def _snippet(hit: Passage) -> Text:
    """The snippet on one line; what matches keeps its place, since cleaning changes no letter."""
    found, at = Text(), 0
    for start, end in hit.snippet_matches:
        found.append(_flat(hit.snippet[at:start]))
        found.append(_flat(hit.snippet[start:end]), MATCH)
        at = end
    found.append(_flat(hit.snippet[at:]))
    return found


def _flat(text: str) -> str:
    return re.sub(r"\s+", " ", clean(text))


def place_row(number: int, place: AnswerCitation) -> Table:
    """A place that an answer cites, or one of the nearest places of a refusal."""
    quote = (Text(clean_line(place.quote)),) if place.quote else ()
    cited = Text(clean_line(place.citation.to_uri()), PLACE)
    return _row(f"{place.marker or number:>3}", cited, Text(clean_line(place.label), HEADING), *quote)


def answer_row(summary: AnswerSummary) -> Table:
    """An earlier answer."""
    colour, said = STATES[summary.state or "refused"]
    head = Text().append(f"{summary.created_at[:16].replace('T', ' ')}  ", style=QUIET).append(said, colour)
    return _row("", head, Text(clean_line(summary.query), HEADING), Text(clean_line(summary.answer)))


def answer_text(answer: Answer) -> Text:
    """An answer above its places: how sure kb is, the text, which sentences are not shown to be supported, and why."""
    colour, said = STATES[answer.state]
    found = Text().append(said + "\n", style=f"bold {colour}")
    for span in answer.spans:
        found.append(clean(span.text), _PAINT[span.kind])
    found.append("\n")
    for claim in answer.claims:
        if claim.status != "supported":
            found.append(f"{claim.status.replace('_', ' ')}: ", "red" if claim.status == "dropped" else "yellow")
            found.append(f"{clean_line(claim.text)} — {clean_line(claim.reason or '')}\n", QUIET)
    for note in (*answer.notes, *([answer.why] if answer.why else ())):
        found.append(clean_line(note) + "\n", QUIET)
    for hop in answer.hops:
        found.append(step_line(hop) + "\n", QUIET)
    found.append("Nearest places:" if answer.refusal_reason else _made_by(answer), QUIET)
    return found


def step_line(hop: Hop) -> str:
    """A step of a deep answer, and the best place it found."""
    best = f" · {hop.places[0].citation.to_uri()}" if hop.places else ""
    return clean_line(f"{hop.number}. {hop_line(hop)}{best}")


def _made_by(answer: Answer) -> str:
    if answer.model.provider == "extractive":
        return "Your own sentences, word for word, from:"
    return f"Written by {clean_line(answer.model.id)} from:"


def matched_words(hit: Passage) -> tuple[str, ...]:
    """The words of a hit that match, in lower case, the longest first."""
    found = {hit.snippet[start:end].lower() for start, end in hit.snippet_matches}
    return tuple(sorted(filter(None, map(str.strip, found)), key=len, reverse=True))


def first_line(citation: Citation | None, default: int = 1) -> int:
    """The first cited line, or `default` for a place that is not cited by lines."""
    start = getattr(citation, "start", None)
    return start if isinstance(start, int) else default
