"""What counts in the order of source code, and among notes; docs/code.md says what was fitted on what."""

from __future__ import annotations

from collections.abc import Mapping

VERSION = "code-4"

_WEIGHTS: Mapping[str, float] = {
    "among_words": 0.2,
    "asked_kind": 0.15,
    "changelog": 0.25,
    "generated": 0.5,
    "how_to": 0.25,
    "in_tests": -0.15,
    "kind.constructor": -0.03,
    "kind.field": -0.3,
    "kind.impl": -0.3,
    "kind.module": -0.02,
    "kind.namespace": -0.02,
    "kind.section": -0.02,
    "kind.variable": -0.3,
    "margin": 0.2,
    "named": 1.0,
    "named_in_other_case": 0.4,
    "no_definition": -0.05,
    "other_language": 0.3,
    "place": 3.0,
    "qualified": 0.5,
    "stub": -0.1,
    "uses": 4.0,
    "worded": 0.2,
}


def weight(feature: str) -> float:
    """The weight of a feature; 0 of what counts nothing."""
    return _WEIGHTS.get(feature, 0.0)
