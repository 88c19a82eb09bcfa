"""Putting a backup in the place of an index, whatever state that is in."""

import shutil
from contextlib import suppress
from pathlib import Path

from langchain_sentence_window.errors import IndexNotFoundError, StoreError
from langchain_sentence_window.store.database import Database
from langchain_sentence_window.store.files import (
    make_folder,
    make_new,
    make_part,
    remove_file,
    sync_folder,
    write_number,
)
from langchain_sentence_window.store.opening import BESIDE
from langchain_sentence_window.store.seals import seal_of
from langchain_sentence_window.store.state_files import HEAD_FILE, RESTORING_FILE, SEAL_FILE, write_seal
from langchain_sentence_window.store.stats import DATABASE_FILE, LEXICAL_FOLDER, VECTORS_FILE


def restore_index(backup: Path, folder: Path) -> None:
    """Put a backup in the place of an index.

    First a copy of the backup is made beside the old database. While that is replaced, a file says so, without
    which a process that opens the index could read the new database with the log of the old one.

    Args:
        backup: The folder of an index.
        folder: Where it is to be.

    Raises:
        IndexNotFoundError: There is no index in the backup's folder.
        StoreError: The backup is damaged, or the folder can't be written.
    """
    if not (backup / DATABASE_FILE).exists():
        raise IndexNotFoundError(f"there is no index at {str(backup)!r} to restore; give the folder of a backup")
    if backup == folder or (folder.exists() and backup.samefile(folder)):
        raise StoreError(f"{str(backup)!r} can't be restored to itself; give another path")
    make_folder(folder)
    database = Database(backup / DATABASE_FILE, read_only=True)
    try:
        part = make_part(folder / DATABASE_FILE)
        try:
            database.write_copy(part)
            _put(part, folder, database.read(lambda snapshot: snapshot.state.generation))
        finally:
            with suppress(OSError):
                part.unlink()
    except OSError as error:
        raise StoreError(
            f"{str(backup)!r} can't be restored to {str(folder)!r}: {error}; make room, and try again"
        ) from error
    finally:
        database.close()


def _put(part: Path, folder: Path, generation: int) -> None:
    path, marker, seal = folder / DATABASE_FILE, folder / RESTORING_FILE, seal_of(part)
    remove_file(marker)
    make_new(marker)
    sync_folder(folder)
    for name in (HEAD_FILE, SEAL_FILE):
        remove_file(folder / name)
    part.replace(path)
    for name in (*(f"{DATABASE_FILE}{ending}" for ending in BESIDE), VECTORS_FILE):
        remove_file(folder / name)
    lexical = folder / LEXICAL_FOLDER
    if lexical.is_symlink():
        lexical.unlink()
    else:
        shutil.rmtree(lexical, ignore_errors=True)
    write_number(folder / HEAD_FILE, generation)
    if seal is not None:
        write_seal(folder, seal)
    sync_folder(folder)
    remove_file(marker)
