"""Files that cannot be read are remembered: they are read again when they, their reader or its limits change."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from ingest_fixtures import Workspace, counted

from kb.domain.kinds import KINDS, MediaType, family_of, media_type_of
from kb.domain.run_handle import RunHandle
from kb.domain.search import SearchQuery
from kb.errors import ModelMissing
from kb.extract import mail
from kb.extract.parts import kb_engine
from kb.operations.admin.removal import Named, forget
from kb.operations.inspect.status import base_status
from kb.operations.opening.base import Base, open_base
from kb.operations.opening.exposure import Audience
from kb.operations.search.search import search

MIXED = Path(__file__).resolve().parents[1] / "fixtures"

NO_MAIL = b"hello there, this is no mail.\n"
A_MAIL = b"Subject: a hexagon of paper\n\n\n"
assert len(NO_MAIL) == len(A_MAIL)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A note, a file that is no mail, and generated source code, ingested once."""
    made = Workspace(tmp_path / "workspace")
    made.write("a.md", "# Hexagon\n")
    made.write("b.eml", NO_MAIL)
    made.write("c.py", "# @generated\n")
    assert counted(made.ingest()) == {"new": 1, "errors": 1}
    return made


def swap(workspace: Workspace, name: str, content: bytes) -> None:
    """Other bytes of the same length under the same time: nobody notices who does not read them."""
    path = workspace.root / name
    before = path.stat()
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def noted(workspace: Workspace) -> list[tuple[str, str, str]]:
    return workspace.query("SELECT workspace_path, outcome, code FROM unread_files ORDER BY workspace_path")


def test_a_file_that_was_not_read_is_not_read_again_and_nothing_is_written(workspace: Workspace) -> None:
    assert noted(workspace) == [("b.eml", "failed", "extract_failed"), ("c.py", "left out", "generated")]
    swap(workspace, "b.eml", A_MAIL)
    swap(workspace, "c.py", b"# as written\n")
    before = workspace.digests()
    report = workspace.ingest()
    assert counted(report) == {"unchanged": 1, "still_unread": 1}
    assert report.skipped_by_reason == {"generated": 1}
    after = workspace.digests()
    assert all(before.pop(table) != after.pop(table) for table in ("ingest_runs", "job_records"))
    assert before == after


