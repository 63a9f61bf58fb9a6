"""The colours of `kb ui`, light or dark as the terminal's background is, under the names that widgets paint with.

Each text colour has a contrast of at least 4.5 (WCAG 2.2) to each background it is painted on; a test measures it.
"""

from __future__ import annotations

import os
import re
import select
import termios
import tty
from collections.abc import Mapping

from rich.theme import Theme as Styles
from textual.theme import Theme

from kb.config.keys import Config

_ANSWERED_S = 1.0  # every terminal answers within a round trip; a later answer would be taken for keys

# On dark, on light; `marked` is behind the marked row, `cited` behind the cited lines.
_COLOURS = {
    "background": ("#15171c", "#ffffff"),
    "surface": ("#1c1f26", "#f5f6f8"),
    "marked": ("#263a52", "#d7e7f4"),
    "cited": ("#37331d", "#fbf0c6"),
    "foreground": ("#e6e8ec", "#1b1d21"),
    "quiet": ("#a6adb9", "#50565f"),
    "place": ("#7cbcff", "#005387"),
    "good": ("#86d696", "#1c5f2c"),
    "doubt": ("#e8bf66", "#6b4700"),
    "bad": ("#ff9a94", "#9c1f18"),
    "keyword": ("#cfa6ff", "#6d2896"),
}
_STYLES = {
    "quiet": "{quiet}",
    "place": "{place}",
    "heading": "bold {place}",
    "match": "bold underline {place}",
    "good": "bold {good}",
    "doubt": "bold {doubt}",
    "bad": "bold {bad}",
    "code": "{doubt}",
    "keyword": "{keyword}",
    "name": "{place}",
    "string": "{good}",
}


def styles(*, is_dark: bool) -> Styles:
    """The styles that texts name."""
    colours = _colours(is_dark)
    return Styles({name: style.format(**colours) for name, style in _STYLES.items()})


def theme(*, is_dark: bool) -> Theme:
    """The same colours for Textual's own widgets, and `$marked`, `$cited` and `$quiet` for `screen.tcss`."""
    colours = _colours(is_dark)
    own = {name: colours[name] for name in ("marked", "cited", "quiet")}
    return Theme(
        "kb-dark" if is_dark else "kb-light",
        primary=colours["place"],
        foreground=colours["foreground"],
        background=colours["background"],
        surface=colours["surface"],
        panel=colours["surface"],
        dark=is_dark,
        variables={**own, "text-muted": colours["quiet"], "text-disabled": colours["quiet"]},
    )


def _colours(is_dark: bool) -> Mapping[str, str]:
    return {name: dark if is_dark else light for name, (dark, light) in _COLOURS.items()}


def is_dark_terminal(config: Config) -> tuple[bool, str]:
    """Whether to paint light on dark: as `ui.theme` says, else as the terminal says of its background; and keys typed.

    Asks by OSC 11 on standard input and output, then for the terminal's kind, which every terminal answers; one that
    names no background is dark unless `COLORFGBG` says otherwise.
    """
    if config.ui.theme != "auto":
        return config.ui.theme == "dark", ""
    before, answer = termios.tcgetattr(0), b""
    try:
        tty.setcbreak(0, termios.TCSADRAIN)
        os.write(1, b"\x1b]11;?\x1b\\\x1b[c")
        while not re.search(rb"\x1b\[\?[\d;]*c", answer) and select.select([0], [], [], _ANSWERED_S)[0]:
            answer += os.read(0, 1024)
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
    typed = re.sub(rb"\x1b(\][^\x07\x1b]*(\x07|\x1b\\)|\[[\d;?]*[a-zA-Z])", b"", answer).decode("utf-8", "ignore")
    named = re.search(rb"\x1b\]11;rgba?:([\da-fA-F]+)/([\da-fA-F]+)/([\da-fA-F]+)", answer)
    if named is None:
        return not os.environ.get("COLORFGBG", "").endswith((";7", ";15")), typed
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in named.groups())
    return 0.299 * red + 0.587 * green + 0.114 * blue < 0.5, typed
