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
    "indexing.max_markdown_mb": _at_least(1),
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
        (lambda value: value == "auto" or all(part.isalpha() and len(part) <= 3 for part in value.split("+"))),
        "auto, a code such as ko, or a list of codes",
    ),
    "ocr.page_dpi": ((lambda value: 72 <= value <= 600), "between 72 and 600"),
    "chunking.target_tokens": ((lambda value: 32 <= value <= 100_000), "between 32 and 100000"),
    "chunking.overlap_tokens": _at_least(0),
    "chunking.chunker_version": _one_of("md-heading-v1"),
    "storage.cache_max_mb": _at_least(0),
    "models.embedding.provider": _one_of("auto", "installed", "fastembed", "ollama", "llama_cpp", "plugin", "none"),
    "models.embedding.pooling": _one_of("auto", "mean", "cls", "last"),
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
    "rerank.provider": _one_of("fastembed", "llama_cpp", "plugin", "none"),
    "rerank.passages": ((lambda value: 1 <= value <= 200), "between 1 and 200"),
    "search.words_weight": ((lambda value: 0 <= value <= 10), "between 0 and 10"),
    "search.rrf_k": _at_least(1),
    "search.candidate_depth": ((lambda value: 10 <= value <= 2000), "between 10 and 2000"),
    "search.default_k": ((lambda value: 1 <= value <= 1000), "between 1 and 1000"),
    "eval.suite": ((lambda value: bool(value.strip())), "a file"),
    "search.snippet_chars": ((lambda value: 20 <= value <= 10_000), "between 20 and 10000"),
    "rag.prompt_template_version": _one_of("rag-v1", "rag-v2", "rag-v3"),
    "rag.score_gate": ((lambda value: 0 <= value <= 1), "between 0 (answers always) and 1"),
    "rag.answer_precision": ((lambda value: 0 <= value <= 0.99), "between 0 and 0.99"),
    "rag.max_context_tokens": ((lambda value: 256 <= value <= 1_000_000), "between 256 and 1000000"),
    "rag.claim_judge": _one_of("none", "llm", "onnx", "plugin"),
    "rag.deep_steps": ((lambda value: 2 <= value <= 20), "between 2 and 20"),
    "rag.deep_tokens": _at_least(1),
    "rag.deep_seconds": ((lambda value: 1 <= value <= 3600), "between 1 and 3600"),
    "rag.max_answer_tokens": ((lambda value: 16 <= value <= 32_768), "between 16 and 32768"),
}

# Names that are joined by + where one line holds them; a file may list them.
JOINED = frozenset({"audio.language", "ocr.languages"})


