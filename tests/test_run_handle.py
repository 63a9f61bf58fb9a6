"""One handle for long work: every event has its name and fields on the wire, and canceling ends at a safe point."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest
from conftest import NOTES, Vault
from e5_models import shelf
from fake_embedder import fake_models

from kb.assemble import catalogue as catalog
from kb.config import Config, load
from kb.domain.answers import Generated, Hop, HopTaken, Retrieved
from kb.domain.ingest_events import IngestCounts, IngestEvent, ToldEvent
from kb.domain.run_handle import RunHandle, StepProgress
from kb.domain.search import SearchQuery, SearchResult
from kb.errors import Canceled
from kb.models.manifest import list_models
from kb.operations.admin import setup
from kb.operations.doctor.doctor import diagnose
from kb.operations.evaluate.calibrate import calibrate
from kb.operations.evaluate.runs import RunRequest, run_suite
from kb.operations.ingest.ingest import ingest
from kb.operations.ingest.requests import IngestRequest, ingest_request
from kb.operations.opening.base import open_base
from kb.wire.derive import to_wire
from kb.wire.schemas import json_schemas, validate

__all__ = ["fake_models", "shelf"]  # fixtures

TS = "2026-01-01T00:00:00Z"


def sample(event_type: type) -> Any:
    """An event with a value in each of its fields."""
    values = {"str": "x", "int": 1, "Result": "new", "IngestCounts": IngestCounts(new=2)}
    values |= {"float": 0.5, "float | None": 0.5, "tuple[str, ...]": ("x",), "Mapping[str, int]": {"pdf": 2}}
    given = {field.name: values.get(str(field.type), "completed") for field in fields(event_type)}
    return event_type(**given)


@pytest.mark.parametrize("event_type", get_args(IngestEvent), ids=lambda each: each.__name__)
def test_every_event_of_an_ingest_goes_out_with_its_name_and_all_its_fields(event_type: type) -> None:
    event = sample(event_type)
    line = to_wire(ToldEvent(TS, event))
    validate("ingest_progress.v1", line)
    assert line["kind"] == event.kind
    said = {name: value for name, value in line.items() if name not in ("schema_version", "ts", "kind")}
    assert set(said) == {field.name for field in fields(event_type)} - {"kind"}
    json.dumps(line)


def kinds_of(schema: str) -> set[str]:
    """The values of `kind` in a union of wire objects."""
    (body,) = json_schemas([schema]).values()
    of = [body["$defs"][each["$ref"].rpartition("/")[2]]["properties"]["kind"] for each in body["anyOf"]]
    return {kind for each in of for kind in each.get("enum", [each.get("const")])}


A_HOP = Hop(1, "x", "x", "whole", "answered", None, ())


def test_the_wire_knows_every_event_and_no_other() -> None:
    assert kinds_of("ingest_progress.v1") == {sample(each).kind for each in get_args(IngestEvent)} | {"aborted"}
    found = SearchResult(SearchQuery("x", "lexical", 1), (), (), "")
    assert kinds_of("answer_event.v1") == {Retrieved(found, None, 0.5).kind, Generated("x").kind, HopTaken(A_HOP).kind}


class StopAfter(RunHandle):
    """A handle that cancels itself once so many events of a type have come; `events` are all of them."""

    def __init__(self, event_type: type, count: int = 1) -> None:
        super().__init__(self._note)
        self.events: list[Any] = []
        self._type, self._count = event_type, count

    def _note(self, event: object) -> None:
        self.events.append(event)
        if sum(isinstance(each, self._type) for each in self.events) == self._count:
            self.cancel()


@pytest.fixture
def config(fresh_vault: Vault) -> Config:
    return load(str(fresh_vault.config), ("models.embedding.provider=none",))


def request(config: Config) -> IngestRequest:
    """All files, without vectors."""
    return ingest_request(config, None, dry_run=False, allow_empty=False, embed=False)


class StopAtLook(RunHandle):
    """A run that is canceled when it looks for the nth time whether it is, and what it has told."""

    def __init__(self, looks: int) -> None:
        self.events: list[object] = []
        super().__init__(self.events.append)
        self._looks = looks

    def is_canceled(self) -> bool:
        self._looks -= 1
        return self._looks <= 0 or super().is_canceled()


def test_a_canceled_ingest_ends_after_the_document_in_hand_and_says_so(config: Config) -> None:
    handle = StopAtLook(4)  # the first look is at the batch
    report = ingest(request(config), handle)
    assert (report.aborted, report.counts.new, handle.events[-1].kind) == (True, 2, "aborted")
    rest = ingest(request(config), RunHandle())
    assert (rest.aborted, rest.counts.unchanged, rest.counts.new) == (False, 2, len(NOTES) - 2)


def test_a_canceled_installation_leaves_what_stood_there_and_goes_on_later(
    config: Config, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup, "CATALOG", catalog.CATALOG)
    with pytest.raises(Canceled, match="stopped before tiny was installed"):
        setup.install_models(config, ["tiny"], force=False, handle=StopAfter(StepProgress, 2))
    assert list_models(config.model_dir) == ()
    heard: list[StepProgress] = []
    assert setup.install_models(config, ["tiny"], force=False, handle=RunHandle(heard.append)) == ["tiny"]
    assert (heard[-1].step, heard[-1].unit, heard[-1].done == heard[-1].total) == ("assemble", "bytes", True)
    before = (config.model_dir / "tiny" / "manifest.json").read_bytes()
    canceled = RunHandle()
    canceled.cancel()
    with pytest.raises(Canceled):
        setup.install_models(config, ["tiny"], force=True, handle=canceled)
    assert (config.model_dir / "tiny" / "manifest.json").read_bytes() == before


def test_canceled_checks_of_models_say_so(config: Config, shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "CATALOG", catalog.CATALOG)
    setup.install_models(config, ["tiny"], force=False, handle=RunHandle())
    canceled = RunHandle()
    canceled.cancel()
    with pytest.raises(Canceled, match="stopped before all files of tiny were compared"):
        setup.verify_models(config, ["tiny"], canceled)


def test_a_canceled_doctor_keeps_its_findings_and_says_where_it_stopped(config: Config) -> None:
    whole = [check.name for check in diagnose(config)]
    canceled = RunHandle()
    canceled.cancel()
    first, stopped = diagnose(config, handle=canceled)
    assert (first.name, stopped.name, stopped.state) == (whole[0], "stopped", "unchecked")
    assert "not checked" in stopped.detail


def test_a_canceled_evaluation_keeps_the_questions_that_were_asked(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(request(config), RunHandle())
    suite = tmp_path / "golden.yaml"
    asked = "".join(f"- {{id: q{at}, query: gateway {at}, answerable: false, expected: []}}\n" for at in range(4))
    suite.write_text(f"suite: small\nquestions:\n{asked}", encoding="utf-8")
    monkeypatch.setattr("kb.operations.evaluate.runs.QUESTIONS_A_TRANSACTION", 1)
    wanted = RunRequest(suite, "lexical", 5)
    handle = StopAfter(StepProgress, 2)
    with open_base(config) as session:
        stopped = run_suite(session, wanted, handle)
    assert (stopped.run.answered, stopped.run.finished_at) == (2, None)
    assert [(each.done, each.total) for each in handle.events[:2]] == [
        (1, 4),
        (2, 4),
    ]
    with open_base(config) as session:
        assert run_suite(session, wanted, RunHandle()).resumed == 2


def test_a_canceled_calibration_changes_nothing_and_says_so(config: Config, tmp_path: Path) -> None:
    ingest(request(config), RunHandle())
    files = []
    for name in ("can", "cannot"):
        files.append(tmp_path / f"{name}.txt")
        files[-1].write_text(f"How often does {name} retry?\nWhere are {name} crates?\n", encoding="utf-8")
    with open_base(config) as session, pytest.raises(Canceled, match="stopped before all questions were asked"):
        calibrate(session, *files, StopAfter(StepProgress))
