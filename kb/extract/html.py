"""Renders notes and source code as HTML for the browser, without scripts or fetched content.

    note: lines → tokens of the note parser → HTML with `data-from` and `data-to` on each block → cleaned

`data-from` and `data-to` are a block's lines in the file. A link to a note has the note's name as `data-note`, which
the page resolves; a picture of the knowledge base is `data-image`, and one of the web is a link. The note's own HTML is
filtered to harmless elements (nh3), without scripts, styles, frames, forms and event handlers.
"""

from __future__ import annotations

import html
import re
from collections.abc import MutableMapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any
from unicodedata import east_asian_width
from urllib.parse import unquote

from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from kb.extract.markdown.frontmatter import read_frontmatter
from kb.extract.markdown.parser import MAX_LINE_CHARS, note_parser
from kb.extract.notebook import Cell
from kb.language.links import may_name_a_source

# Longer text is shown without colours, which would take too long.
MAX_COLOURED_CHARS = 400_000

# A longer note is shown as its lines: a browser would take seconds to lay it out in one piece.
MAX_CHARS = 1_500_000

_CALLOUT = re.compile(r"\[!([A-Za-z-]+)\][+-]?[ \t]*")
_MARKERS_BEHIND_ROW = re.compile(r"^([ \t]*\|.*\|)[ \t]+((?:\[\d+\][ \t]*)+)$", re.M)
# A fence to its end, or rows of a table with what was left out between them.
_FENCED_OR_ROWS = re.compile(
    r"^[ \t]*(?P<fence>```|~~~)[\s\S]*?(?:^[ \t]*(?P=fence)|\Z)"
    r"|(?P<rows>^[ \t]*\|.*\|[ \t]*$(?:\n(?:…|[ \t]*\|.*\|)[ \t]*$)*)",
    re.M,
)
_CELL_EDGE = re.compile(r"(?<!\\)\|")
_SENTENCE_END = re.compile(r"[.!?:…][\"')\]]*\s*\Z")
_MARKERS_AT_END = re.compile(r"\s*(?:\[\d+\]\s*)+\Z")
_BREAK_AT_END = re.compile(r"\s*\\(?=\s*(?:\[\d+\]\s*)*\Z)")  # of a line whose next one is not shown
_EMPTY_HEAD = re.compile(r"<thead>\s*<tr>\s*(?:<th>\s*</th>\s*)+</tr>\s*</thead>\s*")
_SWALLOWS = re.compile(
    r"<(script|style|noscript|template|iframe|object|svg|math|title|textarea|xmp|plaintext|select|noembed)\b", re.I
)
_TASK = re.compile(r"\[([ xX])\][ \t]+")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_BLOCK_ID = re.compile(r"(?:^|\s+)\^[A-Za-z0-9-]+\s*$")

_ELEMENTS = frozenset(
    "a abbr b blockquote br caption cite code col colgroup dd del details dfn div dl dt em figcaption figure h1 h2 h3 "
    "h4 h5 h6 hr i ins kbd li mark ol p pre q rp rt ruby s samp small span strong sub summary sup table tbody td tfoot "
    "th thead time tr u ul var wbr".split()
)
_OWN_ATTRIBUTES = {
    "data-from",
    "data-to",
    "data-note",
    "data-image",
    "data-outside",
    "data-callout",
    "data-title",
    "data-task",
    "data-tag",
    "data-output",
}
_ATTRIBUTES = {
    "a": {"href", "title"},
    "td": {"colspan", "rowspan", "align"},
    "th": {"colspan", "rowspan", "align", "scope"},
    "ol": {"start"},
    "details": {"open"},
    "*": {*_OWN_ATTRIBUTES, "class", "lang"},
}


def note_html(source_text: str) -> str | None:
    """The note as HTML; None where it is too long or its markup cannot be parsed (the page then shows its lines).

    `source_text` is the whole file, frontmatter included; lines are counted from its first.
    """
    if len(source_text) > MAX_CHARS:
        return None
    lines = list(enumerate(source_text.split("\n"), 1))
    body = _prose_html(lines[read_frontmatter(source_text).line_count :])
    return None if body is None else _cleaned(body)


