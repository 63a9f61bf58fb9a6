"""What `kb ask` takes: an extractive answer warm and cold, and a model's first token through all of kb.

Warm: the passages and questions of `scale`, 10,000 of them, the question's vector given, the answer kept. Cold: whole
processes against a hybrid `kb search` for the same question. First token: from the question to the first piece shown,
against the retrieval and the bare server given the very prompt; a scripted server that thinks for a while, and
`tools/ollama_server` over smollm2. It needs the installed models: KB_TEST_MODEL_DIR names their directory.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import NamedTuple
from urllib.parse import urlsplit

from benchmarks import scale
from benchmarks.embedded_base import embedded
from benchmarks.generated_notes import write_notes
from benchmarks.installed_models import installed_models
from benchmarks.knowledge_base import KnowledgeBase, knowledge_base
from benchmarks.measurement import Cell, Measurement, Table, Target
from benchmarks.processes import ask_command, run_in_turns, search_command
from benchmarks.progress import step
from kb.assemble.catalogue import GGUF_FILE, SMOLLM2
from kb.config import load
from kb.domain.answers import AskEvent, Generated, Retrieved
from kb.domain.embeddings import EmbeddingModel, EncodedQuestion
from kb.domain.run_handle import RunHandle
from kb.embed.provider import Provider
from kb.operations.ask.ask import ask
from kb.operations.ask.findings import AskRequest
from kb.operations.opening.base import open_base
from kb.operations.opening.loaded_models import LoadedModels, SharedEncoder

PASSAGES = 10_000
WARM_ROUNDS, COLD_ROUNDS, TOKEN_ROUNDS = 3, 20, 9
MOST_WARM_MS = 60.0
MOST_TIMES_SEARCH = 1.3
MOST_TIMES_ACROSS = 1.5  # it compares up to 24 sentences, which a search does not
MOST_TIMES_BARE = 1.1
NOTES = 100
ACROSS = "which lanterns restored the harbor ledger"
"""Of no note's words: passages in both languages are compared with it by meaning."""
THINKING_MS = 300
_SERVER = Path(__file__).parents[1] / "tools/ollama_server"


def measure(data: Path | None = None) -> Measurement:
    """The three parts, each with its target."""
    warm_table, warm_targets = warm()
    with tempfile.TemporaryDirectory(prefix="kb-benchmark-") as folder:
        write_notes(Path(folder), NOTES, korean_share=0.5)
        with embedded(Path(folder), "notes in both languages") as base:
            questions = _questions(Path(folder))
            cold_table, cold_targets = _cold(base, questions)
            token_table, token_targets = _first_tokens(base, questions["English"])
    tables = (warm_table, cold_table, token_table)
    return Measurement("ask", tables, (*warm_targets, *cold_targets, *token_targets), {"passages": PASSAGES})


class _Given(LoadedModels):
    """In the place of the installed models: an encoder that knows the vectors of its questions."""

    def __init__(self, model_dir: Path, vectors: Mapping[str, bytes]) -> None:
        super().__init__(model_dir)
        self._vectors = vectors

    def query_encoder(self, name: str, provider: Provider | None = None) -> SharedEncoder:
        return SharedEncoder(_KnownVectors(self._vectors), lambda: True)


class _KnownVectors(NamedTuple):
    """An encoder of known questions."""

    vectors: Mapping[str, bytes]
    model: EmbeddingModel = scale.MODEL
    provider: str = "given"

    def encode(self, text: str) -> EncodedQuestion:
        return EncodedQuestion(self.vectors[text])


def warm(passages: int = PASSAGES) -> tuple[Table, tuple[Target, ...]]:
    """The times of an answer over made-up passages."""
    with knowledge_base(settings="[rag]\nscore_gate = 0.0\n") as base:
        with step(f"{passages:,} passages"):
            questions = scale.fill_base(base.config_path, passages).questions
        wall_ms, cpu_ms, answered = _ask_all(base, questions)
    p50, p95, cpu = median(wall_ms), sorted(wall_ms)[int(len(wall_ms) * 0.95)], median(cpu_ms)
    table = Table(
        f"Extractive answer, warm, {passages:,} passages, beside the question's embedding",
        ("answers", "p50 ms", "p95 ms", "processor p50 ms"),
        ((answered, round(p50, 1), round(p95, 1), round(cpu, 1)),),
    )
    return table, (
        Target("extractive, warm: p50 ms", round(p50, 1), "≤", MOST_WARM_MS),
        Target("extractive, warm: processor p50 ms", round(cpu, 1), "≤", MOST_WARM_MS),
    )


def _ask_all(base: KnowledgeBase, questions: Sequence[scale.Question]) -> tuple[list[float], list[float], int]:
    """Wall and processor milliseconds of every question after a first round, and how many were answered."""
    wall_ms, cpu_ms, answered = [], [], 0
    with open_base(base.config) as session:
        vectors = {question.text: question.vector.tobytes() for question in questions}
        session.models = _Given(base.config.model_dir, vectors)
        for round_number in range(WARM_ROUNDS + 1):
            for question in questions:
                request = AskRequest(question.text, "hybrid", 10, provider="extractive")
                wall, cpu = perf_counter(), process_time()
                answer = ask(session, request, RunHandle())
                if round_number:
                    wall_ms.append(1000 * (perf_counter() - wall))
                    cpu_ms.append(1000 * (process_time() - cpu))
                    answered += answer.grounded
    return wall_ms, cpu_ms, answered


