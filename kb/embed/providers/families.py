"""What an encoder must read before a text, and how it pools: by its family, told from its name, or as it is configured.

The families are data (`data/families.tsv`). A model of none of them reads the text alone and pools as its file says.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal, get_args
from zlib import crc32

from kb.domain.embeddings import Role
from kb.embed.text import encoder_text
from kb.records import NamedTuple

Pooling = Literal["", "mean", "cls", "last"]

AS_FAMILY = "auto"
"""The configured value that leaves a setting to the family."""

_TABLE = Path(__file__).parents[1] / "data" / "families.tsv"


class TextForm(NamedTuple):
    """How a text is given to an encoder. `pooling` empty: as the model's own file says."""

    family: str = "plain"
    query_prefix: str = ""
    passage_prefix: str = ""
    pooling: Pooling = ""

    def text(self, text: str, role: Role) -> str:
        """The text as the encoder reads it."""
        return (self.query_prefix if role == "query" else self.passage_prefix) + encoder_text(text)

    @property
    def label(self) -> str:
        """The family and a hash of all that is done: vectors with another label are not comparable. `e5-1a2b3c4d`."""
        done = "\0".join((self.query_prefix, self.passage_prefix, self.pooling))
        return f"{self.family}-{crc32(done.encode()):08x}"


def text_form(
    name: str, query_prefix: str = AS_FAMILY, passage_prefix: str = AS_FAMILY, pooling: str = AS_FAMILY
) -> TextForm:
    """The form for the model called `name`; what is not `auto` stands over the family's."""
    form = family_form(name)
    if query_prefix != AS_FAMILY:
        form = form._replace(query_prefix=query_prefix)
    if passage_prefix != AS_FAMILY:
        form = form._replace(passage_prefix=passage_prefix)
    return form if pooling == AS_FAMILY else form._replace(pooling=_pooling(pooling))


def family_form(name: str) -> TextForm:
    """The form of the family that a model's name tells of."""
    plain = name.casefold().replace("_", "-")
    return next((form for sign, form in _families() if sign in plain), TextForm())


@cache
def _families() -> tuple[tuple[str, TextForm], ...]:
    """What is found in the name, and the form, a line of the table each."""
    found = []
    for line in _TABLE.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            family, sign, query, passage, pooling = line.replace("\\n", "\n").split("\t")
            found.append((sign, TextForm(family, query, passage, _pooling(pooling))))
    return tuple(found)


def _pooling(name: str) -> Pooling:
    return next(known for known in get_args(Pooling) if known == name)