def notebook_html(cells: Sequence[Cell]) -> str | None:
    """The cells of a notebook as HTML: prose as a note, coloured code, outputs as `data-output`. None as for a note."""
    if sum(len(line) for cell in cells for _, line in cell.lines) > MAX_CHARS:
        return None
    parts = [_prose_html(cell.lines) if cell.kind == "markdown" else _code_html(cell) for cell in cells]
    return None if None in parts else _cleaned("".join(filter(None, parts)))


def _prose_html(lines: Sequence[tuple[int, str]]) -> str | None:
    """Numbered lines of Markdown as HTML that is not filtered yet; None if it cannot be parsed."""
    parser = note_parser()
    environment: MutableMapping[str, Any] = {}
    try:
        tokens = parser.parse("\n".join(line[:MAX_LINE_CHARS] for _, line in lines), environment)
    except (RecursionError, ValueError, IndexError):
        return None
    _number_lines(tokens, lines)
    return str(_NoteRenderer().render(tokens, parser.options, environment))


def _code_html(cell: Cell) -> str:
    code = "\n".join(highlighted_lines("\n".join(line for _, line in cell.lines), cell.language))
    kind = ' data-output=""' if cell.kind == "output" else ""
    return f'<pre data-from="{cell.lines[0][0]}" data-to="{cell.lines[-1][0]}"{kind}><code>{code}</code></pre>\n'


def answer_html(text: str) -> str | None:
    """The text of an answer as HTML, made by `rows_html`; markers after the last row of a table become no cells."""
    return rows_html(_MARKERS_BEHIND_ROW.sub(r"\1\n\n\2", text))


def rows_html(text: str) -> str | None:
    """A text of any kind of file as HTML, rendered like a note; None if its markup cannot be parsed.

    Rows without a rule below their head, as in a spreadsheet, become a table too. Lines that were not wrapped stay
    separate. An indented line is no code: a quotation may begin within an item of a list.
    """
    text = _FENCED_OR_ROWS.sub(_with_rule, text)
    parser = note_parser(indented_code=False)
    environment: MutableMapping[str, Any] = {}
    try:
        tokens = parser.parse(text, environment)
    except (RecursionError, ValueError, IndexError):
        return None
    for token in tokens:
        breaks = [child for child in token.children or () if child.type in ("softbreak", "hardbreak")]
        if token.type == "inline" and token.children and token.children[-1].type == "text":
            token.children[-1].content = _BREAK_AT_END.sub("", token.children[-1].content)
        for line_break, is_wrapped in zip(breaks, wrapped(token.content.split("\n")), strict=False):
            line_break.type = line_break.type if is_wrapped else "hardbreak"
    return _EMPTY_HEAD.sub("", _cleaned(str(_NoteRenderer().render(tokens, parser.options, environment))))


def _with_rule(found: re.Match[str]) -> str:
    """Table rows as Markdown tables. A table begins at its head: above a rule, or with words that recur below."""
    if found["rows"] is None:
        return found[0]
    rows = [
        [each.strip() for each in _CELL_EDGE.split(row.strip())[1:-1]] or ["…"] for row in found["rows"].split("\n")
    ]
    heads = {at for at, pair in enumerate(pairwise(rows)) if _is_head(*pair)}
    edges = sorted({0, *heads, len(rows)})
    return "\n".join(_table(rows[start:end], has_head=start in heads) for start, end in pairwise(edges))


def _is_rule(row: Sequence[str]) -> bool:
    return all(re.fullmatch(":?-{2,}:?", cell) for cell in row)


def _is_head(row: Sequence[str], below: Sequence[str]) -> bool:
    """Whether there is a rule below a row, or the cells of the row below begin with the row's words."""
    return _is_rule(below) or all(name and cell.startswith(f"{name}: ") for name, cell in zip(row, below, strict=False))


def _table(rows: list[list[str]], *, has_head: bool) -> str:
    """Rows as a Markdown table with as many columns as the longest row; without `has_head` its head is empty."""
    width = max(map(len, rows))
    rule = next(filter(_is_rule, rows), [])
    lines = [row for row in rows if not _is_rule(row)] if has_head else [[], *rows]
    lines.insert(1, [*rule, *["---"] * (width - len(rule))])
    return "\n".join(["", *(f"| {' | '.join([*row, *[''] * (width - len(row))])} |" for row in lines), ""])


