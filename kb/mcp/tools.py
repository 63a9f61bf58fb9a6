"""The tools: the description, arguments, result and operation of each."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from kb.domain.answers import Answer
from kb.domain.filters import named_filters
from kb.domain.results.fetched import Picture, Pictures
from kb.domain.results.inspection import ListedKind
from kb.domain.run_handle import RunHandle
from kb.domain.search import SearchQuery
from kb.errors import UsageError
from kb.mcp.text import (
    COUNTED,
    NEAR_PLACES,
    Fence,
    answer_text,
    as_name,
    fetch_text,
    list_text,
    search_text,
    status_text,
    taken_in_text,
    visible_line,
    with_plain_names,
)
from kb.operations.ask.ask import ask
from kb.operations.ask.findings import request_for
from kb.operations.fetch.fetch import fetch
from kb.operations.ingest.external import ExternalContent, add_external
from kb.operations.ingest.ingest import ingest
from kb.operations.ingest.requests import ingest_request
from kb.operations.inspect.listing import list_things
from kb.operations.inspect.status import base_status
from kb.operations.opening.base import Base
from kb.operations.opening.exposure import shown_below
from kb.operations.search.pages import near_in_other_language, search_page
from kb.retrieve.notes import note
from kb.wire.agents import FetchedTexts, FoundPassages, GivenAnswer, TakenIn
from kb.wire.arguments import DEFAULT_HITS, DEFAULT_LISTED, DEFAULT_SEARCH_TOKENS, fetch_request

# Agents have conversations apart from the owner's, which may hold what is hidden from agents.
_KEPT_APART = "mcp/"


class Result(NamedTuple):
    """The result of a tool: its text, the same content as a record of the schema `gives`, and the cited places."""

    text: str
    structured: Any
    places: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()


class ToolSpec(NamedTuple):
    """One tool. `takes` and `gives` are wire schemas; `run` gets validated arguments and the client's name."""

    name: str
    title: str
    description: str
    takes: str
    gives: str
    run: Callable[[Base, Any, RunHandle, str], Result]
    writes: bool = False


def _search(session: Base, given: Any, _: RunHandle, __: str) -> Result:
    filters = named_filters(given)
    limit, sort = given.get("limit", DEFAULT_HITS), given.get("sort", "score")
    query = session.defaults.query(given["query"], given.get("mode"), limit, filters, sort)
    budget = given.get("max_tokens", DEFAULT_SEARCH_TOKENS)
    counted = partial(search_text, fence=COUNTED)
    options = {"cursor": given.get("cursor"), "also": given.get("also", ())}
    page = search_page(session, query, **options, other_language=True, max_tokens=budget, shown_as=counted)
    places = tuple(hit.citation.to_uri() for hit in page.hits)
    text = search_text(page, Fence())
    page = page._replace(hits=tuple(hit._replace(cited=with_plain_names(hit.citation)) for hit in page.hits))
    return Result(text, FoundPassages(page), places)


def _fetch(session: Base, given: Any, _: RunHandle, __: str) -> Result:
    request = fetch_request(given)
    shown = Pictures()
    if given.get("images", False):
        from kb.operations.inspect.pictures import pictures  # which starts a process that draws

        try:
            shown = pictures(session, request.targets)
        except UsageError as error:  # not allowed: the text can be given all the same
            shown = Pictures(failures=(f"{error.message} ({error.hint})",))
    shown = shown._replace(given=with_plain_names(shown.given))
    fetched = fetch(session, request, partial(fetch_text, fence=COUNTED, shown=shown))
    places = (*(each.citation.to_uri() for each in fetched.places), *(f"picture {each.place}" for each in shown.given))
    text = fetch_text(fetched, Fence(), shown)
    fetched = fetched._replace(places=with_plain_names(fetched.places))
    return Result(text, FetchedTexts(fetched, shown.given), places, shown.given)


