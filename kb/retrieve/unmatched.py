"""What to tell where filters leave nothing: which of them no document passes, and the nearest value that one has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any

from kb.domain.kinds import media_type_of
from kb.domain.search import FILTER_NAMES, SearchFilters, Sought
from kb.domain.text import stored_text
from kb.language.detect import query_language
from kb.language.lists import rows
from kb.retrieve.filters import eligible_documents, values_of
from kb.store.connection import Connection

_VALUES_SHOWN = 5
_ALIKE = 0.6  # of difflib's ratio

# What a document that passes has, by the filter's field, in English and in Korean.
_SAID = {
    "tags_any": ("the tag {}", "태그 {}"),
    "lang": ("text in the language {}", "언어 {}"),
    "path_globs": ("a path that matches {}", "경로 {}"),
    "trust_min": ("at least the trust {}", "신뢰 {} 이상"),
    "media": ("the kind {}", "종류 {}"),
    "dated": ("a date in {}", "날짜 {}"),
    "symbol": ("a definition that matches {}", "정의 {}"),
    "symbol_kind": ("a definition of the kind {}", "정의 종류 {}"),
    "code_lang": ("code in {}", "코드 언어 {}"),
    "repo": ("the repository {}", "저장소 {}"),
    "title": ("{} in its title", "제목에 {}"),
}


def filter_notes(db: Connection, question: str, filters: SearchFilters, *, found: bool = False) -> Iterator[str]:
    """What there is to say of a question's filters: what was left out, and where nothing was `found`, why."""
    korean = query_language(question) == "ko"
    if filters.lacks:
        left_out = ", ".join(map(_shown, filters.lacks))
        yield f"{left_out}이(가) 있는 곳은 뺌" if korean else f"without passages that hold {left_out}"
    if found:
        return
    alone = [
        SearchFilters(**{field: value}, among_visible=filters.among_visible)
        for each in (filters, *filters.also)
        for field, value in _values(each)
    ]
    none_passes = [each for each in alone if eligible_documents(db, each) == "[]"]
    for each in none_passes:
        field, value = next(_values(each))
        said = _SAID[field][korean].format(_quoted(value))
        yield (f"{said}: 그런 문서 없음" if korean else f"no document has {said}") + _hint(db, field, value, korean)
    if none_passes:
        return
    if len(alone) > 1 and eligible_documents(db, filters) == "[]":
        yield "이 조건을 모두 만족하는 문서 없음" if korean else "no document passes all of these filters"
    elif filters.holds:
        sought = ", ".join(map(_shown, filters.holds))
        yield f"{sought}이(가) 있는 곳 없음" if korean else f"no passage holds {sought}"


def _values(filters: SearchFilters) -> Iterator[tuple[str, Any]]:
    """The fields that filter documents, each with its value; many values are one: a document passes by any of them."""
    for field in (*FILTER_NAMES, "title"):
        if value := getattr(filters, field):
            yield field, value


def _quoted(value: str | Sequence[str]) -> str:
    return ", ".join(f'"{stored_text(each)}"' for each in ([value] if isinstance(value, str) else value))


def _shown(sought: Sought) -> str:
    text = stored_text(sought.text)
    return f"/{text}/" if sought.kind == "regex" else f'"{text}"' + "*" * (sought.kind == "prefix")


def _hint(db: Connection, field: str, value: str | Sequence[str], korean: bool) -> str:
    """The nearest value that documents have, or some of those they have."""
    if field in ("dated", "title", "trust_min"):
        return ""
    first = stored_text(value if isinstance(value, str) else value[0])
    known = values_of(db, FILTER_NAMES[field][0].removesuffix("_glob"))
    if near := _nearest(field, first, known):
        return f" (비슷한 값: {near})" if korean else f"; the nearest is {near}"
    if not known or field == "symbol":
        return ""
    some = ", ".join(_folders(known)[:_VALUES_SHOWN] if field == "path_globs" else known[:_VALUES_SHOWN])
    return f" (있는 값: {some})" if korean else f"; there are {some}"


def _nearest(field: str, value: str, known: Sequence[str]) -> str | None:
    if field == "path_globs":
        return _nearest_path(value, known)
    bare = value.strip("*?#/ ").casefold()
    folded = {each.casefold(): each for each in reversed(known)}
    meant = {
        "lang": next((code for code, names in rows("language_names").items() if bare in names[0].split()), bare[:2]),
        "media": (media_type_of(f"x.{bare}") or "").partition("/")[0],
        "code_lang": (media_type_of(f"x.{bare}") or "").partition("/")[2],
    }.get(field, "")
    begun = [each for each in folded if len(bare) > 1 and (each.startswith(bare) or bare.startswith(each))]
    best = [meant] if meant in folded else get_close_matches(bare, folded, 1, _ALIKE) or begun
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
