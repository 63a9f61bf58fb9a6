"""What a value must satisfy beside its type, and what each key means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Rule = tuple[Callable[[Any], bool], str]


def _at_least(least: int) -> Rule:
    return (lambda value: value >= least), f"at least {least}"


def _one_of(*choices: str) -> Rule:
    return (lambda value: value in choices), "one of " + ", ".join(choices)


RULES: Mapping[str, Rule] = {
    "workspace.root": ((lambda value: bool(value.strip())), "a directory"),
    "storage.copy_threshold_mb": _at_least(0),
    "indexing.max_file_mb": _at_least(1),
    "indexing.max_parallel_extractors": ((lambda value: 1 <= value <= 64), "between 1 and 64"),
    "indexing.extract_timeout_s": ((lambda value: 1 <= value <= 86_400), "between 1 and 86400"),
    "indexing.extract_memory_mb": ((lambda value: 200 <= value <= 1_000_000), "between 200 and 1000000"),
    "ocr.languages": (
        (lambda value: all(part.replace("_", "").isalnum() for part in value.split("+"))),
        "names of tesseract languages, joined by +",
    ),
    "image.caption.model": ((lambda value: bool(value.strip())), "the name of a model"),
    "audio.model": ((lambda value: bool(value.strip())), "the name of a model"),
    "audio.language": (
        (lambda value: value == "auto" or (value.isalpha() and len(value) <= 3)),
        "auto, or a code such as ko",
    ),
    "ocr.page_dpi": ((lambda value: 72 <= value <= 600), "between 72 and 600"),
    "chunking.target_tokens": ((lambda value: 32 <= value <= 100_000), "between 32 and 100000"),
    "chunking.overlap_tokens": _at_least(0),
    "chunking.chunker_version": _one_of("md-heading-v1"),
    "storage.cache_max_mb": _at_least(0),
    "models.embedding.provider": _one_of("auto", "fastembed", "none"),
    "models.embedding.model": ((lambda value: bool(value.strip())), "the name of a model"),
    "models.embedding.dimensions": ((lambda value: 0 <= value <= 8192), "between 0 (the model's own) and 8192"),
    "models.embedding.batch_size": ((lambda value: 1 <= value <= 4096), "between 1 and 4096"),
    "models.embedding.threads": ((lambda value: 0 <= value <= 256), "between 0 (all cores) and 256"),
    "models.llm.provider": _one_of("auto", "ollama", "llama_cpp", "extractive"),
    "models.llm.model": ((lambda value: bool(value.strip())), "the name of a model"),
    "models.llm.context_tokens": ((lambda value: 128 <= value <= 10_000_000), "between 128 and 10000000"),
    "models.llm.endpoint": ((lambda value: value.startswith(("http://", "https://"))), "a URL"),
    "models.llm.temperature": ((lambda value: 0 <= value <= 2), "between 0 and 2"),
    "models.llm.seed": ((lambda value: 0 <= value < 1 << 32), "between 0 and 4294967295"),
    "models.llm.threads": ((lambda value: 0 <= value <= 256), "between 0 (half the cores) and 256"),
    "models.llm.connect_timeout_seconds": ((lambda value: 0 < value <= 3600), "above 0, at most 3600"),
    "models.llm.silence_timeout_seconds": ((lambda value: 0 < value <= 86_400), "above 0, at most 86400"),
    "models.llm.total_timeout_seconds": ((lambda value: 0 < value <= 86_400), "above 0, at most 86400"),
    "search.mode": _one_of("hybrid", "lexical", "vector"),
    "search.hybrid_fusion": _one_of("linear", "rrf"),
    "search.lexical_weight": ((lambda value: 0 <= value <= 1), "between 0 and 1"),
    "search.cross_lexical_weight": ((lambda value: 0 <= value <= 1), "between 0 and 1"),
    "search.near_slot": _at_least(0),
    "search.far_slot": _at_least(0),
    "search.near_margin": ((lambda value: 0 <= value <= 2), "between 0 and 2"),
    "search.secondary_weight": ((lambda value: 0 <= value <= 10), "between 0 and 10"),
    "search.rrf_k": _at_least(1),
    "search.rrf_lexical_weight": ((lambda value: 0 <= value <= 10), "between 0 and 10"),
    "search.candidate_depth": ((lambda value: 10 <= value <= 2000), "between 10 and 2000"),
    "search.default_k": ((lambda value: 1 <= value <= 1000), "between 1 and 1000"),
    "eval.suite": ((lambda value: bool(value.strip())), "a file"),
    "search.snippet_chars": ((lambda value: 20 <= value <= 10_000), "between 20 and 10000"),
    "rag.prompt_template_version": _one_of("rag-v1", "rag-v2", "rag-v3"),
    "rag.score_gate": ((lambda value: 0 <= value <= 1), "between 0 (answers always) and 1"),
    "rag.max_context_tokens": ((lambda value: 256 <= value <= 1_000_000), "between 256 and 1000000"),
    "rag.max_answer_tokens": ((lambda value: 16 <= value <= 32_768), "between 16 and 32768"),
}

# What each key decides: the hint of a wrong value, and the table of docs/configuration.md.
MEANINGS: Mapping[str, str] = {
    "workspace.root": "the folder your notes lie in; a relative one counts from the configuration file's folder",
    "workspace.include": "which files are read, as gitignore patterns",
    "workspace.exclude": "which files and folders are left out, as gitignore patterns, beside .gitignore and .kbignore",
    "storage.data_dir": "where kb keeps what it makes",
    "storage.sqlite": "the one SQLite file with everything that is indexed",
    "storage.vector_dir": "where Lance keeps the vectors, a table a model",
    "storage.asset_dir": "where copies of your files lie, each under the hash of its content",
    "storage.artifact_dir": "where the text of pages, pictures and recordings lies, a folder a document",
    "storage.model_dir": "where models are installed",
    "storage.runs_dir": "where kb eval run leaves a folder a run: per_query.jsonl and report.md",
    "storage.cache_dir": "where vectors and what engines read are kept by content, to do nothing twice; may be deleted",
    "storage.log_dir": "where --debug writes its log, one file a day",
    "storage.copy_threshold_mb": "files above so many megabytes are referred to, not copied",
    "storage.cache_max_mb": "what the cached vectors may take, and what engines read as much again",
    "indexing.max_file_mb": "files above so many megabytes are reported, not read",
    "indexing.max_parallel_extractors": "how many files are read by engines at once, each in a process of its own",
    "indexing.extract_timeout_s": "how long an engine may go without a sign of progress before its file is given up",
    "indexing.extract_memory_mb": "what one such process may take (Linux only)",
    "chunking.target_tokens": "how long a passage may get, in estimated tokens; never beyond what an embedder reads",
    "chunking.overlap_tokens": "how much two neighbouring passages of one long section share, in estimated tokens",
    "chunking.respect_markdown_headings": "whether a heading always begins a new passage",
    "chunking.chunker_version": "how documents are cut; another value indexes everything anew",
    "models.embedding.provider": "what runs the model: auto (kb, else fastembed), fastembed, or none: words alone",
    "models.embedding.model": "the model that embeds: one that kb models list shows, or any fastembed name",
    "models.embedding.secondary": "a second model for passages in another language than the question; empty = none",
    "models.embedding.dimensions": "what the model's vectors must have, or it is refused; 0 = whatever it has",
    "models.embedding.batch_size": "how many passages the model is given at once; fewer where they are long",
    "models.embedding.threads": "cores one model may use; 0 = all",
    "models.llm.provider": "who writes answers: auto (ollama, else llama_cpp, else extractive), or one of these",
    "models.llm.model": "the model's name on the Ollama server",
    "models.llm.gguf": "the model llama.cpp runs: a GGUF file, or one that kb models list shows; empty = none",
    "models.llm.context_tokens": "what prompt and answer may take together; never beyond what the model was made for",
    "models.llm.endpoint": "where the Ollama server is",
    "models.llm.temperature": "how freely the model words an answer; 0 = always the likeliest token",
    "models.llm.seed": "what the choice of tokens starts from above temperature 0",
    "models.llm.threads": "cores llama.cpp may use; 0 = half of what the system counts: the physical ones",
    "models.llm.connect_timeout_seconds": "how long the server may take to be reached",
    "models.llm.silence_timeout_seconds": "how long it may say nothing: loading a large model takes a while",
    "models.llm.total_timeout_seconds": "how long one answer may take in all",
    "extract.pdf_passwords": "what opens encrypted PDFs; never shown, logged or written anywhere",
    "extract.pdf_passwords_command": "a command that prints such passwords, one a line; run once, for an encrypted PDF",
    "ocr.enabled": "whether text is read from pixels: of images and scanned pages",
    "ocr.languages": "the languages tesseract reads, in its names, joined by +",
    "ocr.page_dpi": "how fine a scanned page is rasterised for OCR, in dots an inch",
    "image.caption.enabled": "whether a vision model on the Ollama server says what images show",
    "image.caption.model": "that model's name on the server",
    "audio.enabled": "whether speech is heard in recordings",
    "audio.model": "the speech model; kb models install brings it",
    "audio.language": "the language spoken: a code such as ko or en, or auto: heard from each recording's first sound",
    "search.default_k": "how many hits are shown when --k does not say",
    "search.mode": "how a question is answered when --mode does not say: hybrid, lexical or vector",
    "search.hybrid_fusion": "how words and meaning are joined: linear or rrf",
    "search.lexical_weight": "what words count beside meaning in the linear rule, 0 to 1",
    "search.cross_lexical_weight": "the same for passages in another language than the question",
    "search.secondary_weight": "what the second model's cosine counts beside the first's, in another language",
    "search.near_slot": "own-language hits before the first in another language, where that one is near",
    "search.far_slot": "the same where it is not",
    "search.near_margin": "how much less near than the best own-language passage still counts as near, in cosine",
    "search.rrf_k": "rank constant of RRF",
    "search.rrf_lexical_weight": "what words count beside meaning in RRF",
    "search.candidate_depth": "candidates each channel gives to the fusion",
    "search.snippet_chars": "how much of a passage a hit shows, in characters",
    "rag.prompt_template_version": "the prompt's wording: rag-v3 has the question's language, the others Korean",
    "rag.score_gate": "how likely the passages must hold an answer, 0 to 1, for a question not to be refused",
    "rag.explain_default": "whether kb ask explains itself without --explain",
    "rag.max_context_tokens": "what instructions, question and passages may take together, in the model's tokens",
    "rag.max_answer_tokens": "how long a generated answer may get, in the model's tokens",
    "eval.suite": "the golden set that kb eval measures against when --suite names no other",
}

SECRETS = frozenset({"extract.pdf_passwords", "extract.pdf_passwords_command"})
"""The keys whose values are shown nowhere."""
