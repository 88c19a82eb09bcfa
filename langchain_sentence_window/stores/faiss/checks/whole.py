"""Check all parts of an index, on disk or in memory."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TypeVar

from langchain_sentence_window.errors import IndexNotFoundError, SentenceWindowError, StoreError
from langchain_sentence_window.stores.faiss.checks.result import CheckResult
from langchain_sentence_window.stores.faiss.checks.sentences import sentence_problems
from langchain_sentence_window.stores.faiss.checks.vectors import vector_problems
from langchain_sentence_window.stores.faiss.checks.words import word_problems
from langchain_sentence_window.stores.faiss.conversion import to_documents
from langchain_sentence_window.stores.faiss.database.database import Database
from langchain_sentence_window.stores.faiss.database.database_file import DatabaseFile
from langchain_sentence_window.stores.faiss.database.opening import holds_index
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot
from langchain_sentence_window.stores.faiss.database.state_files import (
    HEAD_FILE,
    SEAL_FILE,
    read_head,
    read_seal,
)
from langchain_sentence_window.stores.faiss.layout import DATABASE_FILE, LEXICAL_FOLDER, vector_files

MAX_PROBLEMS = 20
"""Documents with problems that are listed; the rest are counted."""

T = TypeVar("T")

_RESTORE = "restore the index from a backup with FaissStore.restore(), or index the documents again at another path"
_ATTEMPTS = 2


def check_folder(folder: Path) -> CheckResult:
    """Check an index on disk, also one that can't be opened. No file of it is changed.

    Raises:
        IndexNotFoundError: There is no index in the folder.
    """
    if not holds_index(folder):
        raise IndexNotFoundError(f"there is no index at {str(folder)!r} to check; give the folder of one")
    result = CheckResult()
    try:
        database = Database(folder / DATABASE_FILE, read_only=True)
    except StoreError as error:
        return result.with_part("files", _file_problems(folder)).with_part("database", [str(error)])
    try:
        result = _checked(database, result.with_part("files", _file_problems(folder)))
        if "documents" in result.checked:
            for name, path, find in (
                ("vectors", folder, vector_problems),
                ("words", folder / LEXICAL_FOLDER, word_problems),
            ):
                if path.exists() and (path != folder or vector_files(folder)):
                    result = result.with_part(name, _of_cache(database, path, find))
    finally:
        database.close()
    return result


def check_memory(database: Database) -> CheckResult:
    """Check a database in memory."""
    return _checked(database, CheckResult())


def _checked(database: Database, result: CheckResult) -> CheckResult:
    """Add what is found in a database, all of which is read."""

    def work(snapshot: Snapshot) -> CheckResult:
        damage = snapshot.find_damage()
        if damage:
            return result.with_part("database", [f"{database.name} is damaged: {damage}; {_RESTORE}"])
        counts = CheckResult(
            result.problems, snapshot.count_documents(), snapshot.state.sentences, (*result.checked, "database")
        )
        documents = (each for records in snapshot.in_order() for each in to_documents(records))
        return counts.with_part("documents", _first(sentence_problems(documents)))

    try:
        return database.read(work)
    except SentenceWindowError as error:
        return result.with_part("database", [str(error)])


def _first(problems: Iterable[str]) -> list[str]:
    """Return the first problems, and the number of the others."""
    found = iter(problems)
    listed = list(islice(found, MAX_PROBLEMS))
    others = sum(1 for _ in found)
    return [*listed, *([f"{others:,} other documents have problems like these"] if others else [])]


def _of_cache(database: Database, path: Path, find: Callable[[Snapshot, Path], Iterator[str]]) -> list[str]:
    """Return what is wrong with a cache, which another process may replace while it is looked at."""
    problems: list[str] = []
    for _ in range(_ATTEMPTS):
        try:
            problems = database.read(lambda snapshot: list(find(snapshot, path)))
        except SentenceWindowError as error:
            problems = [str(error)]
        if not problems:
            break
    return problems


def _file_problems(folder: Path) -> list[str]:
    """Return what the small files beside the database tell, and what is wrong with them."""
    problems = list[str]()
    file, sealed = DatabaseFile(folder / DATABASE_FILE, read_only=True), read_seal(folder)
    try:
        # Every write removes the seal first.
        if sealed is not None and not file.is_sealed() and read_seal(folder) == sealed:
            problems.append(
                f"{str(folder / DATABASE_FILE)!r} isn't as it was when it was closed; restore the index from a backup, "
                f"or delete {SEAL_FILE!r} beside it if nothing else is wrong"
            )
    except OSError as error:
        problems.append(f"{str(folder / DATABASE_FILE)!r} can't be read: {error}; make it readable")
    finally:
        file.release()
    if (folder / SEAL_FILE).exists() and read_seal(folder) is None and (folder / SEAL_FILE).exists():
        problems.append(f"{str(folder / SEAL_FILE)!r} is damaged; delete it, so that closing the index writes it again")
    if (folder / HEAD_FILE).exists() and read_head(folder) is None and (folder / HEAD_FILE).exists():
        problems.append(
            f"{str(folder / HEAD_FILE)!r} is damaged, so it can't tell whether writes were lost; delete it, and the "
            "next write makes it again"
        )
    return problems
