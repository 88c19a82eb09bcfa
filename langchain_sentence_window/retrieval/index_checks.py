"""Check everything in an index's folder: the store, the settings beside it, and the ranking that they name."""

from os import PathLike
from pathlib import Path

from langchain_sentence_window.errors import InvalidInputError, StoreError
from langchain_sentence_window.ranking.ranking import Ranking
from langchain_sentence_window.retrieval.index_settings import read_index_settings
from langchain_sentence_window.stores.faiss.database.store_files import SETTINGS_FILE, as_folder
from langchain_sentence_window.stores.faiss.soundness import CheckResult, check_folder


def check_index(path: str | PathLike[str]) -> CheckResult:
    """Check everything that an index on disk holds, also one that can't be opened, without an embedder.

    Args:
        path: The folder of the index.

    Raises:
        IndexNotFoundError: There is no index in the folder.
    """
    folder = as_folder(path)
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
