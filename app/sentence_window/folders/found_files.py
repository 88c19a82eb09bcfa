"""The files at and below some paths: those to read, those that failed before, and those that a server may open.

Left out are hidden files and folders, symbolic links inside a folder, and the locks of editors. A link leads to a file
that is found at its own place, or that isn't in the given paths at all.
"""

import json
import ntpath
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any, Self

from langchain_sentence_window.documents import shown
from langchain_sentence_window.errors import DocumentReadError, InvalidInputError, StoreError
from sentence_window.files.file_bytes import LinkedFileError, Root, reason
from sentence_window.files.readers import readers
from sentence_window.messages import LONE_SURROGATE
from sentence_window.safe_files import open_regular, replace_file

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
    if not stat.S_ISREG(status.st_mode) or suffix not in readers():
        found.skipped[suffix] += 1
    elif LONE_SURROGATE.search(path) is None:
        yield FoundFile(path, status.st_size, status.st_mtime_ns, root)
    else:
        name = os.fsencode(path).decode("utf-8", "backslashreplace")
        found.failed[name] = f"{name} has a name that can't be written as text; rename it"


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


FAILED_FILES = "failed_files.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedFile:
    """A file that couldn't be read, or held no text.

    Attributes:
        reason: Why, in words.
        size: Its size in bytes.
        modified_ns: The time of its last change, in nanoseconds since 1970; ``None`` if a later change may have the
            same time.
        sha256: The SHA-256 of its bytes, in hexadecimal digits; empty if they couldn't be read.
        is_lasting: Whether the same bytes will fail again, so that they needn't be read.
        is_empty: Whether it could be read, and holds no text.
    """

    reason: str
    size: int
    modified_ns: int | None
    sha256: str = ""
    is_lasting: bool = False
    is_empty: bool = False

    @classmethod
    def read(cls, given: object) -> Self | None:
        """Return what `dataclasses.asdict` made of one; ``None`` for anything else."""
        match given:
            case {
                "reason": str(reason),
                "size": int(size),
                "modified_ns": int(modified_ns) | (None as modified_ns),
                "sha256": str(sha256),
                "is_lasting": bool(is_lasting),
                "is_empty": bool(is_empty),
            }:
                return cls(
                    reason=reason,
                    size=size,
                    modified_ns=modified_ns,
                    sha256=sha256,
                    is_lasting=is_lasting,
                    is_empty=is_empty,
                )
        return None


@dataclass(slots=True)
class FailedFiles:
    """The files that couldn't be read so far, or held no text.

    Attributes:
        path: Where they are remembered; ``None`` to forget them at the end.
        files: Each by its path.
    """

    path: Path | None
    files: dict[str, FailedFile] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path | None) -> Self:
        """Return those that the folder of an index remembers; ``None`` for an index that is in memory or elsewhere."""
        if folder is None:
            return cls(None)
        found = cls(folder / FAILED_FILES)
        given = _content(folder / FAILED_FILES)
        # Another version may read what this one couldn't.
        if given.get("version") == _version() and isinstance(given.get("files"), dict):
            files = {path: FailedFile.read(each) for path, each in given["files"].items()}
            found.files = {path: each for path, each in files.items() if each is not None}
        return found

    def unchanged(self, file: FoundFile) -> FailedFile | None:
        """Return the failure of a file whose size and time are still the same; ``None`` if there is none."""
        known = self.files.get(file.source)
        if known is None or (known.size, known.modified_ns) != (file.size, file.modified_ns):
            return None
        return known

    def replace(self, files: dict[str, FailedFile]) -> None:
        """Remember other files instead.

        Raises:
            StoreError: They can't be written.
        """
        if files == self.files:
            return
        self.files = files
        if self.path is None:
            return
        written = {"version": _version(), "files": {path: asdict(each) for path, each in files.items()}}
        try:
            replace_file(self.path, json.dumps(written).encode())
        except OSError as error:
            raise StoreError(f"{str(self.path)!r} can't be written: {error}; make room, and try again") from error


def _version() -> str:
    found: str = import_module("langchain_sentence_window").__version__
    return found


def _content(path: Path) -> dict[str, Any]:
    try:
        with open_regular(path) as file:
            found = json.load(file)
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


MAX_PATH_CHARS = 4_096
"""Characters of the longest path."""

# Devices of Windows, which are in every folder and may have any suffix.
_DEVICE = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³]) *+(?:\.|\Z)", re.IGNORECASE)
_SEPARATORS = re.compile(r"[/\\]")


def served_file(path: str | PathLike[str], roots: Iterable[str | PathLike[str]]) -> Path:
    """Return the path of a file that may be served, with all symbolic links resolved.

    Open the path that is returned, and not the one that was given. Who may change the folders meanwhile can put a link
    in its place; `served_below` tells how to open it without following one.

    Args:
        path: The absolute path of a file, as it is: escapes such as ``%2e`` are characters of a name.
        roots: The absolute paths of the files and folders that are served, with all that is below the folders. Links
            among them are followed.

    Raises:
        InvalidInputError: The file isn't in a root, isn't there, or is no regular file. The message doesn't say which,
            as that would tell strangers what there is.
    """
    return served_below(path, roots)[0]


def served_below(path: str | PathLike[str], roots: Iterable[str | PathLike[str]]) -> tuple[Path, Root]:
    """Return the path of a file that may be served, as `served_file` does, and the root to open it below.

    Raises:
        InvalidInputError: As for `served_file`.
    """
    found = _resolved(path)
    if found is not None:
        for root in roots:
            below = _root_of(root, found)
            if below is not None:
                return found, below
    raise InvalidInputError(f"{shown(str(path))} isn't a file that is served; ask for one of the files that were given")


def _resolved(path: str | PathLike[str]) -> Path | None:
    """Return the regular file at a path, with links resolved; ``None`` if there is none."""
    text = os.fspath(path)
    if not isinstance(text, str) or not text or len(text) > MAX_PATH_CHARS or not Path(text).is_absolute():
        return None
    if ".." in Path(text).parts or (os.name == "nt" and is_odd_on_windows(text)):
        return None
    try:
        found = Path(text).resolve(strict=True)
        return found if stat.S_ISREG(found.stat().st_mode) else None
    except (OSError, ValueError, RuntimeError):  # a loop of links is a RuntimeError before Python 3.13
        return None


def _root_of(root: str | PathLike[str], found: Path) -> Root | None:
    """Return the folder of a root that holds a resolved path; ``None`` if the root doesn't hold it."""
    text = os.fspath(root)
    if not text or not Path(text).is_absolute():
        return None
    try:
        resolved = Path(text).resolve(strict=True)
        folder = resolved.parent if found == resolved else resolved
        return Root.of(str(folder), folder.stat()) if found.is_relative_to(resolved) else None
    except (OSError, ValueError, RuntimeError):
        return None


def is_odd_on_windows(path: str) -> bool:
    """Return whether Windows reads an absolute path as another one: a device, a stream, a share, or a shorter name."""
    if path.startswith(("\\\\", "//")):
        return True
    _, rest = ntpath.splitdrive(path)
    names = _SEPARATORS.split(rest)
    return any(":" in name or _DEVICE.match(name) or name != name.rstrip(" .") for name in names)
