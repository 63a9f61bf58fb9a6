"""What kb says of itself is what it does: the thing is changed, and the label with it."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Ran, Vault, copy_vault, indexed_vault
from fake_embedder import PRIMARY, WIDE, FakeModels, fake_models
from ollama_fixtures import playing
from vaults import EMBEDDING, call

from kb.cli.main import COMMANDS
from kb.domain.embeddings import EmbeddingModel
from kb.errors import StoreBusy
from kb.operations.embedding import embed
from kb.wire.schemas import validate

__all__ = ["fake_models"]

NOBODY = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    """The notes, configured for both models, indexed by words only: copy it."""
    settings = f'model_dir = "models"\n{EMBEDDING}[models.llm]\nendpoint = "{NOBODY}"\n'
    return indexed_vault(tmp_path_factory.mktemp("built") / "vault", settings=settings, mode="hybrid")


@pytest.fixture
def base(built: Vault, tmp_path: Path, fake_models: FakeModels) -> Vault:
    """A copy of it for one test, with the fake models in the place of the real ones."""
    return copy_vault(built.config.parent, tmp_path / "vault")


@pytest.fixture
def embedded(base: Vault) -> Vault:
    """The same, embedded."""
    assert call(base, "index", "--embeddings").code == 0
    return base


def capabilities(vault: Vault, *settings: str) -> dict[str, bool]:
    found: dict[str, bool] = call(vault, *settings, "schema", "--json").json["capabilities"]
    return found


def modes_that_work(vault: Vault) -> dict[str, bool]:
    """By what `kb search` does: which modes a question is answered in when it asks for them."""
    works = {}
    for mode in ("lexical", "vector", "hybrid"):
        ran = call(vault, "search", "gateway", "--mode", mode, "--json")
        works[f"search_{mode}"] = ran.code == 0 and ran.json["mode"] == mode
    return works


def without_the_base(vault: Vault, models: FakeModels) -> None:
    vault.sqlite.unlink()


def without_the_model(vault: Vault, models: FakeModels) -> None:
    del models.embedders[PRIMARY]


def with_another_version_of_the_model(vault: Vault, models: FakeModels) -> None:
    models.embedders[PRIMARY].model = EmbeddingModel(PRIMARY, "2", 32, 512)


def without_the_vectors(vault: Vault, models: FakeModels) -> None:
    shutil.rmtree(vault.sqlite.parent)
    assert call(vault, "ingest", "--no-embed").code == 0


def unchanged(vault: Vault, models: FakeModels) -> None:
    pass


@pytest.mark.parametrize(
    ("change", "works"),
    [
        (unchanged, {"search_lexical": True, "search_vector": True, "search_hybrid": True}),
        (without_the_model, {"search_lexical": True, "search_vector": False, "search_hybrid": False}),
        (with_another_version_of_the_model, {"search_lexical": True, "search_vector": False, "search_hybrid": False}),
        (without_the_vectors, {"search_lexical": True, "search_vector": False, "search_hybrid": False}),
        (without_the_base, {"search_lexical": False, "search_vector": False, "search_hybrid": False}),
    ],
)
def test_an_embedded_base_says_which_modes_of_search_work(
    change: Callable[[Vault, FakeModels], None], works: dict[str, bool], embedded: Vault, fake_models: FakeModels
) -> None:
    change(embedded, fake_models)
    assert modes_that_work(embedded) == works
    said = capabilities(embedded)
    assert {name: said[name] for name in works} == works
    assert (said["ask"], said["bulk_search"]) == (works["search_lexical"], works["search_lexical"])


def test_the_model_that_embedded_is_named(embedded: Vault) -> None:
    assert call(embedded, "schema", "--json").json["models"]["embedding.primary"] == f"{PRIMARY} 1"


def test_a_language_model_is_a_capability_while_its_server_answers(base: Vault) -> None:
    with playing([]) as server:
        there = ("--set", f"models.llm.endpoint={server.endpoint}", "--set", "models.llm.model=scripted")
        assert capabilities(base, *there)["ask_generated"] is True
        assert capabilities(base, *there, "--set", "models.llm.model=qwen")["ask_generated"] is False
        assert capabilities(base, *there, "--set", "models.llm.provider=extractive")["ask_generated"] is False
    assert capabilities(base)["ask_generated"] is False


def test_an_engine_is_a_capability_where_it_is_found(base: Vault) -> None:
    if shutil.which("tesseract") is None:
        pytest.skip("tesseract is not installed")
    english = ("--set", "ocr.languages=eng")
    assert capabilities(base, *english)["extract_ocr"] is True
    assert capabilities(base, *english)["ingest_image"] is True
    assert capabilities(base, "--set", "ocr.enabled=false")["extract_ocr"] is False
    of_a_language_that_is_not_installed = capabilities(base, "--set", "ocr.languages=zzz")
    assert of_a_language_that_is_not_installed["extract_ocr"] is False
    assert of_a_language_that_is_not_installed["ingest_image"] is False


def test_a_command_is_a_capability_where_the_program_has_it(base: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    assert capabilities(base)["mcp"] is ("mcp" in COMMANDS)
    monkeypatch.setattr("kb.cli.main.COMMANDS", {"schema": ("state", "Show."), "mcp": ("serve", "Serve.")})
    others = capabilities(base)
    assert (others["mcp"], others["ask"]) == (True, False)


def chunk_of(vault: Vault, words: str) -> str:
    found: str = call(vault, "search", words, "--mode", "lexical", "--json").json["hits"][0]["chunk_id"]
    return found


def embeddings_of(vault: Vault, chunk_id: str) -> list[dict[str, Any]]:
    inspected = call(vault, "inspect", "chunk", chunk_id, "--json").json
    validate("chunk_inspection.v1", inspected)
    found: list[dict[str, Any]] = inspected["embeddings"]
    return found


def test_an_inspected_chunk_has_the_vectors_that_are_stored(base: Vault) -> None:
    chunk_id = chunk_of(base, "zebra")
    assert embeddings_of(base, chunk_id) == []
    assert "vector     none" in call(base, "inspect", "chunk", chunk_id).stdout

    assert call(base, "index", "--embeddings").code == 0
    found = embeddings_of(base, chunk_id)
    assert [(each["model"], each["dimensions"], each["used_as"]) for each in found] == [(PRIMARY, 32, "primary")]
    with sqlite3.connect(base.sqlite) as db:
        stored = dict(
            db.execute("SELECT model_id, embedding_id FROM embedding_records WHERE chunk_id = ?", (chunk_id,))
        )
        assert {each["model"]: each["embedding_id"] for each in found} == stored
        db.execute("UPDATE embedding_records SET status = 'pending' WHERE model_id = ?", (PRIMARY,))
    db.close()
    assert [each["model"] for each in embeddings_of(base, chunk_id)] == []

    assert call(base, "--set", f"models.embedding.model={WIDE}", "index", "--embeddings").code == 0
    used = {each["model"]: each["used_as"] for each in embeddings_of(base, chunk_id)}
    assert used == {WIDE: "primary"}


def test_a_document_tells_how_it_was_made(embedded: Vault) -> None:
    events = call(embedded, "inspect", "doc", "chunking.md", "--json").json["provenance"]["events"]
    assert [event["kind"] for event in events] == ["discovered", "parsed", "chunked", "indexed", "embedded"]
    assert {event["agent"] for event in events if event["kind"] == "embedded"} == {f"{PRIMARY} 1"}
    chunks = call(embedded, "inspect", "doc", "chunking.md", "--json").json["chunks"]
    assert events[2]["note"] == f"{len(chunks)} chunks"
    touched = (embedded.root / "chunking.md").read_text(encoding="utf-8") + "\n끝.\n"
    (embedded.root / "chunking.md").write_text(touched, encoding="utf-8")
    assert call(embedded, "ingest", "--no-embed").code == 0
    events = call(embedded, "inspect", "doc", "chunking.md", "--json").json["provenance"]["events"]
    assert "embedded" not in [event["kind"] for event in events]


def test_an_answer_names_what_encoded_its_question(embedded: Vault, fake_models: FakeModels) -> None:
    open_gate = ("--set", "rag.score_gate=0")
    for provider in ("hashed-words", "something-else"):
        fake_models.embedders[PRIMARY].provider = provider
        answer = call(embedded, *open_gate, "ask", "How often does the gateway retry?", "--json").json
        validate("answer.v1", answer)
        assert answer["embedding"] == {"id": PRIMARY, "provider": provider, "dimensions": 32}
        kept = call(embedded, "answers", "show", answer["retrieval"]["trace_id"], "--json").json
        assert kept["embedding"] == answer["embedding"]
    by_words = call(embedded, *open_gate, "ask", "gateway retry", "--mode", "lexical", "--json").json
    assert by_words["embedding"] is None


def test_an_answer_of_an_older_kb_does_not_guess_what_encoded_it(embedded: Vault) -> None:
    asked = call(embedded, "--set", "rag.score_gate=0", "ask", "How often does the gateway retry?", "--json").json
    with sqlite3.connect(embedded.sqlite) as db:
        db.execute("UPDATE answers SET embedding_provider = NULL")
    db.close()
    kept = call(embedded, "answers", "show", asked["retrieval"]["trace_id"], "--json").json
    assert kept["embedding"] == {"id": PRIMARY, "provider": "unknown", "dimensions": 32}


def checks(vault: Vault, *settings: str) -> dict[str, dict[str, Any]]:
    report = call(vault, *settings, "doctor", "--json").json
    validate("doctor.v1", report)
    return {check["name"]: check for check in report["checks"]}


def marks(vault: Vault, *settings: str) -> dict[str, str]:
    """The mark before each check's name, as a person sees it."""
    lines = call(vault, *settings, "doctor").stdout.splitlines()
    return {line.split()[1]: line[0] for line in lines if line[0] in "✓✗–"}


