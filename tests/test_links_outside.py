"""Links that lead out of the workspace: counted and named where they are followed, or left out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import Ran, Vault, kb_in, make_vault

from kb.domain.documents import SourceFile
from kb.domain.results.ingest import LINKS_NAMED, LinksOutside, OutsideLink
from kb.domain.text import WorkspacePath
from kb.scan.walk import ScanEvent, walk


@pytest.fixture
def linked(tmp_path: Path) -> Vault:
    """A workspace with a note, a link inside it, a link to a file and one to a folder outside it."""
    made = make_vault(tmp_path / "vault", {"note.md": "# Note\n\nAn owl.\n"})
    (tmp_path / "outside/deep").mkdir(parents=True)
    (tmp_path / "outside/secret.md").write_text("# Secret\n\nA heron.\n")
    (tmp_path / "outside/deep/far.md").write_text("# Far\n\nA stork.\n")
    (tmp_path / "outside/back").symlink_to(made.root)
    (tmp_path / "single.md").write_text("# Single\n\nA crane.\n")
    (made.root / "folder").symlink_to(tmp_path / "outside")
    (made.root / "link.md").symlink_to(tmp_path / "single.md")
    (made.root / "inside.md").symlink_to("note.md")
    return made


def ingest(vault: Vault, *args: str, follow: bool = True) -> Ran:
    setting = ("--set", f"workspace.follow_outside={str(follow).lower()}")
    return kb_in(vault)(*setting, "ingest", "--no-embed", *args)


def indexed(vault: Vault) -> set[str]:
    ran = kb_in(vault)("list", "docs", "--json")
    return {line["doc_path"] for line in ran.lines} if ran.stdout else set()


def test_links_that_lead_out_are_counted_and_named(linked: Vault, tmp_path: Path) -> None:
    report = ingest(linked, "--json").lines[-1]
    assert report["links_outside"] == {
        "count": 2,
        "followed": True,
        "named": [
            {"doc_path": "folder", "target": str(tmp_path / "outside")},
            {"doc_path": "link.md", "target": str(tmp_path / "single.md")},
        ],
    }
    assert indexed(linked) == {"note.md", "link.md", "folder/secret.md", "folder/deep/far.md"}


def test_one_line_says_so_on_a_terminal(linked: Vault, tmp_path: Path) -> None:
    said = " ".join(ingest(linked).stdout.split())
    assert said.endswith(
        f"2 links lead out of the workspace: folder → {tmp_path}/outside, link.md → {tmp_path}/single.md"
        " (followed; workspace.follow_outside = false leaves them out)"
    )


def test_they_are_left_out_where_they_are_forbidden(linked: Vault) -> None:
    ran = ingest(linked, follow=False)
    assert "(left out by workspace.follow_outside)" in " ".join(ran.stdout.split())
    assert indexed(linked) == {"note.md"}
    report = ingest(linked, "--json", follow=False).lines[-1]
    assert (report["links_outside"]["count"], report["links_outside"]["followed"]) == (2, False)


def test_what_was_indexed_through_them_goes_when_they_are_forbidden(linked: Vault) -> None:
    assert ingest(linked).code == 0
    assert ingest(linked, "--json", follow=False).lines[-1]["removed"] == 3
    assert indexed(linked) == {"note.md"}


@pytest.mark.parametrize("scope", ["folder", "folder/secret.md", "folder/deep", "link.md"])
def test_no_scope_leads_around_it(linked: Vault, scope: str) -> None:
    def events(follow: bool) -> list[ScanEvent]:
        return list(walk(linked.root, include=["**/*.md"], exclude=[], scope=scope, follow_outside=follow))

    link = scope.split("/")[0]
    target = os.path.realpath(linked.root / link)
    forbidden = events(follow=False)
    assert [event for event in forbidden if isinstance(event, SourceFile)] == []
    assert [event for event in forbidden if isinstance(event, OutsideLink)] == [
        OutsideLink(WorkspacePath(link), target, followed=False)
    ]
    followed = events(follow=True)
    assert [event for event in followed if isinstance(event, SourceFile)] != []
    assert [event for event in followed if isinstance(event, OutsideLink)] == [
        OutsideLink(WorkspacePath(link), target, followed=True)
    ]


@pytest.mark.parametrize("scope", ["folder", "link.md"])
def test_no_path_on_the_command_line_leads_around_it(linked: Vault, scope: str) -> None:
    assert ingest(linked, str(linked.root / scope), follow=False).code == 0
    assert indexed(linked) == set()


def test_a_workspace_without_such_links_says_nothing(tmp_path: Path) -> None:
    made = make_vault(tmp_path, {"note.md": "# Note\n"})
    (made.root / "again.md").symlink_to("note.md")
    assert "out of the workspace" not in ingest(made).stdout


def test_only_the_first_are_named() -> None:
    links = LinksOutside()
    for number in range(LINKS_NAMED + 5):
        links.add(OutsideLink(f"{number}.md", "/x", followed=True))
    assert (links.count, len(links.named)) == (LINKS_NAMED + 5, LINKS_NAMED)
