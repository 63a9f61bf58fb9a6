"""Adds content from outside the workspace: one file, or text from standard input.

A copy goes to `_external/` in the workspace, named by its content's hash (`3f2a9c41d07b.md`), so that equal content is
one file. The copy is a workspace file like any other: `kb ingest` keeps it, and deleting it removes its document.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from kb.config import Config
from kb.domain.ids import content_hash
from kb.domain.kinds import extension_of, family_of, media_type_of
from kb.domain.results.ingest import Added, IngestItem, IngestReport
from kb.domain.run_handle import RunHandle
from kb.domain.sources import WORKSPACE, Source
from kb.errors import NO_ROOM, FileTooLarge, StoreReadOnly, UsageError, no_room
from kb.operations.ingest.engines import ingest_plugins
from kb.operations.ingest.ingest import ingest
from kb.operations.ingest.requests import ingest_request
from kb.operations.opening.clock import now_utc
from kb.operations.opening.typed_path import as_on_disk
from kb.private import make_folder_for_user, replace_file, require_writable, users_surroundings
from kb.scan.read import read_bytes

FOLDER = "_external"
NAME_CHARS = 12
_MB = 1_000_000


class ExternalContent(NamedTuple):
    """Content to add: its bytes, its original name, and optional metadata.

    `title`, `source_uri` and `written_by` are written into the frontmatter of Markdown. Content that a program wrote
    gets the trust level `generated`, whatever its own frontmatter says.
    """

    data: bytes
    name: str
    title: str | None = None
    source_uri: str | None = None
    written_by: str | None = None


def read_external(config: Config, path: str) -> ExternalContent:
    """Reads a file outside the workspace.

    Raises: FileError and subclasses; UsageError for a file that does not exist or is in the workspace already.
    """
    full = os.path.realpath(as_on_disk(os.path.abspath(os.path.expanduser(path))))
    for source in config.sources.every:
        root = os.path.realpath(source.root)
        if full == root or full.startswith(root + os.sep):
            stored = config.sources.stored(source, os.path.relpath(full, root))
            raise UsageError(f"{path} is in the {_called(source)} already", f"kb ingest {stored}")
    if not os.path.exists(full):
        raise UsageError(f"{path} does not exist", "check the spelling; - reads standard input")
    content = read_bytes(full, max_bytes=config.indexing.max_file_mb * _MB)
    return ExternalContent(content.data, os.path.basename(full))


def _called(source: Source) -> str:
    return source.name if source.name == WORKSPACE else f"source {source.name}"


def add_external(
    config: Config, content: ExternalContent, handle: RunHandle, *, embed: bool = True, dry_run: bool = False
) -> Added:
    """Copies the content into the workspace and indexes it. A dry run does neither.

    A copy that cannot be indexed is removed; if it cannot be read, the report has the error. Raises: UsageError for
    empty content, a kind that kb does not read, or a title for a file that is not Markdown; FileTooLarge,
    StoreReadOnly, DiskFull; as `ingest`.
    """
    require_writable()
    data = _checked(config, content)
    path = f"{FOLDER}/{_stored_name(content_hash(data)[:NAME_CHARS], content.name)}"
    file = config.workspace_root / path
    was_there = file.exists()
    if dry_run:
        now = now_utc()
        report = IngestReport(str(config.workspace_root), (), (), now, dry_run=True, finished_at=now)
        report.counts.scanned = 1
        report.add(IngestItem("unchanged" if was_there else "new", path, byte_len=len(data)))
        return Added(path, was_there, report)
    if not was_there:
        _write(file, data)
    try:
        request = ingest_request(config, str(file), dry_run=False, allow_empty=False, embed=embed)
        report = ingest(request, handle)
        if not report.counts.scanned:
            raise UsageError(
                f"{FOLDER}/ is left out of the index", "by workspace.include, workspace.exclude or a .kbignore"
            )
    except BaseException:
        if not was_there:
            _take_back(file)
        raise
    if report.counts.errors and not was_there:
        _take_back(file)
    return Added(path, was_there, report)


def _take_back(file: Path) -> None:
    """Removes a copy that this call has made, and the folders made for it."""
    file.unlink(missing_ok=True)
    for folder in file.parents[: 2 if file.parent.name != FOLDER else 1]:
        with suppress(OSError):  # it contains other files
            folder.rmdir()


def _checked(config: Config, content: ExternalContent) -> bytes:
    """The bytes to store. Raises: UsageError, FileTooLarge."""
    kinds = ingest_plugins(config).kinds
    media_type = kinds.media_type_of(content.name)
    if media_type is None:
        known = ", ".join(name.removeprefix("*.") for name in kinds.spellings())
        raise UsageError(f"kb does not read files like {content.name!r}", f"--name says what it is; kb reads {known}")
    if not content.data.strip():
        raise UsageError("there is nothing in it", 'example: echo "# Title" | kb ingest-file - --name note.md')
    is_markdown = family_of(media_type) == "markdown"
    described = {"title": content.title, "source_uri": content.source_uri, "written_by": content.written_by}
    if content.written_by is not None:
        described["trust_level"] = "generated"
    described = {key: value for key, value in described.items() if value is not None}
    data = content.data
    if described:
        if not is_markdown:
            raise UsageError(
                f"a title or source cannot be written into {content.name!r}", "they go into Markdown alone"
            )
        data = _described(data, {key: " ".join(str(value).split()) for key, value in described.items()})
    if content.written_by is not None:
        _require_generated(data)
    limit = config.indexing.max_markdown_mb if is_markdown else config.indexing.max_file_mb
    if len(data) > limit * _MB:
        raise FileTooLarge(f"{content.name}: {len(data) / _MB:.1f} MB, above the limit of {limit} MB", "split it")
    return data


def _require_generated(data: bytes) -> None:
    """Raises UsageError if the frontmatter, in any spelling, has a date or a trust level other than `generated`."""
    from kb.extract.markdown.frontmatter import read_frontmatter

    said = read_frontmatter(data.decode()).metadata
    if said.trust_level != "generated" or said.created_at or said.updated_at:
        raise UsageError(
            "its frontmatter has a trust level or a date of its own, or is no YAML",
            "leave those lines out: kb says that the note was generated, and when it was added",
        )


def _described(data: bytes, described: dict[str, str]) -> bytes:
    """Markdown with these keys in its frontmatter. Raises: UsageError if it is not UTF-8 or has one of them."""
    from kb.extract.markdown.frontmatter import read_frontmatter

    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError("a title or source can be written into UTF-8 text alone", "convert it with iconv") from error
    lines = "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in described.items())
    found = read_frontmatter(text)
    if not found.line_count:
        return f"---\n{lines}---\n\n{text}".encode()
    first, rest = text.split("\n", 1)
    own = {line.partition(":")[0].strip().lower() for line in rest.splitlines()[: found.line_count - 1]}
    if both := sorted(own & described.keys()):
        raise UsageError(
            f"it says its own {' and '.join(both)}", "leave the option out, or take the line out of the frontmatter"
        )
    return f"{first}\n{lines}{rest}".encode()


def _stored_name(content: str, name: str) -> str:
    """The copy's path: the content's hash with the extension; `HASH/Dockerfile` where the whole name is its kind."""
    named = content + extension_of(name)
    return named if media_type_of(named) == media_type_of(name) else f"{content}/{os.path.basename(name)}"


def _write(file: Path, data: bytes) -> None:
    try:
        make_folder_for_user(file.parent)
        replace_file(file, data, 0o666 & ~users_surroundings().umask)
    except OSError as error:
        if error.errno in NO_ROOM:
            raise no_room(file.parent, error.errno, "; the content was not added") from error
        raise StoreReadOnly(f"{file.parent} cannot be written: {error.strerror}", "make it writable") from error
