"""Files of local folders and of object storage: found by the driver, read and converted by workers."""

import hashlib
import os
from collections.abc import Iterable
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window.documents.file_state import FileState
from langchain_sentence_window.documents.keys import SOURCE
from langchain_sentence_window.errors import DocumentReadError, InvalidInputError
from langchain_sentence_window.loaders.file_bytes import EmptyFileError, FileBytes, Root, read_file
from langchain_sentence_window.loaders.file_loader import SUFFIXES, check_suffix, convert
from langchain_sentence_window.loaders.pdf.pdf_process import PdfProcess

_SCHEME = "://"

_PDFS = PdfProcess()
"""Reads the PDFs of this process, which may be a worker; it starts at the first one."""


def find_files(paths: Iterable[str | PathLike[str]]) -> dict[str, str]:
    """Find the files that can be read, in folders and what is below them.

    Args:
        paths: Paths of files and folders, or addresses such as ``s3://bucket/folder``.

    Returns:
        The root of each file by its absolute path or its address, in their order: the given folder below which it was
        found; empty for an address, or a file that was given itself. Of folders, only files whose suffix is in
        `SUFFIXES`, and no links.

    Raises:
        InvalidInputError: Something else was given, or there is no such file or folder.
    """
    roots: dict[str, str] = {}
    for each in paths:
        if not isinstance(each, str | PathLike) or not isinstance(fspath(each), str):
            raise InvalidInputError(f"a path is {shown(each)}; give paths of files or folders, or addresses")
        path = fspath(each)
        roots |= _find_remote(path) if _SCHEME in path else _find_local(Path(path))
    return dict(sorted(roots.items()))


def load_bytes(data: bytes, path: str) -> list[Document]:
    """Make Documents of a file's bytes, as `load_file` does.

    Their metadata doesn't tell when the file was changed last, so that a copy of a file is the same document. A file
    without text is a Document without text, which takes what the store had of it out.

    Args:
        data: The bytes.
        path: The path or address, which names the document.

    Raises:
        DocumentReadError: It is damaged, or of another type.
        MissingExtraError: The library that reads such files isn't installed.
    """
    check_suffix(path, path)
    state = FileState(size=len(data), modified_ns=None, sha256=hashlib.sha256(data).hexdigest())
    try:
        return convert(FileBytes(data, state), path, path, _PDFS)
    except EmptyFileError:
        return [Document(page_content="", metadata={SOURCE: path})]


def load_path(path: str, root: str) -> list[Document]:
    """Read a file that `find_files` found, and make Documents of it, as `load_bytes` does.

    Args:
        path: Its path or its address.
        root: Its root. No link below it is followed, also not one that was made since.

    Raises:
        DocumentReadError: As for `load_bytes`, or it can't be read.
    """
    if _SCHEME in path:
        system, inner = _system_of(path)
        try:
            with system.open_input_stream(inner) as file:
                return load_bytes(file.read(), path)
        except OSError as error:
            raise DocumentReadError(f"{path} can't be read ({error}); check the address") from error
    return load_bytes(read_file(Path(path), path, Root(root) if root else None).data, path)


def _find_local(path: Path) -> dict[str, str]:
    """Return the root of each file by its path."""
    root = str(path.absolute())
    if path.is_file():
        return {root: ""}
    if not path.is_dir():
        raise InvalidInputError(f"{path} isn't there; check the path")
    found = (Path(folder, name) for folder, _, names in os.walk(root) for name in names)
    return {str(each): root for each in found if _is_document(each) and each.is_file() and not each.is_symlink()}


def _find_remote(address: str) -> dict[str, str]:
    """Return an empty root for each file by its address."""
    from pyarrow.fs import FileSelector, FileType

    system, path = _system_of(address)
    found = system.get_file_info(path)
    if found.type == FileType.NotFound:
        raise InvalidInputError(f"{address} isn't there; check the address")
    files = [found]
    if found.type == FileType.Directory:
        infos = system.get_file_info(FileSelector(path, recursive=True))
        files = [each for each in infos if each.type == FileType.File and _is_document(Path(each.path))]
    return {f"{address.partition(_SCHEME)[0]}{_SCHEME}{each.path}": "" for each in files}


def _is_document(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES


def _system_of(address: str) -> tuple[Any, str]:
    from pyarrow.fs import FileSystem

    try:
        system, path = FileSystem.from_uri(address)
    except (OSError, ValueError) as error:
        raise InvalidInputError(
            f"{address} can't be opened ({error}); give an address such as s3://bucket/folder, or a Ray Dataset"
        ) from error
    return system, path
