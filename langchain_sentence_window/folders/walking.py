"""The files of some paths, in order, with the sizes and times that the file system tells.

Left out are hidden files and folders, symbolic links inside a folder, and the locks of editors. A link leads to a file
that is found at its own place, or that isn't in the given paths at all.
"""

import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

from langchain_sentence_window._showing import shown
from langchain_sentence_window.errors import DocumentReadError, InvalidInputError
from langchain_sentence_window.loaders.file_bytes import LinkedFileError, Root, reason
from langchain_sentence_window.loaders.file_loader import SUFFIXES

MAX_DEPTH = 100
"""Folders in folders."""

_HIDDEN = (".", "~$")
"""Beginnings of the names of hidden files, and of Word's locks."""

_HIDDEN_ON_WINDOWS = getattr(stat, "FILE_ATTRIBUTE_HIDDEN", 0)


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that was found.

    Attributes:
        source: Its absolute path.
        size: Its size in bytes.
        modified_ns: The time of its last change, in nanoseconds since 1970.
        root: The given folder it is in; ``None`` if it was given itself.
    """

    source: str
    size: int
    modified_ns: int
    root: Root | None


@dataclass(slots=True)
class FoundFiles:
    """The files of some paths.

    Attributes:
        files: Those that can be read by their suffix, by their paths, in order.
        missing: Given paths at which there is nothing.
        failed: Why a folder or a file can't be looked at, by its path.
        skipped: The numbers of other files, by their suffixes in lower case.
        folders: The given folders.
    """

    files: dict[str, FoundFile] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    folders: list[str] = field(default_factory=list)

    def has_lost(self, source: str) -> bool:
        """Return whether a file that an index has isn't in the given paths any more.

        What stands below a folder that can't be looked at may be there.
        """
        if source in self.files or not (
            source in self.missing or any(is_below(source, folder) for folder in self.folders)
        ):
            return False
        if any(source == each or is_below(source, each) for each in self.failed):
            return False
        return not Path(source).is_file() or Path(source).is_symlink()


def is_below(source: str, folder: str) -> bool:
    """Return whether an absolute path is below a folder."""
    return source.startswith(folder if folder.endswith(os.sep) else folder + os.sep)


def checked_paths(paths: object) -> list[str]:
    """Return paths as absolute ones, each once.

    Raises:
        InvalidInputError: They aren't paths, or there are none.
    """
    given = [paths] if isinstance(paths, str | PathLike) else paths
    if not isinstance(given, Iterable) or isinstance(given, bytes):
        raise InvalidInputError(f"paths is {shown(paths)}; give a list of paths of files and folders")
    found: dict[str, None] = {}
    for each in given:
        path = os.fspath(each) if isinstance(each, str | PathLike) else each
        if not isinstance(path, str) or not path or "\0" in path:
            raise InvalidInputError(f"a path is {shown(each)}; give the paths of files and folders as strings or Paths")
        found[os.path.abspath(path)] = None  # noqa: PTH100 - `resolve` would follow links, and rename documents
    if not found:
        raise InvalidInputError("there are no paths; give the paths of files and folders")
    return list(found)


def find_files(paths: Sequence[str], leave_out: Path | None) -> FoundFiles:
    """Find the files at and below some paths.

    Args:
        paths: Absolute paths of files and folders; links among them are followed.
        leave_out: A folder that isn't looked into.
    """
    found = FoundFiles()
    files: dict[str, FoundFile] = {}
    own = _identity(leave_out)
    for path in paths:
        try:
            status = Path(path).stat()
        except FileNotFoundError:
            found.missing.append(path)
            continue
        except OSError as error:
            found.failed[path] = f"{path} can't be read ({reason(error)}); check the path"
            continue
        if stat.S_ISDIR(status.st_mode):
            found.folders.append(path)
            for each in _files_below(Root.of(path, status), own, found):
                files[each.source] = each
        else:
            files |= {each.source: each for each in _readable(path, status, None, found)}
    found.files = {source: files[source] for source in sorted(files)}
    return found


def _files_below(root: Root, own: tuple[int, int] | None, found: FoundFiles) -> Iterator[FoundFile]:
    waiting = [(root.path, 0)]
    while waiting:
        path, depth = waiting.pop()
        try:
            with root.folder(path) as folder:
                entries = _entries(folder, path)
        except FileNotFoundError:  # deleted since its own folder was read
            continue
        except LinkedFileError as error:
            found.failed[path] = str(error)
            continue
        except OSError as error:
            found.failed[path] = f"{path} can't be read ({reason(error)}); give yourself the permission to read it"
            continue
        for inner, status in entries:
            if not stat.S_ISDIR(status.st_mode):
                yield from _readable(inner, status, root, found)
            elif (status.st_dev, status.st_ino) == own:
                continue
            elif depth >= MAX_DEPTH:
                found.failed[inner] = f"{inner} is nested too deep; give its own path"
            else:
                waiting.append((inner, depth + 1))


def _entries(folder: str | int, path: str) -> list[tuple[str, os.stat_result]]:
    """Return the paths in a folder that aren't hidden and no links, and their states."""
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(_HIDDEN) or entry.is_symlink() or getattr(entry, "is_junction", bool)():
                continue
            try:
                # Not the entry's own on Windows, which lacks what tells folders apart.
                is_open = isinstance(folder, int)
                status = entry.stat(follow_symlinks=False) if is_open else Path(entry.path).lstat()
            except FileNotFoundError:  # deleted since the folder was read
                continue
            is_link = stat.S_ISLNK(status.st_mode)  # made since the folder was read
            if not is_link and not getattr(status, "st_file_attributes", 0) & _HIDDEN_ON_WINDOWS:
                found.append((os.path.join(path, entry.name), status))  # noqa: PTH118 - many of them
    return found


def _readable(path: str, status: os.stat_result, root: Root | None, found: FoundFiles) -> Iterator[FoundFile]:
    suffix = Path(path).suffix.lower()
    if not stat.S_ISREG(status.st_mode) or suffix not in SUFFIXES:
        found.skipped[suffix] += 1
    elif _is_writable(path):
        yield FoundFile(path, status.st_size, status.st_mtime_ns, root)
    else:
        name = os.fsencode(path).decode("utf-8", "backslashreplace")
        found.failed[name] = f"{name} has a name that can't be written as text; rename it"


def _is_writable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _identity(folder: Path | None) -> tuple[int, int] | None:
    try:
        status = None if folder is None else folder.stat()
    except OSError:
        return None
    return None if status is None else (status.st_dev, status.st_ino)


def check_found(found: FoundFiles, known: Iterable[str]) -> None:
    """Check that there is something at each given path, or that the index has had a file there.

    Raises:
        DocumentReadError: There is nothing.
    """
    unknown = set(found.missing).difference(known)
    for path in found.missing:
        if path in unknown or not Path(path).parent.is_dir():
            raise DocumentReadError(f"there is no file or folder at {path!r}; check the path. Nothing was changed")
