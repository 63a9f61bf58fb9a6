"""llama-cpp-python with a model in it: text to tokens, messages to a prompt, a prompt to the pieces of an answer.

What the C code logs is dropped: an error says what there is to say.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

from kb.domain.answers.generation import Message
from kb.errors import ModelCorrupt, ModelMissing, StreamBroken
from kb.installation import extra_command
from kb.runtimes.llama_log import silence

# For a file without a template of its own, as llama.cpp does it.
_CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "<|im_start|>assistant\n"
)
# Private-use characters around a message's number stand for its text while the template is filled in.
_PLACE = re.compile("\ue000(\\d+)\ue001")
_BATCH_TOKENS = 512
_TOP_K, _TOP_P, _MIN_P = 40, 0.9, 0.0  # as Ollama has them
_SEEDS = 1 << 32


class LlamaRuntime:
    """A loaded model and its chat template."""

    def __init__(self, llama: Any, template: Any, is_end: Any) -> None:
        self._llama = llama
        self._template = template
        self._is_end = is_end

    def tokens(self, text: str) -> list[int]:
        """The tokens of `text` as plain text: no mark inside it is one."""
        found: list[int] = self._llama.tokenize(text.encode("utf-8", "replace"), add_bos=False, special=False)
        return found

    def prompt_tokens(self, messages: Sequence[Message]) -> list[int]:
        """The tokens of the template with the messages in their places. Raises: ModelCorrupt."""
        rendered, contents = self._rendered(messages)
        first = self._llama.token_bos()
        prompt: list[int] = []
        for index, part in enumerate(_PLACE.split(rendered)):
            if index % 2:
                prompt += self.tokens(contents[int(part)])
            elif part:
                prompt += self._llama.tokenize(part.encode(), add_bos=False, special=True)
        if self._llama._model.add_bos_token() and prompt[:1] != [first]:
            prompt.insert(0, first)
        return prompt

    def pieces(self, prompt: Sequence[int], temperature: float, seed: int | None) -> Generator[str | None, None, None]:
        """One text per token, empty while a character is not whole; None when the model ends the text.

        Raises: StreamBroken.
        """
        import llama_cpp

        self._llama.reset()
        self._llama.set_seed(llama_cpp.LLAMA_DEFAULT_SEED if seed is None else seed % _SEEDS)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        made = self._llama.generate(list(prompt), temp=temperature, top_k=_TOP_K, top_p=_TOP_P, min_p=_MIN_P)
        try:
            for token in made:
                if self._is_end(token):
                    yield None
                    return
                yield decoder.decode(self._llama.detokenize([token]))
        except RuntimeError as error:
            raise StreamBroken(f"llama.cpp gave up: {error}", "the model may need more memory than there is") from error
        finally:
            made.close()

    def _rendered(self, messages: Sequence[Message]) -> tuple[str, list[str]]:
        """The template filled in with places, and the text of each place."""
        faults: list[str] = []
        # Some templates know no system message: then it goes before the first question.
        for shown in (list(messages), _without_system(messages)):
            places = [{"role": m.role, "content": f"\ue000{index}\ue001"} for index, m in enumerate(shown)]
            try:
                rendered = str(self._template(messages=places).prompt)
            except template_errors() as error:
                faults.append(str(error))
                continue
            if sorted(map(int, _PLACE.findall(rendered))) == list(range(len(shown))):
                return rendered, [message.content for message in shown]
            faults.append("it leaves messages out")
        raise ModelCorrupt(f"the model's chat template cannot be used: {faults[0]}", "use another GGUF file")


def load_runtime(gguf: Path, context_tokens: int, threads: int) -> LlamaRuntime:
    """The model at `gguf`, loaded. Raises: ModelMissing without the library, ModelCorrupt for a file that does not."""
    try:
        import llama_cpp
        from llama_cpp.llama_chat_format import Jinja2ChatFormatter
    except ImportError as error:
        raise ModelMissing("llama-cpp-python is not installed", extra_command("llm")) from error
    silence()
    load_errors: tuple[type[Exception], ...] = (*template_errors(), RuntimeError, OSError)
    try:
        llama = llama_cpp.Llama(
            str(gguf),
            n_ctx=context_tokens,
            n_batch=_BATCH_TOKENS,
            n_threads=threads,
            n_threads_batch=threads,
            n_gpu_layers=-1 if llama_cpp.llama_supports_gpu_offload() else 0,
            verbose=False,
        )
    except load_errors as error:
        hint = "use another GGUF file, or a newer llama-cpp-python"
        raise ModelCorrupt(f"{gguf} cannot be loaded: {error}", hint) from error
    vocabulary = llama_cpp.llama_model_get_vocab(llama.model)
    template = Jinja2ChatFormatter(
        llama.metadata.get("tokenizer.chat_template", _CHATML),
        eos_token=_text_of(llama, llama.token_eos()),
        bos_token=_text_of(llama, llama.token_bos()),
    )
    return LlamaRuntime(llama, template, lambda token: llama_cpp.llama_vocab_is_eog(vocabulary, token))


def template_errors() -> tuple[type[Exception], ...]:
    """What a chat template, a program in the model's file, can raise when it is read or run."""
    from jinja2 import TemplateError

    return (TemplateError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError)


def _text_of(llama: Any, token: int) -> str:
    return "" if token < 0 else str(llama.detokenize([token], special=True).decode("utf-8", "replace"))


def _without_system(messages: Sequence[Message]) -> list[Message]:
    """The same conversation with what the system says put before the first question."""
    told = [message.content for message in messages if message.role == "system"]
    rest = [message for message in messages if message.role != "system"]
    if told and rest:
        rest[0] = rest[0]._replace(content="\n\n".join([*told, rest[0].content]))
    return rest
