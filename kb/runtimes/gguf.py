"""Runs GGUF files in this process with llama.cpp: by llama-cpp-python, else by xllamacpp, which needs no compiler.

A file writes text, makes vectors, or scores pairs: by its `pooling` (None, `MEAN`, `CLS`, `LAST`, `RANK`). Which
library runs it changes nothing but rounding.
"""

from __future__ import annotations

import codecs
import ctypes
import json
import re
import secrets
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from http.client import HTTPConnection, HTTPException, HTTPResponse
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from kb.domain.generation import Message
from kb.errors import ModelCorrupt, ModelError, ModelMissing, PromptTooLong, StreamBroken
from kb.installation import extra_command

if TYPE_CHECKING:
    from kb.runtimes.chat_template import ChatTemplate

# Sampling of the next token above temperature 0: Ollama's defaults.
_TOP_K, _TOP_P, _MIN_P = 40, 0.9, 0.0
_SEEDS = 1 << 32
_BATCH_TOKENS = 512  # of a prompt

_GAVE_UP = "the model may need more memory than there is"
_CHAT_TEMPLATE, _RERANK_TEMPLATE = "tokenizer.chat_template", "tokenizer.chat_template.rerank"


class GeneratedPiece(NamedTuple):
    """A piece of the answer, in whole characters, and how many tokens have been made so far."""

    text: str
    made: int


class GgufRuntime(Protocol):
    """A loaded file. Each text starts from an empty cache. One that writes text has a template and its first token."""

    library: str
    _template: ChatTemplate
    _first: list[int]

    def tokens(self, text: str, *, marks: bool = False) -> list[int]:
        """The tokens of `text`; `marks`: those inside it, like `<|im_end|>`, count as marks, not as text."""

    def prompt_tokens(self, messages: Sequence[Message]) -> list[int]:
        """The tokens of the chat template with the messages in their places. Raises: ModelCorrupt.

        The template's marks count as marks, those inside messages as text: no document can end its turn.
        """
        prompt: list[int] = []
        for text, is_template in self._template.parts(messages):
            prompt += self.tokens(text, marks=is_template)
        return prompt if prompt[:1] == self._first else [*self._first, *prompt]

    def pieces(
        self, prompt: Sequence[int], most: int, temperature: float, seed: int | None
    ) -> Generator[GeneratedPiece | None, None, None]:
        """The pieces of an answer of `most` tokens at most, None when the model ends it. Raises: StreamBroken."""

    def embed(self, text: str) -> list[float]:
        """The vector of a text, not normalised. Raises: PromptTooLong, ModelError."""

    def score(self, question: str, passage: str) -> float:
        """The logit of a pair. Raises: PromptTooLong, ModelError."""


def library() -> str | None:
    """The library that would run a model: llama_cpp, else xllamacpp; None without either."""
    return next((name for name in ("llama_cpp", "xllamacpp") if find_spec(name) is not None), None)


def no_library() -> ModelMissing:
    """The error where neither is installed."""
    return ModelMissing("neither llama-cpp-python nor xllamacpp is installed", extra_command("gguf"))


def load_gguf(path: Path, tokens: int, threads: int, pooling: int | None = None) -> GgufRuntime:
    """The file at `path`, loaded with a context of `tokens`; with `pooling`, to embed or score instead of to write.

    Raises: ModelMissing without a library; ModelCorrupt where it does not load.
    """
    match library():
        case "llama_cpp":
            return LlamaCpp(path, tokens, threads, pooling)
        case "xllamacpp":
            return Xllamacpp(path, tokens, threads, pooling)
    raise no_library()


