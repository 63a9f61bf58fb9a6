"""A process that holds a session open and answers one line of JSON on stdin with one on stdout.

`python session_holder.py CONFIG [SETTING...]`; its models are fakes, installed where their manifest stands. A line with
`threads` is asked by so many of them at once.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

from fake_embedder import FakeEmbedder, FakeModels

from kb.config import load
from kb.domain.embeddings import EmbeddingModel
from kb.domain.run_handle import RunHandle
from kb.embed import encoders
from kb.errors import KbError
from kb.models.manifest import read_installed
from kb.operations.ask.ask import ask
from kb.operations.ask.findings import AskRequest
from kb.operations.opening.base import Base, open_base
from kb.operations.search.search import search

OPENED: list[str] = []


def installed_encoder(model_dir: Path, name: str, provider: object = None, *, many: bool = False) -> FakeEmbedder:
    """The fake encoder of a model whose manifest is there, in the manifest's version."""
    version = read_installed(model_dir, name).model.version
    OPENED.append(f"{name}@{version}")
    fake = FakeModels().embedder(model_dir, name).model
    return FakeEmbedder(EmbeddingModel(name, version, fake.dimensions, fake.window_tokens))


def answered(session: Base, line: dict[str, Any]) -> dict[str, Any]:
    """What came of a question: `{"search": text}` or `{"ask": text}`, with `mode` and `k` where they are given."""
    text = line.get("search") or line["ask"]
    query = session.defaults.query(text, line.get("mode"), line.get("k"))
    try:
        if "search" in line:
            result = search(session, query)
            paths = [hit.doc_path for hit in result.hits]
            models = sorted({hit.embedding_model for hit in result.hits if hit.embedding_model})
            across = [hit.doc_path for hit in result.hits if not hit.retrieval.is_own]
            found = {"mode": result.query.mode, "note": result.note, "paths": paths, "models": models}
            return {**found, "across": across, "index_version": result.index_version}
        answer = ask(session, AskRequest(*query[:4], provider="extractive"), RunHandle())
        return {"refusal": answer.refusal_reason, "paths": [each.source_path for each in answer.citations]}
    except KbError as error:
        return {"error": error.code, "message": error.message}


def answered_by_threads(session: Base, line: dict[str, Any], threads: int) -> dict[str, Any]:
    """What as many threads are answered that ask at the same moment, one after the other in the list."""
    together = Barrier(threads)

    def ask_once(_: int) -> dict[str, Any]:
        together.wait()
        return answered(session, line)

    with ThreadPoolExecutor(threads) as pool:
        return {"answers": list(pool.map(ask_once, range(threads)))}


def main() -> None:
    """Answers until stdin ends."""
    encoders.query_encoder = installed_encoder
    with open_base(load(sys.argv[1], tuple(sys.argv[2:])), many=True) as session:
        for line in sys.stdin:
            OPENED.clear()
            asked = json.loads(line)
            threads = asked.pop("threads", 0)
            found = answered_by_threads(session, asked, threads) if threads else answered(session, asked)
            print(json.dumps({**found, "opened": OPENED}), flush=True)


if __name__ == "__main__":
    main()
