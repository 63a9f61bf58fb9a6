"""Notes on how a question was searched, in the language of the question.

If no document passes the filters, a note names the filter and the nearest value that a document has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kb.domain.filters import FILTERS, Filter, SearchFilters, Sought, values_of, with_values
from kb.domain.kinds import media_type_of
from kb.domain.search import DaysAsked, Substitution
from kb.domain.text import stored_text
from kb.errors import ModelError, ModelMissing, OtherModel
from kb.language.detect import query_language
from kb.language.lists import rows
from kb.retrieve.filters import eligible_documents, stored_values
from kb.store.connection import Connection

_GOES_ON = "kb index --embeddings"
# Where a question asks for all days since one, or until one.
_FIRST_DAY, _LAST_DAY = "0001-01-01", "9999-12-31"

_VALUES_SHOWN = 5
_ALIKE = 0.6  # of difflib's ratio

# English and Korean; the arguments of a note fill its braces.
_NOTES = {
    "label": ("note", "참고"),
    "by meaning only": (
        "no passage has any of these words: these are the nearest by meaning",
        "이 단어가 나오는 곳은 없음: 의미가 가까운 곳을 보임",
    ),
    "other language": (
        "{0}: the nearest in the language {1} (lang={1} gives more)",
        "{0}번: 언어 {1}에서 가장 가까운 곳 (lang={1}로 더)",
    ),
    "near in language": (
        "nearest in the language {1}: {0} (lang={1} gives more)",
        "언어 {1}에서 가장 가까운 곳: {0} (lang={1}로 더)",
    ),
    "nothing indexed": ("nothing is indexed yet (kb ingest)", "아직 색인된 것이 없음 (kb ingest)"),
    "being read": (
        "not searched yet: {0} that an ingest is reading ({2})",
        "아직 검색되지 않음: 지금 읽는 파일 {1}개 ({2})",
    ),
    "not read yet": (
        "not read yet: {0} ({2}); kb ingest goes on",
        "아직 읽지 않음: 파일 {1}개 ({2}); 이어서 읽기: kb ingest",
    ),
    "compared in part": (
        "a long question: only its beginning is compared by meaning",
        "긴 질문: 앞부분만 의미로 비교",
    ),
    "vault not searched": ("{} was not searched: {}", "{} 검색하지 못함: {}"),
    "vaults differ": (
        "the scores of {} cannot be compared (models, settings or kinds of hits differ): their hits take turns by rank",
        "{}의 점수는 서로 비교할 수 없음 (모델, 설정 또는 결과의 종류가 다름): 순위대로 번갈아 보임",
    ),
    "embedding": (
        f"embedding has not ended: {{}} of {{}} passages are compared so far ({_GOES_ON} goes on with it)",
        f"임베딩이 끝나지 않음: 지금까지 {{1}}개 중 {{0}}개 구절을 비교 (이어서 하기: {_GOES_ON})",
    ),
}


def note(question: str, name: str, *about: object) -> str:
    """The note called `name`, with these values, in the language of the question."""
    english, korean = _NOTES[name]
    return (korean if query_language(question) == "ko" else english).format(*about)


def substitution_notes(question: str, read_as: str, substitutions: Sequence[Substitution]) -> Iterator[str]:
    """A sentence for each substitution, except those that only add the other script of a word that documents have."""
    korean = query_language(question) == "ko"
    for each in substitutions:
        if each.reason in ("sound", "pair") and each.asked in read_as:
            continue
        searched = ", ".join(f'"{word}"' for word in each.searched)
        if each.reason in ("spelling", "keyboard"):
            said = (
                f'"{each.asked}" 대신 {searched} 검색'
                if korean
                else f'searched for {searched} instead of "{each.asked}"'
            )
        else:
            said = (
                f'"{each.asked}" 외에 {searched} 검색' if korean else f'searched for {searched} beside "{each.asked}"'
            )
        yield said


def days_note(question: str, days: DaysAsked) -> str:
    """A note on which days the question was understood to name, and that their documents count more."""
    korean = query_language(question) == "ko"
    named = days.first if days.first == days.last else _between(days, korean)
    if not days.documents:
        return (
            f'"{days.phrase}" = {named}: 이 날짜의 문서는 없음'
            if korean
            else f'"{days.phrase}" is {named}: no document is dated so'
        )
    if korean:
        return f'"{days.phrase}" = {named}: 이 날짜의 문서 {days.documents}개에 무게를 둠'
    documents, plural = ("the document", "s") if days.documents == 1 else (f"the {days.documents} documents", "")
    return f'"{days.phrase}" is {named}: {documents} dated so count{plural} more'


def _between(days: DaysAsked, korean: bool) -> str:
    if days.last == _LAST_DAY:
        return f"{days.first} 이후" if korean else f"{days.first} and later"
    if days.first == _FIRST_DAY:
        return f"{days.last} 이전" if korean else f"{days.last} and before"
    return f"{days.first} ~ {days.last}" if korean else f"{days.first} to {days.last}"


def by_words_only(question: str, lacking: ModelError) -> str:
    """A note that the question was searched by words only, and what is missing to search by meaning."""
    if query_language(question) == "ko":
        if "committed" in lacking.details:
            have = f"지금까지 {lacking.details['chunks']}개 중 {lacking.details['committed']}개 구절에 벡터가 있음"
            return f"단어로만 검색: {have} (이어서 하기: {_GOES_ON})"
        command = re.search(r"kb [a-z][^`;,]*\b", lacking.hint or "")
        is_other = isinstance(lacking, OtherModel)
        lacks = "벡터를 만든 모델이 지금 모델과 다릅니다" if is_other else "의미로 찾을 벡터나 모델이 없습니다"
        return f"단어로만 검색: {lacks}" + (f" ({command[0]})" if command else "")
    return f"by words only: {lacking.message} ({lacking.hint})"


def few_embedded(committed: int, chunks: int) -> ModelMissing:
    """The error that too few passages have vectors, so that questions are searched by words only."""
    return ModelMissing(
        f"{committed} of {chunks} passages have vectors so far",
        f"{_GOES_ON} goes on with it",
        details={"committed": str(committed), "chunks": str(chunks)},
    )


def filter_notes(db: Connection, question: str, filters: SearchFilters, *, found: bool = False) -> Iterator[str]:
    """Notes on words that the filters exclude and, if nothing was `found`, why."""
    korean = query_language(question) == "ko"
    if filters.lacks:
        left_out = ", ".join(map(_sought_text, filters.lacks))
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
        sought = ", ".join(map(_sought_text, filters.holds))
        yield f"{sought}이(가) 있는 곳 없음" if korean else f"no passage holds {sought}"


def _sought_text(sought: Sought) -> str:
    text = stored_text(sought.text)
    return f"/{text}/" if sought.kind == "regex" else f'"{text}"' + "*" * (sought.kind == "prefix")


def _hint(db: Connection, unmatched: Filter, value: str, korean: bool) -> str:
    """A hint at the nearest value that documents have, or at some of their values."""
    known = stored_values(db, unmatched.name)
    if near := _nearest_value(unmatched, stored_text(value), known):
        return f" (비슷한 값: {near})" if korean else f"; the nearest is {near}"
    if not known or unmatched.field == "symbol":
        return ""
    some = ", ".join((_folders(known) if unmatched.field == "path_globs" else known)[:_VALUES_SHOWN])
    return f" (있는 값: {some})" if korean else f"; there are {some}"


def _nearest_value(unmatched: Filter, value: str, known: Sequence[str]) -> str | None:
    if unmatched.field == "path_globs":
        return _nearest_path(value, known)
    from difflib import get_close_matches

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
    """A glob for the stored folder or path most similar to the glob's part before its first wildcard; None without."""
    from difflib import get_close_matches

    plain = glob.strip("/").partition("*")[0].rstrip("/")
    folders = _folders(paths)
    name = plain.rpartition("/")[2].casefold()
    same = [each for each in folders if each.rpartition("/")[2].casefold() == name]
    if best := same or get_close_matches(plain, folders, 1, _ALIKE):
        return f"{best[0]}/**"
    return next(iter(get_close_matches(plain, paths, 1, _ALIKE)), None)


def _folders(paths: Sequence[str]) -> list[str]:
    """All folders of the paths, parents included, the highest first."""
    found = {path[:at] for path in paths for at, char in enumerate(path) if char == "/"}
    return sorted(found, key=lambda folder: (folder.count("/"), folder))
