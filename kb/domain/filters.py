"""Filters of a question, and the one table from which every surface takes their names and labels."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from kb.domain.sources import TRUST_LEVELS

SoughtKind = Literal["phrase", "prefix", "regex"]


class Sought(NamedTuple):
    """A condition on a passage's text: a phrase, a prefix of a word, or a regular expression."""

    text: str
    kind: SoughtKind = "phrase"


class Passing(NamedTuple):
    """What passes the filters, as JSON arrays: `doc_ids_json` and, for documents of which only some passages pass, the
    row numbers of those passages.

    `sought_notes_json` and `sought_code_json` are passages that are candidates whatever words they have, in the order
    of their files. `shown` are texts that a snippet should show: phrases, and what regular expressions matched.
    """

    doc_ids_json: str | None
    passages_json: str | None = None
    sought_notes_json: str | None = None
    sought_code_json: str | None = None
    shown: tuple[str, ...] = ()


class SearchFilters(NamedTuple):
    """The conditions on a document and its passages. The table `FILTERS` says what each of the first fields accepts.

    A passage must contain everything in `holds` and nothing in `lacks`. It must pass every filter in `also`, and none
    in `never`. `as_text`: treat operators in the question as text. `among_visible`: some documents are hidden from the
    caller. `passing` is the result of the filters, None until it is computed.
    """

    tags_any: tuple[str, ...] = ()
    lang: str | None = None
    path_globs: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    trust_min: str | None = None
    media: str | None = None
    dated: str | None = None
    since: str | None = None
    before: str | None = None
    where: tuple[str, ...] = ()
    symbol: str | None = None
    symbol_kind: str | None = None
    code_lang: str | None = None
    repo: str | None = None
    title: str | None = None
    holds: tuple[Sought, ...] = ()
    lacks: tuple[Sought, ...] = ()
    also: tuple["SearchFilters", ...] = ()
    never: tuple["SearchFilters", ...] = ()
    as_text: bool = False
    among_visible: bool = False
    passing: Passing | None = None


class Filter(NamedTuple):
    """A filter of documents, as every surface accepts, explains and shows it.

    `field` is a field of `SearchFilters` and a parameter of `sql/retrieve/select_eligible_documents.sql`. `name` is its
    name in `kb search --bulk`, in addresses of the page and, with dashes, on the command line; `tool_name` is an
    agent's name for it if different, `operator` its name in a question. A filter without `help` is no option, and
    agents and the page do not offer it. `no_document` continues "no document has" and "그런 문서 없음" with the value.
    `label` is shown before an active value, `title` above the choices. `facet` names the count of its values; without a
    facet a person types a value such as `example`. `choices` are all valid values, if they are fixed. `many`: the
    filter takes several values, and a document passes with any of them (`where`: with all).
    """

    field: str
    name: str
    no_document: tuple[str, str]
    label: str = ""
    title: str = ""
    help: str = ""
    tool_help: str = ""
    tool_name: str = ""
    metavar: str = ""
    operator: str = ""
    facet: str = ""
    example: str = ""
    choices: tuple[str, ...] = ()
    many: bool = False
    of_code: bool = False


