"""Which library runs a GGUF model in this process: llama-cpp-python, else xllamacpp, which needs no compiler."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from kb.errors import ModelMissing
from kb.installation import extra_command
from kb.llm.runtime import Runtime


def library() -> str | None:
    """The library that would run a model: llama_cpp, else xllamacpp; None without either."""
    return next((name for name in ("llama_cpp", "xllamacpp") if find_spec(name) is not None), None)


def no_library() -> ModelMissing:
    """That neither of them is installed."""
    return ModelMissing("neither llama-cpp-python nor xllamacpp is installed", extra_command("gguf"))


def load_runtime(gguf: Path, context_tokens: int, threads: int) -> Runtime:
    """The model at `gguf`, loaded. Raises: ModelMissing without a library; ModelCorrupt where it does not load."""
    match library():
        case "llama_cpp":
            from kb.llm.llama_runtime import load_llama

            return load_llama(gguf, context_tokens, threads)
        case "xllamacpp":
            from kb.llm.xllama_runtime import load_xllama

            return load_xllama(gguf, context_tokens, threads)
    raise no_library()
