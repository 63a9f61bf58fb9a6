"""What is never to be on the page is not there: by no search, address, list, count, file, answer or evaluation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from conftest import Vault, indexed_vault, kb_in, make_vault, write_notes
from hostile_documents import HOSTILE_PDF
from vaults import ids_of
from web_fixtures import Served, serving

from kb.config import load
from kb.operations.opening.base import open_base
from kb.store import queries
from kb.store.migrate import migrate
from kb.store.sqlfile import sql_text

SECRET = "The vault code is xylophone nine."
HIDDEN = {
    "private/plan.md": f"---\ntags: [salary]\n---\n# Hidden plan\n\n{SECRET}\n",
    "private/tool.py": "def hidden_function():\n    return 'xylophone'\n",
    "tagged.md": f"---\ntags: [never-to-web]\n---\n# Tagged plan\n\n{SECRET} zyzzyva\n",
    "below.md": f"---\ntags: [secret/deep]\n---\n# Deep plan\n\n{SECRET}\n",
}
OPEN = {
    "open.md": "# Open\n\nSee [[plan]] and ![[secret.pdf]]. The gateway is blue.\n",
    "gateway/log.md": "# Log\n\nThe gateway retries a failed upload five times.\n",
}
RULES = '\n[exposure]\nnever_to_web = ["private/**", "#Secret", "#never-to-web"]\n'
# Answered from a note that all may see; a step of it found others, and that is kept with the answer.
LOOKED_AT = "How often does the gateway retry a failed upload, and who sings about the xylophone?"
GOLDEN = """\
questions:
- {id: q1, query: xylophone code, expected: [{path: private/plan.md}]}
- {id: q2, query: gateway plan, expected: [{path: gateway/log.md}]}
"""
ASKED = re.compile(
    r"xylophone nine|zyzzyva\b|return 'xylophone'|Hidden plan|Deep plan|Tagged plan|hidden_function|salary"
)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    """A vault where all was seen before anything was hidden: answers, conversations and evaluations hold it."""
    files = {"private/secret.pdf": HOSTILE_PDF}
    made = indexed_vault(tmp_path_factory.mktemp("guarded"), {**HIDDEN, **OPEN}, files=files)
    kb = kb_in(made)
    for question in ("What is the vault code?", "How often does the gateway retry a failed upload?"):
        assert kb("--set", "rag.score_gate=0", "ask", question, "--session", question[:4].strip()).code in (0, 1)
    kb("ask", "--deep", LOOKED_AT)
    (made.sqlite.parent / "golden.yaml").write_text(GOLDEN, encoding="utf-8")
    for name in ("one", "two"):
        assert kb("eval", "run", "--name", name).code == 0
    made.config.write_text(made.config.read_text() + RULES)
    return made


@pytest.fixture(scope="module")
def served(guarded: Vault) -> Iterator[Served]:
    with serving(guarded) as made:
        yield made


def test_the_owner_has_all_of_it_in_the_terminal(guarded: Vault) -> None:
    kb = kb_in(guarded)
    assert len(kb("search", "xylophone", "--json").json["hits"]) == len(HIDDEN)
    assert len(kb("answers", "list", "--json").lines) == 3
    (steps,) = [each for each in kb("answers", "list", "--json").lines if each["query"] == LOOKED_AT]
    kept = kb("answers", "show", steps["trace_id"], "--json").json
    assert [each["citation"]["path"] for each in kept["citations"]] == ["gateway/log.md", "open.md"]
    assert "private/plan.md" in {place["citation"]["path"] for hop in kept["hops"] for place in hop["places"]}


def test_no_address_shows_what_is_hidden(guarded: Vault, served: Served) -> None:
    (answer,) = [
        each["trace_id"] for each in kb_in(guarded)("answers", "list", "--json").lines if "code" in each["query"]
    ]
    asked: list[tuple[str, dict[str, str]]] = [
        ("/api/search", {"q": "xylophone vault code"}),
        ("/api/search", {"q": "zyzzyvas"}),
        ("/api/search", {"q": "plan", "path_glob": "private/**"}),
        ("/api/search", {"q": "plan", "tag": "salary"}),
        ("/api/search", {"q": "tool", "symbol": "hidden_*"}),
        ("/api/facets", {}),
        ("/api/facets", {"media": "markdown"}),
        ("/api/documents", {}),
        ("/api/documents", {"path_glob": "private/**"}),
        ("/api/named", {}),
        ("/api/named", {"name": "private"}),
        ("/api/map", {}),
        ("/api/folder", {}),
        ("/api/folder", {"path": "private"}),
        ("/api/answers", {}),
        ("/api/answer", {"id": answer}),
        ("/api/verify", {}),
        ("/api/verify", {"id": answer}),
        ("/api/runs", {}),
        ("/api/comparison", {"before": "one", "after": "two"}),
        ("/api/start", {}),
        ("/file", {"path": "private/secret.pdf"}),
        ("/thumbnail", {"at": "private/secret.pdf#page=1"}),
        ("/page", {"path": "private/secret.pdf", "page": "1", "width": "100"}),
        ("/api/page", {"path": "private/secret.pdf", "page": "1"}),
        ("/api/outline", {"path": "private/tool.py"}),
        ("/api/impact", {}),
        ("/api/linked", {"name": "plan", "from": "open.md"}),
        ("/api/linked", {"name": "secret.pdf", "from": "open.md"}),
    ]
    for path in (*HIDDEN, "private/secret.pdf"):
        asked += [
            ("/api/document", {"at": path}),
            ("/api/document", {"at": f"{path}#L1"}),
            ("/api/near", {"path": path}),
        ]
        asked.append(("/api/document", {"at": "open.md", "passage": ids_of(guarded, "private/plan.md")[1]}))
    for path, params in asked:
        answered = served.ask(path, params)
        body = answered.body.decode("utf-8", "replace").replace(f'\\"{params.get("tag")}\\"', "what was asked for")
        assert ASKED.findall(body) == [], (path, params)
        assert answered.status in (200, 404), (path, params)
    for path in HIDDEN:
        assert served.ask("/api/document", {"at": path}).status == 404
    assert served.ask("/file", {"path": "private/secret.pdf"}).status == 404
    assert served.ask("/thumbnail", {"at": "private/secret.pdf#page=1"}).status == 404
    assert served.ask("/page", {"path": "private/secret.pdf", "page": "1", "width": "100"}).status == 404
    assert served.ask("/api/page", {"path": "private/secret.pdf", "page": "1"}).status == 404
    assert served.ask("/api/outline", {"path": "private/tool.py"}).status == 404
    assert served.ask("/api/answer", {"id": answer}).status == 404


def test_an_answer_is_made_of_what_is_left(served: Served) -> None:
    lines = served.post("/api/ask", {"query": "What is the vault code?"}).lines
    assert ASKED.findall(str(lines)) == []


def test_what_is_hidden_and_what_is_nowhere_are_told_alike(served: Served) -> None:
    hidden, nowhere = (
        served.ask("/api/document", {"at": path}).json for path in ("private/plan.md", "private/nope.md")
    )
    assert str(hidden).replace("plan", "nope") == str(nowhere)


def test_counts_are_of_what_is_left(served: Served) -> None:
    left = len(OPEN)
    assert served.ask("/api/start").json["documents"] == left
    assert len(served.ask("/api/documents").json) == left
    top = served.ask("/api/folder").json
    assert (top["folders"], len(top["documents"])) == ([{"name": "gateway", "documents": 1}], 1)
    facets: dict[str, Any] = served.ask("/api/facets").json
    assert "private" not in [each["value"] for each in facets["folder"]]
    assert not {"salary", "never-to-web", "secret/deep"} & {each["value"] for each in facets["tag"]}
    assert sum(each["documents"] for each in served.ask("/api/map").json["months"]) == left


def test_answers_and_questions_that_are_made_of_it_are_hidden_and_others_stay(served: Served) -> None:
    assert [each["query"] for each in served.ask("/api/answers").json] == [
        "How often does the gateway retry a failed upload?"
    ]
    assert len(served.ask("/api/verify").json) == 1
    compared = served.ask("/api/comparison", {"before": "one", "after": "two"}).json
    assert {each["questions"] for each in compared["metrics"]} == {1}


def test_what_becomes_hidden_or_goes_is_hidden_at_the_next_request(tmp_path: Path) -> None:
    made = make_vault(tmp_path, {**OPEN, "plan.md": f"# Plan\n\n{SECRET}\n"})
    made.config.write_text(made.config.read_text() + '\n[exposure]\nnever_to_web = ["gone/**", "#never-to-web"]\n')
    kb = kb_in(made)
    write_notes(made.root, {"gone/note.md": "# Zebra\n\nThe zebra code is eleven.\n"})
    assert kb("ingest", "--no-embed").code == 0
    assert kb("--set", "rag.score_gate=0", "ask", "What is the zebra code?").code == 0
    with serving(made) as served:
        assert [each["doc_path"] for each in served.ask("/api/search", {"q": "xylophone"}).json["hits"]] == ["plan.md"]
        assert served.ask("/api/answers").json == []
        (made.root / "gone/note.md").unlink()
        write_notes(made.root, {"plan.md": f"---\ntags: [never-to-web]\n---\n# Plan\n\n{SECRET}\n"})
        assert kb("ingest", "--no-embed").code == 0
        assert served.ask("/api/search", {"q": "xylophone"}).json["hits"] == []
        assert served.ask("/api/answers").json == []
        write_notes(made.root, {"plan.md": f"# Plan\n\n{SECRET}\n"})
        assert kb("ingest", "--no-embed").code == 0
        assert [each["doc_path"] for each in served.ask("/api/search", {"q": "xylophone"}).json["hits"]] == ["plan.md"]


def test_what_is_hidden_stays_hidden_once_it_was_asked_what_models_may_not_read(guarded: Vault) -> None:
    with open_base(load(str(guarded.config), ()), audience="page") as session:
        for _ in range(2):
            with session.reading() as base:
                paths = {path for (path,) in base.db.execute("SELECT workspace_path FROM documents")}
                assert paths == set(OPEN)
                base.hidden_from_models()


@pytest.mark.parametrize(
    ("opened", "hide", "show"),
    [(queries.open_hidden, "hide", "show"), (queries.open_hidden_paths, "hide_answers", "show_answers")],
    ids=["documents", "answers"],
)
def test_the_views_of_a_guarded_connection_have_all_columns_and_go(opened: Any, hide: str, show: str) -> None:
    db = apsw.Connection(":memory:")
    migrate(db, "2026-01-01T00:00:00Z")
    opened(db)
    made = re.findall(r"CREATE (?:TEMP (?:VIEW|TABLE) |VIRTUAL TABLE temp\.)(\w+)", sql_text(f"exposure/{hide}.sql"))

    def columns(schema: str) -> dict[str, list[str]]:
        rows = {name: db.execute(f"SELECT name FROM pragma_table_xinfo('{name}', '{schema}')") for name in made}
        return {name: [row[0] for row in found if row[0] != "rowid"] for name, found in rows.items()}

    def temporary() -> set[str]:
        return {name for (name,) in db.execute("SELECT name FROM sqlite_temp_schema WHERE type IN ('view', 'table')")}

    before, there = columns("main"), temporary()
    getattr(queries, hide)(db)
    assert columns("temp") == before
    assert sorted(made) == sorted(re.findall(r"temp\.(\w+);", sql_text(f"exposure/{show}.sql")))
    getattr(queries, show)(db)
    assert temporary() == there
