"""Prints the report of an ingest: what could not be read and why, then the counts, in one screen."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kb.cli.output.printing import echo_folded, folded
from kb.domain.kinds import family_of, media_type_of
from kb.domain.results.ingest import UNREAD_WORDS, IngestReport, LinksOutside
from kb.domain.text import plain_line

SHOWN_ITEMS = 20
MARKS = {"new": "+", "updated": "~", "moved": ">", "removed": "-"}

# A terminal has 24 lines at least, one of them for the prompt. Of those what failed gets what the rest leaves.
_SCREEN_LINES, _LEAST_LINES = 23, 5
_LIST_LINES = 2
_SHOWN_KINDS = 40
_SHOWN_LINKS = 3
_SAME_PLACES = 3
_PLACE = re.compile(r"\b(byte|column|line|offset) \d[\d,]*")
_ANY_PLACE = r"\1 …"
_ALL = "kb ingest --retry --json"
_OR_IGNORE = re.compile(r"[,;:]? (?:or )?list it in \.kbignore")


class Line(NamedTuple):
    """A line of the report, with its head; `err` says that it is one of standard error."""

    head: str
    text: str
    err: bool = False

    @property
    def height(self) -> int:
        """How many lines of the screen it takes."""
        return sum(1 for _ in folded(self.text, self.head, err=self.err))


class _Said(NamedTuple):
    """What is said of a file: its path, the code and the words of it, and the hint. A warning has the mark `!`."""

    mark: str
    path: str
    code: str
    what: str
    hint: str


def show_report(report: IngestReport, *, summary_only: bool) -> None:
    """Prints the changes: always warnings and errors; single files only of a dry run or a small run."""
    counts = report.counts
    changed_count = counts.new + counts.updated + counts.moved + counts.removed
    if not summary_only and (report.dry_run or changed_count <= SHOWN_ITEMS):
        for item in report.items:
            if item.kind in MARKS:
                origin = f"  (from {plain_line(item.moved_from)})" if item.moved_from else ""
                echo_folded(f"{plain_line(item.doc_path)}{origin}", head=f"  {MARKS[item.kind]} ")
    below = [*_below(report, changed_count)]
    room = max(_SCREEN_LINES - sum(line.height for line in below), _LEAST_LINES)
    for head, text, err in (*_attention(sorted(_said(report), key=lambda one: one.path), room), *below):
        echo_folded(text, head=head, err=err)


def _below(report: IngestReport, changed_count: int) -> Iterator[Line]:
    """The counts, what was read, and what was not for no fault of its own."""
    counts = report.counts
    head = "would be: " if report.dry_run else "stopped: " if report.aborted else ""
    changes = f"{counts.new} new, {counts.updated} updated, {counts.moved} moved, {counts.removed} removed"
    changes += f", {counts.unchanged} unchanged, {counts.errors} error{'' if counts.errors == 1 else 's'}"
    work = f"{counts.chunks_indexed} chunks, {counts.embeddings_indexed} vectors, {report.duration_ms / 1000:.1f} s"
    yield Line(head, f"{changes}  ({work})")
    if changed_count > SHOWN_ITEMS:
        read = [*_read(report)] or [(0, "files")]
        yield _list("read: ", read, lambda rest: f"{sum(rest.values()):,} others")
    for note in report.notes:
        yield Line("note: ", plain_line(note), True)
    if counts.still_unread:
        files = "1 file is" if counts.still_unread == 1 else f"{counts.still_unread:,} files are"
        yield Line("", f"{files} unread as before: kb status says why, kb ingest --retry reads them again")
    if report.unsupported:
        yield _list(
            "not read: ",
            [(count, plain_line(kind) or "without an extension") for kind, count in _most_first(report.unsupported)],
            lambda rest: f"{sum(rest.values())} of {len(rest)} other kinds, which --json names",
            most=_SHOWN_KINDS,
        )
    reasons = [
        (count, f"{reason}{_example(report, reason)}") for reason, count in _most_first(report.skipped_by_reason)
    ]
    if report.not_included:
        reasons.append((report.not_included, "not in workspace.include"))
    if reasons:
        yield _list("left out by rules: ", reasons, lambda rest: f"{sum(rest.values())} for {len(rest)} other reasons")
    if report.links_outside.count:
        yield Line("", _links(report.links_outside))


def _most_first(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))


def _example(report: IngestReport, reason: str) -> str:
    return f" ({plain_line(report.skip_examples[reason][0])})" if report.skip_examples.get(reason) else ""


def _list(
    head: str, parts: Sequence[tuple[int, str]], rest: Callable[[Mapping[str, int]], str], most: int = sys.maxsize
) -> Line:
    """Counted things on a line: all of them, or as many as fit two lines of a terminal, and what the others are."""
    for shown in range(min(len(parts), most), 0, -1):
        texts = [f"{count:,} {name}" for count, name in parts[:shown]]
        if shown < len(parts):
            texts.append(rest({name: count for count, name in parts[shown:]}))
        line = Line(head, ", ".join(texts))
        if line.height <= _LIST_LINES:
            return line
    return line


def _said(report: IngestReport) -> Iterator[_Said]:
    """What is said of each file; its own whole path in it is `…`."""
    for item in report.items:
        path = plain_line(item.doc_path)
        for warning in item.warnings:
            kind, _, note = plain_line(warning).partition(": ")
            yield _Said("!", path, kind, f"{kind.replace('_', ' ')}: {note}", "")
        if item.error is not None:
            what, hint = plain_line(item.error.message), plain_line(item.error.hint or "")
            yield _Said("✗", path, item.error.code, what.replace(plain_line(f"{report.root}/{path}"), "…"), hint)


def _attention(said: Sequence[_Said], room: int) -> Iterator[Line]:
    """What failed, then warnings: by what is said if that fits the room, else by the kind of the reason."""
    lines = [line for group in _grouped(said, _words) for line in _by_words(group)]
    if sum(line.height for line in lines) <= room:
        yield from lines
        return
    groups = _grouped(said, lambda one: one.code)
    more = Line("  … ", f"each file with its reason: {_ALL}", True)
    room -= more.height
    for number, group in enumerate(groups):
        line = _by_code(group)
        room -= line.height
        if room < 0:
            rest = sum(map(len, groups[number:]))
            more = Line("  … ", f"{rest:,} more for {len(groups) - number} reasons; {more.text}", True)
            break
        yield line
    yield more


def _grouped(said: Sequence[_Said], key: Callable[[_Said], str]) -> list[list[_Said]]:
    """Groups of one mark and key; errors come before warnings, larger groups before smaller ones."""
    groups: dict[tuple[str, str], list[_Said]] = {}
    for one in said:
        groups.setdefault((one.mark, key(one)), []).append(one)
    return sorted(groups.values(), key=lambda group: (group[0].mark == "!", -len(group)))


def _words(one: _Said) -> str:
    return f"{_PLACE.sub(_ANY_PLACE, one.what)} {one.hint}"


def _by_words(group: Sequence[_Said]) -> Iterator[Line]:
    """A line for each of a few files, one for many of them, and the hint."""
    mark, head = group[0].mark, f"  {group[0].mark} "
    if len(group) <= _SAME_PLACES:
        texts = [f"{one.path}: {one.what}" for one in group]
    else:
        texts = [f"{_PLACE.sub(_ANY_PLACE, group[0].what)} in {len(group):,} files: {_paths(group, _SAME_PLACES)}"]
    for text in texts:
        yield Line(head, text, True)
    if mark != "!" and group[0].hint:
        yield Line("      hint: ", group[0].hint, True)


def _by_code(group: Sequence[_Said]) -> Line:
    """`12 encrypted: a.pdf, b.docx and 10 more; save a copy without a password`, by the hint for most of them."""
    code = group[0].code
    ((hint, _),) = Counter(one.hint for one in group).most_common(1)
    said = f"{len(group):,} {UNREAD_WORDS.get(code) or code.replace('_', ' ')}: {_paths(group, 1)}"
    return Line(f"  {group[0].mark} ", f"{said}; {short_hint(hint)}" if hint else said, True)


def short_hint(hint: str) -> str:
    """A hint without the advice that holds for every file."""
    return _OR_IGNORE.sub("", hint)


def _paths(group: Sequence[_Said], most: int) -> str:
    named = ", ".join(one.path for one in group[:most])
    return named if len(group) <= most else f"{named} and {len(group) - most:,} more"


def _read(report: IngestReport) -> Iterator[tuple[int, str]]:
    """The files that were read, counted by kind, the commonest first."""
    read = (media_type_of(item.doc_path) for item in report.items if item.kind in ("new", "updated"))
    families = Counter(family_of(media_type) if media_type else "others" for media_type in read)
    return ((count, family) for family, count in families.most_common())


def _links(links: LinksOutside) -> str:
    """`2 links lead out of the workspace: a → /b, c → /d (followed; …)`."""
    named = [f"{plain_line(path)} → {plain_line(target)}" for path, target, _ in links.named[:_SHOWN_LINKS]]
    if links.count > len(named):
        named.append(f"{links.count - len(named)} more")
    what = "1 link leads" if links.count == 1 else f"{links.count} links lead"
    setting = "workspace.follow_outside"
    treated = f"followed; {setting} = false leaves them out" if links.followed else f"left out by {setting}"
    return f"{what} out of the workspace: {', '.join(named)} ({treated})"
