"""The wire: every schema on disk is what the code makes, and within a version it only grows."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from conftest import tool
from jsonschema import Draft202012Validator

from kb.wire.schemas import json_schemas, wire_types

CHECKOUT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    return tool("generate")


def test_generated_pages_are_up_to_date(generate: ModuleType) -> None:
    assert list(generate.outdated()) == [], "run tools/generate"
    assert generate.retired() == []


def test_nothing_on_the_wire_was_taken_away(generate: ModuleType) -> None:
    assert generate.breaking_changes() == []


def test_a_changed_statement_has_a_new_version(generate: ModuleType) -> None:
    assert generate.changed_without_version() == []


SEARCH = "-- Rank.\n-- version 4\nSELECT 'a -- b'  AS x\nFROM chunks;\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SEARCH, None),
        (SEARCH.replace("Rank.", "Rank chunks."), None),
        (SEARCH.replace("\nFROM", " -- of all\n  FROM"), None),
        (SEARCH.replace("x\n", "y\n"), "write `-- version 5` in its header, then run tools/generate"),
        (SEARCH.replace("a -- b", "a -- c"), "write `-- version 5`"),
        (SEARCH.replace("a -- b", "a  -- b"), "write `-- version 5`"),
        (SEARCH.replace("x\n", "y\n").replace("version 4", "version 5"), None),
        (SEARCH.replace("version 4", "version 3"), "went down from 4 to 3"),
    ],
)
def test_the_lock_catches_a_statement_changed_under_its_version(
    text: str, said: str | None, generate: ModuleType, tmp_path: Path
) -> None:
    """What SQLite acts on counts: neither comments nor line breaks, but every blank inside a quoted text."""
    path = tmp_path / "retrieve/search.sql"
    path.parent.mkdir()
    path.write_text(SEARCH, encoding="utf-8")
    known = generate.read_lock(generate.lock_text(generate.locked(tmp_path)))
    path.write_text(text, encoding="utf-8")
    told = list(generate.unversioned(known, generate.locked(tmp_path)))
    assert [said in line for line in told] == ([] if said is None else [True])


def test_every_schema_is_valid_and_names_itself() -> None:
    for name, schema in json_schemas().items():
        Draft202012Validator.check_schema(schema)
        assert schema["$id"] == name
        assert {"description", "anyOf"} & schema.keys(), name
        if name != "bulk_search_query.v1" and not name.endswith("_arguments.v1"):  # what a user writes names no schema
            for variant in schema.get("anyOf", [schema]):
                body = schema["$defs"][variant["$ref"].rpartition("/")[2]] if "$ref" in variant else variant
                assert body["properties"]["schema_version"]["const"] == name
                assert "schema_version" in body["required"]


def test_schemas_are_listed_by_name_and_none_is_of_two_types() -> None:
    assert list(wire_types()) == sorted(wire_types())
    assert (
        len(set(wire_types().values())) == len(wire_types()) == len(list((CHECKOUT / "docs/wire-schema").glob("v*/*")))
    )


REPORT: dict[str, Any] = {
    "type": "object",
    "$defs": {
        "Hit": {"type": "object", "properties": {"rank": {"type": "integer"}}, "required": ["rank"]},
        "Lines": {
            "type": "object",
            "properties": {"kind": {"const": "line", "type": "string"}, "start": {"type": "integer"}},
            "required": ["kind", "start"],
        },
        "Done": {"type": "object", "properties": {"kind": {"const": "done", "type": "string"}}, "required": ["kind"]},
    },
    "properties": {
        "name": {"type": "string"},
        "kind": {"type": "string", "enum": ["a", "b"]},
        "hint": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "hits": {"type": "array", "items": {"$ref": "#/$defs/Hit"}},
        "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
        "span": {"$ref": "#/$defs/Lines"},
        "event": {"anyOf": [{"$ref": "#/$defs/Hit"}, {"$ref": "#/$defs/Done"}]},
    },
    "required": ["name", "kind"],
}
LINES = {"$ref": "#/$defs/Lines"}
PAGE, TIME = ({"type": "object", "properties": {"kind": {"const": kind}}} for kind in ("page", "time"))
Change = Callable[[dict[str, Any]], object]


def properties(schema: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = schema["properties"]
    return found


TAKEN_AWAY: dict[str, Change] = {
    "a property": lambda new: properties(new).pop("name"),
    "a type": lambda new: properties(new).update(name={"type": "integer"}),
    "a value": lambda new: properties(new).update(kind={"type": "string", "enum": ["a"]}),
    "all values but one": lambda new: properties(new).update(kind={"type": "string", "const": "b"}),
    "null": lambda new: properties(new).update(hint={"type": "string"}),
    "certainty": lambda new: properties(new).update(name={"anyOf": [{"type": "string"}, {"type": "null"}]}),
    "presence": lambda new: new.update(required=["kind"]),
    "a property of an item": lambda new: new["$defs"]["Hit"].update(properties={}),
    "a type of an item": lambda new: properties(new).update(hits={"type": "array", "items": {"type": "string"}}),
    "a type of a count": lambda new: properties(new)["counts"].update(additionalProperties={"type": "number"}),
    "a variant": lambda new: properties(new).update(event={"anyOf": [{"$ref": "#/$defs/Hit"}]}),
    "the only kind": lambda new: properties(new).update(span={"anyOf": [PAGE, TIME]}),
    "certainty of a kind": lambda new: properties(new).update(span={"anyOf": [LINES, {"type": "null"}]}),
}
ADDED: dict[str, Change] = {
    "nothing": lambda new: None,
    "a property": lambda new: properties(new).update(more={"type": "string"}),
    "a property that is always there": lambda new: (
        properties(new).update(more={"type": "string"}),
        new.update(required=["name", "kind", "more"]),
    ),
    "null where it could be absent": lambda new: (
        properties(new).update(span={"anyOf": [LINES, {"type": "null"}]}),
        new.update(required=["name", "kind", "span"]),
    ),
    "a value": lambda new: properties(new).update(kind={"type": "string", "enum": ["a", "b", "c"]}),
    "a variant": lambda new: properties(new)["event"]["anyOf"].append({"type": "object", "properties": {}}),
    "a kind beside the only one": lambda new: properties(new).update(span={"anyOf": [PAGE, LINES]}),
    "a description": lambda new: new.update(description="better words"),
}


@pytest.mark.parametrize("change", TAKEN_AWAY.values(), ids=TAKEN_AWAY)
def test_what_is_taken_away_is_found(change: Change, generate: ModuleType) -> None:
    new = copy.deepcopy(REPORT)
    change(new)
    assert generate.breaks(REPORT, new, "report")


@pytest.mark.parametrize("change", ADDED.values(), ids=ADDED)
def test_what_is_added_is_fine(change: Change, generate: ModuleType) -> None:
    new = copy.deepcopy(REPORT)
    change(new)
    assert generate.breaks(REPORT, new, "report") == []


def test_an_input_may_not_ask_for_more(generate: ModuleType) -> None:
    question = {"type": "object", "additionalProperties": False, "properties": {"q": {"type": "string"}}}
    stricter = question | {"properties": {"q": {"type": "string"}, "k": {"type": "integer"}}, "required": ["k"]}
    assert generate.breaks(question, stricter, "question") == ["question.k: now required of who sends it"]
    assert generate.breaks(question, stricter | {"required": []}, "question") == []


def test_behind_pages_fail_the_check_and_are_written(
    generate: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "docs/page.md"
    monkeypatch.setattr(generate, "CHECKOUT", tmp_path)
    monkeypatch.setattr(generate, "pages", lambda: iter([(page, "new\n")]))
    assert generate.main(["--check"]) == 1
    assert "docs/page.md" in capsys.readouterr().out
    assert not page.exists()
    assert generate.main([]) == 0
    assert page.read_text(encoding="utf-8") == "new\n"
    assert generate.main(["--check"]) == 0
