"""`KeptFiles`: the files that were added from a page, and a record of them, so that no other file is ever removed.

The record stands beside their folder, in a hidden file. A document's metadata can't stand in for it, as a file may come
from anyone, and be in that folder for any reason.
"""

import hashlib
import json
import os
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from langchain_sentence_window.stores.faiss.database.store_files import (
    make_new,
    open_regular,
    remove_file,
    replace_file,
)
from langchain_sentence_window.studio.replies import Refused

RECORD = ".uploads.json"
"""The name of the record. Its keys are the ids of documents, which are the paths of their files."""

MAX_RECORD_BYTES = 100_000_000
"""Bytes of the largest record that is read."""

_READ_BYTES = 1_000_000
_SHA256, _INDEX = "sha256", "index"


@dataclass(eq=False)
class KeptFiles:
    """The files that were added from the pages of an index. All methods block, and may be called from any thread.

    Attributes:
        folder: Where they are; ``None`` if there is no place for them.
        index: The path of the index; empty for one that isn't in a folder.
    """

    folder: Path | None
    index: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def place(self) -> Path:
        """Return the folder, which is made if it isn't there.

        Raises:
            Refused: There is none, or it leads elsewhere.
        """
        if self.folder is None:
            raise Refused(409, "there is no folder to keep files in; serve an index that is kept in a folder")
        if self.folder.is_symlink():
            raise Refused(409, f"{str(self.folder)!r} is a symbolic link; put a folder in its place")
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder

    def add(self, part: Path, name: str, sha256: str) -> Path:
        """Give a file that was received its name, with a number if there is a file of that name, and return its path.

        It is recorded before it has the name, so whatever happens, no file is left that nobody removes.

        Args:
            part: Where it is, in the folder.
            name: The name.
            sha256: The hash of its bytes, in hexadecimal digits.

        Raises:
            OSError: It can't be written.
        """
        wanted, entry = Path(name), {_SHA256: sha256, _INDEX: self.index}
        with self._lock:
            for number in count(1):
                path = part.with_name(wanted.name if number == 1 else f"{wanted.stem} ({number}){wanted.suffix}")
                if os.path.lexists(path):
                    continue
                self._write({**self._read(), str(path): entry})
                try:
                    _rename(part, path)
                except FileExistsError:  # put there since
                    continue
                return path
        raise AssertionError  # pragma: no cover - numbers don't end

    def remove(self, doc_ids: Iterable[str]) -> int:
        """Remove the files of documents that are gone from the index, and return how many there were.

        Removed is only what `add` put there for this index and what is still the same. Whatever has taken its name
        since stays.
        """
        with self._lock:
            record = self._read()
            gone = {each: record[each] for each in doc_ids if each in record and record[each][_INDEX] == self.index}
            removed = sum(self._remove(Path(doc_id).name, entry[_SHA256]) for doc_id, entry in gone.items())
            if gone:
                with suppress(OSError):  # an entry that is left does nothing, as its file is gone
                    self._write({doc_id: entry for doc_id, entry in record.items() if doc_id not in gone})
        return removed

    def _remove(self, name: str, sha256: str) -> bool:
        # The name alone, as a folder that is found by another path, or was moved, still holds the file.
        if self.folder is None or self.folder.is_symlink():
            return False
        path = self.folder / name
        try:
            return not path.is_symlink() and _hash_of(path) == sha256 and remove_file(path)
        except OSError:  # it is gone, is a folder, or may not be touched
            return False

    def _read(self) -> dict[str, Mapping[str, str]]:
        """Read the record; without one, or if it is damaged, nothing counts as added."""
        if self.folder is None:
            return {}
        try:
            with open_regular(self.folder.with_name(RECORD)) as file:
                found = json.loads(file.read(MAX_RECORD_BYTES))
        except (OSError, ValueError, RecursionError):
            return {}
        return {name: entry for name, entry in found.items() if _is_entry(entry)} if isinstance(found, dict) else {}

    def _write(self, record: Mapping[str, Mapping[str, str]]) -> None:
        if self.folder is not None:
            replace_file(self.folder.with_name(RECORD), json.dumps(record, indent=0).encode())


def _is_entry(entry: Any) -> bool:
    return isinstance(entry, dict) and all(isinstance(entry.get(name), str) for name in (_SHA256, _INDEX))


def _hash_of(path: Path) -> str:
    hashed = hashlib.sha256()
    with open_regular(path) as file:
        while part := file.read(_READ_BYTES):
            hashed.update(part)
    return hashed.hexdigest()


def _rename(part: Path, path: Path) -> None:
    """Rename a file, and never replace another.

    Raises:
        FileExistsError: Another has the name.
        OSError: It can't be renamed.
    """
    try:
        os.link(part, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        make_new(path)
        part.replace(path)
    else:
        with suppress(OSError):
            part.unlink()
