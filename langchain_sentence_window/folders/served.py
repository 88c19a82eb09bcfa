"""Paths that a server may open: inside of its folders and nowhere else."""

import ntpath
import os
import re
import stat
from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from langchain_sentence_window._showing import shown
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.loaders.file_bytes import Root

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
