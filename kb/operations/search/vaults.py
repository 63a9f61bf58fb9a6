"""Answers a question from several vaults: one list, ordered by scores as far as they can be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from kb.domain.search import Passage, SearchQuery, SearchResult
from kb.errors import KbError, UsageError
from kb.operations.opening.base import Base
from kb.retrieve.notes import note

# A score of these kinds says the same in each knowledge base with the same model and rule; BM25 does as a share of the
# most that the question's words can give. RRF counts ranks, and what scores of code say depends on the code.
_COMPARABLE = frozenset(("late", "linear", "cosine", "cross_encoder", "bm25"))


class _Found(NamedTuple):
    """What a vault gave; `most` is what its BM25 scores are shares of."""

    vault: str
    result: SearchResult
    most: float


def search_vaults(
    names: Iterable[str], opened: Callable[[str], Base], query: SearchQuery, find: Callable[[Base], SearchResult]
) -> SearchResult:
    """The best hits of all vaults, each with its vault; the order of each one's own hits is kept.

    Where scores cannot be compared, hits take turns by rank, and the note says so; so it does of a vault that cannot be
    searched. Raises: UsageError for a question that none takes; the error of the last one where none can be searched.
    """
    found, failed = list[_Found](), dict[str, KbError]()
    for name in names:
        try:
            with opened(name).snapshot() as base:
                result = find(base)
                most = base.index.bm25_max(result.searched) if result.query.mode == "lexical" else None
                found.append(_Found(name, result, most or 1.0))
        except UsageError:
            raise
        except KbError as error:
            failed[name] = error
    if not found:
        raise next(reversed(failed.values()), UsageError("there is no vault yet", "kb init makes the usual one"))
    with_hits = [each for each in found if each.result.hits]
    compares = _are_comparable(with_hits)
    places = sorted(
        (place, number, at)
        for number, each in enumerate(with_hits)
        for at, place in enumerate(_places(each) if compares else range(len(each.result.hits)))
    )
    hits = tuple(
        with_hits[number].result.hits[at]._replace(rank=rank, vault=with_hits[number].vault)
        for rank, (_, number, at) in enumerate(places[: query.k], 1)
    )
    said = _notes({each.vault: each.result.note for each in found})
    said += [note(query.text, "vault not searched", name, error.message) for name, error in failed.items()]
    if not compares:
        said.append(note(query.text, "vaults differ", ", ".join(each.vault for each in with_hits)))
    results = [each.result for each in found]
    first = results[0]
    return SearchResult(
        query._replace(mode=first.query.mode),
        tuple(dict.fromkeys(term for each in results for term in each.terms)),
        hits,
        " + ".join(dict.fromkeys(each.index_version for each in results)),
        note="; ".join(said) or None,
        ranking_version=" + ".join(dict.fromkeys(each.ranking_version for each in results)),
        substitutions=tuple(dict.fromkeys(sub for each in results for sub in each.substitutions)),
        days=next((each.days for each in results if each.days), None),
    )


def _are_comparable(found: list[_Found]) -> bool:
    """Whether the scores of the hits may be compared: of one kind, by one model and one ranking."""
    hits = [hit for each in found for hit in each.result.hits]
    ways = {(hit.score_kind, hit.embedding_model) for hit in hits}
    rankings = {each.result.ranking_version for each in found}
    return len(found) < 2 or (len(ways) == len(rankings) == 1 and hits[0].score_kind in _COMPARABLE)


def _places(found: _Found) -> list[float]:
    """What the hits are ordered by, the least first; never less than that of the hit before."""
    places: list[float] = []
    for hit in reversed(found.result.hits):
        places.append(min(-_score(hit, found.most), places[-1] if places else 0.0))
    return places[::-1]


def _score(hit: Passage, most: float) -> float:
    return hit.score / most if hit.score_kind == "bm25" else hit.score


def _notes(notes: Mapping[str, str | None]) -> list[str]:
    """Each note once, with the vaults it is of where that is not all of them."""
    of: dict[str, list[str]] = {}
    for vault, said in notes.items():
        if said:
            of.setdefault(said, []).append(vault)
    return [said if len(names) == len(notes) else f"{', '.join(names)}: {said}" for said, names in of.items()]
