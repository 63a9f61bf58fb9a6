"""Mail → the step `parts`: each message with its head, its text and its attachments.

A message of a mailbox is named by its id (`message=…&para=3`). A plain text is read as it is, HTML only if there is
none. Attachments of kinds that need no engine are read by their own readers; others are listed by name.
"""

from __future__ import annotations

import binascii
import email
import re
from collections.abc import Iterator, Sequence
from datetime import UTC
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from kb.domain.citations import part_name
from kb.domain.derived import Engine, ExtractSettings, Progress, StepJob
from kb.errors import ExtractFailed
from kb.extract.decode import decode
from kb.extract.flowing import below, page_parts, read_inside
from kb.extract.hypertext import read_hypertext
from kb.extract.parts import FoundPicture, Part, PartBlock, Parts, distinct, kb_engine
from kb.extract.pictures import listed

# Messages in messages, parts of one message, and attachments that are read of one file.
_MOST_DEPTH = 4
_MOST_PARTS = 1_000
_CUT = f"its parts behind the first {_MOST_PARTS:,}, or more than {_MOST_DEPTH * 2} levels deep, are not read"
_NAMED = 3
_MOST_ID_CHARS, _MOST_HEAD_CHARS = 200, 10_000

_BEGIN = re.compile(rb"^From \S.*?\d{4}[^\n]*\r?\n", re.MULTILINE)
_ESCAPED = re.compile(rb"^>(>*From )", re.MULTILINE)
_BETWEEN = re.compile(r"\n\s*\n")
_HEAD = ("From", "To", "Cc", "Date", "Subject")


def engine(settings: ExtractSettings) -> Engine:
    """The engine of this step, which is part of kb."""
    return kb_engine("mail-v2")


def derive(job: StepJob) -> bytes:
    """The parts as JSON. Raises: ExtractFailed."""
    return listed(read(job), job)


def read(job: StepJob) -> Parts:
    """The parts with the pictures found. Raises: ExtractFailed."""
    job.on_progress(Progress(0, 1))
    return _mailbox(job) if job.media_type == "mail/mbox" else _mail(job)


def _mail(job: StepJob) -> Parts:
    """The parts of a file with one message, which also gives the metadata."""
    message = _Message(parsed_message(job.data), job)
    if not any(message.head(name) for name in _HEAD):
        raise ExtractFailed("not a mail: it has no head", "open it in a mail program and save it again")
    said = {name.lower(): message.head(name) for name in ("From", "To", "Cc", "Message-ID")}
    user = {name: value for name, value in said.items() if value}
    read = message.read()
    notes = (*[_CUT] * message.is_cut, *_told(message.unread))
    return read._replace(title=message.head("Subject"), created_at=message.date, notes=notes, user=user)


def _mailbox(job: StepJob) -> Parts:
    """The parts of all messages of a mailbox, below their ids."""
    starts = [match.span() for match in _BEGIN.finditer(job.data) if _is_apart(job.data, match.start())]
    if not starts:
        raise ExtractFailed("not a mailbox: no line begins a message", "export it again, as mbox")
    ends = [start for start, _ in starts[1:]] + [len(job.data)]
    parts: list[Part] = []
    pictures: list[FoundPicture] = []
    notes: list[str] = []
    unread: list[_Unread] = []
    taken: dict[str, int] = {}
    for number, ((_, start), end) in enumerate(zip(starts, ends, strict=True), 1):
        if number % 100 == 0:
            job.on_progress(Progress(number, len(starts)))
        try:
            message = _Message(parsed_message(_ESCAPED.sub(rb"\1", job.data[start:end])), job)
        except ExtractFailed as error:
            notes.append(f"message {number} is not read: {error.message}")
            continue
        named = message.head("Message-ID").strip("<> ")
        if not named or named in taken or len(named) > _MOST_ID_CHARS:
            named = f"number-{number}"
        inner = below(message.read(), message=distinct(named, taken))
        parts += inner.parts
        pictures += inner.found
        unread += message.unread
        notes += [f"message {number}: {_CUT}"] * message.is_cut
    return Parts(tuple(parts), notes=(*notes, *_told(unread)), found=tuple(pictures))


def parsed_message(data: bytes) -> Message:
    """Parses a message. Raises: ExtractFailed if its parts are nested too deeply."""
    try:
        return email.message_from_bytes(data)
    except RecursionError as error:
        raise ExtractFailed("its parts are inside each other too deeply", "open it in a mail program") from error


def _is_apart(data: bytes, at: int) -> bool:
    """Whether there is a blank line before a position, or nothing."""
    return at == 0 or data[max(0, at - 2) : at] == b"\n\n" or data[max(0, at - 4) : at].endswith(b"\n\r\n")


class _Unread(NamedTuple):
    """An attachment that was not read; `why` is empty if its kind is never read."""

    name: str
    why: str


def _told(unread: Sequence[_Unread]) -> Iterator[str]:
    """A note for each reason why attachments were not read, with some of their names."""
    for why in dict.fromkeys(each.why for each in unread):
        names = [each.name for each in unread if each.why == why]
        named = ", ".join(names[:_NAMED]) + f" and {len(names) - _NAMED} more" * (len(names) > _NAMED)
        what = "1 attachment is" if len(names) == 1 else f"{len(names)} attachments are"
        yield f"{what} listed by {'its name' if len(names) == 1 else 'their names'} alone: {named}{why and f' ({why})'}"


