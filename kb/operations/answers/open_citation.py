"""Finds the file of a citation on this machine, and the program that shows it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Thread
from typing import NamedTuple
from urllib.parse import quote, unquote

from kb.config import Config
from kb.domain.citations import Citation, LineCitation, PageCitation, TimeCitation, cited_lines, parse_citation
from kb.domain.kinds import kind_of, media_type_of
from kb.errors import InvalidCitation, NotFound, UsageError
from kb.operations.answers.last_shown import ShownPlace, last_shown, shown_answer
from kb.operations.answers.records import find_answer
from kb.operations.fetch.places import file_lines, require_line
from kb.operations.inspect.view import view_document
from kb.operations.opening.base import Base
from kb.operations.opening.typed_path import as_on_disk
from kb.private import users_surroundings
from kb.scan.read import is_there, place_in_archive

# Arguments that open an editor at a line: `{line}` and `{path}` are filled in. Others get the path alone.
_AT_LINE: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("code", "code-insiders", "codium", "cursor"), ("-g", "{path}:{line}")),
    **dict.fromkeys(("subl", "zed", "hx"), ("{path}:{line}",)),
    **dict.fromkeys(("micro", "nano", "vi", "vim", "nvim", "emacs", "emacsclient", "kak"), ("+{line}", "{path}")),
    "less": ("+{line}g", "-N", "{path}"),
}

# Editors that need no terminal.
_WITH_WINDOW = frozenset(("code", "code-insiders", "codium", "cursor", "subl", "zed", "emacsclient", "gvim", "kate"))

# Browsers that open a page at words of it (a text fragment), the system's own choice first.
_BROWSERS = ("x-www-browser", "firefox", "firefox-esr", "google-chrome", "chromium", "chromium-browser")
_LAID_MARKS = re.compile(r"^\s*(?:(?:#{1,6}|[-*>|]|\d+\.)\s+)*")
_WORDS_OF_PLACE = 8

_ANYWHERE = (("xdg-open",), ("open",))


class Opening(NamedTuple):
    """A file and the command that shows it; `is_at_place`: the program jumps to the cited place.

    `citation` is None if the file is opened as a whole.
    """

    citation: Citation | None
    path: Path
    command: tuple[str, ...]
    is_at_place: bool


def find_opening(
    session: Base, typed: str, answer_id: str | None, env: Mapping[str, str], shown: ShownPlace | None = None
) -> Opening:
    """What `kb open` runs for a number of the list shown last (or of an answer), a citation, or a file; or for `shown`.

    Raises: UsageError, InvalidCitation, NotFound where there is no such citation or file.
    """
    citation, path = _place(session, typed, answer_id) if shown is None else (shown.citation, Path(shown.source_path))
    _require_unpacked(citation.to_uri() if citation else typed, path)
    if not path.is_file():
        raise NotFound(f"{path} is not there", "kb ingest updates the index; kb verify finds what moved")
    if (lines := cited_lines(citation)) is not None or (citation is None and _is_text(path)):
        has_editor = env.get("VISUAL") or env.get("EDITOR")
        return (None if has_editor else _browsed(session, lines, path, env)) or _edited(lines, path, env)
    return _viewed(citation, path, env)


def _require_unpacked(shown: str, path: Path) -> None:
    """Raises UsageError for a member of an archive: no program opens a file there."""
    if (place := place_in_archive(str(path))) is not None and is_there(str(path)):
        raise UsageError(f"{place[1]} is in the archive {place[0]}", f"kb fetch '{shown}' prints it")


def as_the_shell_would(command: Sequence[str]) -> int:
    """Runs a program with the user's environment and umask; returns its exit code. Raises: OSError."""
    theirs = users_surroundings()
    return subprocess.call(command, env=theirs.environment, umask=theirs.umask)


def run_opening(opening: Opening, run: Callable[[Sequence[str]], int] = as_the_shell_would) -> int:
    """Runs the command and returns its exit code. Raises: UsageError if it cannot be run."""
    try:
        return run(opening.command)
    except OSError as error:
        raise UsageError(
            f"{opening.command[0]} cannot be run: {error.strerror}", "set $EDITOR to your editor"
        ) from error


def open_in_window(session: Base, typed: str, env: Mapping[str, str]) -> str:
    """Opens an indexed document at its citation in a graphical program; returns the program's name at once.

    Raises: NotFound, also if the document is hidden or its file is gone; UsageError if no such program is found.
    """
    shown = view_document(session, typed)
    path = Path(shown.document.source_path)
    _require_unpacked(typed, path)
    if not path.is_file():
        raise NotFound(f"{path} is not there", "kb ingest updates the index")
    if _is_text(path):
        lines = cited_lines(shown.citation)
        opening = _edited(lines, path, env)
        if Path(opening.command[0]).name not in _WITH_WINDOW:
            opening = _browsed(session, lines, path, env) or _viewed(None, path, env)
    else:
        opening = _viewed(shown.citation, path, env)
    theirs = users_surroundings()
    nowhere = subprocess.DEVNULL
    try:
        started = subprocess.Popen(
            opening.command,
            env=theirs.environment,
            umask=theirs.umask,
            start_new_session=True,
            stdin=nowhere,
            stdout=nowhere,
            stderr=nowhere,
        )
    except OSError as error:
        raise UsageError(
            f"{opening.command[0]} cannot be run: {error.strerror}", "set $VISUAL to an editor with a window"
        ) from error
    Thread(target=started.wait, daemon=True).start()  # or it would stay as a zombie
    return Path(opening.command[0]).name