def wrapped(lines: Sequence[str]) -> list[bool]:
    """For each line but the last, whether it was wrapped: the next word would not have fitted into the text's width."""
    lines = [_MARKERS_AT_END.sub("", line) for line in lines]
    least = max(map(_columns, lines)) * 7 // 8  # a width is rarely filled to its end
    full = [_columns(f"{line} {(after.split() or [''])[0]}") > least for line, after in pairwise(lines)]
    if all(full):
        return full
    return [each and not _SENTENCE_END.search(line) for each, line in zip(full, lines, strict=False)]


def _columns(text: str) -> int:
    """The width of a text in columns, two for a wide character such as a syllable of Hangul."""
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


def _number_lines(tokens: Sequence[Token], lines: Sequence[tuple[int, str]]) -> None:
    """Sets the source lines of each block, without blank lines at its end."""
    for token in tokens:
        if token.map is None or token.nesting < 0 or token.hidden or token.type == "inline":
            continue
        start, end = token.map[0], token.map[1] - 1
        while end > start and not lines[end][1].strip():
            end -= 1
        token.attrSet("data-from", str(lines[start][0]))
        token.attrSet("data-to", str(lines[end][0]))


def highlighted_lines(source: str, language: str | None) -> list[str]:
    """Each line of `source` as HTML: `<span class="…">` around the tokens that Pygments names, everything escaped."""
    lines = source.split("\n")
    lexer = lexer_of(language.lower()) if language and len(source) <= MAX_COLOURED_CHARS else None
    if lexer is not None:
        from pygments import highlight  # not needed for notes
        from pygments.formatters import HtmlFormatter

        found = highlight(source, lexer, HtmlFormatter(nowrap=True)).split("\n")
        if len(found) == len(lines) + 1:
            found.pop()  # the formatter ends the last line
        if len(found) == len(lines):
            return list(found)
    return [html.escape(line) for line in lines]


