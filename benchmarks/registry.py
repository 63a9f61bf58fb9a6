"""Which benchmarks there are, and how one is run by its name."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from benchmarks.measurement import Measurement

# Name → what it tells; the module benchmarks.<name> is imported when it runs. A * needs --data to measure all of it.
BENCHMARKS = {
    "retrieval": "* nDCG, recall and MRR on judged sets; every citation checked against its file",
    "hybrid": "* words, meaning and both on judged sets, in one language and across; needs KB_TEST_MODEL_DIR",
    "words": "* words and identifiers that one file has: among ten hits and first, in both modes; needs models",
    "claims": "false sentences marked supported and true ones dropped, of pairs in two languages; KB_TEST_MODEL_DIR",
    "reading": "* what is found and answered by kind of question, on vaults and judged sets; needs models",
    "answers": "* whether marked pieces and shown text hold the answer, by kind; sure, right, refused; needs models",
    "startup": "a whole `kb search` from the shell against `python -c pass`; the heaviest imports",
    "ingest": "* files a second, time by stage; a second ingest with nothing changed",
    "pdf": "pages a second from PDFs with a text layer, against bare pymupdf",
    "pdf_vault": "peak memory of an ingest of 10 GB of PDFs against 1 GB; needs 25 GB of disk",
    "memory": "peak memory of an ingest of 20,000 files against 2,000, and of one large Markdown file in every shape",
    "embedded_memory": "peak memory of an ingest with vectors of one large Markdown file; needs KB_TEST_MODEL_DIR",
    "kinds": "recall and places of known text in files of every kind; recordings with KB_TEST_MODEL_DIR",
    "media": "peak memory of an ingest of the PDF, image and speech fixtures, all processes; needs KB_TEST_MODEL_DIR",
    "hostile": "a line of 50 MB",
    "embedding": "* bulk embedding against 4-bit products; an ingest with vectors, then cached; needs models",
    "cold": "a whole hybrid `kb search` against a lexical one, in one language and in two; needs models",
    "watch": "calls with a kb watch and without; 5,000 calls from eight shells; needs KB_TEST_MODEL_DIR",
    "ask": "an extractive answer, warm and cold; the first token through all of kb; needs KB_TEST_MODEL_DIR",
    "first_token": "time to an answer's first token through kb against the bare provider; needs models",
    "quality": "* what kb eval measures on the judged and refusal sets and on fixtures/golden; needs models",
    "peers": "* words and both against FTS5 in a script, bm25s, tantivy, LanceDB and recoll; needs models",
    "scale": "a warm hybrid search on 10,000, 100,000 and 1,000,000 made-up passages",
    "cluster": "a Dask cluster: this machine's time and bytes a passage, workers it feeds; needs KB_TEST_MODEL_DIR",
    "ocr": "character error on the rendered fixtures; time against bare tesseract",
    "scans": "made-up scans in columns, page by page: character error and time against bare tesseract",
    "photographed": "made-up photographs of receipts, menus and invoices: whole rows beside bare tesseract's",
    "mcp": "* agents' calls against Python's, memory, many clients, a scripted agent; needs KB_TEST_MODEL_DIR",
    "agents": "* tasks of two steps in a vault of two languages, by search and by ask; needs KB_TEST_MODEL_DIR",
    "mcp_calls": "100,000 calls of agents in a loop, memory by tenths; a call over 10,000 passages; needs models",
    "code": "questions about the sources of packages: line@1, line@10, IoU@1; fetches them, needs universal-ctags",
    "ui": "hits after a key on the page and in the terminal, first paint, memory, 8 tabs; needs models, Chromium",
    "code_beside": "* notes found alone and with the code of three packages beside them; needs KB_TEST_MODEL_DIR",
    "speech": "where spoken sentences are heard; time against bare pywhispercpp; needs KB_TEST_MODEL_DIR",
}


LONG = {
    "pdf_vault",
    "mcp",
    "agents",
    "mcp_calls",
    "hybrid",
    "words",
    "reading",
    "answers",
    "embedding",
    "cold",
    "watch",
    "ask",
    "first_token",
    "quality",
    "peers",
    "scale",
    "ocr",
    "scans",
    "photographed",
    "speech",
    "ui",
    "code",
    "code_beside",
    "kinds",
    "media",
    "embedded_memory",
    "cluster",
}
"""Left out of `all`: they need installed models or engines, or take longer than the rest together."""


SAMPLED = (
    "hybrid",
    "reading",
    "quality",
    "peers",
    "mcp",
    "code_beside",
)
"""Those that ask as many of the judged questions as --questions says."""


IN_SETS = ("answers", "hybrid", "reading")
"""Those that ask the sets of questions that --sets names."""


def run_benchmark(name: str, data: Path | None, **options: object) -> Measurement:
    """The outcome of one benchmark; `options` are those of its own."""
    result: Measurement = import_module(f"benchmarks.{name}").measure(data, **options)
    return result
