"""Files that are added from the page: their names, where they are kept, and how they are removed with their documents.

They come as bytes with a name, which is as hostile as any text. The Documents of such a file say so in their metadata,
by the hash of its bytes, so that no other file is ever removed.
"""

import asyncio
import hashlib
import os
import re
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from itertools import count
from pathlib import Path

from langchain_core.documents import Document

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.documents import FILE_STATE
from langchain_sentence_window.stores import IndexedDocument
from sentence_window.files.file_bytes import Root, read_file
from sentence_window.files.file_loader import convert
from sentence_window.files.pdf.pdf_process import PdfProcess
from sentence_window.files.readers import readers
from sentence_window.safe_files import open_regular, write_new
from sentence_window.studio.page_state import Studio, index_folder
from sentence_window.studio.replies import Refused

MAX_UPLOAD_BYTES = 100_000_000
"""Bytes of the largest file."""

MAX_NAME_BYTES = 150
"""Bytes of the longest name; file systems allow 255."""

FOLDER = "uploads"

UPLOADED = "uploaded"
"""The metadata key under which Documents of a file that was added from the page have the SHA-256 of its bytes."""

_MARKS = re.compile(r'[<>:"|?*]')
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_DEVICES = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])", re.IGNORECASE)


def uploads_folder(retriever: SentenceWindowRetriever, folders: Iterable[Path]) -> Path | None:
    """Return where files are kept: in the first served folder that can be written to, else in the index's own."""
    own = index_folder(retriever)
    places = [*(each for each in folders if each.is_dir()), *([] if own is None else [own])]
    return next((each / FOLDER for each in places if os.access(each, os.W_OK)), None)


async def add_upload(studio: Studio, given_name: str, content: bytes) -> bool:
    """Keep a file and add its Documents to the index; return whether the index didn't have these bytes yet.

    Raises:
        Refused: The file is of another kind, or there is no place for it.
        SentenceWindowError: It can't be read or added. It isn't kept then.
    """
    name = clean_name(given_name)
    if Path(name).suffix.lower() not in readers():
        raise Refused(415, f"files of this kind can't be read; these can: {', '.join(sorted(readers()))}")
    if studio.uploads is None:
        raise Refused(409, "there is no folder to keep files in; serve an index that is kept in a folder")
    sha256 = hashlib.sha256(content).hexdigest()
    known = (each.metadata for each in await studio.documents())
    if any(each.get(UPLOADED) == sha256 or sha256 in str(each.get(FILE_STATE)) for each in known):
        return False
    path = await asyncio.to_thread(_keep, studio.uploads, name, content)
    try:
        documents = await asyncio.to_thread(_load, path, name, sha256)
        await studio.retriever.aadd_documents(documents)
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise
    finally:
        studio.forget_documents()
    return True


def _keep(folder: Path, name: str, content: bytes) -> Path:
    """Write a file into a folder; if its name is taken, with a number."""
    if folder.is_symlink():
        raise Refused(409, f"{str(folder)!r} is a symbolic link; put a folder in its place")
    folder.mkdir(parents=True, exist_ok=True)
    wanted = Path(name)
    for number in count(1):
        path = folder / (name if number == 1 else f"{wanted.stem} ({number}){wanted.suffix}")
        with suppress(FileExistsError):
            write_new(path, content)
            return path
    raise AssertionError  # pragma: no cover - numbers don't end


def _load(path: Path, name: str, sha256: str) -> list[Document]:
    """Load a kept file, which messages call by the name that it came with; PDFs in a process of their own."""
    with PdfProcess() as pdfs:
        # The folder that it is in must not be a link, either.
        documents = convert(read_file(path, name, Root(str(path.parent.parent))), name, str(path), pdfs)
    return [
        Document(page_content=each.page_content, metadata={**each.metadata, UPLOADED: sha256}) for each in documents
    ]


def remove_uploads(folder: Path | None, deleted: Iterable[IndexedDocument]) -> None:
    """Remove the files of documents that were added from the page and have left the index, unless they have changed."""
    if folder is None or folder.is_symlink():
        return
    for document in deleted:
        path = folder / Path(document.doc_id).name
        sha256 = document.metadata.get(UPLOADED)
        with suppress(OSError):  # it is gone, is a folder, or may not be touched
            if str(path) == document.doc_id and not path.is_symlink() and sha256 is not None:
                with open_regular(path) as file:
                    content = file.read(MAX_UPLOAD_BYTES)
                if hashlib.sha256(content).hexdigest() == sha256:
                    path.unlink()


def clean_name(given: str) -> str:
    """Return a name that names a file in a folder, on any system, and shows as what it is.

    Folders, hidden characters and marks that a system gives a meaning are removed, and long names are cut.
    """
    last = re.split(r"[\\/]", given)[-1]
    visible = "".join(each for each in last if unicodedata.category(each) not in _HIDDEN)
    stem, dot, suffix = _MARKS.sub("_", unicodedata.normalize("NFC", visible)).strip(". ").rpartition(".")
    if not dot:
        stem, suffix = suffix, ""
    suffix = _cut(suffix, MAX_NAME_BYTES // 4)
    stem = _cut(stem.strip(". "), MAX_NAME_BYTES - len(suffix.encode()) - 1).strip(". ") or "document"
    if _DEVICES.fullmatch(stem.partition(".")[0].strip()):
        stem = f"_{stem}"
    return stem + dot + suffix


def _cut(text: str, size: int) -> str:
    return text.encode()[:size].decode(errors="ignore")