class LlamaCpp(GgufRuntime):
    """A file in llama-cpp-python."""

    library = "llama-cpp-python"

    def __init__(self, path: Path, tokens: int, threads: int, pooling: int | None) -> None:
        """Loads it. Raises: ModelCorrupt for a file that does not load."""
        import llama_cpp

        from kb.runtimes.chat_template import CHATML, TEMPLATE_FAULTS, ChatTemplate

        _silence()
        if pooling is None:
            on_gpu = -1 if llama_cpp.llama_supports_gpu_offload() else 0
            use: dict[str, Any] = {"n_batch": _BATCH_TOKENS, "n_gpu_layers": on_gpu}
        else:
            use = {"n_batch": tokens, "n_ubatch": tokens, "embedding": True, "pooling_type": pooling}
        try:
            self._llama: Any = llama_cpp.Llama(
                str(path), n_ctx=tokens, n_threads=threads, n_threads_batch=threads, verbose=False, **use
            )
        except (*TEMPLATE_FAULTS, RuntimeError, OSError) as error:  # the library reads the template too, by itself
            raise _unloadable(path, "llama-cpp-python", error) from error
        self._tokens = tokens
        self._api: Any = llama_cpp
        self._vocabulary = llama_cpp.llama_model_get_vocab(self._llama.model)
        if pooling is None:
            bos, eos = self._llama.token_bos(), self._llama.token_eos()
            written = self._llama.metadata.get(_CHAT_TEMPLATE, CHATML)
            self._first = [bos] if self._llama._model.add_bos_token() else []
            self._template = ChatTemplate(path, written, self._text(bos), self._text(eos))

    def tokens(self, text: str, *, marks: bool = False) -> list[int]:
        """The tokens of `text`."""
        found: list[int] = self._llama.tokenize(text.encode("utf-8", "replace"), add_bos=False, special=marks)
        return found

    def pieces(
        self, prompt: Sequence[int], most: int, temperature: float, seed: int | None
    ) -> Generator[GeneratedPiece | None, None, None]:
        """A piece per token, empty while a character is not whole. Raises: StreamBroken."""
        api, llama = self._api, self._llama
        llama.reset()
        llama.set_seed(api.LLAMA_DEFAULT_SEED if seed is None else seed % _SEEDS)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        tokens = llama.generate(list(prompt), temp=temperature, top_k=_TOP_K, top_p=_TOP_P, min_p=_MIN_P)
        try:
            for made, token in enumerate(tokens, 1):
                if api.llama_vocab_is_eog(self._vocabulary, token):
                    yield None
                    return
                yield GeneratedPiece(decoder.decode(llama.detokenize([token])), made)
                if made == most:
                    return
        except RuntimeError as error:
            raise StreamBroken(f"llama.cpp gave up: {error}", _GAVE_UP) from error
        finally:
            tokens.close()

    def embed(self, text: str) -> list[float]:
        """The vector of a text, not normalised."""
        tokens = self._llama.tokenize(text.encode(), add_bos=True, special=False)
        return self._run(tokens, self._api.llama_model_n_embd(self._llama.model))

    def score(self, question: str, passage: str) -> float:
        """The logit of a pair, which is put together as llama.cpp's own server does it."""
        template = self._llama.metadata.get(_RERANK_TEMPLATE)
        if template:
            pieces = pair_pieces(template, question, passage)
            tokens = [token for piece, marks in pieces for token in self.tokens(piece, marks=marks)]
        else:
            tokens = self._pair(self.tokens(question), self.tokens(passage))
        return self._run(tokens, 1)[0]

    def _pair(self, question: Sequence[int], passage: Sequence[int]) -> list[int]:
        api, vocabulary = self._api, self._vocabulary
        separator = api.llama_vocab_sep(vocabulary)
        end = api.llama_vocab_eos(vocabulary)
        ends = [separator if end < 0 else end] if api.llama_vocab_get_add_eos(vocabulary) else []
        first = [api.llama_vocab_bos(vocabulary)] if api.llama_vocab_get_add_bos(vocabulary) else []
        between = [separator] if api.llama_vocab_get_add_sep(vocabulary) else []
        return [*first, *question, *ends, *between, *passage, *ends]

    def _run(self, tokens: Sequence[int], count: int) -> list[float]:
        """The first `count` numbers that the tokens give. Raises: PromptTooLong, ModelError."""
        if len(tokens) > self._tokens:
            raise PromptTooLong(f"{len(tokens)} tokens, and the model reads {self._tokens}")
        batch, context = self._llama._batch, self._llama._ctx
        batch.reset()
        batch.add_sequence(tokens, 0, True)
        try:
            context.kv_cache_clear()
            context.decode(batch)
        except RuntimeError as error:
            raise ModelError(f"llama.cpp gave up: {error}", _GAVE_UP) from error
        values = self._api.llama_get_embeddings_seq(context.ctx, 0)
        if not values:
            raise ModelError("llama.cpp gave no vector", "see that models.embedding.pooling suits the model")
        found: list[float] = values[:count]
        return found

    def _text(self, token: int) -> str:
        return "" if token < 0 else str(self._llama.detokenize([token], special=True).decode("utf-8", "replace"))


