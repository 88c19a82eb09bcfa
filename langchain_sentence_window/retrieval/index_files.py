"""The files beside an index's database that a copy of it takes along: its settings, and the ranking that they name."""

from collections.abc import Mapping
from pathlib import Path

from langchain_sentence_window.errors import StoreError
from langchain_sentence_window.ranking.ranking import Ranking
from langchain_sentence_window.retrieval.index_settings import IndexSettings, read_index_settings
from langchain_sentence_window.stores.faiss.database.store_files import (
    SETTINGS_FILE,
    make_folder,
    open_regular,
    replace_file,
)


def read_files(folder: Path) -> dict[str, bytes]:
    """Read the files to take along, by their paths in the folder; none if the index remembers no settings.

    Raises:
        StoreError: One is damaged.
        InvalidInputError: The ranking can't be read.
    """
    if not (folder / SETTINGS_FILE).exists():
        return {}
    settings = read_index_settings(folder)
    names = [SETTINGS_FILE, *_own_ranking(settings, folder)]
    try:
        return {name: _content(folder / name) for name in names}
    except OSError as error:
        raise StoreError(f"{str(folder / SETTINGS_FILE)!r} can't be copied: {error}; make it readable") from error


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files that `read_files` read into another folder.

    Raises:
        StoreError: One can't be written.
    """
    for name, content in files.items():
        make_folder((folder / name).parent)
        try:
            replace_file(folder / name, content)
        except OSError as error:
            raise StoreError(f"{str(folder / name)!r} can't be written: {error}; make room, and try again") from error


def _own_ranking(settings: IndexSettings, folder: Path) -> list[str]:
    """Return the path of the ranking, if it lies in the index's folder; it is read, so that it is one."""
    name = settings.retriever.get("ranking")
    if name is None or Path(name).is_absolute():
        return []
    Ranking.read(folder / name)
    return [str(name)]


def _content(path: Path) -> bytes:
    with open_regular(path) as file:
        return file.read()
