"""Formats text of documents and results for a terminal: without control characters, and as rows of a list.

No text may move the cursor, change colours or reverse the direction of a line.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.text import Text

from kb.answer.wording import say as say_of_answer
from kb.domain.answers import Answer, AnswerCitation, Hop, SpanKind
from kb.domain.citations import Citation, CodeCitation, LineCitation, PageCitation, PartCitation, TimeCitation
from kb.domain.results.answers import AnswerSummary
from kb.domain.search import Passage
from kb.domain.text import plain
from kb.language.detect import query_language
from kb.tui.strings import Say, in_language, strings
from kb.tui.styled import rendered, unmarked


def clean(text: str) -> str:
    """`plain` text with a mark for characters without a width too, as Textual counts cells; tabs become spaces."""
    return re.sub("[\u200b\ufeff]", "\N{REPLACEMENT CHARACTER}", plain(text)).expandtabs(4)


def clean_line(text: str) -> str:
    """`text` cleaned, on one line."""
    return " ".join(clean(text).split())


_PAINT: dict[SpanKind, str] = {"piece": "bold", "claim": "", "marker": "place", "beside": "quiet", "plain": ""}
STATES = {"answered": "good", "unsure": "doubt", "refused": "quiet"}


class ListRow(NamedTuple):
    """A row of a list: a heading, its section and place, a path, and a snippet around the first match."""

    mark: str
    heading: str
    place: str
    snippet: Text
    path: str = ""
    section: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """A line of the heading, of the path and of the snippet, as far as there are any; each is cut to the width."""
        indent = " " * (cell_len(self.mark) + 1)
        width = max(options.max_width - len(indent) - 1, 1)
        place = cut_in_middle(self.place, width // 2)
        room = max(width - cell_len(place) - 1, 0)
        section = f"{' ' if self.heading else ''}› {self.section}" if self.section else ""
        title = Text(self.heading, "bold")
        title.truncate(max(room - cell_len(section), room // 2), overflow="ellipsis")
        heading = title.append(section, "not bold")
        heading.truncate(room, overflow="ellipsis", pad=True)
        yield Text(f"{self.mark} ").append_text(heading).append(" ").append(place, "place")
        if self.path:
            yield Text(indent).append(cut_in_middle(self.path, width), "place")
        if self.snippet.plain or not self.path:
            yield Text(indent).append_text(_around_match(self.snippet, width))


def hit_row(hit: Passage, mark: str, *, shows_path: bool, say: Say, is_below: bool = False) -> ListRow:
    """A hit; `mark` is how it was judged. One below a hit of the same document has no title where it has a section."""
    name = hit.citation.name if isinstance(hit.citation, CodeCitation) else None
    section = clean_line(name or (hit.heading_path or ("",))[-1])
    heading = clean_line(hit.title)
    place = place_label(hit.citation, say)
    path = clean_line(hit.citation.path) if shows_path and not is_below else ""
    section = section if section != heading else ""
    return ListRow(mark, "" if is_below and section else heading, place, _snippet(hit), path, section)


def _snippet(hit: Passage) -> Text:
    """The snippet on one line, without marks of Markdown; what matches keeps its place: cleaning changes no letter."""
    found = Text()
    edges = [0, *(edge for match in hit.shown.matches for edge in match), len(hit.snippet)]
    for number, (start, end) in enumerate(pairwise(edges)):
        found.append(re.sub(r"\s", " ", clean(hit.snippet[start:end])), "match" if number % 2 else None)
    return unmarked(found)


def _around_match(text: Text, width: int) -> Text:
    """The part of a text that shows its first match with some words before it, in `width` cells."""
    start = next((span.start for span in text.spans if span.style == "match"), 0)
    shown = text
    if cell_len(text.plain) > width and cell_len(text.plain[:start]) > width // 2:
        before = text.plain[:start]
        while cell_len(before) > width // 3:
            before = before[1:]
        before = before[before.find(" ") + 1 :]  # from a whole word on
        shown = Text("…").append_text(text[start - len(before) :])
    shown = shown.copy()
    shown.truncate(width, overflow="ellipsis")
    return shown


def cut_in_middle(text: str, width: int) -> str:
    """`text` without its middle if it is wider than `width` cells."""
    if cell_len(text) <= width:
        return text
    head, tail = set_cell_size(text, max(width // 3, 0)).rstrip(), text
    while tail and cell_len(head) + 1 + cell_len(tail) > width:
        tail = tail[1:]
    return f"{head}…{tail}"


def place_label(citation: Citation, say: Say) -> str:
    """The place within its file: `L19–24`, `p. 4`, `0:05–0:08`, `slide 3`; empty where a file is one place."""
    if isinstance(citation, LineCitation | CodeCitation):
        return f"L{citation.start}" + (f"–{citation.end}" if citation.end > citation.start else "")
    if isinstance(citation, PageCitation):
        return say("page", citation.page)
    if isinstance(citation, TimeCitation):
        return f"{clock(citation.start_ms)}–{clock(citation.end_ms)}"
    if not isinstance(citation, PartCitation):
        return ""
    places = [(f"part {key}", value) for key, value in citation.places if value != citation.section]
    said = (say(name, 2 if "–" in value else 1, value) if name in strings() else value for name, value in places)
    return clean_line(" ".join(said))


def clock(time_ms: int) -> str:
    """A time in a recording, as `1:05`."""
    return f"{time_ms // 60_000}:{time_ms // 1000 % 60:02}"


def place_row(number: int, place: AnswerCitation, *, shows_quote: bool, say: Say) -> ListRow:
    """A place that an answer cites, or one of the nearest places of a refusal."""
    quote = Text(clean_line(re.sub(r"(?m)^\s*>\s?", "", place.quote or "") if shows_quote else ""))
    path = clean_line(place.citation.path)
    over = place.citation.section or "" if isinstance(place.citation, PartCitation) else place.label
    label = clean_line(over or path.rpartition("/")[2])
    return ListRow(f"{place.marker or number}", label, place_label(place.citation, say), unmarked(quote), path)


def answer_row(summary: AnswerSummary, say: Say) -> ListRow:
    """An earlier answer."""
    state = summary.state or "refused"
    text = unmarked(Text(clean_line(summary.answer)))
    said = "" if state == "refused" else f"{say(state)} · "  # a refusal says it
    snippet = Text().append(said, STATES[state]).append_text(text)
    return ListRow("", clean_line(summary.query), summary.created_at[:16].replace("T", " "), snippet)


def answer_text(answer: Answer) -> RenderableType:
    """An answer above its places: how sure kb is, the text, doubtful sentences, the steps; in the question's language.

    Each sentence that its sources do not support is listed with the reason.
    """
    say, text, below = in_language(query_language(answer.question)), Text(), Text()
    for span in answer.spans:
        text.append(clean(span.text), _PAINT[span.kind])
    for claim in answer.claims:
        if claim.status != "supported":
            below.append(f"{say(claim.status)}: ", "bad" if claim.status == "dropped" else "doubt")
            below.append(f"{clean_line(claim.text)} — {clean_line(claim.reason or '')}\n", "quiet")
    why = answer.why if answer.why and not answer.refusal_reason else None  # a refusal says it already
    for note in (*answer.notes, *([why] if why else ())):
        below.append(clean_line(note) + "\n", "quiet")
    steps = Text("\n").join(Text().append(step_line(hop), "quiet") for hop in answer.hops)
    how: list[RenderableType] = (
        [Text().append(say("how"), "quiet"), Padding(steps, (0, 0, 0, 3))] if answer.hops else []
    )
    if answer.refusal_reason:
        made = say("nearest") if answer.citations or answer.retrieval.hits else ""
    elif answer.written.model.provider == "extractive":
        made = say("quoted from")
    else:
        made = say("written from", clean_line(answer.written.model.id))
    head = () if answer.refusal_reason else (Text().append(say(answer.state), STATES[answer.state]),)
    below.rstrip()
    return Group(*head, rendered(text), *([below] if below else ()), *how, Text().append(made, "quiet"))


def step_line(hop: Hop) -> str:
    """A step of a deep answer, its result and the best place it found, in the language of its question."""
    language = query_language(hop.question)
    best = f" · {hop.places[0].citation.to_uri()}" if hop.places else ""
    why, state = say_of_answer(language, f"hop {hop.why}"), in_language(language)(hop.state)
    return clean_line(f"{hop.number}. {hop.question} ({why}) → {state}{best}")


def matched_words(hit: Passage) -> tuple[str, ...]:
    """The words of a hit that match, in lower case, the longest first."""
    found = {hit.snippet[start:end].lower() for start, end in hit.shown.matches}
    return tuple(sorted(filter(None, map(str.strip, found)), key=len, reverse=True))
