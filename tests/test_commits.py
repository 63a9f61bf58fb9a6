"""When files were committed: read from git by a safe command, kept with the documents, asked again when HEAD moves."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import Kb, Vault, kb_in, make_vault, write_notes

from kb.scan import git as git_of_kb
from kb.scan.git import last_commits

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

IDENTITY = (
    "-c",
    "user.name=김 하나",
    "-c",
    "user.email=a@b",
    "-c",
    "commit.gpgsign=false",
    "-c",
    "init.defaultBranch=main",
)


def git(folder: Path, *words: str, day: str = "2026-01-01") -> None:
    when = {"GIT_COMMITTER_DATE": f"{day}T12:00:00Z", "GIT_AUTHOR_DATE": "2020-01-01T12:00:00Z"}
    subprocess.run(["git", *IDENTITY, *words], cwd=folder, check=True, capture_output=True, env={**os.environ, **when})


def commit(folder: Path, files: dict[str, str], day: str) -> None:
    write_notes(folder, files)
    git(folder, "add", "--all")
    git(folder, "commit", "--message", "change\n\nmore", day=day)


@pytest.fixture
def kept(tmp_path: Path) -> Vault:
    """A vault in git: two commits, and a note that was never committed."""
    made = make_vault(tmp_path, {})
    git(made.root, "init")
    commit(made.root, {"a.md": "# A\n\nOwl.\n", "sub/한 글.md": "# B\n\nOwl.\n"}, "2026-01-05")
    commit(made.root, {"a.md": "# A\n\nOwl and heron.\n"}, "2026-02-05")
    write_notes(made.root, {"new.md": "# New\n\nOwl.\n"})
    return made


def committed(kb: Kb) -> dict[str, str]:
    """The day of each document's commit, as properties have it."""
    rows = {}
    for path in ("a.md", "sub/한 글.md", "new.md", "b.md"):
        listed = kb("list", "properties", "committed", "--path-glob", path, "--json")
        rows[path] = listed.json["items"][0]["name"][:10] if listed.code == 0 else ""
    return rows


def test_documents_have_the_day_of_their_last_commit(kept: Vault) -> None:
    kb = kb_in(kept)
    kb("ingest", "--no-embed")
    assert committed(kb) == {"a.md": "2026-02-05", "sub/한 글.md": "2026-01-05", "new.md": "", "b.md": ""}
    found = kb("search", "owl", "--where", "committed>=2026-02-01", "--mode", "lexical", "--json").json["hits"]
    assert [each["doc_path"] for each in found] == ["a.md"]
    by = kb("search", "owl", "--where", "committed_by~하나", "--mode", "lexical", "--json").json["hits"]
    assert {each["doc_path"] for each in by} == {"a.md", "sub/한 글.md"}
    assert "committed" in kb("list", "properties").stdout


def test_git_is_asked_again_only_when_there_is_a_new_commit(kept: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = kb_in(kept)
    kb("ingest", "--no-embed")
    with monkeypatch.context() as patched:
        patched.setattr(git_of_kb.shutil, "which", lambda name: pytest.fail(f"{name} is looked for"))
        write_notes(kept.root, {"a.md": "# A\n\nOwl, not yet committed.\n", "b.md": "# B\n"})
        kb("ingest", "--no-embed")
    assert committed(kb) == {"a.md": "2026-02-05", "sub/한 글.md": "2026-01-05", "new.md": "", "b.md": ""}
    commit(kept.root, {}, "2026-03-05")
    kb("ingest", "--no-embed")
    assert committed(kb) == {
        "a.md": "2026-03-05",
        "sub/한 글.md": "2026-01-05",
        "new.md": "2026-03-05",
        "b.md": "2026-03-05",
    }


def test_without_git_it_is_said_once(kept: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = kb_in(kept)
    with monkeypatch.context() as patched:
        patched.setattr(git_of_kb.shutil, "which", lambda name: None)
        notes = [kb("ingest", "--no-embed", "--json").lines[-1]["notes"] for _ in range(2)]
    assert [sum("committed is not known" in each for each in said) for said in notes] == [1, 0]
    kb("ingest", "--no-embed")
    assert committed(kb)["a.md"] == "2026-02-05"


def test_nothing_that_a_repository_configures_is_run(kept: Vault, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    for key in (
        "core.pager",
        "core.fsmonitor",
        "core.sshCommand",
        "diff.external",
        "gpg.program",
        "diff.x.textconv",
        "pager.log",
    ):
        git(kept.root, "config", key, str(program))
    git(kept.root, "config", "log.showSignature", "true")
    git(kept.root, "config", "core.hooksPath", str(tmp_path))
    (kept.root / ".gitattributes").write_text("*.md diff=x\n")
    found = last_commits(str(kept.root), {"a.md", "sub/한 글.md", "new.md"})
    assert found is not None
    assert {path: each.at[:10] for path, each in found.found.items()} == {
        "a.md": "2026-02-05",
        "sub/한 글.md": "2026-01-05",
    }
    tree = subprocess.run(
        ["git", "rev-parse", "HEAD~1^{tree}"], cwd=kept.root, check=True, capture_output=True, text=True
    )
    name = tree.stdout.strip()
    (kept.root / ".git/objects" / name[:2] / name[2:]).unlink()  # a partial clone fetches what is missing
    git(kept.root, "config", "remote.origin.url", f"ext::{program}")
    git(kept.root, "config", "remote.origin.promisor", "true")
    git(kept.root, "config", "remote.origin.uploadpack", str(program))
    git(kept.root, "config", "extensions.partialClone", "origin")
    assert last_commits(str(kept.root), {"new.md"}) is None
    assert not ran.exists()


def test_a_shallow_clone_knows_no_more_than_was_fetched(kept: Vault, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--depth", "1", f"file://{kept.root}", "clone")
    found = last_commits(str(tmp_path / "clone"), {"a.md", "sub/한 글.md"})
    assert found is not None
    assert found.found == {}


def test_reading_ends_after_some_time(kept: Vault) -> None:
    found = last_commits(str(kept.root), {"a.md", "new.md"}, most_seconds=0)
    assert found is not None
    assert found.fault is not None
