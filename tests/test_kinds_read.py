"""Files of every kind that other programs wrote: their known text is read in both languages, and cited where it is."""

from __future__ import annotations

import re

import pytest
from media_fixtures import needs_decoder, needs_tesseract, needs_whisper

from benchmarks.kinds import LEAST_PLACED, LEAST_RECALL, Fact, kind_name, known, read_facts
from kb.domain.kinds import KINDS, kind_of, media_type_of

FACTS = known()
RECOGNISED = {"image": (needs_tesseract, pytest.mark.slow), "audio": (needs_decoder, needs_whisper, pytest.mark.slow)}
# Text as it stands, and what other tests have truth of.
ELSEWHERE = ("markdown", "pdf", "code")
# Each takes seconds to hear; that they are decoded is tested for itself, and the benchmark hears them all.
DECODED = ("opus", "m4b", "aiff", "mp4", "mkv")
VARIANTS = {"text/plain", "text/org", "text/rst", "text/asciidoc", "sheet/xlsm", "sheet/xlsb"}


def is_korean(fact: Fact) -> bool:
    return re.search(r"[가-힣]", fact.text) is not None


def marked(path: str) -> object:
    media_type = media_type_of(path)
    assert media_type is not None
    return pytest.param(path, marks=RECOGNISED.get(kind_of(media_type).family, ()))


@pytest.mark.parametrize("path", [marked(path) for path in FACTS if kind_name(path) not in DECODED])
def test_the_text_of_a_file_is_read_and_cited_where_it_is(path: str) -> None:
    reads = read_facts(path, FACTS[path])
    assert len(reads) == len(FACTS[path])
    wrong = [(each.fact.text, each.recall) for each in reads if each.recall < 1 or not each.placed]
    assert sum(each.recall for each in reads) >= LEAST_RECALL * len(reads), wrong
    assert sum(each.placed for each in reads) >= LEAST_PLACED * len(reads), wrong


def test_known_text_is_there_for_every_kind_in_both_languages() -> None:
    languages: dict[str, set[bool]] = {}
    for path, facts in FACTS.items():
        media_type = media_type_of(path)
        assert media_type is not None
        for name in (media_type, kind_name(path)):
            languages.setdefault(name, set()).update(is_korean(each) for each in facts)
    kinds = [kind for kind in KINDS.kinds if kind.family not in (*ELSEWHERE, *RECOGNISED)]
    types = {each.media_type for kind in kinds for each in kind.types} - VARIANTS
    named = {"html", "mhtml", "Maildir", "base", "heic", "avif", "zip", "tar"}
    assert [each for each in sorted(types | named) if languages.get(each) != {True, False}] == []
    heard = "opus webm m4b aiff mp4 mov mkv".split()
    assert [each for each in heard if languages.get(each) != {False}] == []
