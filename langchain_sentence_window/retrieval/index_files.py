"""The files beside an index's database that a copy of it takes along: its settings, and the ranking that they name."""

from collections.abc import Mapping
from pathlib import Path

from langchain_sentence_window.errors import InvalidInputError, StoreError
from langchain_sentence_window.ranking.ranking import Ranking
from langchain_sentence_window.retrieval.index_settings import IndexSettings, read_index_settings
from langchain_sentence_window.stores.faiss.checks.result import CheckResult
from langchain_sentence_window.stores.faiss.checks.whole import check_folder
from langchain_sentence_window.stores.faiss.database.files import make_folder, open_regular, replace_file
from langchain_sentence_window.stores.faiss.layout import SETTINGS_FILE


def check_index(folder: Path) -> CheckResult:
    """Check everything that an index on disk holds, also one that can't be opened, without an embedder.

    Raises:
        IndexNotFoundError: There is no index in the folder.
    """
    return with_settings_checked(check_folder(folder), folder)


def with_settings_checked(result: CheckResult, folder: Path) -> CheckResult:
    """Return the result of a check with what is wrong with the settings beside the database, if there are any."""
    if not (folder / SETTINGS_FILE).exists():
        return result
    try:
        settings = read_index_settings(folder)
    except StoreError as error:
        return result.with_part("settings", [str(error)])
    result = result.with_part("settings", [])
    if settings.retriever.get("ranking") is None:
        return result
    try:
        Ranking.read(settings.retriever_settings(folder)["ranking"])
    except InvalidInputError as error:
        return result.with_part("ranking", [f"{error}; or take it out of {SETTINGS_FILE}"])
    return result.with_part("ranking", [])


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
