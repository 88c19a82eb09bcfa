"""Files that a sync couldn't read, remembered in the folder of the index until they change.

They are no part of the index: without this file, or with one that is damaged, each such file is just tried again.
"""

import json
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Self

from langchain_sentence_window.errors import StoreError
from langchain_sentence_window.folders.walking import FoundFile
from langchain_sentence_window.stores.faiss.database.store_files import open_regular, replace_file

FAILED_FILES = "failed_files.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedFile:
    """A file that couldn't be read.

    Attributes:
        reason: Why, in words.
        size: Its size in bytes.
        modified_ns: The time of its last change, in nanoseconds since 1970; ``None`` if a later change may have the
            same time.
        sha256: The SHA-256 of its bytes, in hexadecimal digits; empty if they couldn't be read.
        is_lasting: Whether the same bytes will fail again, so that they needn't be read.
    """

    reason: str
    size: int
    modified_ns: int | None
    sha256: str = ""
    is_lasting: bool = False

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
            }:
                return cls(reason=reason, size=size, modified_ns=modified_ns, sha256=sha256, is_lasting=is_lasting)
        return None


@dataclass(slots=True)
class FailedFiles:
    """The files that couldn't be read so far.

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
