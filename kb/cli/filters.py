"""The options that narrow a command to some of the documents, the same wherever they are taken."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from kb.cli.options import option
from kb.domain.search import FILTER_NAMES, SearchFilters


def _known(ctx: click.Context, _: click.Parameter, media: str | None) -> str | None:
    """The kind of file, which is one that kb reads: a slip is told rather than nothing found."""
    if media is not None:
        from kb.domain.kinds import KINDS

        family = media.partition("/")[0]
        if family not in KINDS.families and family not in (read := ctx.obj.config.plugins.extractors):
            known = ", ".join((*KINDS.families, *read))
            raise click.BadParameter(f"{media!r} is no kind of file that kb reads ({known})")
    return media


_OPTIONS = (
    option(
        "--tag",
        "tags_any",
        multiple=True,
        metavar="TAG",
        help="Only documents with this tag or one below it; repeat for any of several.",
    ),
    option("--lang", metavar="LANG", help="Only documents with text in this language (ko, en, …)."),
    option("--path-glob", "path_globs", multiple=True, metavar="GLOB", help="Only paths that match, e.g. 'notes/**'."),
    option("--trust-min", type=click.Choice(["primary", "secondary", "generated"]), help="At least this trusted."),
    option("--media", metavar="KIND", callback=_known, help="Only this kind of file (markdown, pdf, …)."),
    option("--symbol", metavar="GLOB", help="Only code that defines a name that matches, e.g. 'parse*' or 'Foo.*'."),
    option(
        "--kind", "symbol_kind", metavar="KIND", help="Only code that defines this, e.g. function, method or class."
    ),
    option("--code-lang", metavar="LANG", help="Only code in this language (rust, python, …)."),
    option("--repo", metavar="NAME", help="Only source code of this git repository."),
    option(
        "--dated",
        metavar="WHEN",
        help="Only documents whose frontmatter or name says they are of these days: 2026-11-12, 2026-11, 'last week', "
        "2026-11-01..2026-11-15.",
    ),
)


def filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with these options, which it takes as one `filters: SearchFilters`."""

    @wraps(command)
    def filtered(*args: object, **options: Any) -> Any:
        filters = SearchFilters(**{field: options.pop(field) for field in FILTER_NAMES})
        return command(*args, filters=filters, **options)

    for add in reversed(_OPTIONS):
        filtered = add(filtered)
    return filtered