class _Body(NamedTuple):
    """A text or an attached file of a message."""

    kind: str
    data: bytes
    charset: str | None
    name: str


class _Message:
    """A message being read; `unread` are its attachments that were not read, `is_cut`: it has too many parts."""

    def __init__(self, message: Message, job: StepJob) -> None:
        self._message, self._job = message, job
        self.unread: list[_Unread] = []
        self.is_cut = False

    @property
    def date(self) -> str | None:
        """When the message was sent, as RFC 3339 UTC; None if it does not say."""
        try:
            sent = parsedate_to_datetime(self.head("Date"))
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
        sent = sent.replace(tzinfo=UTC) if sent.tzinfo is None else sent
        return sent.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")

    def head(self, name: str) -> str:
        """A header field of the message on one line, decoded; "" if it has none."""
        return decoded_head(self._message, name)

    def read(self) -> Parts:
        """The header fields and text as numbered paragraphs, followed by the attachments."""
        head = "\n".join(f"{name}: {said}" for name in _HEAD if (said := self.head(name)))
        subject = self.head("Subject")
        blocks = [PartBlock("heading", subject, 1)] if subject else []
        bodies, self.is_cut = _bodies(self._message)
        files = [body for body in bodies if body.kind == "file"]
        if files:
            head += "\nAttached: " + ", ".join(file.name for file in files)
        parts = [Part(part_name(para=1), (*blocks, PartBlock("paragraph", head)))]
        over = (subject,) if subject else ()
        parts += (Part(part_name(para=number), (block,), over) for number, block in enumerate(self._text(bodies), 2))
        pictures: list[FoundPicture] = []
        taken: dict[str, int] = {}
        for file in files:
            attached = self._attached(file, distinct(file.name, taken), over)
            parts += attached.parts
            pictures += attached.found
        return Parts(tuple(parts), found=tuple(pictures))

    def _text(self, bodies: list[_Body]) -> Iterator[PartBlock]:
        kind = "plain" if any(body.kind == "plain" and body.data.strip() for body in bodies) else "html"
        for body in bodies:
            if body.kind != kind:
                continue
            text = decode(body.data, body.charset).text
            if kind == "html":
                yield from (block for part in page_parts(read_hypertext(text)).parts for block in part.blocks)
                continue
            for written in _BETWEEN.split(text):
                if paragraph := written.strip("\n").rstrip():
                    yield PartBlock("quote" if paragraph.startswith(">") else "paragraph", paragraph)

    def _attached(self, file: _Body, named: str, over: tuple[str, ...]) -> Parts:
        self._job.on_progress(Progress(0, 1))
        found, why = read_inside(file.name, file.data, self._job)
        if found is None:
            self.unread.append(_Unread(file.name, why))
            return Parts(())
        return below(found, (*over, named), part=named)


def decoded_head(message: Message, name: str) -> str:
    """A header field of a message on one line, with encoded words decoded; "" if it has none."""
    value = message.get(name)
    if value is None:
        return ""
    written = str(value)[:_MOST_HEAD_CHARS]
    try:
        pieces = decode_header(written if isinstance(value, str) else value)
    except (HeaderParseError, ValueError, binascii.Error):
        pieces = [(written, None)]
    encoded = [
        (piece.encode("utf-8", "surrogateescape") if isinstance(piece, str) else piece, charset)
        for piece, charset in pieces
    ]
    return " ".join("".join(decode(piece, charset).text for piece, charset in encoded).split())


def _bodies(message: Message) -> tuple[list[_Body], bool]:
    """The texts and files of a message in order, including those of messages inside it, and whether there are more."""
    bodies: list[_Body] = []
    is_cut = False
    stack = [(message, 0)]
    count = 0
    while stack and count < _MOST_PARTS:
        part, depth = stack.pop()
        count += 1
        payload = part.get_payload()
        if isinstance(payload, list):
            if depth < _MOST_DEPTH * 2:
                stack += [(each, depth + 1) for each in reversed(payload) if isinstance(each, Message)]
            is_cut = is_cut or depth >= _MOST_DEPTH * 2
            continue
        kind = part.get_content_type()
        name = _file_name(part)
        data = part.get_payload(decode=True)
        data = data if isinstance(data, bytes) else b""
        charset = part.get_param("charset")
        is_text = kind in ("text/plain", "text/html") and part.get_content_disposition() != "attachment"
        if is_text:
            bodies.append(_Body(kind.partition("/")[2], data, charset if isinstance(charset, str) else None, ""))
        elif name:
            bodies.append(_Body("file", data, None, name))
    return bodies, is_cut or bool(stack)


def _file_name(part: Message) -> str:
    """The name of an attachment, without folders; without a name, the end of its content type."""
    try:
        written = part.get_filename() or ""
    except (ValueError, LookupError, TypeError):
        written = ""
    holder = Message()
    holder["name"] = written.replace("\n", " ").replace("\r", " ")
    name = decoded_head(holder, "name").replace("\\", "/").rpartition("/")[2]
    return name[:_MOST_ID_CHARS] or ("" if part.get_content_maintype() == "multipart" else part.get_content_type())
