"""What is forgotten is in no byte of anything that kb keeps; the files themselves stay."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from conftest import NOTES, Kb, Vault, copy_vault, kb_in, make_vault, write_notes
from fake_embedder import PRIMARY, FakeModels, fake_models

__all__ = ["fake_models"]  # a fixture

MEDIA = Path(__file__).parents[1] / "fixtures" / "media"
MARKER = "xylqophone"
NOTE = f"""\
---
tags: [secret/deep]
code: {MARKER}
---
# Vault

The vault code is {MARKER} nine. 금고의 암호는 {MARKER}입니다.

- {MARKER} opens it
"""
OTHER = {**NOTES, "vault/other.md": "# Other vault\n\nThe vault of the other house is blue.\n"}
GOLDEN = """\
questions:
- {id: q1, query: vault code, expected: [{path: vault/code.md}]}
- {id: q2, query: gateway retries, expected: [{path: projects/gateway/log.md}]}
"""


def embedded_vault(directory: Path, notes: dict[str, str]) -> Vault:
    made = make_vault(directory, notes)
    text = made.config.read_text(encoding="utf-8").replace('mode = "lexical"', 'mode = "hybrid"')
    models = f'cache_dir = "cache"\n[models.embedding]\nmodel = "{PRIMARY}"\n'
    made.config.write_text(text + models, encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def used_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    with pytest.MonkeyPatch.context() as patch:
        FakeModels().put_in_place(patch.setattr)
        yield make_used(tmp_path_factory.mktemp("once") / "used")


@pytest.fixture
def used(used_once: Vault, tmp_path: Path, fake_models: FakeModels) -> Vault:
    """A knowledge base that was asked, judged and debugged about one of its notes, which was longer once."""
    return copy_vault(used_once.config.parent, tmp_path / "used")


def make_used(directory: Path) -> Vault:
    made = embedded_vault(directory, {**OTHER, "vault/code.md": NOTE + f"\nEarlier: {MARKER}old.\n"})
    kb = kb_in(made)
    assert kb("ingest").code == 0
    write_notes(made.root, {"vault/code.md": NOTE})
    assert kb("ingest").code == 0
    ask_about(made)
    return made


def ask_about(vault: Vault) -> None:
    kb = kb_in(vault)
    (vault.sqlite.parent / "golden.yaml").write_text(GOLDEN, encoding="utf-8")
    gate = ("--set", "rag.score_gate=0", "--set", "rag.answer_precision=0")
    assert kb(*gate, "ask", "What is the vault code?", "--session", "talk").code == 0
    kb(*gate, "ask", f"Is {MARKER} the code of the vault?", "--session", "talk")
    kb(*gate, "ask", "--deep", "What is the vault code, and how often does the gateway retry?")
    assert kb(*gate, "ask", "How often does the gateway retry?", "--path-glob", "projects/**").code == 0
    assert kb("eval", "run", "--name", "one", "--with-ask").code == 0
    assert kb("search", MARKER).code == 0
    paths = os.pathsep.join(path for path in sys.path if path)
    debug = (sys.executable, "-m", "kb", "--config", str(vault.config), "--debug", "--set", "search.mode=lexical")
    done = subprocess.run((*debug, "search", MARKER), env={**os.environ, "PYTHONPATH": paths}, capture_output=True)
    assert done.returncode == 0, done.stderr


def kept_bytes(vault: Vault) -> Iterator[tuple[Path, bytes]]:
    """Every file but the notes and the configuration."""
    for folder, _, names in os.walk(vault.config.parent):
        if not Path(folder).is_relative_to(vault.root):
            yield from ((Path(folder, name), Path(folder, name).read_bytes()) for name in names if name != "kb.toml")


def files_with(vault: Vault, *needles: bytes) -> set[str]:
    return {path.name for path, data in kept_bytes(vault) if any(needle in data for needle in needles)}


def traces(vault: Vault) -> tuple[bytes, ...]:
    """The bytes by which the note would be known: its marker as text, and its chunks' ids, vectors and tokens.

    Vectors and tokens in pieces, as a store may part them; none of a piece that another passage has too.
    """
    ids = [chunk_id.encode() for chunk_id, *_ in embedded(vault, "=")]
    pieces = [{piece for row in embedded(vault, "<>") for piece in pieces_of(row[at])} for at in (1, 2)]
    own = [
        {piece for row in embedded(vault, "=") for piece in pieces_of(row[at])} - others
        for at, others in zip((1, 2), pieces, strict=True)
    ]
    assert ids
    assert all(own)
    return (MARKER.encode(), *ids, *own[0], *own[1])


def embedded(vault: Vault, compared: str) -> list[tuple[str, bytes, bytes]]:
    """Id, vector and tokens of the chunks of the note, or of all others."""
    from kb.store.mirror import load_vector_functions

    db = apsw.Connection(str(vault.sqlite), flags=apsw.SQLITE_OPEN_READONLY)
    load_vector_functions(db)
    asked = f"""
        SELECT c.chunk_id, v.embedding, t.tokens FROM documents AS d JOIN chunks AS c USING (doc_id)
        JOIN vec_primary AS v ON v.chunk_rowid = c.chunk_rowid JOIN chunk_tokens AS t ON t.chunk_rowid = c.chunk_rowid
        WHERE d.workspace_path {compared} 'vault/code.md'
    """
    return list(db.execute(asked))


def pieces_of(blob: bytes) -> set[bytes]:
    return {blob[at : at + 16] for at in range(0, len(blob) - 15, 16)}


def faults(vault: Vault) -> set[str]:
    return {each["name"] for each in kb_in(vault)("doctor", "--json").json["checks"] if not each["ok"]}


def test_what_is_forgotten_is_in_no_byte_of_what_kb_keeps(used: Vault) -> None:
    kb = kb_in(used)
    needles = traces(used)
    before = faults(used)
    assert len(files_with(used, *needles)) > 4  # else this test would look for nothing
    ran = kb("forget", "vault/code.md", "--yes")
    assert ran.code == 0, ran.stderr
    assert files_with(used, *needles) == set()
    assert (used.root / "vault/code.md").read_text(encoding="utf-8") == NOTE
    assert "printf" in ran.stdout
    assert "/vault/code.md" in ran.stdout
    # What is left is whole.
    assert faults(used) == before
    assert kb("search", "vault of the other house").code == 0
    assert [each["query"] for each in kb("answers", "list", "--json").lines] == ["How often does the gateway retry?"]
    assert kb("sessions", "list").code == 1
    db = apsw.Connection(str(used.sqlite), flags=apsw.SQLITE_OPEN_READONLY)
    assert list(db.execute("PRAGMA integrity_check")) == [("ok",)]
    ((chunks, vectors),) = db.execute(
        "SELECT (SELECT count(*) FROM chunks WHERE symbol_text IS NULL),"
        " (SELECT count(*) FROM embedding_records WHERE status = 'committed' AND model_id = ?)",
        (PRIMARY,),
    )
    assert chunks == vectors
    again = kb("forget", "vault/code.md", "--yes")
    assert (again.code, again.stdout) == (1, "kb keeps nothing of it\n")


def test_what_its_earlier_text_was_embedded_to_is_forgotten_too(used: Vault) -> None:
    kb = kb_in(used)
    needles = traces(used)
    write_notes(used.root, {"vault/code.md": f"# Vault\n\nToday it is {MARKER} seven, and no longer what it was.\n"})
    assert kb("ingest").code == 0
    assert files_with(used, *needles[1:]), "the cache and free pages have them"
    needles += traces(used)
    assert kb("forget", "vault/code.md", "--yes").code == 0
    assert files_with(used, *needles) == set()


def test_nothing_is_forgotten_before_it_was_agreed_to(used: Vault) -> None:
    kb = kb_in(used)
    before = {path: data for path, data in kept_bytes(used) if path.name == "kb.sqlite"}
    asked = kb("forget", "vault", stdin="n\n")
    assert asked.code == 1
    assert "vault/code.md" in asked.stdout
    assert "vault/other.md" in asked.stdout
    planned = kb("forget", "--tag", "SECRET", "--json")
    assert (planned.code, planned.json["done"], planned.json["paths"]) == (0, False, ["vault/code.md"])
    assert planned.json["stays"] == ["vault/code.md"]
    assert {part["name"] for part in planned.json["parts"]} >= {"documents", "vectors", "answers", "conversations"}
    assert {path: data for path, data in kept_bytes(used) if path.name == "kb.sqlite"} == before
    assert kb("forget", "vault/code.md", stdin="y\n").code == 0
    assert files_with(used, MARKER.encode()) == set()


def test_the_next_ingest_reads_it_again_unless_it_is_ignored(used: Vault) -> None:
    kb = kb_in(used)
    assert kb("forget", "vault/code.md", "--yes").code == 0
    assert kb("ingest").code == 0
    assert kb("search", MARKER, "--mode", "lexical").code == 0
    write_notes(used.root, {".kbignore": "drafts/"})
    done = kb("forget", "--path-glob", "vault/c*", "--yes", "--ignore", "--json")
    assert (done.json["done"], done.json["ignored"]) == (True, True)
    assert (used.root / ".kbignore").read_text(encoding="utf-8") == "drafts/\nvault/c*\n"
    assert kb("ingest").code == 0
    assert files_with(used, MARKER.encode()) == set()


def test_a_name_with_signs_of_patterns_is_ignored_as_it_is(tmp_path: Path) -> None:
    names = ("a [1] !#b*.md", "# c.md", "!d.md", "e\\f.md")
    made = make_vault(tmp_path, {**dict.fromkeys(names, f"# {MARKER}\n"), "a 1 b.md": "# Other\n"})
    kb = kb_in(made)
    assert kb("ingest", "--no-embed").code == 0
    for name in names:
        assert kb("forget", name, "--yes", "--ignore").code == 0, name
    assert kb("ingest", "--no-embed").code == 0
    assert [each["doc_path"] for each in kb("list", "docs", "--json").lines] == ["a 1 b.md"]


def test_what_is_left_of_a_document_that_is_gone_is_forgotten_too(used: Vault) -> None:
    kb = kb_in(used)
    (used.root / "vault/code.md").unlink()
    assert kb("ingest").code == 0
    assert "kb.sqlite" in files_with(used, MARKER.encode())
    done = kb("forget", str(used.root / "vault/code.md"), "--yes", "--json")
    assert done.json["stays"] == []
    assert files_with(used, MARKER.encode()) == set()


@pytest.mark.slow
def test_a_pdf_leaves_neither_its_copy_nor_what_was_read_of_it(tmp_path: Path) -> None:
    pytest.importorskip("pymupdf", reason="the extra pdf is not installed")
    made = make_vault(tmp_path, OTHER)
    made.config.write_text(made.config.read_text(encoding="utf-8") + 'cache_dir = "cache"\n', encoding="utf-8")
    shutil.copyfile(MEDIA / "pdf" / "handbook-en.pdf", made.root / "handbook.pdf")
    kb = kb_in(made)
    assert kb("ingest", "--no-embed").code == 0
    db = apsw.Connection(str(made.sqlite), flags=apsw.SQLITE_OPEN_READONLY)
    ((doc_id, asset_id),) = db.execute("SELECT doc_id, asset_id FROM documents WHERE workspace_path = 'handbook.pdf'")
    ((text,),) = db.execute("SELECT text FROM chunks WHERE doc_id = ? ORDER BY ordinal LIMIT 1", (doc_id,))
    db.close()
    needles = (doc_id.encode(), text[:40].encode(), b"%PDF-")
    kept = [path for path, _ in kept_bytes(made) if doc_id in str(path) or asset_id in str(path)]
    assert len(kept) > 1
    assert kb("forget", "handbook.pdf", "--yes").code == 0
    assert files_with(made, *needles) == set()
    assert [path for path in kept if path.exists()] == []
    for name in ("derived", "vectors"):
        if (path := made.config.parent / f"cache/{name}.sqlite").exists():
            assert list(apsw.Connection(str(path)).execute(f"SELECT count(*) FROM {name}")) == [(0,)]


def test_a_run_that_was_killed_is_gone_on_with(used: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = kb_in(used)

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("kb.operations.admin.removal._forget_files", dies)
        assert kb("forget", "vault/code.md", "--yes").code != 0
    assert files_with(used, MARKER.encode())
    told = {check["name"]: check for check in kb("doctor", "--json").json["checks"]}["forgotten"]
    assert (told["ok"], told["hint"]) == (False, "kb forget vault/code.md goes on")
    assert kb("forget", "vault/code.md", "--yes").code == 0
    assert files_with(used, MARKER.encode()) == set()
    assert "forgotten" not in {check["name"] for check in kb("doctor", "--json").json["checks"]}


def test_what_agents_were_given_of_it_is_forgotten(used: Vault) -> None:
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    from agents import called

    called(
        used,
        ("search", {"query": f"vault code {MARKER}"}),
        ("search", {"query": "gateway retries", "limit": 1}),
        audit=True,
    )
    assert "audit.sqlite" in files_with(used, MARKER.encode())
    assert kb_in(used)("forget", "vault/code.md", "--yes").code == 0
    assert files_with(used, MARKER.encode()) == set()
    assert [each["asked"] for each in kb_in(used)("audit", "list", "--json").lines] == ["gateway retries"]


def test_what_is_to_be_forgotten_is_named_once(kb: Kb) -> None:
    for named in ((), ("a.md", "--tag", "x"), ("--tag", "x", "--path-glob", "y"), (".",)):
        assert kb("forget", *named).code == 2
    assert kb("forget", "nowhere.md").code == 1
