"""Renders a model's chat template, a program in its file, with placeholders for the messages.

So a prompt is put together from pieces of the template, in which marks like `<|im_end|>` count, and from each message
as plain text, in which they do not: no document can end its turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from kb.domain.generation import Message
from kb.errors import ModelCorrupt

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "<|im_start|>assistant\n"
)
"""For a file without a template, as llama.cpp does it."""

TEMPLATE_FAULTS = (TemplateError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError)
"""Exceptions that reading or rendering a template can raise."""

_OTHER_FILE = "use another GGUF file"

# Private-use characters around a message's number take the place of its text while the template is rendered.
_PLACE = re.compile("\ue000(\\d+)\ue001")


class ChatTemplate:
    """A template, and the texts of the tokens that begin and end a model's input."""

    def __init__(self, path: Path, written: str, bos: str, eos: str) -> None:
        """`written` is the template of the file at `path`. Raises: ModelCorrupt for one that cannot be read."""
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        try:
            self._template = environment.from_string(written)
        except TEMPLATE_FAULTS as error:
            raise ModelCorrupt(f"{path} cannot be loaded: {error}", _OTHER_FILE) from error
        self._settings: dict[str, Any] = {
            "bos_token": bos,
            "eos_token": eos,
            "add_generation_prompt": True,
            "raise_exception": _refuse,
        }

    def parts(self, messages: Sequence[Message]) -> Iterator[tuple[str, bool]]:
        """The parts of a prompt, texts of the template and of messages; True for those of the template.

        Raises: ModelCorrupt for a template that cannot be used.
        """
        rendered, contents = self._rendered(messages)
        for index, part in enumerate(_PLACE.split(rendered)):
            if index % 2:
                yield contents[int(part)], False
            elif part:
                yield part, True

    def _rendered(self, messages: Sequence[Message]) -> tuple[str, list[str]]:
        """The rendered template with placeholders, and the text of each."""
        faults: list[str] = []
        # Some templates know no system message: then it goes before the first question.
        for shown in (list(messages), _without_system(messages)):
            places = [{"role": m.role, "content": f"\ue000{index}\ue001"} for index, m in enumerate(shown)]
            try:
                rendered = self._template.render(messages=places, **self._settings)
            except TEMPLATE_FAULTS as error:
                faults.append(str(error))
                continue
            if sorted(map(int, _PLACE.findall(rendered))) == list(range(len(shown))):
                return rendered, [message.content for message in shown]
            faults.append("it leaves messages out")
        raise ModelCorrupt(f"the model's chat template cannot be used: {faults[0]}", _OTHER_FILE)


def _refuse(message: str) -> None:
    """A template calls this for a conversation it cannot put into a prompt."""
    raise ValueError(message)


def _without_system(messages: Sequence[Message]) -> list[Message]:
    """The conversation with the system messages put before the first question."""
    told = [message.content for message in messages if message.role == "system"]
    rest = [message for message in messages if message.role != "system"]
    if told and rest:
        rest[0] = rest[0]._replace(content="\n\n".join([*told, rest[0].content]))
    return rest
