"""Walks a workspace and yields an event for each file to index: the first step of an ingest.

It is a generator, so that memory does not grow with the number of files. It reads names, sizes and times, and only the
contents of `.gitignore` and `.kbignore`. The members of an archive are files, too, below a folder that is called like
the archive with a `!` behind it, by the rules of the folder around the archive.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kb.domain.documents import SourceFile
from kb.domain.kinds import KINDS, MEMBER, Kinds, MediaType, archive_type, extension_of
from kb.domain.results.ingest import OutsideLink
from kb.domain.text import WorkspacePath
from kb.errors import FileError, FileUnreadable, FileVanished, PathNotUnicode, UsageError
from kb.scan.read import file_error, name_error, not_regular, shown, stat_error, twins_among
from kb.scan.rules import ATTRIBUTES_FILE, IGNORE_FILES, Folder, IgnoreRules, Included, ignore_files_in, with_own_rules

if TYPE_CHECKING:
    from kb.scan.archive import Member


class SkippedFile(NamedTuple):
    """A file that kb could index, or a whole folder, left out by a rule."""

    workspace_path: WorkspacePath
    reason: str


class FailedFile(NamedTuple):
    """A file that cannot be indexed, or a folder that cannot be listed, whose content is then unknown.

    Bytes of the name that are not UTF-8 are `\\xNN` in `workspace_path`.
    """

    workspace_path: WorkspacePath
    error: FileError


class ScanTotals(NamedTuple):
    """Files without an event: those of no known media type, and those that no `include` selects.

    `unsupported` counts the former by `extension_of`, without files left out by a rule or in unselected folders.
    """

    unsupported: Mapping[str, int]
    not_included: int


ListMembers: TypeAlias = "Callable[[SourceFile, bool], Iterable[Member]]"
"""The members of an archive, by whether it is read: none of one that is not."""


def _none(archive: SourceFile, is_read: bool) -> Iterable[Member]:
    return ()


ScanEvent = SourceFile | SkippedFile | OutsideLink | FailedFile | ScanTotals


def walk(
    root: Path,
    *,
    include: Sequence[str],
    exclude: Sequence[str],
    scope: str = "",
    follow_outside: bool = True,
    kinds: Kinds = KINDS,
    elsewhere: Sequence[Path] = (),
    archives: bool = False,
    members: ListMembers = _none,
) -> Iterator[ScanEvent]:
    """The files below `root` as events, in the order of their names, files before folders; last the totals.

    `include` and `exclude` are gitignore patterns relative to `root`. `scope` narrows the walk to one file or
    folder, a path relative to `root`; the rules of the folders above it hold all the same. Of archives, those that
    `include` names are read, with `archives` all; `members` lists them.

    Symbolic links are followed, those that lead out of `root` only with `follow_outside`. The target of a link is taken
    once: at its own path if the walk gets there without links, else at the first link to it. What is in the folders
    `elsewhere`, which are walked by themselves, is left out.

    Raises, at once: FileVanished, FileUnreadable or PathNotUnicode if there is no such folder `root` or nothing
    at `scope`; UsageError if `scope` leads out of `root`; ConfigError for a malformed `include` or `exclude`.
    """
    real_root = os.path.realpath(root)
    try:
        os.scandir(real_root).close()
        root_stat = os.stat(real_root)
    except NotADirectoryError as error:
        raise FileUnreadable(
            f"{shown(str(root))} is not a folder", "set workspace.root to a folder of notes"
        ) from error
    except FileNotFoundError as error:
        raise FileVanished(
            f"there is no folder {shown(str(root))}", "mount or create it, or set workspace.root"
        ) from error
    except OSError as error:
        raise file_error(str(root), error) from error
    if shown(real_root) != real_root:
        raise PathNotUnicode(f"the path {shown(real_root)} is not UTF-8", "rename the folder, or set workspace.root")
    start = _inside(real_root, scope)
    rules = IgnoreRules.at_root(exclude)
    walked = _Walk(real_root, root_stat, Included(include, kinds), rules, follow_outside)
    walked.elsewhere = tuple(os.path.join(os.path.realpath(each), "") for each in elsewhere)
    walked.archives, walked.members_of = archives, members
    return walked.events(start)


def _inside(root: str, scope: str) -> str:
    """`scope` without detours, empty for the whole of `root`."""
    relative = os.path.normpath(scope) if scope else "."
    if os.path.isabs(relative) or relative.split("/")[0] == "..":
        raise UsageError(f"{shown(scope)} is not below {root}", "name a file or folder inside the workspace")
    if shown(scope) != scope:
        raise PathNotUnicode(f"the path {shown(scope)} is not UTF-8", "rename it, e.g. with `convmv`")
    if not os.path.lexists(os.path.join(root, relative)):
        raise FileVanished(
            f"there is no {shown(scope)} below {root}", "check the spelling; paths start at the workspace"
        )
    return "" if relative == "." else relative


def _is_executable(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a file that its owner may run."""
    try:
        return entry.is_file() and bool(entry.stat().st_mode & stat.S_IXUSR)
    except OSError:
        return False