def _ask(session: Base, given: Any, handle: RunHandle, _: str) -> Result:
    conversation = _KEPT_APART + given["session"] if "session" in given else None
    query = session.defaults.query(given["question"], None, None, named_filters(given))
    kept = conversation is not None
    request = request_for(query)._replace(session_id=conversation, keep=kept, depth=given.get("depth", 1))
    answer = ask(session, request, handle)
    near = _near_in_other_language(session, answer, query)
    answer = answer._replace(notes=(*answer.notes, *near))
    if answer.conversation_id is not None:
        answer = answer._replace(conversation_id=answer.conversation_id.removeprefix(_KEPT_APART))
    places = tuple(each.citation.to_uri() for each in answer.citations)
    answer = answer._replace(citations=with_plain_names(answer.citations), hops=with_plain_names(answer.hops))
    return Result(answer_text(answer), GivenAnswer(answer), places)


def _near_in_other_language(session: Base, answer: Answer, query: SearchQuery) -> list[str]:
    """A note with the nearest places in the other language that the answer lacks; empty if kb is sure of the answer."""
    if answer.state == "answered":
        return []
    parts = [hop.search_query for hop in answer.hops[1:] if hop.state != "answered"]
    shown = {each.chunk_id for each in answer.citations}
    shown |= {place.chunk_id for hop in answer.hops[1:] if hop.state == "refused" for place in hop.places[:NEAR_PLACES]}
    found: dict[str, None] = {}
    other = None
    with session.snapshot() as base:
        for text in parts or [query.text]:
            other, near = near_in_other_language(base, query._replace(text=text, k=NEAR_PLACES))
            found |= {as_name(hit.citation.to_uri()): None for hit in near if hit.chunk_id not in shown}
    return [note(query.text, "near in language", ", ".join(found), other)] if found else []


def _list(session: Base, given: Any, _: RunHandle, __: str) -> Result:
    what: ListedKind = given["what"]
    limit = given.get("limit", DEFAULT_LISTED)
    listing = list_things(session, what, glob=given.get("glob"), limit=limit, cursor=given.get("cursor"))
    places = tuple(each.name for each in listing.items)
    if what not in ("tags", "properties"):
        listing = listing._replace(items=tuple(each._replace(name=as_name(each.name)) for each in listing.items))
    return Result(list_text(listing), listing, places)


def _status(session: Base, given: Any, _: RunHandle, __: str) -> Result:
    status = base_status(session)
    return Result(status_text(status), status)


def _add_note(session: Base, given: Any, handle: RunHandle, client: str) -> Result:
    text = given["text"].encode("utf-8", "replace")
    content = ExternalContent(text, "note.md", given["title"], given.get("source_uri"), visible_line(client)[:100])
    added = add_external(session.config, content, handle)
    assert added.report is not None  # it was no dry run
    done = TakenIn(added.report.counts, added.workspace_path, added.was_there)
    return Result(taken_in_text(done), done, (added.workspace_path,))


def _ingest(session: Base, given: Any, handle: RunHandle, _: str) -> Result:
    path = given.get("path")
    nothing = UsageError(
        f"nothing can be ingested at {path!r}", "a file or folder below the workspace, as list shows it"
    )
    if path is not None and (os.path.isabs(path) or ".." in path.split("/")):
        raise nothing
    try:
        request = ingest_request(session.config, path, dry_run=False, allow_empty=False, embed=True)
    except UsageError as error:  # it would say what there is
        raise nothing from error
    before = shown_below(session, request.scope)
    if path is not None and before.is_hidden:
        raise nothing
    report = ingest(request, handle)
    after = shown_below(session, request.scope)
    counts = after.changes_since(before)
    counts.errors = sum(item.kind == "error" and not after.hides(item.doc_path) for item in report.items)
    if path is not None and not (before.documents or after.documents or counts.errors):
        raise nothing
    done = TakenIn(counts)
    return Result(taken_in_text(done), done)