def _is_text(path: Path) -> bool:
    """Whether an editor shows the file: notes, and all files that kb does not read as another kind."""
    media_type = media_type_of(path.name)
    return media_type is None or kind_of(media_type).citation in ("line", "code")


def _place(session: Base, typed: str, answer_id: str | None) -> tuple[Citation | None, Path]:
    """The citation and its file; the citation is None if a file is named."""
    if typed.isdecimal():
        found = _numbered(session, int(typed), answer_id)
        return found.citation, Path(found.source_path)
    try:
        citation = parse_citation(typed)
    except InvalidCitation:
        return None, _named_file(session.config, typed)
    path = Path(as_on_disk(str(session.config.sources.on_disk(citation.path))))
    if not path.is_file():
        path = Path(as_on_disk(str(session.config.sources.on_disk(unquote(citation.path)))))
    if (asked := cited_lines(citation)) is not None and path.is_file():
        require_line(citation.path, asked.start, len(file_lines(path.read_bytes(), citation.path)))
    return citation, path


def _numbered(session: Base, number: int, answer_id: str | None) -> ShownPlace:
    """The place with that number in the answer `answer_id`, or in the last shown list if that is None."""
    shown = None if answer_id is not None else last_shown(session.config.last_shown)
    shown = shown or shown_answer(find_answer(session, answer_id))
    return shown.numbered(number, "; an earlier answer's places open with --answer ID")


def _named_file(config: Config, typed: str) -> Path:
    """The file of that name in a source, else below the working directory. Raises: NotFound."""
    spelled = [os.path.expanduser(each) for each in dict.fromkeys((typed, unquote(typed)))]  # as agents see it too
    both = [path for each in spelled for path in (config.sources.on_disk(each), Path(each).absolute())]
    for path in (Path(as_on_disk(str(each))) for each in both):
        if path.is_file() or place_in_archive(str(path)) is not None:
            return path
    raise NotFound(
        f"{typed!r} is neither a number, nor a citation, nor a file below {config.workspace_root} or here",
        "kb list docs shows what is indexed; a citation looks like notes/a.md#L12-L34",
    )


def _edited(citation: LineCitation | None, path: Path, env: Mapping[str, str]) -> Opening:
    """Opens a file at its line in $VISUAL, $EDITOR, $PAGER or less."""
    wanted = env.get("VISUAL") or env.get("EDITOR") or env.get("PAGER") or "less"
    try:
        program = shlex.split(wanted)
    except ValueError as error:
        raise UsageError(f"{wanted!r} is no command: {error}", "set $EDITOR as a shell would read it") from error
    if not program:
        raise UsageError("$EDITOR names no program", "set it to your editor, or leave it unset")
    if citation is None:
        return Opening(None, path, (*program, str(path)), is_at_place=True)
    arguments = _AT_LINE.get(Path(program[0]).name)
    filled = [part.format(path=path, line=citation.start) for part in arguments or ("{path}",)]
    return Opening(citation, path, (*program, *filled), arguments is not None)


def _browsed(session: Base, cited: LineCitation | None, path: Path, env: Mapping[str, str]) -> Opening | None:
    """Opens a cited web page in a browser, at the first cited words; None for other files, or without a browser.

    Raises: NotFound; FileVanished if the file has changed since it was indexed.
    """
    if cited is None or media_type_of(path.name) != "html" or not (env.get("DISPLAY") or env.get("WAYLAND_DISPLAY")):
        return None
    named = filter(None, (env.get("BROWSER"), *_BROWSERS))
    browser = next((each for each in named if shutil.which(each, path=env.get("PATH", os.defpath))), None)
    if browser is None:
        return None
    lines = (view_document(session, cited.to_uri()).text or "").split("\n")[cited.start - 1 : cited.end]
    words = next(filter(None, (_LAID_MARKS.sub("", line).partition(" |")[0].split() for line in lines)), [])
    text = quote(" ".join(words[:_WORDS_OF_PLACE]), safe="").replace("-", "%2D")
    return Opening(cited, path, (browser, f"{path.as_uri()}#:~:text={text}"), is_at_place=True)


def _viewed(citation: Citation | None, path: Path, env: Mapping[str, str]) -> Opening:
    """Opens a file in a viewer at its page or second, or else in the desktop's default program."""
    for viewers, is_at_place in ((_viewers_at(citation), True), (_ANYWHERE, citation is None)):
        for viewer in viewers:
            if shutil.which(viewer[0], path=env.get("PATH", os.defpath)):
                return Opening(citation, path, (*viewer, str(path)), is_at_place)
    raise UsageError(
        f"no program was found that shows {path.name}", f"open it by hand: {citation.to_uri() if citation else path}"
    )


def _viewers_at(citation: Citation | None) -> list[tuple[str, ...]]:
    """The commands of viewers that can jump to the cited page or second; empty for other citations."""
    if isinstance(citation, PageCitation):
        page = str(citation.page)
        return [("evince", f"--page-index={page}"), ("okular", "-p", page), ("zathura", "-P", page)]
    if isinstance(citation, TimeCitation):
        seconds = f"{citation.start_ms / 1000:g}"
        return [("mpv", f"--start={seconds}"), ("ffplay", "-ss", seconds), ("vlc", f"--start-time={seconds}")]
    return []
