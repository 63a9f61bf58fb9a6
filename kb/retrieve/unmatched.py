"""What to tell where filters leave nothing: which of them no document passes, and the nearest value that one has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from kb.domain.filters import FILTERS, Filter, SearchFilters, Sought, values_of, with_values
from kb.domain.kinds import media_type_of
from kb.domain.text import stored_text
from kb.language.detect import query_language
from kb.language.lists import rows
from kb.retrieve.filters import eligible_documents, stored_values
from kb.store.connection import Connection

_VALUES_SHOWN = 5
_ALIKE = 0.6  # of difflib's ratio


def filter_notes(db: Connection, question: str, filters: SearchFilters, *, found: bool = False) -> Iterator[str]:
    """What there is to say of a question's filters: what was left out, and where nothing was `found`, why."""
    korean = query_language(question) == "ko"
    if filters.lacks:
        left_out = ", ".join(map(_shown, filters.lacks))
        yield f"{left_out}이(가) 있는 곳은 뺌" if korean else f"without passages that hold {left_out}"
    if found:
        return
    alone = [
        (each, values, with_values(SearchFilters(among_visible=filters.among_visible), each, values))
        for either in (filters, *filters.also)
        for each in FILTERS
        if (values := values_of(either, each))
    ]
    none_passes = [each for each in alone if eligible_documents(db, each[2]) == "[]"]
    for each, values, _ in none_passes:
        said = each.no_document[korean].format(", ".join(f'"{stored_text(value)}"' for value in values))
        yield (f"{said}: 그런 문서 없음" if korean else f"no document has {said}") + _hint(db, each, values[0], korean)
    if none_passes:
        return
    if len(alone) > 1 and eligible_documents(db, filters) == "[]":
        yield "이 조건을 모두 만족하는 문서 없음" if korean else "no document passes all of these filters"
    elif filters.holds:
        sought = ", ".join(map(_shown, filters.holds))
        yield f"{sought}이(가) 있는 곳 없음" if korean else f"no passage holds {sought}"


def _shown(sought: Sought) -> str:
    text = stored_text(sought.text)
    return f"/{text}/" if sought.kind == "regex" else f'"{text}"' + "*" * (sought.kind == "prefix")


def _hint(db: Connection, unmatched: Filter, value: str, korean: bool) -> str:
    """The nearest value that documents have, or some of those they have."""
    known = stored_values(db, unmatched.name)
    if near := _nearest(unmatched, stored_text(value), known):
        return f" (비슷한 값: {near})" if korean else f"; the nearest is {near}"
    if not known or unmatched.field == "symbol":
        return ""
    some = ", ".join((_folders(known) if unmatched.field == "path_globs" else known)[:_VALUES_SHOWN])
    return f" (있는 값: {some})" if korean else f"; there are {some}"


def _nearest(unmatched: Filter, value: str, known: Sequence[str]) -> str | None:
    if unmatched.field == "path_globs":
        return _nearest_path(value, known)
    bare = value.strip("*?#/ ").casefold()
    folded = {each.casefold(): each for each in reversed(known)}
    in_other_words = {
        "lang": next((code for code, names in rows("language_names").items() if bare in names[0].split()), bare[:2]),
        "media": (media_type_of(f"x.{bare}") or "").partition("/")[0],
        "code_lang": (media_type_of(f"x.{bare}") or "").partition("/")[2],
    }.get(unmatched.field, "")
    begun = [each for each in folded if len(bare) > 1 and (each.startswith(bare) or bare.startswith(each))]
    best = [in_other_words] if in_other_words in folded else get_close_matches(bare, folded, 1, _ALIKE) or begun
    return folded[best[0]] if best else None


def _nearest_path(glob: str, paths: Sequence[str]) -> str | None:
    """A glob for the folder, or the path, that is spelled most like what the glob names before its first wildcard."""
    plain = glob.strip("/").partition("*")[0].rstrip("/")
    folders = _folders(paths)
    name = plain.rpartition("/")[2].casefold()
    same = [each for each in folders if each.rpartition("/")[2].casefold() == name]
    if best := same or get_close_matches(plain, folders, 1, _ALIKE):
        return f"{best[0]}/**"
    return next(iter(get_close_matches(plain, paths, 1, _ALIKE)), None)


def _folders(paths: Sequence[str]) -> list[str]:
    """The folders that the paths lie in, and those above them, the highest first."""
    found = {path[:at] for path in paths for at, char in enumerate(path) if char == "/"}
    return sorted(found, key=lambda folder: (folder.count("/"), folder))