@pytest.mark.slow
def test_doctor_does_not_tick_a_server_that_refuses_the_connection(embedded: Vault) -> None:
    found = checks(embedded)["ollama_reachable"]
    assert (found["state"], found["ok"]) == ("absent", True)
    assert marks(embedded)["ollama_reachable"] == "–"
    named = ("--set", "models.llm.provider=ollama")
    assert (checks(embedded, *named)["ollama_reachable"]["state"], marks(embedded, *named)["ollama_reachable"]) == (
        "failed",
        "✗",
    )
    with playing([]) as server:
        there = ("--set", f"models.llm.endpoint={server.endpoint}", "--set", "models.llm.model=scripted")
        assert marks(embedded, *there)["ollama_reachable"] == "✓"
        assert marks(embedded, *there)["ollama_model_pulled"] == "✓"
        assert marks(embedded, *there, "--set", "models.llm.model=qwen")["ollama_model_pulled"] == "–"


def test_doctor_does_not_tick_an_engine_that_is_not_installed(embedded: Vault) -> None:
    missing = ("--set", "ocr.languages=zzz")
    found = checks(embedded, *missing)["engine_ocr"]
    assert (found["state"], marks(embedded, *missing)["engine_ocr"]) == ("absent", "–")
    assert found["hint"]
    off = ("--set", "ocr.enabled=false")
    assert (checks(embedded, *off)["engine_ocr"]["detail"], marks(embedded, *off)["engine_ocr"]) == (
        "switched off",
        "–",
    )


