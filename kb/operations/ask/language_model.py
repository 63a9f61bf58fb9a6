"""Chooses the language models that answer: by `models.llm.provider`, or with `auto` every available one in turn.

This is called only once the evidence is good enough, as a server may be probed then. No model is loaded here; a model
loads when its first token is counted or generated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from kb.config import Config
from kb.domain.checks import Check
from kb.domain.generation import LanguageModel
from kb.errors import KbError, ModelMissing, ModelNotPulled, UsageError
from kb.operations.opening.loaded_models import LoadedModels

PROVIDERS = ("auto", "ollama", "llama_cpp", "extractive")


def language_models(config: Config, provider: str | None, models: LoadedModels) -> Iterator[LanguageModel | None]:
    """The models that can answer, in the order to try them; `provider` None is the configured one.

    None in the result is the extractive answerer. A loaded model stays in `models` until its file changes. `auto` gives
    each available model, then the extractive answerer; each is looked up only when the one before has failed. A named
    provider is the only one and is not probed: its first use raises the error. Raises: UsageError for an unknown
    provider, ModelMissing for `llama_cpp` without a model file or its library.
    """
    wanted = provider or config.models_llm.provider
    require_provider(wanted)
    if wanted == "auto":
        yield from _all_there(config, models)
    else:
        yield None if wanted == "extractive" else _kept(config, wanted, models)


def require_provider(name: str) -> None:
    """Raises: UsageError for an unknown provider."""
    if name not in PROVIDERS:
        raise UsageError(f"there is no provider {name!r}", "one of " + ", ".join(PROVIDERS))


def can_generate(config: Config) -> bool:
    """Whether a language model is available; asks the server, but loads nothing."""
    provider = config.models_llm.provider
    return any(_lacking(config, name) is None for name in _PROVIDERS if provider in ("auto", name))


def check_language_model(config: Config) -> Iterator[Check]:
    """Doctor's checks of the provider. With `auto` no model is needed, as sentences are quoted without one."""
    provider = config.models_llm.provider
    if provider in ("auto", "ollama"):
        yield from _check_ollama(config, needed=provider == "ollama")
    if provider == "llama_cpp" or (provider == "auto" and config.models_llm.gguf):
        yield _check_llama_cpp(config, needed=provider == "llama_cpp")


def _all_there(config: Config, models: LoadedModels) -> Iterator[LanguageModel | None]:
    for provider in _PROVIDERS:
        if _lacking(config, provider) is None:
            yield _kept(config, provider, models)
    yield None


def _kept(config: Config, provider: str, models: LoadedModels) -> LanguageModel:
    """The model of a provider, taken from `models` if an earlier question loaded it."""
    model = _PROVIDERS[provider](config)
    file = gguf_path(config).stat() if provider == "llama_cpp" else None
    mark = (model.model_ref, file and (file.st_ino, file.st_size, file.st_mtime_ns))
    return models.kept(f"language model of {provider}", mark, lambda: model)


def _ollama(config: Config) -> LanguageModel:
    from kb.llm.language_models import OllamaModel
    from kb.runtimes.ollama_http import OllamaServer, Timeouts

    llm = config.models_llm
    timeouts = Timeouts(llm.connect_timeout_seconds, llm.silence_timeout_seconds, llm.total_timeout_seconds)
    return OllamaModel(OllamaServer(llm.endpoint, timeouts), llm.model, llm.context_tokens)


def _llama_cpp(config: Config) -> LanguageModel:
    from kb.llm.language_models import LlamaCppModel, LlamaLimits
    from kb.runtimes.gguf import library, no_library

    llm = config.models_llm
    limits = LlamaLimits(llm.context_tokens, llm.threads, llm.total_timeout_seconds)
    model = LlamaCppModel(gguf_path(config), Path(llm.gguf).stem, limits)
    if library() is None:
        _ = model.context_tokens  # raises for a file that is no model: the library would not help
        raise no_library()
    return model


# In the order that `auto` tries them.
_PROVIDERS: dict[str, Callable[[Config], LanguageModel]] = {"ollama": _ollama, "llama_cpp": _llama_cpp}


def gguf_path(config: Config) -> Path:
    """The configured model file, by its path or an installed model's name. Raises: ModelMissing, ModelCorrupt."""
    from kb.assemble.catalogue import CATALOG, GGUF_FILE
    from kb.models.manifest import read_installed

    configured = config.models_llm.gguf
    if not configured:
        raise ModelMissing("no GGUF model is configured", "set models.llm.gguf to a file or to an installed model")
    if configured in CATALOG and CATALOG[configured].purpose == "language":
        read_installed(config.model_dir, configured)
        return config.model_dir / configured / GGUF_FILE
    path = config.path(configured)
    if not path.is_file():
        raise ModelMissing(f"no model file at {path}", "set models.llm.gguf to a GGUF file or to an installed model")
    return path


def _lacking(config: Config, provider: str) -> KbError | None:
    """Why the provider cannot answer, None if it can. Asks the server once, or reads the header of the model file."""
    from kb.runtimes.ollama_http import OllamaServer, Timeouts, pulled_models, require_pulled

    llm, wait_s = config.models_llm, config.models_llm.connect_timeout_seconds
    try:
        if provider == "ollama":
            require_pulled(pulled_models(OllamaServer(llm.endpoint, Timeouts(wait_s, wait_s, wait_s))), llm.model)
        else:
            _llama_cpp(config).context_tokens  # noqa: B018  reads the header
    except KbError as error:
        return error
    return None


def _check_ollama(config: Config, *, needed: bool) -> Iterator[Check]:
    llm = config.models_llm
    error = _lacking(config, "ollama")
    reached = error is None or isinstance(error, ModelNotPulled)
    if not reached and error is not None:
        detail = error.message if needed else f"{error.message}; answers are made without it"
        yield Check("ollama_reachable", False, detail, error.hint, needed=needed)
        return
    yield Check("ollama_reachable", True, llm.endpoint)
    detail = llm.model if error is None else f"{llm.model} missing"
    yield Check("ollama_model_pulled", error is None, detail, error.hint if error else None, needed=needed)


def _check_llama_cpp(config: Config, *, needed: bool) -> Check:
    error = _lacking(config, "llama_cpp")
    if error is None:
        return Check("llama_cpp_model", True, str(gguf_path(config)))
    return Check("llama_cpp_model", False, error.message, error.hint, needed=needed)