READING_TOOLS = (
    ToolSpec(
        "search",
        "Search the user's documents",
        "Find passages in the user's own notes, documents, PDFs, scans, recordings and source code, by words and by "
        "meaning. Korean and English: a question in one language finds passages in the other.\n"
        "Use it first whenever the user's own material may hold what is asked, instead of guessing or reading files "
        "one by one.\n"
        "Gives numbered passages, best first: citation, date, score, title and section, and the matching lines. A "
        "snippet is an excerpt: fetch its citation before quoting it or relying on a detail. Name the citations you "
        "used in your answer.\n"
        "Several questions, or one in several wordings? Give the others as also. Nothing useful? Ask with other words, "
        "or with mode lexical for an exact name or error message. Narrow by path, tags, dated, media or lang, and code "
        "by symbol or code_lang. For more of the same, hand next_cursor back.",
        "search_arguments.v1",
        "found_passages.v1",
        _search,
    ),
    ToolSpec(
        "fetch",
        "Read passages word for word",
        "Read the text at places of the user's documents word for word, with line numbers: what search cited, or any "
        "part of an indexed document.\n"
        'Give citations (up to 50 at once): "notes/a.md#L12-L34", "paper.pdf#page=3", "talk.mp3#t=822,850", '
        '"plan.docx#para=14", "src/a.py#symbol=Parser.parse", "notes/a.md#Heading" for a section, a chunk id, '
        "or a path for the whole document. Or path with lines, page, time or symbol. context_lines adds lines around "
        "each.\n"
        "Gives each text with its line numbers and hash, what of the same file is before and after it (#L1-L3) to read "
        "on, links of other documents to it, and whether the file has changed since it was "
        "indexed. A result cut by max_tokens goes on with next_cursor.",
        "fetch_arguments.v1",
        "fetched_texts.v1",
        _fetch,
    ),
    ToolSpec(
        "ask",
        "Answer a question from the user's documents",
        "Answer one factual question from the user's documents, each sentence checked against the passage it cites, or "
        "a refusal with the nearest places when the documents hold no answer.\n"
        "Use it for one concrete question; use search and fetch to compare, to summarise or to read widely. It says "
        "how sure it is: answered, unsure or refused. A refusal is information: do not answer from memory as if the "
        "documents said it.\n"
        "session names a conversation, so that a follow-up question is understood; only then is anything kept.",
        "ask_arguments.v1",
        "given_answer.v1",
        _ask,
    ),
    ToolSpec(
        "list",
        "List what is indexed",
        "List what the user's knowledge base holds: documents, sources (the folders at its top), tags, properties "
        "(frontmatter keys), links (of and to the documents of a glob) or symbols (definitions in code), a page at a "
        "time.\n"
        "Use it to learn how the documents are organised, which tags and folders there are to filter by, or which "
        "files lie in a folder (glob: projects/**). To find something by what it says, use search.",
        "list_arguments.v1",
        "listing.v1",
        _list,
    ),
    ToolSpec(
        "status",
        "How the knowledge base stands",
        "Say what is indexed (documents, passages, languages, kinds of files), when it was last updated, and what is "
        "missing, such as models for search by meaning. Use it when searches find less than expected.",
        "status_arguments.v1",
        "base_status.v1",
        _status,
    ),
)

WRITING_TOOLS = (
    ToolSpec(
        "add_note",
        "Add a note",
        "Add a text to the user's documents as a new Markdown note, in the folder _external/, and index it. Use it "
        "only when the user asks to save something. Its frontmatter says that it was generated, and by whom. The same "
        "text twice is one note. Gives the path to fetch and cite it by. Nothing that is there is changed.",
        "add_note_arguments.v1",
        "taken_in.v1",
        _add_note,
        writes=True,
    ),
    ToolSpec(
        "ingest",
        "Update the index",
        "Bring the index up to date with files that were added, changed or removed: all of them, or one file or folder "
        "below the workspace (path). Use it after files were changed, when search gives what they said before. The "
        "files themselves are only read. It may take long; progress is told.",
        "ingest_arguments.v1",
        "taken_in.v1",
        _ingest,
        writes=True,
    ),
)
