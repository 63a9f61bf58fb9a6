"""The statements about `chunk_sentences`: which chunks have sentence vectors, how near a question stands to them."""

from __future__ import annotations

from collections.abc import Iterable

from kb.records import NamedTuple
from kb.store.connection import Connection
from kb.store.sqlfile import sql, sql_many


class UnreadChunk(NamedTuple):
    """A chunk whose sentences have no vectors yet."""

    chunk_rowid: int
    title: str
    heading_path_json: str
    text: str


class SentenceVector(NamedTuple):
    """A sentence `start_char`..`end_char` of a chunk's text, or at position 0 its title with the headings."""

    chunk_rowid: int
    position: int
    start_char: int
    end_char: int
    vector: bytes


class SentenceVersion(NamedTuple):
    """What made the sentence vectors."""

    version: str


class Background(NamedTuple):
    """What questions about nothing here reach in the passages of one language: mean and spread of the best cosines."""

    channel: str
    query_lang: str
    lang: str
    mean: float
    spread: float


class BackgroundReached(NamedTuple):
    """The same for questions of one language."""

    channel: str
    lang: str
    mean: float
    spread: float


class BackgroundState(NamedTuple):
    """What the background was computed from, and what there is now."""

    version: str | None
    chunks: int | None
    revision: int | None
    chunks_now: int
    revision_now: int


class ReadCandidate(NamedTuple):
    """The cosines of a question to a chunk as a whole, to its title and headings, and to its best sentence."""

    chunk_rowid: int
    passage: float | None
    heading: float | None
    sentence: float | None


class ReadSentence(NamedTuple):
    """The cosine of a question to one sentence of a chunk."""

    chunk_rowid: int
    start_char: int
    end_char: int
    cosine: float


class UnreadCount(NamedTuple):
    """How many chunks lack a sentence vector, or have a wrong one."""

    unread: int


@sql("embed/count_unread.sql")
def count_unread(db: Connection) -> UnreadCount | None: ...


@sql("embed/select_unread_chunks.sql")
def select_unread_chunks(db: Connection, *, after_rowid: int, row_limit: int) -> list[UnreadChunk]:
    """The next chunks without sentence vectors."""


@sql_many("embed/insert_sentence.sql")
def insert_sentences(db: Connection, rows: Iterable[SentenceVector]) -> None:
    """Keeps sentence vectors."""


@sql("embed/delete_sentences.sql")
def delete_sentences(db: Connection) -> int:
    """Forgets all sentence vectors."""


@sql("embed/delete_sentence_version.sql")
def delete_sentence_version(db: Connection) -> int:
    """Forgets what made the sentence vectors."""


@sql("embed/select_sentence_version.sql")
def select_sentence_version(db: Connection) -> SentenceVersion | None:
    """What made the sentence vectors; None where there are none."""


@sql("embed/upsert_sentence_version.sql")
def upsert_sentence_version(db: Connection, *, version: str) -> None:
    """Notes what makes the sentence vectors."""


@sql("embed/select_background_state.sql")
def select_background_state(db: Connection) -> BackgroundState | None:
    """What the background was computed from."""


@sql("embed/upsert_background_state.sql")
def upsert_background_state(db: Connection, *, version: str) -> None:
    """Notes what the background was computed from."""


@sql("embed/delete_background.sql")
def delete_background(db: Connection) -> int:
    """Forgets the background."""


@sql_many("embed/insert_background.sql")
def insert_background(db: Connection, rows: Iterable[Background]) -> None:
    """Keeps the background."""


@sql("answer/select_background.sql")
def select_background(db: Connection, *, query_lang: str) -> list[BackgroundReached]:
    """What questions of a language about nothing here reach."""
