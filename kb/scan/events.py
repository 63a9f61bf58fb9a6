"""What a walk says about a workspace: one event for each file to index, left out, or in trouble; last the totals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kb.domain.kinds import MediaType
from kb.domain.paths import WorkspacePath
from kb.errors import FileError
from kb.scan.ignore import RuleSource


class ScannedFile(NamedTuple):
    """A file to index. `source_path` is its real, absolute path as the file system spells it.

    A named tuple, not a dataclass: every run makes one for every file, and it is made in half the time.
    """

    workspace_path: WorkspacePath
    source_path: str
    media_type: MediaType
    byte_len: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file kb could index, or a folder with all that is in it, left out by a rule."""

    workspace_path: WorkspacePath
    reason: RuleSource


@dataclass(frozen=True, slots=True)
class OutsideLink:
    """A link that leads to `target`, a real path outside the workspace; what is there is indexed if `followed`."""

    workspace_path: WorkspacePath
    target: str
    followed: bool


@dataclass(frozen=True, slots=True)
class FailedFile:
    """A file that cannot be indexed, or a folder that cannot be listed: then nothing is known of what is below it.

    Bytes of the name that are not UTF-8 stand as `\\xNN` in `workspace_path`.
    """

    workspace_path: WorkspacePath
    error: FileError


@dataclass(frozen=True, slots=True)
class ScanTotals:
    """What the walk passed over without an event: files of no known media type, and files no `include` asks for.

    `unsupported` counts the former by `extension_of`; those that a rule leaves out, or that lie where nothing is asked
    for, are not among them.
    """

    unsupported: Mapping[str, int]
    not_included: int


ScanEvent = ScannedFile | SkippedFile | OutsideLink | FailedFile | ScanTotals