def concern_of(root: Path, *, include: Sequence[str], exclude: Sequence[str]) -> Callable[[str], bool]:
    """Whether a change at an absolute path may change what a walk of `root` gives; of a gone path more is possible."""
    real_root = os.path.realpath(root)
    walked = _Walk(real_root, os.stat(real_root), Included(include), IgnoreRules.at_root(exclude), False)
    return lambda path: walked.may_take(os.path.relpath(path, root))


class _Walk:
    """One walk: the counts of files without an event, and the targets of links so far."""

    def __init__(
        self, root: str, root_stat: os.stat_result, included: Included, rules: IgnoreRules, follow_outside: bool
    ) -> None:
        self._root = Folder(root, "", rules, behind_link=False)
        self._follow_outside = follow_outside
        self.elsewhere: tuple[str, ...] = ()  # real paths of other roots, each with a slash behind it
        self.archives = False
        self.members_of: ListMembers = _none
        self._led_out: list[OutsideLink] = []  # followed, not yet yielded
        self._included = included
        self._unsupported: Counter[str] = Counter()
        self._is_asked_for: dict[str, bool] = {}  # whether its files are selected, by a folder's workspace path
        self._not_included = 0
        # Device and inode of each link's target; the root too, so that a link to a folder above does not start over.
        self._behind_links = {(root_stat.st_dev, root_stat.st_ino)}

    def events(self, scope: str) -> Iterator[ScanEvent]:
        """All events below `scope`, a path relative to the root (empty for the root itself)."""
        pending = [self._root]
        only = None
        if scope:
            source = os.path.realpath(os.path.join(self._root.source, scope))
            if os.path.exists(source) and self._is_taken_in_place(source, os.path.isdir(source)):
                scope = os.path.relpath(source, self._root.source)
            way = self._way_to(scope)
            if not isinstance(way, Folder):
                yield way
                pending = []
            else:
                pending = [way]
                only = os.path.basename(scope)
        yield from self._newly_led_out()
        while pending:
            folders: list[Folder] = []
            for event in self._entries(pending.pop(), only):
                if isinstance(event, Folder):
                    folders.append(event)
                else:
                    yield event
            only = None
            pending += reversed(folders)
        yield ScanTotals(self._unsupported, self._not_included)

    def _entries(self, folder: Folder, only: str | None) -> Iterator[ScanEvent | Folder]:
        """The events of one folder's entries and the folders to enter next; `only` names the one entry to visit."""
        try:
            with os.scandir(folder.source) as listing:
                entries = sorted(listing, key=attrgetter("name"))
        except OSError as error:
            yield FailedFile(WorkspacePath(folder.prefix[:-1]), file_error(folder.source, error))
            return
        names = {entry.name for entry in entries}
        failures, folder = with_own_rules(folder, names)
        yield from (FailedFile(*failure) for failure in failures)
        twins = twins_among(names)
        for entry in entries:
            if only is not None and entry.name != only:
                continue
            event = self._entry(entry, folder, twins)
            yield from self._newly_led_out()
            if isinstance(event, SourceFile) and event.media_type.startswith("archive/"):
                yield from self._members(event, folder)
            elif event is not None:
                yield event

    def _entry(self, entry: os.DirEntry[str], folder: Folder, twins: AbstractSet[str]) -> ScanEvent | Folder | None:
        """The event or folder of one entry of `folder`; None without one."""
        name = entry.name
        problem = None
        if not name.isascii():
            problem = name_error(name, twins)
            name = unicodedata.normalize("NFC", shown(name))
        if entry.is_symlink():
            return self._link(entry, name, folder, problem)
        event = (
            self._folder(entry.path, name, folder, problem)
            if entry.is_dir(follow_symlinks=False)
            else self._file(entry, name, folder, problem)
        )
        if folder.behind_link and isinstance(event, SourceFile | Folder):
            return self._of_other_root(entry.path, folder.prefix + name) or (None if self._is_known(entry) else event)
        return event

    def _folder(
        self, source: str, name: str, parent: Folder, problem: FileError | None
    ) -> Folder | SkippedFile | FailedFile:
        """The folder called `name`, to be entered at its real path `source`, or why it is not."""
        path = WorkspacePath(parent.prefix + name)
        reason = parent.rules.source_ignoring(path, name, is_directory=True)
        if reason is not None:
            return SkippedFile(path, reason)
        if problem is not None:
            return FailedFile(path, problem)
        return parent._replace(source=source, prefix=path + "/")

    def _file(
        self, entry: os.DirEntry[str], name: str, parent: Folder, problem: FileError | None
    ) -> SourceFile | SkippedFile | FailedFile | None:
        """The file called `name`, or why it is not indexed; None, and counted, if nobody would expect it to be.

        The checks are in order of cost; `stat`, the only system call, comes last.
        """
        path = WorkspacePath(parent.prefix + name)
        selected = self._selected(name, parent, entry.path, is_executable=lambda: _is_executable(entry))
        if not isinstance(selected, str):
            return selected
        is_archive = selected.startswith("archive/")
        if is_archive and not self._reads_archive(path):
            return SourceFile(path, entry.path, selected, 0, 0)
        if problem is not None:
            return FailedFile(path, problem)
        try:
            status = entry.stat()
        except OSError as error:
            return FailedFile(path, stat_error(entry, error))
        if not stat.S_ISREG(status.st_mode):
            return FailedFile(path, not_regular(entry.path))
        if is_archive and os.path.lexists(f"{entry.path}!"):
            return FailedFile(
                path, FileError(f"{name}! is beside it, as if its members were there", "rename one of the two")
            )
        return SourceFile(path, entry.path, selected, status.st_size, status.st_mtime_ns)

    def _selected(
        self, name: str, parent: Folder, source: str, *, is_executable: Callable[[], bool], in_archive: bool = False
    ) -> MediaType | SkippedFile | None:
        """The media type of the file or archive called `name`, or the rule that leaves it out; None for others."""
        included = self._included
        path = WorkspacePath(parent.prefix + name)
        media_type = included.kinds.media_type_of(name)
        if media_type is not None and not included.matches(path):
            self._not_included += 1
            return None
        if media_type is None:
            media_type = archive_type(name)
            if media_type is not None and in_archive:
                media_type = None
            elif media_type is None:
                media_type = included.text_type(parent.prefix, name, source, is_executable=is_executable)
            if media_type is None or (media_type.startswith("archive/") and not self._reads_archive(path)):
                return media_type if self._count_unsupported(name, parent) else None
        reason: str | None = parent.rules.source_ignoring(path, name, is_directory=False)
        if reason is None and media_type.startswith("code/"):
            reason = parent.attributes.reason(path, name)
        return media_type if reason is None else SkippedFile(path, reason)

    def _reads_archive(self, path: str) -> bool:
        """Whether the members of the archive at a workspace path are read."""
        return self.archives or self._included.names(path)

    def _members(self, archive: SourceFile, parent: Folder) -> Iterator[ScanEvent]:
        """The events of an archive's members; a folder that a rule leaves out has one event."""
        path = archive.workspace_path
        reasons: dict[str, str | None] = {}
        for member in self.members_of(archive, self._reads_archive(path)):
            *folders, name = member.name.split("/")
            at = f"{path}!"
            for folder in folders:
                at = f"{at}/{folder}"
                if at not in reasons:
                    reasons[at] = parent.rules.source_ignoring(at, folder, is_directory=True)
                    if (reason := reasons[at]) is not None:
                        yield SkippedFile(WorkspacePath(at), reason)
                if reasons[at] is not None:
                    break
            else:
                within = parent._replace(prefix=f"{at}/")
                selected = self._selected(name, within, "", is_executable=lambda: False, in_archive=True)
                if isinstance(selected, str):
                    source = f"{archive.source_path}{MEMBER}{member.name}"
                    found = WorkspacePath(f"{at}/{name}")
                    yield SourceFile(found, source, selected, member.byte_len, archive.mtime_ns)
                elif selected is not None:
                    yield selected

    def _count_unsupported(self, name: str, parent: Folder) -> bool:
        """Counts a file of an unknown kind; False for one that is hidden, left out, or among no selected files."""
        folder = parent.prefix
        if folder not in self._is_asked_for:
            names = (folder + spelling.replace("*", "a") for spelling in self._included.kinds.spellings())
            self._is_asked_for[folder] = any(map(self._included.matches, names))
        if name.startswith(".") or not self._is_asked_for[folder]:
            return False
        if parent.rules.source_ignoring(folder + name, name, is_directory=False) is not None:
            return False
        self._unsupported[extension_of(name)] += 1
        return True

    def _link(
        self, entry: os.DirEntry[str], name: str, parent: Folder, problem: FileError | None
    ) -> ScanEvent | Folder | None:
        """The link's target, as an entry of `parent`; None if the walk takes it elsewhere."""
        try:
            target = entry.stat()
        except OSError:
            return self._file(entry, name, parent, problem)  # which reports it, if the name is that of a file to index
        source = os.path.realpath(entry.path)
        if problem is None and shown(source) != source:
            problem = PathNotUnicode(
                f"the link leads to {shown(source)}, which is not UTF-8", "rename what it leads to"
            )
        led_out = self._outside_link(WorkspacePath(parent.prefix + name), source)
        is_directory = stat.S_ISDIR(target.st_mode)
        event = (
            self._folder(source, name, parent, problem) if is_directory else self._file(entry, name, parent, problem)
        )
        if not isinstance(event, SourceFile | Folder):
            return event
        if (elsewhere := self._of_other_root(source, parent.prefix + name)) is not None:
            return elsewhere
        if led_out is not None and not led_out.followed:
            return led_out
        if self._is_taken_in_place(source, is_directory) or self._is_known(entry):
            return None
        if led_out is not None:
            self._led_out.append(led_out)
        return event._replace(behind_link=True) if isinstance(event, Folder) else event._replace(source_path=source)

    def _outside_link(self, path: WorkspacePath, source: str) -> OutsideLink | None:
        """The link at `path`, if its target, the real path `source`, is outside the root."""
        if source == self._root.source or source.startswith(os.path.join(self._root.source, "")):
            return None
        return OutsideLink(path, source, self._follow_outside)

    def _of_other_root(self, source: str, path: str) -> SkippedFile | None:
        """The skipped file if the walk of another root takes the real path `source`; else None."""
        if self.elsewhere and os.path.join(source, "").startswith(self.elsewhere):
            return SkippedFile(WorkspacePath(path), "another source")
        return None

    def _newly_led_out(self) -> Iterator[OutsideLink]:
        while self._led_out:
            yield self._led_out.pop()

    def _is_known(self, entry: os.DirEntry[str]) -> bool:
        """Whether a link has led to the target of `entry` before; remembers the target."""
        try:
            status = entry.stat()
        except OSError:
            return False  # just deleted: entering or reading it reports that
        identity = (status.st_dev, status.st_ino)
        known = identity in self._behind_links
        self._behind_links.add(identity)
        return known

    def _is_taken_in_place(self, source: str, is_directory: bool) -> bool:
        """Whether a walk of the whole root takes the real path `source` without following links."""
        above = os.path.join(self._root.source, "")
        if not source.startswith(above):
            return source == self._root.source
        way = self._way_to(source.removeprefix(above))
        if not isinstance(way, Folder):
            return False
        _, folder = with_own_rules(way, ignore_files_in(way.source))
        name = unicodedata.normalize("NFC", os.path.basename(source))
        path = folder.prefix + name
        if folder.rules.source_ignoring(path, name, is_directory) is not None:
            return False
        if is_directory or self._included.kinds.media_type_of(name) is not None:
            return is_directory or self._included.matches(path)
        if archive_type(name) is not None:
            return self._reads_archive(path)
        told = self._included.text_type(
            folder.prefix, name, source, is_executable=lambda: os.path.isfile(source) and os.access(source, os.X_OK)
        )
        return told is not None

    def may_take(self, relative: str) -> bool:
        """Whether a walk may read something at the path `relative` to the root, which may be gone."""
        way = self._way_to(relative)
        name = unicodedata.normalize("NFC", os.path.basename(relative))
        if not isinstance(way, Folder):
            return isinstance(way, OutsideLink)
        if name in IGNORE_FILES or name == ATTRIBUTES_FILE:
            return True
        source = os.path.join(way.source, name)
        _, folder = with_own_rules(way, ignore_files_in(way.source))
        is_file, is_there = os.path.isfile(source), os.path.lexists(source)
        kinds_of_path = (False,) if is_file else (True,) if is_there else (False, True)
        if any(folder.rules.source_ignoring(folder.prefix + name, name, each) for each in kinds_of_path):
            return False
        if not is_file or self._included.kinds.media_type_of(name) is not None or archive_type(name) is not None:
            return True
        told = self._included.text_type(folder.prefix, name, source, is_executable=lambda: os.access(source, os.X_OK))
        return told is not None

    def _way_to(self, relative: str) -> Folder | SkippedFile | OutsideLink:
        """The folder that contains the path `relative` to the root; if a folder above is left out, that one."""
        folder = self._root
        for folder_name in relative.split("/")[:-1]:
            _, folder = with_own_rules(folder, ignore_files_in(folder.source))
            name = unicodedata.normalize("NFC", folder_name)
            path = WorkspacePath(folder.prefix + name)
            reason = folder.rules.source_ignoring(path, name, is_directory=True)
            if reason is not None:
                return SkippedFile(path, reason)
            source = os.path.join(folder.source, folder_name)
            behind_link = folder.behind_link or os.path.islink(source)
            if behind_link and (elsewhere := self._of_other_root(os.path.realpath(source), path)) is not None:
                return elsewhere
            led_out = self._outside_link(path, os.path.realpath(source)) if os.path.islink(source) else None
            if led_out is not None:
                if not led_out.followed:
                    return led_out
                self._led_out.append(led_out)
            folder = folder._replace(source=os.path.realpath(source), prefix=path + "/", behind_link=behind_link)
        return folder
