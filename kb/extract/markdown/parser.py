"""The Markdown parser of notes: CommonMark, GFM tables and strikethrough, footnotes, and Obsidian's marks.

Wikilinks and hashtags become tokens (`wikilink`, `hashtag`). Comments are dropped, and so are MDX components and
statements on separate lines. The parser's own rules keep them out of code. Every rule below takes linear time.
"""

from __future__ import annotations

import bisect
import functools
import re
from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from mdit_py_plugins.footnote.index import footnote_def

from kb.language.markup import Unread

# `[[Target]]`, `[[Target#Heading|alias]]`; with `!` before it the target is shown in place.
_WIKILINK = re.compile(r"(!?)\[\[([^\[\]|\n]{1,1000})(?:\|([^\[\]\n]{0,1000}))?\]\]")

# Obsidian allows letters and digits of any script, `_`, `-` and `/`, at least one of them not a digit.
_HASHTAG = re.compile(r"#([^\s\u2000-\u206f\u2e00-\u2e7f\u3000-\u303f'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\]+)")
# The anchor of a heading, as some sites write it: `# Title[[anchor]]`, in lower case, right after the title.
_ANCHOR = re.compile(r"[a-z0-9][a-z0-9_.-]*")
_NOT_A_TAG = re.compile(r"[\d/]*")

# The parser sees no more of one line than this. The text is indexed whole; a longer line is generated data, and parsing
# its markup would take minutes.
MAX_LINE_CHARS = 20_000


def parse_lines(lines: Sequence[str], references: dict[str, object]) -> list[Token]:
    """The parser's tokens for `lines`; their line maps count from 0. Definitions of links are added to `references`.

    Raises: the parser's errors on text it cannot parse.
    """
    return note_parser().parse("\n".join(line[:MAX_LINE_CHARS] for line in lines), {"references": references})


@functools.cache
def note_parser(*, indented_code: bool = True) -> MarkdownIt:
    """The one parser instance, or that to which an indented line is no code; parsing keeps no state in it."""
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    if not indented_code:
        parser.disable("code")
    parser.block.ruler.before("reference", "footnote_def", footnote_def, {"alt": ["paragraph", "reference"]})
    parser.block.ruler.before("fence", "comment", _block_comment, {"alt": ["paragraph", "reference", "blockquote"]})
    parser.block.ruler.before("html_block", "unread", _unread_lines, {"alt": ["paragraph", "reference", "blockquote"]})
    parser.core.ruler.after("inline", "heading_anchor", _heading_anchors)
    parser.inline.ruler.before("link", "wikilink", _wikilink)
    parser.inline.ruler.before("link", "comment", _inline_comment)
    parser.inline.ruler.before("link", "hashtag", _hashtag)
    return parser


def _wikilink(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in "![":
        return False
    found = _WIKILINK.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        target = found[2].strip().rstrip("\\")  # a table cell escapes the bar before the alias
        token = state.push("wikilink", "", 0)
        token.content = (found[3] or "").strip() or target
        token.meta = {"target": target, "alias": (found[3] or "").strip(), "embedded": bool(found[1])}
    state.pos = found.end()
    return True


def _hashtag(state: StateInline, silent: bool) -> bool:
    start = state.pos
    if state.src[start] != "#" or (start > 0 and not state.src[start - 1].isspace()):
        return False
    if "{" in state.src[max(0, start - 3) : start]:  # `{ #anchor }` and `{: #anchor }` name a heading
        return False
    found = _HASHTAG.match(state.src, start, state.posMax)
    if found is None or _NOT_A_TAG.fullmatch(found[1]):
        return False
    if not silent:
        state.push("hashtag", "", 0).content = found[1]
    state.pos = found.end()
    return True


def _inline_comment(state: StateInline, silent: bool) -> bool:
    if not state.src.startswith("%%", state.pos):
        return False
    end = state.src.find("%%", state.pos + 2, state.posMax)
    if end < 0:
        return False
    state.pos = end + 2
    return True


def _block_comment(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """A comment from a line that begins with `%%` to the next line that ends with it, blank lines included."""
    start, end = state.bMarks[start_line] + state.tShift[start_line], state.eMarks[start_line]
    if not state.src.startswith("%%", start) or state.is_code_block(start_line):
        return False
    first = state.src[start:end].rstrip()
    inner = first.find("%%", 2)
    if inner < 0:
        closing = _closing_line(state, start_line, end_line)
    else:
        closing = start_line if inner == len(first) - 2 else None
    if closing is None:
        return False
    if not silent:
        state.line = closing + 1
    return True


def _unread_lines(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """Components, statements and logic of MDX and Svelte on separate lines."""
    start = state.bMarks[start_line] + state.tShift[start_line]
    if state.src[start : start + 1] not in ("<", "{", "i", "e") or state.is_code_block(start_line):
        return False
    if state.src.startswith("<", start) and not state.src[start + 1 : start + 3].lstrip("/")[:1].isupper():
        return False  # CommonMark's own HTML
    unread = state.env.setdefault("unread", Unread(state.src))
    end = unread.line_end(start)
    if end is None:
        return False
    after = bisect.bisect_right(state.bMarks, end, 0, state.lineMax)
    if after > end_line:
        return False
    if not silent:
        state.line = after
    return True


def _heading_anchors(state: StateCore) -> None:
    """Removes the anchors after headings."""
    for opening, inline in zip(state.tokens, state.tokens[1:], strict=False):
        children = inline.children or []
        if opening.type != "heading_open" or len(children) < 2 or children[-1].type != "wikilink":
            continue
        target, before = str(children[-1].meta["target"]), children[-2].content
        is_glued = not before[-1:].isspace() and not children[-1].meta["embedded"] and not children[-1].meta["alias"]
        if is_glued and (_ANCHOR.fullmatch(target) or target == _slug(children[:-1])):
            del children[-1]


def _slug(children: Sequence[Token]) -> str:
    return "-".join(re.findall(r"\w+", "".join(child.content for child in children).lower()))


def _closing_line(state: StateBlock, start_line: int, end_line: int) -> int | None:
    """The first line after `start_line` that ends with `%%`; all such lines are listed once per document."""
    if "comment_ends" not in state.env:
        lines = zip(state.bMarks, state.eMarks, strict=True)
        state.env["comment_ends"] = [
            number for number, (at, end) in enumerate(lines) if state.src[at:end].rstrip().endswith("%%")
        ]
    ends: list[int] = state.env["comment_ends"]
    position = bisect.bisect_right(ends, start_line)
    return ends[position] if position < len(ends) and ends[position] < end_line else None
