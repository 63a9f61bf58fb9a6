"""Other search engines over a folder of Markdown, each as its documentation says, in a process of its own.

`python peer_engines.py ENGINE IN.json OUT.json`: IN holds `corpus` (a folder) and `questions` (id → text); OUT gets the
seconds of indexing and searching and the paths found, best first. Exit code 3 where the engine is not installed. The
interpreter may be another one than kb's: nothing here imports kb but what LanceDB needs its vectors from.
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from time import perf_counter
from urllib.parse import unquote

HITS = 10
NOT_INSTALLED = 3

Documents = Sequence[tuple[str, str]]
Search = Callable[[str], Sequence[str]]


def fts5(documents: Documents, corpus: Path, opened: ExitStack) -> Search:
    """Plain SQLite FTS5 as a short script has it: one table, porter stemming, an OR of the question's words."""
    db = opened.enter_context(closing(sqlite3.connect(":memory:")))
    db.execute("CREATE VIRTUAL TABLE notes USING fts5 (path UNINDEXED, text, tokenize = 'porter unicode61')")
    db.executemany("INSERT INTO notes VALUES (?, ?)", documents)

    def search(question: str) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in dict.fromkeys(re.findall(r"\w+", question)))
        rows = db.execute("SELECT path FROM notes WHERE notes MATCH ? ORDER BY bm25(notes) LIMIT ?", (words, HITS))
        return [path for (path,) in rows]

    return search


def bm25s(documents: Documents, corpus: Path, opened: ExitStack) -> Search:
    """bm25s with English stop words and the Snowball stemmer."""
    import bm25s as library
    import Stemmer

    stemmer = Stemmer.Stemmer("english")
    retriever = library.BM25()
    texts = [text for _, text in documents]
    retriever.index(library.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False), show_progress=False)

    def search(question: str) -> list[str]:
        tokens = library.tokenize(question, stopwords="en", stemmer=stemmer, show_progress=False)
        found, scores = retriever.retrieve(tokens, k=min(HITS, len(documents)), show_progress=False)
        return [documents[at][0] for at, score in zip(found[0], scores[0], strict=True) if score > 0]

    return search


def tantivy(documents: Documents, corpus: Path, opened: ExitStack) -> Search:
    """Tantivy with its English stemming tokenizer."""
    import tantivy as library

    builder = library.SchemaBuilder()
    builder.add_text_field("path", stored=True, tokenizer_name="raw")
    builder.add_text_field("text", stored=False, tokenizer_name="en_stem")
    index = library.Index(builder.build())
    writer = index.writer()
    for path, text in documents:
        writer.add_document(library.Document(path=[path], text=[text]))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def search(question: str) -> list[str]:
        query = index.parse_query(" ".join(re.findall(r"\w+", question)), ["text"])
        return [searcher.doc(address)["path"][0] for _, address in searcher.search(query, HITS).hits]

    return search


def lancedb(documents: Documents, corpus: Path, opened: ExitStack) -> Search:
    """LanceDB's own hybrid search, joined by its default RRF, over the vectors of kb's embedder; a document a row."""
    import lancedb as library

    from benchmarks.installed_models import installed_models
    from kb.embed.codec import unpack_vector
    from kb.embed.encoders import bulk_embedder, query_encoder
    from kb.models.manifest import ENCODER

    name = ENCODER
    embedder = bulk_embedder(installed_models(), name, 1)
    vectors = embedder.embed([text for _, text in documents], "passage")
    encoder = query_encoder(installed_models(), name)
    rows = [
        {"path": path, "text": text, "vector": vector.tolist()}
        for (path, text), vector in zip(documents, vectors, strict=True)
    ]
    place = opened.enter_context(tempfile.TemporaryDirectory(prefix="kb-peer-"))
    table = library.connect(place).create_table("notes", rows)
    table.create_fts_index("text", replace=True)

    def search(question: str) -> list[str]:
        words = " ".join(re.findall(r"\w+", question))
        query = (
            table.search(query_type="hybrid").vector(list(unpack_vector(encoder.encode(question).vector))).text(words)
        )
        return [row["path"] for row in query.limit(HITS).to_list()]

    return search


def recoll(documents: Documents, corpus: Path, opened: ExitStack) -> Search:
    """Recoll from the distribution, asked for any of the words; a process a question."""
    if shutil.which("recollindex") is None or shutil.which("recollq") is None:
        raise ModuleNotFoundError("recoll")
    config = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="kb-peer-")))
    (config / "recoll.conf").write_text(f"topdirs = {corpus}\nloglevel = 1\n", encoding="utf-8")
    (config / "mimemap").write_text(".md = text/plain\n", encoding="utf-8")
    subprocess.run(["recollindex", "-c", str(config)], check=True, capture_output=True)

    def search(question: str) -> list[str]:
        words = re.findall(r"\w+", question)
        call = ["recollq", "-c", str(config), "-o", "-b", "-n", str(HITS), "-q", *words]
        done = subprocess.run(call, check=False, capture_output=True, encoding="utf-8")
        found = [line.removeprefix("file://") for line in done.stdout.splitlines() if line.startswith("file://")]
        return [str(Path(unquote(path)).relative_to(corpus)) for path in found]

    return search


# Each builds its index, enters into the stack what is to be closed or removed afterwards, and gives its search.
ENGINES: Mapping[str, Callable[[Documents, Path, ExitStack], Search]] = {
    "fts5": fts5,
    "bm25s": bm25s,
    "tantivy": tantivy,
    "lancedb": lancedb,
    "recoll": recoll,
}


def main(engine: str, given: Path, wanted: Path) -> int:
    """Runs one engine; 3 where it is not installed."""
    task = json.loads(given.read_text(encoding="utf-8"))
    corpus = Path(task["corpus"])
    with ExitStack() as opened:
        start = perf_counter()
        files = sorted(corpus.rglob("*.md"))
        documents = [(str(path.relative_to(corpus)), path.read_text(encoding="utf-8")) for path in files]
        try:
            search = ENGINES[engine](documents, corpus, opened)
        except ModuleNotFoundError:
            return NOT_INSTALLED
        index_s = perf_counter() - start
        start = perf_counter()
        runs = {asked: list(search(text)) for asked, text in task["questions"].items()}
        result = {"index_s": index_s, "search_s": perf_counter() - start, "runs": runs}
    wanted.write_text(json.dumps(result), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])))