def test_a_second_ingest_opens_no_file_and_starts_no_worker(workspace: Workspace) -> None:
    for file in sorted(path for path in MIXED.rglob("*") if path.is_file() and path.stat().st_size < 100_000)[:120]:
        workspace.write(f"{file.parent.name}/{file.name}", file.read_bytes())
    workspace.ingest()
    program = f"""
import sys
sys.path[:0] = {sys.path!r}
from ingest_fixtures import Workspace
from kb.config import load
w = Workspace.__new__(Workspace)
w.config = load({str(workspace.config_path)!r}, ())
def tell(event, arguments):
    read = event == "open" and str(arguments[0]).startswith({str(workspace.root)!r})
    if read or (event == "subprocess.Popen" and arguments[0] == sys.executable):
        print(event, arguments[0])
sys.addaudithook(tell)
report = w.ingest()
assert not report.counts.new and not report.counts.errors and report.counts.scanned > 50, report.counts
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == ""


def test_a_file_without_a_byte_is_empty_whatever_reads_its_kind(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "workspace")
    for name in KINDS.spellings():
        workspace.write(name.replace("*", "void"), b"")
    report = workspace.ingest()
    kept = {family_of(media_type_of(path) or MediaType("")) for path in workspace.paths()}
    assert kept == {"markdown", "code"}
    empty = report.skipped_by_reason["empty"]
    assert counted(report) == {"new": len(workspace.paths())}
    assert (empty, len(workspace.paths()) + empty) == (len(noted(workspace)), report.counts.scanned)
    assert {(outcome, code) for _, outcome, code in noted(workspace)} == {("left out", "empty")}
    again = workspace.ingest()
    assert (counted(again), again.skipped_by_reason) == ({"unchanged": len(workspace.paths())}, {"empty": empty})
    workspace.write("void.eml", A_MAIL)
    assert counted(workspace.ingest())["new"] == 1
    workspace.write("void.eml", b"")
    assert counted(workspace.ingest())["removed"] == 1


def test_with_retry_it_is_read_and_no_longer_noted(workspace: Workspace) -> None:
    swap(workspace, "b.eml", A_MAIL)
    swap(workspace, "c.py", b"# as written\n")
    assert counted(workspace.ingest(retry=True)) == {"new": 2, "unchanged": 1}
    assert noted(workspace) == []


def test_a_file_named_by_itself_is_read(workspace: Workspace) -> None:
    swap(workspace, "b.eml", A_MAIL)
    assert counted(workspace.ingest("b.eml")) == {"new": 1}


def test_a_changed_file_is_read(workspace: Workspace) -> None:
    workspace.write("b.eml", A_MAIL)
    assert counted(workspace.ingest()) == {"new": 1, "unchanged": 1}


def test_an_old_document_stays_while_its_file_cannot_be_read(workspace: Workspace) -> None:
    workspace.write("b.eml", A_MAIL)
    workspace.ingest()
    workspace.write("b.eml", NO_MAIL)
    assert counted(workspace.ingest()) == {"errors": 1, "unchanged": 1}
    assert counted(workspace.ingest()) == {"still_unread": 1, "unchanged": 1}
    assert [hit.doc_path for hit in workspace.search("paper")] == ["b.eml"]


def test_another_version_of_the_engine_reads_it(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    swap(workspace, "b.eml", A_MAIL)
    monkeypatch.setattr(mail, "engine", lambda settings: kb_engine("mail-v999"))
    assert counted(workspace.ingest()) == {"new": 1, "unchanged": 1}


def test_another_limit_reads_it(workspace: Workspace) -> None:
    swap(workspace, "b.eml", A_MAIL)
    workspace.configure("indexing.extract_memory_mb=2000")
    assert counted(workspace.ingest()) == {"new": 1, "unchanged": 1}


def test_a_file_above_the_limit_is_read_under_a_higher_one(workspace: Workspace) -> None:
    workspace.write("large.md", "word " * 300_000)
    workspace.configure("indexing.max_markdown_mb=1")
    assert counted(workspace.ingest())["errors"] == 1
    assert "errors" not in counted(workspace.ingest())
    workspace.configure("indexing.max_markdown_mb=2")
    assert counted(workspace.ingest())["new"] == 1


def test_without_its_engine_a_file_waits_and_is_read_with_it(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacking(settings: object) -> object:
        raise ModelMissing("no engine of mails", "install one")

    workspace.write("b.eml", A_MAIL)
    with monkeypatch.context() as patch:
        patch.setattr(mail, "engine", lacking)
        assert counted(workspace.ingest()) == {"unchanged": 1}
        assert noted(workspace)[0] == ("b.eml", "waiting", "model_missing")
    assert counted(workspace.ingest()) == {"new": 1, "unchanged": 1}
    assert noted(workspace) == [("c.py", "left out", "generated")]


def test_a_link_that_leads_nowhere_is_followed_once_it_leads_somewhere(workspace: Workspace) -> None:
    (workspace.root / "link.md").symlink_to(workspace.base / "elsewhere.md")
    assert counted(workspace.ingest())["errors"] == 1
    since = workspace.query("SELECT since FROM unread_files WHERE workspace_path = 'link.md'")
    assert counted(workspace.ingest())["errors"] == 1
    assert workspace.query("SELECT since FROM unread_files WHERE workspace_path = 'link.md'") == since
    (workspace.base / "elsewhere.md").write_text("# Spiral\n")
    assert counted(workspace.ingest())["new"] == 1
    assert "link.md" not in {path for path, _, _ in noted(workspace)}


def test_a_file_that_is_gone_is_no_longer_noted_unless_it_is_out_of_scope(workspace: Workspace) -> None:
    workspace.write("d/e.eml", NO_MAIL)
    workspace.ingest()
    (workspace.root / "b.eml").unlink()
    (workspace.root / "d/e.eml").unlink()
    workspace.ingest("d")
    assert [path for path, _, _ in noted(workspace)] == ["b.eml", "c.py"]
    workspace.ingest()
    assert [path for path, _, _ in noted(workspace)] == ["c.py"]


def test_the_status_says_why_to_the_owner_alone(workspace: Workspace) -> None:
    with open_base(workspace.config) as session:
        unread = base_status(session).unread
    said = [(group.family, group.files, group.why, group.examples) for group in unread]
    assert said == [("code", 1, "generated", ["c.py"]), ("mail", 1, "not a mail: it has no head", ["b.eml"])]
    with closing(Base(workspace.config, audience="agent")) as session:
        assert base_status(session).unread == ()


def test_of_files_that_wait_an_audience_is_told_those_it_may_know_of(workspace: Workspace) -> None:
    for number in range(40):
        workspace.write(f"{'private' if number < 35 else 'open'}/{number:02}.md", f"# Note {number}\n")
    stopped: list[object] = []
    workspace.ingest(is_canceled=lambda: bool(stopped), on_event=stopped.append)
    written = workspace.config_path.read_text()
    workspace.config_path.write_text(f'{written}[exposure]\nnever_to_mcp = ["private/**"]\n')

    def note(audience: Audience | None) -> str | None:
        with closing(Base(workspace.config, audience=audience)) as session:
            said = search(session, SearchQuery("hexagon", "lexical", 3)).note
            assert said in (None, *base_status(session).missing)
            return said

    assert note(None) == "not read yet: 40 files (markdown 40); kb ingest goes on"
    assert note("agent") == "not read yet: 5 files (markdown 5); kb ingest goes on"
    workspace.config_path.write_text(f'{written}[exposure]\nnever_to_mcp = ["**"]\n')
    assert note("agent") is None
    workspace.ingest("open")
    assert note(None) == "not read yet: 35 files (markdown 35); kb ingest goes on"
    (workspace.root / "private" / "00.md").unlink()
    workspace.ingest()
    assert note(None) is None


def test_a_changed_file_waits_with_its_old_text_in_the_index(workspace: Workspace) -> None:
    workspace.write("a.md", "# Spiral\n")
    stopped: list[object] = []
    workspace.ingest(is_canceled=lambda: bool(stopped), on_event=stopped.append)
    assert noted(workspace) == [("b.eml", "failed", "extract_failed"), ("c.py", "left out", "generated")]


def test_a_file_that_was_to_be_read_and_fails_is_noted_with_its_failure(workspace: Workspace) -> None:
    workspace.write("d.eml", NO_MAIL)
    stopped: list[object] = []
    workspace.ingest(is_canceled=lambda: bool(stopped), on_event=stopped.append)
    assert ("d.eml", "waiting", "not_read_yet") in noted(workspace)
    assert counted(workspace.ingest())["errors"] == 1
    assert ("d.eml", "failed", "extract_failed") in noted(workspace)


def test_forgetting_takes_the_note_too(workspace: Workspace) -> None:
    report = forget(workspace.config, Named("b.eml"), RunHandle(), ignore=True)
    assert report.paths == ("b.eml",)
    assert [path for path, _, _ in noted(workspace)] == ["c.py"]
    items = json.loads(workspace.query("SELECT items_json FROM ingest_runs")[0][0])
    assert "b.eml" not in {item["doc_path"] for item in items}
