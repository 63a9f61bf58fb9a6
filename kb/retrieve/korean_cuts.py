"""Korean words cut into the units that the index has seen in its documents."""

from __future__ import annotations

import json
from collections.abc import Sequence

from kb.language.korean import Cut, KnownUnit, cut_word, substrings, unit_lexicon
from kb.store import queries
from kb.store.connection import Connection


def cut_words(db: Connection, korean: Sequence[str]) -> dict[str, list[Cut]]:
    """Each of the Hangul words cut into the units that the index has seen."""
    if not korean:
        return {}
    surfaces_json = json.dumps(substrings(korean), ensure_ascii=False)
    known = [KnownUnit(*row) for row in queries.select_korean_units(db, surfaces_json=surfaces_json)]
    readings, counts = unit_lexicon(known)
    row = queries.select_korean_unit_total(db)
    total = row.total if row else 0
    return {word: cut_word(word, readings, counts, total) for word in dict.fromkeys(korean)}