FILTERS = (
    Filter(
        "tags_any",
        "tag",
        no_document=("the tag {}", "태그 {}"),
        label="tag",
        title="Tag",
        help="Only documents with this tag or one below it; repeat for any of several.",
        tool_help="any of these tags",
        tool_name="tags",
        metavar="TAG",
        operator="tag",
        facet="tag",
        many=True,
    ),
    Filter(
        "lang",
        "lang",
        no_document=("text in the language {}", "언어 {}"),
        label="language",
        title="Language",
        help="Only documents with text in this language (ko, en, …).",
        tool_help="language of the documents: ko, en, …",
        metavar="LANG",
        operator="lang",
        facet="lang",
    ),
    Filter(
        "path_globs",
        "path_glob",
        no_document=("a path that matches {}", "경로 {}"),
        label="in",
        title="Folder",
        help="Only paths that match, e.g. 'notes/**'.",
        tool_help="paths matching any of these globs: projects/**",
        tool_name="path",
        metavar="GLOB",
        operator="path",
        facet="folder",
        many=True,
    ),
    Filter(
        "sources",
        "source",
        no_document=("the source {}", "출처 폴더 {}"),
        label="source",
        title="Source",
        help="Only documents of this source (kb list sources); repeat for any of several.",
        tool_help="any of these sources (list, what: sources)",
        tool_name="sources",
        metavar="NAME",
        facet="source",
        many=True,
    ),
    Filter(
        "trust_min",
        "trust_min",
        no_document=("at least the trust {}", "신뢰 {} 이상"),
        label="trust",
        title="At least this trusted",
        help="At least this trusted.",
        tool_help="at least this trusted",
        facet="trust",
        choices=TRUST_LEVELS,
    ),
    Filter(
        "media",
        "media",
        no_document=("the kind {}", "종류 {}"),
        label="kind",
        title="Kind of file",
        help="Only this kind of file (markdown, pdf, …).",
        tool_help="kind of file: {kinds}",
        metavar="KIND",
        facet="media",
    ),
    Filter(
        "dated",
        "dated",
        no_document=("a date in {}", "날짜 {}"),
        label="of",
        title="Of these days",
        help="Only documents whose frontmatter or name says they are of these days: 2026-11-12, 2026-11, 'last week', "
        "2026-11-01..2026-11-15.",
        tool_help="days that the frontmatter or name says: 2026-11-12, 2026-11, last week, A..B",
        metavar="WHEN",
        example="2026-11, last week, 2026-11-01..2026-11-15",
    ),
    Filter(
        "since",
        "since",
        no_document=("a date since {}", "{}부터의 날짜"),
        label="since",
        title="Since",
        help="Only documents of that day or later, by their own date: of the frontmatter, else of the name, else when "
        "the file was changed.",
        tool_help="of that day or later: 2026-03-01, 2026-03, last week",
        metavar="WHEN",
        example="2026-03-01, 2026-03, last week",
    ),
    Filter(
        "before",
        "before",
        no_document=("a date before {}", "{} 이전의 날짜"),
        label="before",
        title="Before",
        help="Only documents of an earlier day, by their own date as for --since.",
        tool_help="of an earlier day",
        metavar="WHEN",
        example="2026-03-01, 2026-03, last week",
    ),
    Filter(
        "where",
        "where",
        no_document=("{}", "{}"),
        label="where",
        title="Property",
        help="Only documents with this property (kb list properties): 'status=done', 'rating>=4', 'due<2026-03', "
        "'tags~meeting'; also != <= >. Repeat for more, which must all hold.",
        tool_help="properties that must all hold: status=done, rating>=4, due<2026-03, tags~part; also != <= >",
        metavar="CONDITION",
        example="status=done, rating>=4, tags~meeting",
        many=True,
    ),
    Filter(
        "symbol",
        "symbol",
        no_document=("a definition that matches {}", "정의 {}"),
        label="name",
        title="Name in code",
        help="Only code that defines a name that matches, e.g. 'parse*' or 'Foo.*'.",
        tool_help="code defining a name that matches: parse*",
        metavar="GLOB",
        example="parse*, Foo.*",
        of_code=True,
    ),
    Filter(
        "symbol_kind",
        "kind",
        no_document=("a definition of the kind {}", "정의 종류 {}"),
        label="defines",
        title="Definitions",
        help="Only code that defines this, e.g. function, method or class.",
        tool_help="code defining this: function, class, …",
        tool_name="symbol_kind",
        metavar="KIND",
        facet="kind",
        of_code=True,
    ),
    Filter(
        "code_lang",
        "code_lang",
        no_document=("code in {}", "코드 언어 {}"),
        label="code",
        title="Language of code",
        help="Only code in this language (rust, python, …).",
        tool_help="language of the code: python, …",
        metavar="LANG",
        facet="code_lang",
        of_code=True,
    ),
    Filter(
        "repo",
        "repo",
        no_document=("the repository {}", "저장소 {}"),
        label="repository",
        title="Repository of code",
        help="Only source code of this git repository.",
        tool_help="git repository of the code",
        metavar="NAME",
        example="its name",
        of_code=True,
    ),
    Filter("title", "title", ("{} in its title", "제목에 {}"), operator="title"),
)
"""Every filter, in the order of the fields of `SearchFilters`."""

OPTIONS = tuple(each for each in FILTERS if each.help)
"""The filters that the command line, `--bulk`, agents and the page take."""

FACETS = {each.facet: each for each in OPTIONS if each.facet}
"""The filters whose values are counted, by their facet."""


def named_filters(given: Mapping[str, Any]) -> SearchFilters:
    """Builds filters from parameters named as in JSON or as agents' tools name them; ignores other parameters."""
    found: dict[str, Any] = {
        each.field: tuple(given[name]) if each.many else given[name]
        for each in OPTIONS
        for name in (each.name, each.tool_name)
        if name in given
    }
    return SearchFilters(**found)


def values_of(filters: SearchFilters, each: Filter) -> tuple[str, ...]:
    """The values that are set for a filter."""
    held: Any = getattr(filters, each.field)
    return held if each.many else (held,) if held else ()


def with_values(filters: SearchFilters, changed: Filter, values: Iterable[str]) -> SearchFilters:
    """The filters with one of them set to `values`, or unset if there are none."""
    held = tuple(values)
    value: Any = held if changed.many else held[0] if held else None
    return filters._replace(**{changed.field: value})


def is_set(filters: SearchFilters, counted: Filter, value: str) -> bool:
    """Whether the filters contain that value of a facet; a folder's value is the glob of everything below it."""
    return _of_facet(counted, value) in values_of(filters, counted)


def toggled(filters: SearchFilters, counted: Filter, value: str) -> SearchFilters:
    """The filters with that value of a facet added, or removed if it was set."""
    value, held = _of_facet(counted, value), values_of(filters, counted)
    others = [each for each in held if counted.many and each != value]
    return with_values(filters, counted, others if value in held else [*others, value])


def _of_facet(counted: Filter, value: str) -> str:
    return f"{value}/**" if counted.facet == "folder" else value
