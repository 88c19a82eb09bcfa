"""Files that are added from the page: which there may be, their names, how they are received, and where they are kept.

They come as bytes with a name, which is as hostile as any text. They are received under a name of our own, and get
theirs, cleaned, once they are to be read. A record of them stands beside their folder, so that no other file is ever
removed.
"""

import hashlib
import json
import os
import re
import secrets
import threading
import time
import unicodedata
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from stat import S_ISREG
from typing import Any

from langchain_sentence_window._io import ASYNC
from langchain_sentence_window.apps.folders.file_sync import index_folder
from langchain_sentence_window.loaders.file_loader import SUFFIXES
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever
from langchain_sentence_window.store.files import (
    make_new,
    open_regular,
    remove_file,
    replace_file,
)

from .replies import Refused

MAX_UPLOAD_BYTES = 100_000_000
"""Bytes of the largest file."""

MAX_WAITING = 500
"""The most files that were received and aren't added yet."""

WAITING_SECONDS = 3600.0
"""How long a file waits to be added, as a page may be closed before it asks for that."""

MAX_NAME_BYTES = 150
"""Bytes of the longest name; file systems allow 255."""

FOLDER = "uploads"

_FLUSH_BYTES = 1_000_000
_PART = re.compile(r"\.[0-9a-f]{32}\.part")
_LEFT_SECONDS = 24 * 3600
_MARKS = re.compile(r'[<>:"|?*]')
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_DEVICES = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that was received.

    Attributes:
        number: Its random name.
        name: The name that it will get.
        path: Where its bytes are.
        sha256: Their hash, in hexadecimal digits.
        received: When they came, by `time.monotonic`.
    """

    number: str
    name: str
    path: Path
    sha256: str
    received: float = field(default_factory=time.monotonic)


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


@dataclass(eq=False)
class Uploads:
    """The files that are added from one page.

    Attributes:
        kept: Where they are kept.
    """

    kept: KeptFiles
    _waiting: dict[str, Upload] = field(default_factory=dict)
    _coming: int = 0

    async def receive(self, name: str, parts: AsyncIterator[bytes]) -> Upload:
        """Receive a file.

        Raises:
            Refused: It is of another kind, too large, or there are too many.
        """
        folder, cleaned = self.kept.place(), clean_name(name)
        check_suffix(cleaned)
        await ASYNC.in_thread(self._discard_old, folder)
        if len(self._waiting) + self._coming >= MAX_WAITING:
            raise Refused(429, f"{MAX_WAITING} files wait to be added; add them first")
        number = secrets.token_hex(16)
        path = folder / f".{number}.part"
        self._coming += 1
        try:
            upload = Upload(number, cleaned, path, await _written(path, parts))
        except BaseException:
            await ASYNC.to_end(discard, path)
            raise
        finally:
            self._coming -= 1
        self._waiting[number] = upload
        return upload

    def take(self, numbers: Iterable[str]) -> list[Upload]:
        """Return files that were received, each once.

        Raises:
            Refused: One wasn't received, or was taken already. None is taken then.
        """
        wanted = list(dict.fromkeys(numbers))
        if any(number not in self._waiting for number in wanted):
            raise Refused(404, "a file wasn't received, or is added already; drop it again")
        return [self._waiting.pop(number) for number in wanted]

    def _discard_old(self, folder: Path) -> None:
        """Remove files that nobody came to add, and those that another process left when it ended."""
        for each in list(self._waiting.values()):
            is_old = time.monotonic() - each.received > WAITING_SECONDS
            if is_old and self._waiting.pop(each.number, None) is not None:  # else it is being added just now
                discard(each.path)
        for path in folder.iterdir():
            with suppress(OSError):
                status = path.lstat() if _PART.fullmatch(path.name) else None
                if status is not None and S_ISREG(status.st_mode) and time.time() - status.st_mtime > _LEFT_SECONDS:
                    path.unlink()


def kept_files(retriever: SentenceWindowRetriever, folders: Iterable[Path]) -> KeptFiles:
    """Return where files are kept: in the first folder that is served, else in the index's own.

    Links stay in the path, as documents are named by the paths of their files.
    """
    own = index_folder(retriever)
    places = [*(each for each in folders if each.is_dir()), *([] if own is None else [own])]
    folder = next((each / FOLDER for each in places if os.access(each, os.W_OK)), None)
    return KeptFiles(folder, "" if own is None else str(own.resolve()))


def check_suffix(name: str) -> None:
    """Refuse a file of a kind that can't be read."""
    if Path(name).suffix.lower() not in SUFFIXES:
        raise Refused(415, f"files of this kind can't be read; these can: {', '.join(sorted(SUFFIXES))}")


def clean_name(given: str) -> str:
    """Return a name that names a file in a folder, on any system, and shows as what it is.

    Folders, hidden characters and marks that a system gives a meaning are removed, and long names are cut.
    """
    last = re.split(r"[\\/]", given)[-1]
    shown = "".join(each for each in last if unicodedata.category(each) not in _HIDDEN)
    stem, dot, suffix = _MARKS.sub("_", unicodedata.normalize("NFC", shown)).strip(". ").rpartition(".")
    if not dot:
        stem, suffix = suffix, ""
    suffix = _cut(suffix, MAX_NAME_BYTES // 4)
    stem = _cut(stem.strip(". "), MAX_NAME_BYTES - len(suffix.encode()) - 1).strip(". ") or "document"
    if _DEVICES.fullmatch(stem.partition(".")[0].strip()):
        stem = f"_{stem}"
    return stem + dot + suffix


def discard(path: Path) -> None:
    """Remove a file under its random name, if it is there."""
    with suppress(OSError):
        path.unlink()


async def _written(path: Path, parts: AsyncIterator[bytes]) -> str:
    """Write bytes into a new file and return their hash.

    Raises:
        Refused: They are more than `MAX_UPLOAD_BYTES`.
    """
    size, hashed, buffer = 0, hashlib.sha256(), bytearray()
    with ExitStack() as opened:
        file = await ASYNC.to_end(lambda: opened.enter_context(path.open("xb")))
        async for part in parts:
            size += len(part)
            if size > MAX_UPLOAD_BYTES:
                raise Refused(413, f"the file has more than {MAX_UPLOAD_BYTES // 1_000_000} MB; split it")
            buffer += part
            if len(buffer) >= _FLUSH_BYTES:
                hashed.update(buffer)
                await ASYNC.to_end(file.write, bytes(buffer))
                buffer.clear()
        hashed.update(buffer)
        await ASYNC.to_end(file.write, bytes(buffer))
    return hashed.hexdigest()


def _cut(text: str, size: int) -> str:
    return text.encode()[: max(0, size)].decode(errors="ignore")


RECORD = ".uploads.json"
"""The name of the record. Its keys are the ids of documents, which are the paths of their files."""

MAX_RECORD_BYTES = 100_000_000
"""Bytes of the largest record that is read."""

_READ_BYTES = 1_000_000
_SHA256, _INDEX = "sha256", "index"


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
