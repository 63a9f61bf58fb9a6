"""Both surfaces on a knowledge base of 200,000 documents: lists are read a page at a time, none is waited for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from conftest import Vault, kb_in, make_vault
from web_fixtures import Served, serving

from kb.store.connection import open_writer, transaction

PER_FOLDER = 1_000

# Every column is that of a document which was really read, but what names it, where it lies and what it says.
_COPIES = """
WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :count)
INSERT INTO {table} ({columns})
SELECT {values} FROM numbers, (SELECT * FROM {table} LIMIT 1)
"""
_PATH = "printf('part-%03d/note-%06d.md', n / 1000, n)"
_TEXT = (
    "printf('Note %d speaks of a %s and of a %s.', n, "
    "substr('herontigerotterlemurgeckobison', 1 + 5 * (n % 6), 5), "
    "substr('pumpslampsboatsropessails', 1 + 5 * (n % 5), 5))"
)
_OWN = {
    "assets": {"asset_id": "printf('%032x', n)", "workspace_path": _PATH, "source_uri": _PATH},
    "documents": {
        "doc_id": "printf('d%031x', n)",
        "asset_id": "printf('%032x', n)",
        "workspace_path": _PATH,
        "title": "printf('Note %d', n)",
        "source_path": _PATH,
        "created_at": "printf('20%02d-%02d-01T00:00:00Z', 10 + n % 15, 1 + n % 12)",
    },
    "chunks": {
        "chunk_rowid": "1000 + n",
        "chunk_id": "printf('c%031x', n)",
        "doc_id": "printf('d%031x', n)",
        "text": _TEXT,
    },
}


def many_documents(directory: Path, count: int) -> Vault:
    """A vault of one note on the disk, and `count` more that the database alone holds."""
    made = make_vault(directory, {"first.md": "# First\n\nThe first note stands alone.\n"})
    assert kb_in(made)("ingest", "--no-embed").code == 0
    db = open_writer(made.sqlite)
    try:
        with transaction(db):
            for table, own in _OWN.items():
                _copy(db, table, own, count)
    finally:
        db.close()
    return made


def _copy(db: apsw.Connection, table: str, own: dict[str, str], count: int) -> None:
    names = [
        str(name)
        for name, hidden in db.execute(f"SELECT name, hidden FROM pragma_table_xinfo('{table}')")
        if not hidden
    ]
    statement = _COPIES.format(
        table=table,
        columns=", ".join(names),
        values=", ".join(own.get(name, name) for name in names),
    )
    db.execute(statement, {"count": count}).fetchall()


pytestmark = pytest.mark.slow

COUNT = 200_000


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return many_documents(tmp_path_factory.mktemp("many"), COUNT)


@pytest.fixture(scope="module")
def served(many: Vault) -> Iterator[Served]:
    with serving(many) as made:
        made.ask("/api/start")
        yield made


def test_the_page_lists_folders_and_reads_one_a_page_at_a_time(served: Served) -> None:
    top = served.ask("/api/folder").json
    assert sum(each["documents"] for each in top["folders"]) == COUNT
    assert [each["doc_path"] for each in top["documents"]] == ["first.md"]
    first = served.ask("/api/folder", {"path": "part-100"}).json
    assert (len(first["documents"]), first["has_more"]) == (500, True)
    rest = served.ask("/api/folder", {"path": "part-100", "start": "500"}).json
    assert (len(rest["documents"]), rest["has_more"]) == (PER_FOLDER - 500, False)
    assert {each["doc_path"] for each in first["documents"]}.isdisjoint(each["doc_path"] for each in rest["documents"])


def test_search_start_and_map_answer_quickly(served: Served) -> None:
    hits = served.ask("/api/search", {"q": "heron pumps"}).json["hits"]
    assert len(hits) == 10
    (found, *_) = served.ask("/api/search", {"q": "note 123456"}).json["hits"]
    assert found["doc_path"] == "part-123/note-123456.md"
    assert served.ask("/api/start").json["documents"] == COUNT + 1
    assert sum(each["documents"] for each in served.ask("/api/map").json["months"]) == COUNT + 1


@pytest.mark.parametrize("filters", [{}, {"lang": "en"}], ids=str)
def test_filters_count_what_each_leaves(filters: dict[str, str], served: Served) -> None:
    found = served.ask("/api/facets", filters).json
    assert found["media"] == [{"value": "markdown", "documents": COUNT + 1}]


def test_the_terminal_opens_folders_a_page_at_a_time_and_finds_a_note(many: Vault) -> None:
    pytest.importorskip("textual")
    from test_tui import played, rows, shown, typed, until
    from textual.pilot import Pilot

    from kb.tui.app import SearchApp

    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await typed(pilot, "note 123456")
        await until(pilot, lambda: rows(app) > 0 and "note-123456.md" in shown(app))
        await pilot.press("f2")
        await until(pilot, lambda: f"{COUNT + 1:,} documents" in shown(app))
        await pilot.press("down", "enter")
        await until(pilot, lambda: "note-001000.md" in shown(app) or "note-000001.md" in shown(app))
        await pilot.press("end")
        await pilot.press(*["up"] * 202)  # the folders behind it, and the note beside them
        await until(pilot, lambda: "… more" in shown(app))

    played(many, play)