# What each key decides: the hint of a wrong value, and the table of docs/configuration.md.
MEANINGS: Mapping[str, str] = {
    "workspace.root": "the folder with your notes; a relative path starts at the configuration file's folder",
    "workspace.include": "which files are read, as gitignore patterns",
    "workspace.exclude": "which files and folders are left out, as gitignore patterns, beside .gitignore and .kbignore",
    "workspace.follow_outside": "whether links that lead out of the workspace are followed; the report names them",
    "storage.data_dir": "where kb keeps what it makes",
    "storage.sqlite": "the one SQLite file with everything that is indexed",
    "storage.vector_dir": "where Lance keeps the vectors, one table per model",
    "storage.asset_dir": "where copies of your files lie, each under the hash of its content",
    "storage.artifact_dir": "where the text of pages, pictures and recordings lies, one folder per document",
    "storage.model_dir": "the folder where models are installed",
    "storage.runs_dir": "where kb eval run leaves a folder a run: per_query.jsonl and report.md",
    "storage.cache_dir": "where vectors and what engines read are kept by content, to do nothing twice; may be deleted",
    "storage.log_dir": "where --debug writes its log, one file per day",
    "storage.copy_threshold_mb": "files above so many megabytes are referred to, not copied",
    "storage.cache_max_mb": "what the cached vectors may take, and what engines read as much again",
    "indexing.max_file_mb": "files above so many megabytes are reported, not read",
    "indexing.max_markdown_mb": "the same for a Markdown file, which takes many times its size in memory",
    "indexing.max_parallel_extractors": "how many files are read by engines at once, each in a process of its own",
    "indexing.extract_timeout_s": "processor seconds an engine may take without progress; by the clock, ten times that",
    "indexing.extract_memory_mb": "what one such process may take (Linux only)",
    "chunking.target_tokens": "how long a passage may get, in estimated tokens; never beyond what an embedder reads",
    "chunking.overlap_tokens": "how much two neighbouring passages of one long section share, in estimated tokens",
    "chunking.respect_markdown_headings": "whether a heading always begins a new passage",
    "chunking.chunker_version": "how documents are cut; another value indexes everything again",
    "models.embedding.provider": "who runs the model: auto (kb, else fastembed), or one of these; none: words alone",
    "models.embedding.model": "what embeds: a name that kb models list or its provider knows, a GGUF file, or a plugin",
    "models.embedding.tokens": "also keep a passage's tokens, which rank it: some 6 KB each; false = its vector ranks",
    "models.embedding.dimensions": "what the model's vectors must have, or it is refused; 0 = whatever it has",
    "models.embedding.batch_size": "how many passages the model is given at once; fewer where they are long",
    "models.embedding.threads": "cores one model may use; 0 = all",
    "models.embedding.query_prefix": "what the model reads before a question; auto = as its family was trained",
    "models.embedding.passage_prefix": "the same before a passage",
    "models.embedding.pooling": "how llama.cpp makes one vector of a text: auto (by its family), mean, cls or last",
    "models.llm.provider": (
        "who writes answers: auto (ollama, else llama_cpp, else extractive), or one of these; "
        "extractive switches the language model off"
    ),
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
    "extract.pdf_passwords_command": "a command that prints them, one per line; run once, for an encrypted PDF",
    "ocr.enabled": "whether text is read from pixels: of images and scanned pages",
    "ocr.languages": "the languages tesseract reads, in its names, joined by +",
    "ocr.page_dpi": "how fine a scanned page is rasterised for OCR, in dots an inch",
    "image.caption.enabled": "whether a vision model on the Ollama server says what images show",
    "image.caption.model": "that model's name on the server",
    "audio.enabled": "whether speech is heard in recordings",
    "audio.model": "the speech model; kb models install brings it",
    "audio.language": "the language spoken: a code such as ko, several (ko+en, or a list; what is heard in none of "
    "them is left out), or auto: heard from each recording's first sound",
    "search.default_k": "how many hits are shown when --k does not say",
    "search.mode": "how a question is answered when --mode does not say: hybrid, lexical or vector",
    "search.hybrid_fusion": "how words and meaning are joined: linear or rrf",
    "search.words_weight": "what a passage that has all words of the question gains over one that has none, by linear",
    "search.rrf_k": "rank constant of RRF",
    "search.candidate_depth": "candidates each channel gives to the fusion",
    "search.snippet_chars": "how much of a passage a hit shows, in characters",
    "search.correct_typos": "whether a word that no document has is searched for as the nearest that one has",
    "search.both_scripts": "whether a word is searched for in the other script too: 도커 and docker",
    "search.favour_days": "whether documents of the days that a question names count more: 지난주, last week",
    "search.lexicon": 'a file of your own synonyms: synonyms = [["k8s", "kubernetes"], ["연차", "휴가"]]',
    "rerank.provider": "who runs a cross-encoder that puts the first passages in another order; none: nobody",
    "rerank.model": "the cross-encoder: a name that fastembed knows (BAAI/bge-reranker-base), a GGUF file, or a plugin",
    "rerank.passages": "how many of the first passages the cross-encoder reads for each question",
    "rag.prompt_template_version": "the prompt's wording: rag-v3 has the question's language, the others Korean",
    "rag.score_gate": "how likely the passages must hold an answer, 0 to 1, for a question not to be refused",
    "rag.answer_precision": "the share of right ones among the answers kb is sure of; 0 = sure of all",
    "rag.explain_default": "whether kb ask explains itself without --explain",
    "rag.max_context_tokens": "what instructions, question and passages may take together, in the model's tokens",
    "rag.max_answer_tokens": "how long a generated answer may get, in the model's tokens",
    "rag.claim_judge": "who judges a model's sentences beside the rules: none, llm (it itself, asked), onnx, plugin",
    "rag.claim_model": "for onnx the folder of an NLI model, for plugin its name",
    "rag.deep_steps": "how many searches kb ask --deep takes at most, the question itself counted",
    "rag.deep_tokens": "what a model may read and write to plan them; the answer itself comes on top",
    "rag.deep_seconds": "after so long it takes no further step, and answers from what was found",
    "plugins.extractors": "other packages' readers of text files that are used, by name: kb doctor lists what is there",
    "plugins.chunkers": "other packages' rules of where passages begin, as KIND=NAME: markdown=by_topic",
    "eval.suite": "the golden set that kb eval measures against when --suite names no other",
    "exposure.never_to_mcp": "what agents never see: globs over paths (private/**) and tags (#secret)",
    "exposure.never_to_llm": "what no language model is given to read, agents included: globs and tags",
    "exposure.never_to_web": "what the page of kb web never shows: globs and tags",
    "exposure.images_to_mcp": "whether agents that ask for them are given pictures, of what they may see at all",
}

SECRETS = frozenset({"extract.pdf_passwords", "extract.pdf_passwords_command"})
"""The keys whose values are shown nowhere."""
