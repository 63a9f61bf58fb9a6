"""Where a citation leads on this machine, and the program that shows it."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from kb.config import Config
from kb.domain.citations import Citation, LineCitation, parse_citation
from kb.domain.media_citations import PageCitation, TimeCitation
from kb.errors import NotFound, UsageError
from kb.operations.answers import find_answer

# How an editor is told a line: `{line}` and `{path}` are filled in. Others get the path alone.
_AT_LINE: Mapping[str, tuple[str, ...]] = {
    "code": ("-g", "{path}:{line}"),
    "code-insiders": ("-g", "{path}:{line}"),
    "codium": ("-g", "{path}:{line}"),
    "cursor": ("-g", "{path}:{line}"),
    "subl": ("{path}:{line}",),
    "zed": ("{path}:{line}",),
    "hx": ("{path}:{line}",),
    "micro": ("+{line}", "{path}"),
    "nano": ("+{line}", "{path}"),
    "vi": ("+{line}", "{path}"),
    "vim": ("+{line}", "{path}"),
    "nvim": ("+{line}", "{path}"),
    "emacs": ("+{line}", "{path}"),
    "emacsclient": ("+{line}", "{path}"),
    "kak": ("+{line}", "{path}"),
    "less": ("+{line}g", "-N", "{path}"),
}

_ANYWHERE = (("xdg-open",), ("open",))


class Opening(NamedTuple):
    """A citation, the file it leads to, and the command that shows it; `is_at_place` where the program jumps there."""

    citation: Citation
    path: Path
    command: tuple[str, ...]
    is_at_place: bool


def find_opening(config: Config, typed: str, answer_id: str | None, env: Mapping[str, str]) -> Opening:
    """What `kb open` runs for the n-th citation of an answer (None: the last one) or for a citation as it is written.

    Raises: UsageError, InvalidCitation, NotFound where there is no such citation or file.
    """
    citation, path = _place(config, typed, answer_id)
    if not path.is_file():
        raise NotFound(f"{path} is not there", "kb ingest brings the index in step; kb verify finds what moved")
    if isinstance(citation, LineCitation):
        return _edited(citation, path, env)
    return _viewed(citation, path, env)


def _place(config: Config, typed: str, answer_id: str | None) -> tuple[Citation, Path]:
    if not typed.isdecimal():
        citation = parse_citation(typed)
        return citation, config.workspace_root / citation.path
    answer = find_answer(config.sqlite, answer_id)
    number = int(typed)
    marked = {each.marker: each for each in answer.citations if each.marker is not None}
    found = marked.get(f"[{number}]")
    if found is None and not marked and 1 <= number <= len(answer.citations):
        found = answer.citations[number - 1]  # the nearest places of a refusal
    if found is None:
        held = ", ".join(marked) or f"{len(answer.citations)} places"
        raise UsageError(f"the answer {answer.retrieval.trace_id} has no citation [{number}]", f"it has {held}")
    return found.citation, Path(found.source_path)


def _edited(citation: LineCitation, path: Path, env: Mapping[str, str]) -> Opening:
    """The line in $VISUAL, $EDITOR, $PAGER or less."""
    wanted = env.get("VISUAL") or env.get("EDITOR") or env.get("PAGER") or "less"
    program = shlex.split(wanted)
    arguments = _AT_LINE.get(Path(program[0]).name)
    filled = [part.format(path=path, line=citation.start) for part in arguments or ("{path}",)]
    return Opening(citation, path, (*program, *filled), arguments is not None)


def _viewed(citation: Citation, path: Path, env: Mapping[str, str]) -> Opening:
    """The page or second in a viewer that jumps there; else the file in what the desktop has for it."""
    for viewers, is_at_place in ((_viewers_at(citation), True), (_ANYWHERE, False)):
        for viewer in viewers:
            if shutil.which(viewer[0], path=env.get("PATH", os.defpath)):
                return Opening(citation, path, (*viewer, str(path)), is_at_place)
    raise UsageError(f"no program was found that shows {path.name}", f"open it by hand: {citation.to_uri()}")


def _viewers_at(citation: Citation) -> list[tuple[str, ...]]:
    """Viewers that jump to the page or second, and how each is told."""
    if isinstance(citation, PageCitation):
        page = str(citation.page)
        return [("evince", f"--page-index={page}"), ("okular", "-p", page), ("zathura", "-P", page)]
    if isinstance(citation, TimeCitation):
        seconds = f"{citation.start_ms / 1000:g}"
        return [("mpv", f"--start={seconds}"), ("ffplay", "-ss", seconds), ("vlc", f"--start-time={seconds}")]
    return []