def _questions(notes: Path) -> dict[str, str]:
    """A sentence of a note in each language."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(notes.rglob("*.md")))
    sentences = [text.split("\n\n")[2].partition(".")[0] for text in texts]
    return {
        "English": next(sentence for sentence in sentences if sentence.isascii()),
        "Korean": next(sentence for sentence in sentences if not sentence.isascii()),
    }


def _cold(base: KnowledgeBase, questions: Mapping[str, str]) -> tuple[Table, tuple[Target, ...]]:
    rows: list[tuple[Cell, ...]] = []
    targets: list[Target] = []
    for language, question in {**questions, "by meaning alone": ACROSS}.items():
        commands = {
            "search": search_command(base.config_path, "hybrid", question),
            "ask": ask_command(base.config_path, "extractive", question),
        }
        with step(f"{language}: {COLD_ROUNDS} rounds"):
            times = run_in_turns(commands, COLD_ROUNDS)
        wall = round(times["ask"].median_ms / times["search"].median_ms, 2)
        cpu = round(times["ask"].median_cpu_ms / times["search"].median_cpu_ms, 2)
        medians = (times[name].median_ms for name in commands)
        processor = (times[name].median_cpu_ms for name in commands)
        rows.append((language, *(round(value, 1) for value in (*medians, *processor)), wall, cpu))
        most = MOST_TIMES_ACROSS if question == ACROSS else MOST_TIMES_SEARCH
        targets.append(Target(f"{language}: cold ask / hybrid search", wall, "≤", most))
        targets.append(Target(f"{language}: cold ask / hybrid search, CPU time", cpu, "≤", most))
    columns = ("question", "search ms", "ask ms", "search CPU ms", "ask CPU ms", "×", "× CPU")
    return Table("Whole processes, medians", columns, tuple(rows)), tuple(targets)


def _first_tokens(base: KnowledgeBase, question: str) -> tuple[Table, tuple[Target, ...]]:
    rows: list[tuple[Cell, ...]] = []
    targets: list[Target] = []
    gguf = installed_models() / SMOLLM2 / GGUF_FILE
    with tempfile.TemporaryDirectory(prefix="kb-benchmark-") as folder:
        script = Path(folder) / "script.json"
        script.write_text(json.dumps([[{"wait_ms": THINKING_MS}, {"text": "So"}, {"text": " it is."}, {"done": {}}]]))
        sources = {"scripted": ["--script", str(script)], SMOLLM2: ["--gguf", str(gguf), "--threads", "1"]}
        for name, options in sources.items():
            with _serving(name, options) as endpoint, step(f"first token, {name}: {TOKEN_ROUNDS} rounds"):
                retrieval, first, bare = _token_times(base, name, endpoint, question)
            ratio = round(median((f - r) / b for r, f, b in zip(retrieval, first, bare, strict=True)), 3)
            rows.append((name, *(round(median(times), 1) for times in (retrieval, first, bare)), ratio))
            targets.append(Target(f"{name}: (first token − retrieval) / bare", ratio, "≤", MOST_TIMES_BARE))
    columns = ("server", "retrieval ms", "first token ms", "bare, same prompt ms", "(first − retrieval) / bare")
    return Table("First token through kb ask, medians", columns, tuple(rows)), tuple(targets)


def _token_times(
    base: KnowledgeBase, model: str, endpoint: str, question: str
) -> tuple[list[float], list[float], list[float]]:
    """Milliseconds to the hits and to the first token through kb, and to the bare server's, in turns."""
    settings = ("rag.score_gate=0", "rag.max_context_tokens=900", "models.llm.context_tokens=2048")
    own = (f"models.llm.endpoint={endpoint}", f"models.llm.model={model}", "rag.max_answer_tokens=16")
    config = load(str(base.config_path), (*settings, *own))
    retrieval, first, bare = [], [], []
    request = AskRequest(question, "hybrid", 10, provider="ollama", keep=False)
    with open_base(config, many=True) as session:
        for round_number in range(TOKEN_ROUNDS + 1):
            at: dict[type[AskEvent], float] = {}
            start = perf_counter()
            answer = ask(session, request, RunHandle(lambda event, at=at: at.setdefault(type(event), perf_counter())))  # type: ignore[misc]
            messages = [message._asdict() for message in answer.written.messages]
            bare_ms = _bare_ms(endpoint, model, messages)
            if round_number:
                retrieval.append(1000 * (at[Retrieved] - start))
                first.append(1000 * (at[Generated] - start))
                bare.append(bare_ms)
    return retrieval, first, bare


def _bare_ms(endpoint: str, model: str, messages: list[dict[str, str]]) -> float:
    """Milliseconds of a POST on a raw connection to the first line with text; the rest is read, to free the server."""
    start = perf_counter()
    connection = HTTPConnection(urlsplit(endpoint).netloc)
    body = {"model": model, "messages": messages, "options": {"temperature": 0, "num_predict": 16}}
    connection.request("POST", "/api/chat", json.dumps(body))
    response = connection.getresponse()
    while not json.loads(response.readline())["message"]["content"]:
        continue
    elapsed_ms = 1000 * (perf_counter() - start)
    response.read()
    connection.close()
    return elapsed_ms


@contextmanager
def _serving(name: str, options: Sequence[str]) -> Iterator[str]:
    """The endpoint of tools/ollama_server, in a process of its own."""
    command = [sys.executable, str(_SERVER), *options, "--name", name, "--context-tokens", "2048"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            if server.stdout is None or not (line := server.stdout.readline()):
                raise RuntimeError("tools/ollama_server did not start")
            yield line.split()[-1]
        finally:
            server.terminate()
