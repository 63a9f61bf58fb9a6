"""Links of notes: what counts as one, which document it reaches, and what moves, deletes and older files leave."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw
import pytest
from conftest import Kb, Vault, indexed_vault, kb_in

from kb.config import load
from kb.language.links import links_of
from kb.operations.inspect.listing import list_things
from kb.operations.opening.base import open_base
from kb.store.migrate import migrate

NOTES = {
    "start.md": "# Start\n\nSee [[Plan]] and [[work/plan|that one]].\n\n| a | b |\n|---|---|\n"
    "| [[큰 계획]] | [[PLAN#Next]] |\n"
    "\n![[photo.png]] [beside](./notes/a%20b.md#L1-L2) [gone](gone.md)\n",
    "plan.md": "# Plan\n\n## Next\n\nNothing.\n",
    "work/plan.md": "---\naliases: [큰 계획]\n---\n# Work plan\n\nUp: [start](../start.md), here: [[plan]].\n",
    "notes/a b.md": "# A B\n\n[[paln]] `[[code]]`\n\n```\n[[code]]\n```\n",
    "deep/er/한글.md": "# 한글\n\n[web](https://example.org/x.md) [within](#top) [[#top]] <!-- [[no]] -->\n",
    "deep/link.md": "# Link\n\n[[한글]]\n\n[def]: er/한글.md\n",
}


@pytest.fixture
def kept(tmp_path: Path) -> Vault:
    made = indexed_vault(tmp_path, NOTES)
    (made.root / "photo.png").write_bytes(b"no picture")
    return made


def links(kb: Kb, path: str) -> list[tuple[int, str | None]]:
    return [(each["line"], each["target_path"]) for each in kb("inspect", "doc", path, "--json").json["links"]]


def backlinks(kb: Kb, path: str) -> list[tuple[str, int]]:
    return [(each["doc_path"], each["line"]) for each in kb("inspect", "doc", path, "--json").json["backlinks"]]


def broken(kb: Kb) -> list[tuple[str, int, str, str | None]]:
    found = kb("doctor", "--links", "--json").json["links"]
    return [(each["link"]["doc_path"], each["link"]["line"], each["link"]["target"], each["nearest"]) for each in found]


def test_a_link_reaches_the_document_of_its_path_name_or_alias(kept: Vault) -> None:
    kb = kb_in(kept)
    assert links(kb, "start.md") == [
        (3, "plan.md"),
        (3, "work/plan.md"),
        (7, "work/plan.md"),
        (7, "plan.md"),
        (9, None),
        (9, "notes/a b.md"),
        (9, None),
    ]
    assert links(kb, "work/plan.md") == [(6, "start.md"), (6, "plan.md")]
    assert links(kb, "deep/link.md") == [(3, "deep/er/한글.md"), (5, "deep/er/한글.md")]
    assert links(kb, "deep/er/한글.md") == []
    kinds = [each["kind"] for each in kb("inspect", "doc", "start.md", "--json").json["links"]]
    assert kinds == ["wikilink", "wikilink", "wikilink", "wikilink", "embed", "citation", "markdown"]


def test_backlinks_are_the_links_that_reach_a_document(kept: Vault) -> None:
    kb = kb_in(kept)
    assert backlinks(kb, "plan.md") == [("start.md", 3), ("start.md", 7), ("work/plan.md", 6)]
    shown = kb("related", "plan.md").stdout
    assert "Linked from" in shown
    assert "work/plan.md#L6" in shown
    assert "backlinks" in kb("inspect", "doc", "plan.md").stdout
    assert kb("related", "nowhere.md").code == 2
    assert backlinks(kb, "deep/er/한글.md") == [("deep/link.md", 3), ("deep/link.md", 5)]
    once = kb("related", "한글.md", "--json").json["backlinks"]
    assert [(each["doc_path"], each["line"]) for each in once] == [("deep/link.md", 3)]
    with open_base(load(str(kept.config))) as session:
        listed = list_things(session, "links", glob="/plan.md")
    assert [(each.name, each.detail) for each in listed.items] == [
        ("start.md#L3", "→ plan.md"),
        ("start.md#L7", "→ plan.md#Next"),
        ("work/plan.md#L6", "→ plan.md"),
    ]


def test_broken_links_have_their_line_and_the_nearest_name(kept: Vault) -> None:
    kb = kb_in(kept)
    assert broken(kb) == [("notes/a b.md", 3, "paln", "plan.md"), ("start.md", 9, "gone.md", None)]
    ran = kb("doctor", "--links")
    assert ran.code == 3
    assert "start.md#L9  gone.md" in ran.stdout
    (kept.root / "gone.md").write_text("# Back\n", encoding="utf-8")
    (kept.root / "notes/a b.md").write_text("# A B\n", encoding="utf-8")
    assert kb("ingest", "--no-embed").code == 0
    assert kb("doctor", "--links").stdout == "no broken links.\n"


def test_links_to_a_heading_or_block_that_a_note_does_not_have_are_broken(tmp_path: Path) -> None:
    there = "# Plan\n\n## Next steps\n\nBuy paint. ^paint\n\n## 다음 일\n\n"
    there += "<a id='old-name'></a>Done. {#no}\n\n## Size {#big}\n\n## [[A note]]\n"
    right = "[[plan#Next steps]] [[plan#Plan#next steps]] [a](plan.md#next-steps) [[plan#^paint]] [[plan#다음 일]]"
    right += (
        " [a](plan.md#old-name) [a](plan.md#big) [a](plan.md#a-note) [a](plan.md#L400) [a](page.html#any) [[plan#✓]]"
    )
    right += " [a](plan.md#:~:text=x)"
    wrong = "[[plan#Next step]] [[plan#Next step|again]] ![[plan#Next step]] [[plan#^ink]] [a](plan.md#elsewhere)"
    notes = {
        "plan.md": there,
        "a note.md": "# A note\n",
        "page.html": "<h1>Page</h1><p>Text.</p>",
        "a.md": f"# A\n\n{right}\n\n{wrong}\n",
    }
    kb = kb_in(indexed_vault(tmp_path, notes))
    assert broken(kb) == [
        ("a.md", 5, "plan", "plan.md#Next steps"),
        ("a.md", 5, "plan", None),
        ("a.md", 5, "plan.md", None),
    ]
    assert kb("doctor", "--links").stdout.splitlines() == [
        "a.md#L5  plan#Next step  (plan.md has no such place; the nearest is plan.md#Next steps)",
        "a.md#L5  plan#^ink  (plan.md has no such place)",
        "a.md#L5  plan.md#elsewhere  (plan.md has no such place)",
        "3 links without a target.",
    ]


def test_moves_and_deletes_change_what_links_reach_and_no_other_note(kept: Vault) -> None:
    kb = kb_in(kept)
    (kept.root / "plan.md").rename(kept.root / "deep/plan.md")
    moved = kb("ingest", "--no-embed")
    assert "0 new, 0 updated, 1 moved" in moved.stdout
    assert links(kb, "start.md")[:4] == [(3, path) for path in ("deep/plan.md", "work/plan.md")] + [
        (7, path) for path in ("work/plan.md", "deep/plan.md")
    ]
    (kept.root / "deep/plan.md").unlink()
    assert kb("ingest", "--no-embed").code == 0
    assert links(kb, "start.md")[0] == (3, "work/plan.md")
    (kept.root / "work/plan.md").unlink()
    assert kb("ingest", "--no-embed").code == 0
    assert links(kb, "start.md")[0] == (3, None)


def test_names_in_whatever_unicode_form_and_case_are_one() -> None:
    composed, decomposed = "\uac00", "\u1100\u1161"
    (found,) = links_of(f"[[{decomposed} Note]]", "a.md")
    assert (found.name, found.target) == (f"{composed} note", f"{composed} Note")


def test_a_file_of_an_older_kb_gets_its_links_without_reading_a_note(kept: Vault, tmp_path: Path) -> None:
    # A definition alone in a paragraph is in no passage.
    asked = (
        "SELECT doc_id, line, kind, target, name, path, beside, source FROM links WHERE target <> 'er/한글.md'"
        " ORDER BY doc_id, position"
    )
    path = tmp_path / "older.sqlite"
    with closing(apsw.Connection(str(path))) as older:
        with closing(apsw.Connection(str(kept.sqlite))) as db:
            rows, names = db.execute(asked).fetchall(), db.execute("SELECT * FROM document_names").fetchall()
            with older.backup("main", db, "main") as backup:
                backup.step()
        older.execute(
            """
            DROP VIEW jobs; DROP TABLE job_records; DROP TABLE unread_files;
            DROP TABLE links; DROP TABLE document_names;
            DROP TABLE commit_logs; DROP TRIGGER document_commit_properties_au; DROP VIEW property_values;
            DROP TRIGGER document_properties_ai; DROP TRIGGER document_properties_au;
            DROP TRIGGER document_tag_properties_ai;
            ALTER TABLE documents DROP COLUMN committed_at; ALTER TABLE documents DROP COLUMN committed_by;
            DROP INDEX idx_docs_source; ALTER TABLE documents DROP COLUMN source;
            DELETE FROM migrations WHERE id >= 22;
            UPDATE schema_meta SET value = '21' WHERE key = 'schema_version';
            """
        )
        migrate(older, "2026-12-01T00:00:00Z")
        assert older.execute(asked).fetchall() == rows
        assert older.execute("SELECT * FROM document_names").fetchall() == names