def test_doctor_does_not_fault_what_nothing_was_indexed_into_yet(built: Vault, tmp_path: Path) -> None:
    config = tmp_path / "fresh.toml"
    config.write_text(
        f'[workspace]\nroot = "{built.root}"\n[storage]\ndata_dir = "data"\nmodel_dir = "models"\n', encoding="utf-8"
    )
    fresh = built._replace(config=config)
    assert call(fresh, "init").code == 0
    found = checks(fresh)["embeddings"]
    assert (found["state"], found["hint"]) == ("absent", "kb ingest")
    assert checks(built)["embeddings"]["state"] == "failed"


def test_doctor_is_content_without_what_is_optional_and_counts_it(embedded: Vault) -> None:
    ran = call(embedded, "--set", "ocr.enabled=false", "doctor")
    assert ran.code == 0
    shown = list(marks(embedded, "--set", "ocr.enabled=false").values())
    assert "✗" not in shown
    assert f"all checks passed; {shown.count('–')} optional parts are not here" in ran.stdout


def test_doctor_does_not_tick_what_it_could_not_check(embedded: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(db: object) -> None:
        raise StoreBusy("another kb is writing")

    assert marks(embedded)["fts_consistent"] == "✓"
    monkeypatch.setattr("kb.store.queries.check_fts", busy)
    found = checks(embedded)["fts_consistent"]
    assert (found["state"], marks(embedded)["fts_consistent"]) == ("unchecked", "–")
    assert "not checked" in found["detail"]


def ask_of(vault: Vault, question: str, *args: str) -> Ran:
    return call(vault, "--set", "rag.score_gate=0", "--set", "rag.answer_precision=0", "ask", question, *args)


def test_an_answer_in_the_notes_own_words_is_called_quoted(embedded: Vault) -> None:
    shown = ask_of(embedded, "How often does the gateway retry a failed upload?").stdout
    footer = shown.splitlines()[-1]
    assert footer.startswith("quoted  ")
    assert "grounded" not in shown
    assert "  quoted  " in call(embedded, "answers", "list").stdout


def answered_by(text: str, vault: Vault, *settings: str) -> Ran:
    """What `kb ask` shows where a model writes this."""
    with playing([{"text": text}, {"done": {}}]) as server:
        there = (f"models.llm.endpoint={server.endpoint}", "models.llm.model=scripted", "rag.score_gate=0")
        given = [word for each in (*there, "rag.answer_precision=0", *settings) for word in ("--set", each)]
        return call(vault, *given, "ask", "Which backoff has the gateway's failed upload?")


def test_a_generated_answer_is_not_called_quoted(embedded: Vault) -> None:
    text = "The gateway retries a failed upload five times with exponential backoff [1]."
    shown = answered_by(text, embedded, "search.mode=lexical").stdout
    assert shown.splitlines()[-1].startswith("grounded ✓  scripted")


def test_what_a_model_wrote_without_support_is_marked_and_not_called_grounded(embedded: Vault) -> None:
    ran = answered_by("Bananas are yellow fruit [1].", embedded)
    assert ran.code == 1
    assert "Bananas are yellow fruit. [1] (not checked)" in ran.stdout
    assert ran.stdout.splitlines()[-1].startswith("not sure  ")


@pytest.mark.parametrize(
    ("settings", "question", "reason"),
    [
        (("--set", "rag.score_gate=1"), "How often does the gateway retry a failed upload?", "score_gate"),
        (("--set", "search.mode=lexical"), "platypus", "no_chunks"),
        (("--set", "storage.data_dir=none"), "platypus", "no_index"),
    ],
)
def test_a_refusal_is_shown_in_words_and_the_reason_stays_in_json(
    settings: tuple[str, ...], question: str, reason: str, embedded: Vault
) -> None:
    assert call(embedded, *settings, "ask", question, "--json").json["refusal_reason"] == reason
    shown = call(embedded, *settings, "ask", question)
    assert "no answer: " not in shown.stdout
    assert reason not in shown.stdout + shown.stderr
    explained = call(embedded, *settings, "ask", question, "--explain").stdout
    (footer,) = [line for line in explained.splitlines() if line.startswith("no answer: ")]
    assert "_" not in footer.split("  ")[0]


def test_while_embedding_has_not_ended_search_and_ask_say_so(
    base: Vault, fake_models: FakeModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kb.operations.embedding.embed.BATCH_CHUNKS", 3)
    meanwhile: list[str | None] = []
    write = embed._write

    def looking_on(*given: Any, **named: Any) -> None:
        meanwhile.append(call(base, "search", "gateway", "--json").json["note"])
        write(*given, **named)

    monkeypatch.setattr("kb.operations.embedding.embed._write", looking_on)
    assert call(base, "index", "--embeddings").code == 0
    monkeypatch.undo()
    said = ["by words only"] * 2 + ["embedding has not ended"]
    assert [note and note.split(":")[0] for note in meanwhile] == said
    assert "3 of 8 passages have vectors so far" in str(meanwhile[1])
    assert "6 of 8 passages are compared so far" in str(meanwhile[2])


def test_after_an_interrupted_run_search_and_ask_say_so_until_it_is_finished(
    base: Vault, fake_models: FakeModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("kb.operations.embedding.embed.BATCH_CHUNKS", 3)
        embed = fake_models.embedders[PRIMARY].embed
        left = iter([True])

        def interrupted(texts: Any, role: Any) -> Any:
            next(left)  # the second batch ends the run
            return embed(texts, role)

        patch.setattr(fake_models.embedders[PRIMARY], "embed", interrupted)
        assert call(base, "index", "--embeddings").code == 2
    assert "3 of 8 passages" in call(base, "index").stderr
    assert "3 of 8 passages" in call(base, "status").stdout.splitlines()[-1]

    note = "by words only: 3 of 8 passages have vectors so far (kb index --embeddings goes on with it)"
    found = call(base, "search", "gateway", "--json").json
    assert (found["mode"], found["note"]) == ("lexical", note)
    assert call(base, "search", "gateway", "--mode", "vector", "--json").json["mode"] == "vector"
    assert f"note: {note}" in call(base, "search", "gateway").stderr
    assert note in ask_of(base, "How often does the gateway retry?", "--json").json["notes"]
    assert f"note: {note}" in ask_of(base, "How often does the gateway retry?").stderr
    korean = "단어로만 검색: 지금까지 8개 중 3개 구절에 벡터가 있음 (이어서 하기: kb index --embeddings)"
    assert f"참고: {korean}" in call(base, "search", "게이트웨이는 몇 번 다시 시도하나요?").stderr
    assert call(base, "search", "gateway", "--mode", "lexical", "--json").json["note"] is None

    assert call(base, "index", "--embeddings").code == 0
    assert call(base, "search", "gateway", "--json").json["note"] is None


def test_new_notes_that_are_not_embedded_yet_are_told(embedded: Vault) -> None:
    (embedded.root / "new.md").write_text("# New\n\nA quokka sleeps.\n", encoding="utf-8")
    assert call(embedded, "ingest", "--no-embed").code == 0
    assert "8 of 9 passages" in call(embedded, "search", "quokka", "--json").json["note"]
    (embedded.root / "new.md").unlink()
    assert call(embedded, "ingest", "--no-embed").code == 0
    assert call(embedded, "search", "gateway", "--json").json["note"] is None


def test_an_error_names_for_programs_what_it_is_about(base: Vault) -> None:
    def details(*args: str) -> dict[str, str]:
        error = json.loads(call(base, *args).stderr)
        validate("error.v1", error)
        found: dict[str, str] = error["details"]
        return found

    elsewhere = base.config.parent / "elsewhere"
    assert details("--set", "storage.data_dir=elsewhere", "search", "x", "--json") == {
        "path": str(elsewhere / "kb.sqlite")
    }
    assert details("--set", "search.default_q=1", "search", "x", "--json") == {"key": "search.default_q"}
    assert details("--set", "search.default_k=0", "search", "x", "--json") == {"key": "search.default_k"}
    generated = ("--set", "models.llm.provider=ollama", "--set", "rag.score_gate=0")
    assert details(*generated, "ask", "gateway retries", "--json") == {"endpoint": NOBODY}
    assert details("search", "--json") == {}
