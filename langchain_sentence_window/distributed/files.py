"""Files of local folders and of object storage: found by the driver, read and converted by workers."""

import hashlib
from collections.abc import Iterable
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._showing import shown
from langchain_sentence_window.documents.file_states import FileState
from langchain_sentence_window.errors import DocumentReadError, InvalidInputError
from langchain_sentence_window.loaders.files.loading import SUFFIXES, check_suffix, convert
from langchain_sentence_window.loaders.files.reading import FileBytes, read_file

_SCHEME = "://"


def find_files(paths: str | PathLike[str] | Iterable[str | PathLike[str]]) -> list[str]:
    """Find the files that can be read, in folders and what is below them.

    Args:
        paths: A path of a file or a folder, or several; or addresses such as ``s3://bucket/folder``.

    Returns:
        Absolute paths and addresses, sorted, each once. Of folders, only files whose suffix is in `SUFFIXES`.

    Raises:
        InvalidInputError: Something else was given, or there is no such file or folder.
    """
    given = [paths] if isinstance(paths, str | PathLike) else list(paths)
    found: set[str] = set()
    for each in given:
        if not isinstance(each, str | PathLike) or not isinstance(fspath(each), str):
            raise InvalidInputError(f"a path is {shown(each)}; give paths of files or folders, or addresses")
        path = fspath(each)
        found.update(_find_remote(path) if _SCHEME in path else _find_local(Path(path)))
    return sorted(found)


def load_bytes(data: bytes, path: str) -> list[Document]:
    """Make Documents of a file's bytes, as `load_file` does.

    Their metadata doesn't tell when the file was changed last, so that a copy of a file is the same document.

    Args:
        data: The bytes.
        path: The path or address, which names the document.

    Raises:
        DocumentReadError: It is damaged, of another type, or holds no text.
        MissingExtraError: The library that reads such files isn't installed.
    """
    check_suffix(path, path)
    state = FileState(size=len(data), modified_ns=None, sha256=hashlib.sha256(data).hexdigest())
    return convert(FileBytes(data, state), path, path)


def load_path(path: str) -> list[Document]:
    """Read a file that `find_files` found, and make Documents of it, as `load_bytes` does.

    Raises:
        DocumentReadError: As for `load_bytes`, or it can't be read.
    """
    return load_bytes(_read_remote(path) if _SCHEME in path else read_file(Path(path), path).data, path)


def _find_local(path: Path) -> Iterable[str]:
    if path.is_dir():
        files = (each for each in path.rglob("*") if each.suffix.lower() in SUFFIXES and each.is_file())
        return [str(each.absolute()) for each in files]
    if path.is_file():
        return [str(path.absolute())]
    raise InvalidInputError(f"{path} isn't there; check the path")


def _find_remote(address: str) -> Iterable[str]:
    from pyarrow.fs import FileSelector, FileType

    system, path = _system_of(address)
    scheme = address.partition(_SCHEME)[0]
    found = system.get_file_info(path)
    if found.type == FileType.NotFound:
        raise InvalidInputError(f"{address} isn't there; check the address")
    infos = [found]
    if found.type == FileType.Directory:
        infos = [
            each
            for each in system.get_file_info(FileSelector(path, recursive=True))
            if each.type == FileType.File and Path(each.path).suffix.lower() in SUFFIXES
        ]
    return [f"{scheme}{_SCHEME}{each.path}" for each in infos]


def _read_remote(address: str) -> bytes:
    system, path = _system_of(address)
    try:
        with system.open_input_stream(path) as file:
            data: bytes = file.read()
    except OSError as error:
        raise DocumentReadError(f"{address} can't be read ({error}); check the address") from error
    return data


def _system_of(address: str) -> tuple[Any, str]:
    from pyarrow.fs import FileSystem

    try:
        system, path = FileSystem.from_uri(address)
    except (OSError, ValueError) as error:
        raise InvalidInputError(
            f"{address} can't be opened ({error}); give an address such as s3://bucket/folder, or a Ray Dataset"
        ) from error
    return system, path