@lru_cache(maxsize=64)
def lexer_of(language: str) -> Any:
    """Pygments' lexer for a language, set to keep every line; None if there is none."""
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(_LEXERS.get(language, language), stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


# Languages that Pygments has other names for.
_LEXERS = {"dockerfile": "docker", "gomod": "text", "gradle": "groovy", "make": "makefile"}


def _cleaned(rendered: str) -> str:
    import nh3  # of the extra `web`

    return nh3.clean(
        rendered,
        tags=set(_ELEMENTS),
        clean_content_tags={"script", "style", "noscript", "template", "iframe", "object", "svg", "math", "title"},
        attributes=_ATTRIBUTES,
        attribute_filter=_filtered,
        url_schemes={"http", "https", "mailto"},
        link_rel="noreferrer noopener",
        strip_comments=True,
    )


def _filtered(element: str, attribute: str, value: str) -> str | None:
    """The value of an attribute to keep; None drops the attribute.

    An `href` must begin with a scheme such as `https:`. A `class` must be on a `span` and have at most three
    characters, as the highlighter's classes do. Other values are kept.
    """
    if attribute == "href":
        return value if _SCHEME.match(value) else None
    if attribute == "class":
        return value if element == "span" and len(value) <= 3 else None
    return value


class _NoteRenderer(RendererHTML):
    """markdown-it's renderer, with the marks of notes."""

    def wikilink(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: Any) -> str:
        """A link to another note, or an embedded picture."""
        token = tokens[index]
        target = str(token.meta["target"])
        if token.meta["embedded"] and _is_picture(target):
            return _picture(target, str(token.meta["alias"]))
        return f'<a data-note="{html.escape(target)}">{html.escape(token.content)}</a>'

    def hashtag(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: Any) -> str:
        """A tag, which links to the notes that have it."""
        tag = html.escape(tokens[index].content)
        return f'<a data-tag="{tag}">#{tag}</a>'

    def image(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: Any) -> str:
        """A picture of the knowledge base; one of the web is not fetched but linked."""
        token = tokens[index]
        source, alt = str(token.attrs.get("src", "")), token.content
        if _SCHEME.match(source) or source.startswith("//"):
            return f'<a href="{html.escape(source)}" data-outside="">{html.escape(alt or source)}</a>'
        return _picture(unquote(source), alt)

    def link_open(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: Any) -> str:
        """The beginning of a link: unchanged if it leads outside, by name if to a file of the knowledge base."""
        href = str(tokens[index].attrs.get("href", ""))
        if (_SCHEME.match(href) or href.startswith("//")) and not may_name_a_source(href):
            return f'<a href="{html.escape(href)}" data-outside="">'
        return f'<a data-note="{html.escape(unquote(href))}">'

    def fence(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: Any) -> str:
        """A code block with syntax colours."""
        token = tokens[index]
        language = token.info.split(maxsplit=1)[0] if token.info.strip() else None
        body = "\n".join(highlighted_lines(token.content.rstrip("\n"), language))
        return f"<pre{self.renderAttrs(token)}><code>{body}</code></pre>\n"

    def blockquote_open(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: Any) -> str:
        """The beginning of a quotation, or of a callout if it begins with a callout's mark."""
        token, first = tokens[index], _first_text(tokens, index)
        if first is not None and (mark := _CALLOUT.match(first.content)):
            first.content = first.content[mark.end() :] or mark[1].capitalize()
            token.attrSet("data-callout", mark[1].lower())
            _part_title(tokens[index + 2].children or [])
        return f"<blockquote{self.renderAttrs(token)}>\n"

    def list_item_open(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: Any) -> str:
        """The beginning of a list item; the box of a task is a character, not an input."""
        first = _first_text(tokens, index)
        if first is not None and (mark := _TASK.match(first.content)):
            first.content = ("☐ " if mark[1] == " " else "☑ ") + first.content[mark.end() :]
            tokens[index].attrSet("data-task", "")
        return f"<li{self.renderAttrs(tokens[index])}>"

    def html_block(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: Any) -> str:
        """The note's own HTML; shown as text if it opens an element that would swallow the text after it."""
        content = tokens[index].content
        opened = {found.lower() for found in _SWALLOWS.findall(content)}
        swallows = any(f"</{element}" not in content.lower() for element in opened)
        return html.escape(content) if swallows else content

    def html_inline(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:
        """The note's own HTML within a paragraph, as in `html_block`."""
        return self.html_block(tokens, idx, options, env)

    def footnote_reference_open(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: Any) -> str:
        """The beginning of a footnote's text, at the place where the note has it, with the label in front."""
        label = html.escape(str(tokens[index].meta.get("label", "")))
        return f"<div{self.renderAttrs(tokens[index])}><sup>{label}</sup> "

    def footnote_reference_close(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: Any) -> str:
        """The end of a footnote's text."""
        return "</div>\n"

    def text(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: Any) -> str:
        """Text, without the block id at the end of a paragraph."""
        content = tokens[index].content
        is_last = index == len(tokens) - 1
        return html.escape(_BLOCK_ID.sub("", content) if is_last and content.strip() else content)


def _part_title(children: list[Token]) -> None:
    """Puts the first line of a callout into an element."""
    end = next((at for at, each in enumerate(children) if each.type in ("softbreak", "hardbreak")), len(children))
    rest = children[end + 1 :]
    children[:] = [
        Token("html_inline", "", 0, content='<b data-title="">'),
        *children[:end],
        Token("html_inline", "", 0, content="</b>"),
        *rest,
    ]


def _first_text(tokens: Sequence[Token], index: int) -> Token | None:
    """The first text of a quotation or an item; None where it begins with anything else."""
    inline = next((each for each in tokens[index + 1 : index + 3] if each.type == "inline"), None)
    first = inline.children[0] if inline is not None and inline.children else None
    return first if first is not None and first.type == "text" else None


def _is_picture(target: str) -> bool:
    return target.rpartition(".")[2].lower() in ("avif", "bmp", "gif", "jpg", "jpeg", "png", "tif", "tiff", "webp")


def _picture(name: str, alt: str) -> str:
    return f'<span data-image="{html.escape(name)}">{html.escape(alt or name)}</span>'