class Xllamacpp(GgufRuntime):
    """A file in xllamacpp: llama.cpp's own server inside this process.

    The server listens on a free port of 127.0.0.1, which cannot be switched off; a random key keeps others out.
    """

    library = "xllamacpp"

    def __init__(self, path: Path, tokens: int, threads: int, pooling: int | None) -> None:
        """Loads it. Raises: ModelCorrupt for a file that does not load."""
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.n_ctx = tokens
        params.n_parallel = 1
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        self._key = secrets.token_urlsafe()
        params.api_keys = [self._key]
        params.endpoint_slots = params.endpoint_props = params.ui = params.warmup = False
        params.verbosity = -1
        if pooling is None:
            params.n_batch = min(_BATCH_TOKENS, tokens)
        else:
            params.embedding = True
            params.pooling_type = xllamacpp.llama_pooling_type(pooling)
            params.n_batch = params.n_ubatch = tokens
        try:
            self._server: Any = xllamacpp.Server(params)
        except (RuntimeError, ValueError, OSError) as error:
            raise _unloadable(path, "xllamacpp", error) from error
        if pooling is None:
            from kb.runtimes.chat_template import CHATML, ChatTemplate  # an encoder needs no jinja2

            known = self._ask("/props")
            self._first = self._tokenize("", add_special=True)[:1]  # the model's first token, if it wants one
            written = known["chat_template"] or CHATML
            self._template = ChatTemplate(path, written, known["bos_token"], known["eos_token"])

    def tokens(self, text: str, *, marks: bool = False) -> list[int]:
        """The tokens of `text`."""
        return self._tokenize(text, parse_special=marks) if text else []

    def pieces(
        self, prompt: Sequence[int], most: int, temperature: float, seed: int | None
    ) -> Generator[GeneratedPiece | None, None, None]:
        """A piece per whole character or token. Raises: StreamBroken."""
        asked = {
            "prompt": list(prompt),
            "n_predict": most,
            "temperature": temperature,
            "top_k": _TOP_K,
            "top_p": _TOP_P,
            "min_p": _MIN_P,
            "cache_prompt": False,
            "stream": True,
            **({} if seed is None else {"seed": seed % _SEEDS}),
        }
        with self._answer("/completion", asked) as response:
            for line in response:
                if line.startswith(b"data: "):
                    event = json.loads(line.removeprefix(b"data: "))
                    ends = event["stop"] and event["stop_type"] == "eos"
                    yield None if ends else GeneratedPiece(event["content"], event["tokens_predicted"])

    def embed(self, text: str) -> list[float]:
        """The vector of a text, not normalised."""
        answered = self._server.handle_embeddings({"input": [text], "model": ""})
        vector: list[float] = _checked(answered)["data"][0]["embedding"]
        return vector

    def score(self, question: str, passage: str) -> float:
        """The logit of a pair."""
        answered = self._server.handle_rerank({"query": question, "documents": [passage]})
        return float(_checked(answered)["results"][0]["relevance_score"])

    def _tokenize(self, text: str, **how: bool) -> list[int]:
        asked = {"content": text, "add_special": False, "parse_special": False, **how}
        found: list[int] = self._ask("/tokenize", asked)["tokens"]
        return found

    def _ask(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """The JSON object at `path`. Raises: StreamBroken."""
        with self._answer(path, body) as response:
            found: dict[str, Any] = json.loads(response.read())
            return found

    @contextmanager
    def _answer(self, path: str, body: dict[str, Any] | None) -> Generator[HTTPResponse, None, None]:
        """The server's answer; hanging up ends its work. Raises: StreamBroken."""
        with closing(HTTPConnection(urlsplit(self._server.listening_address).netloc)) as connection:
            try:
                data = None if body is None else json.dumps(body).encode()
                headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
                connection.request("GET" if body is None else "POST", path, data, headers)
                response = connection.getresponse()
                if response.status != 200:
                    error = json.loads(response.read()).get("error", {})
                    raise StreamBroken(f"llama.cpp gave up: {error.get('message', error)}", _GAVE_UP)
                yield response
            except (OSError, HTTPException, ValueError) as error:
                raise StreamBroken(f"llama.cpp gave up: {error}", _GAVE_UP) from error


def pair_pieces(template: str, question: str, passage: str) -> Sequence[tuple[str, bool]]:
    """A file's template of a pair, a text with `{query}` and `{document}`, in pieces; True for those of the template:
    their marks count as marks."""
    texts = {"{query}": question, "{document}": passage}
    parts = re.split(r"(\{query\}|\{document\})", template)
    return [(texts.get(part, part), part not in texts) for part in parts if texts.get(part, part)]


def _unloadable(path: Path, name: str, error: Exception) -> ModelCorrupt:
    return ModelCorrupt(f"{path} cannot be loaded: {error}", f"use another GGUF file, or a newer {name}")


def _checked(answered: dict[str, Any]) -> dict[str, Any]:
    """The answer of xllamacpp's server. Raises: PromptTooLong, ModelError."""
    if "error" not in answered:
        return answered
    message = str(answered["error"].get("message", answered["error"]))
    if "too large" in message or "context" in message:
        raise PromptTooLong(message)
    raise ModelError(f"llama.cpp gave up: {message}", _GAVE_UP)


@cache
def _silence() -> object:
    """Drops the log of llama-cpp-python's C code, which keeps the callback: it must outlive every model."""
    import llama_cpp

    drop: object = llama_cpp.llama_log_callback(lambda level, text, user_data: None)
    llama_cpp.llama_log_set(drop, ctypes.c_void_p(0))
    return drop
