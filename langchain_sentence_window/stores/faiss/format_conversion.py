"""Converts an index of the format before the present one, when it is opened.

Its sentences and vectors are copied, a part at a time, into a new database beside the old one. If the copy is
interrupted, the next opening goes on with it. When it is complete, it takes the place of the old database, completely
or not at all, and the old one stays beside it under another name.
"""

import sqlite3
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from tqdm.auto import tqdm

from langchain_sentence_window.errors import SentenceWindowWarning, StoreError

from .conversion import to_documents, to_records
from .database import store_files
from .database.connections import ERRORS, Connections, cure_of, open_connection, until_unlocked
from .database.database_file import HEAD_FILE, log_of, read_head
from .database.database_opening import (
    APPLICATION_ID,
    SIDE_FILE_SUFFIXES,
    check_head,
    check_log,
    check_names,
    make_tables,
)
from .database.locks import HELD_FILES
from .database.restoring import take_place, undo_killed_exchange
from .database.schema import CHECKSUMS, FORMAT_VERSION, TEXT, Record, find_mixture
from .database.snapshot import Snapshot
from .database.transaction import Transaction

EARLIER_FORMAT = 7
"""The format that is converted."""

CONVERTED_FILE = "sentences.converted"
"""The new database until it is complete."""

KEPT_FILE = f"sentences.format-{EARLIER_FORMAT}.sqlite3"
"""The earlier database, which is kept until somebody deletes it."""

PART_SIZE = 5_000
"""Sentences that are copied at once."""

_DONE = "converted"


def convert_earlier(folder: Path) -> bool:
    """Convert the index in a folder, if it is of `EARLIER_FORMAT`; leave all others alone.

    A progress bar is shown on a terminal. A `SentenceWindowWarning` says that the index was converted.

    Returns:
        Whether it was of that format.

    Raises:
        StoreError: The index is damaged or in use, or there is no room for a copy. The index is as it was.
    """
    path = folder / store_files.DATABASE_FILE
    undo_killed_exchange(folder, lambda workshop: format_of(workshop / path.name) == EARLIER_FORMAT)
    if format_of(path) != EARLIER_FORMAT:
        return False
    _check_files(path)
    try:
        with _reserved(path) as (earlier, let_go):
            if format_of(path) == EARLIER_FORMAT:  # not converted by another process meanwhile
                _copy(earlier, folder)
                take_place(folder, folder / CONVERTED_FILE, KEPT_FILE, release=let_go)
    except ERRORS as error:
        cure = cure_of(error, path, read_only=False) or "restore it from a backup"
        raise StoreError(
            f"{str(path)!r} can't be converted from format {EARLIER_FORMAT} to {FORMAT_VERSION}: {error}; {cure}"
        ) from error
    warnings.warn(
        f"the index at {str(folder)!r} was of an earlier format, {EARLIER_FORMAT}, and was converted to format "
        f"{FORMAT_VERSION}; the old database is kept beside it as {KEPT_FILE}, which you can delete",
        SentenceWindowWarning,
        stacklevel=2,
    )
    return True


def format_of(path: Path) -> int | None:
    """Return the format of a database of this package; ``None`` for any other file, and none."""
    holder = object()
    try:
        # If a file is opened and closed by itself, all locks that SQLite has on it in this process are lost.
        header = HELD_FILES.read(HELD_FILES.hold(path, holder), 0, 100)
    except OSError:
        return None
    finally:
        HELD_FILES.release(holder)
    is_ours = header[:16] == b"SQLite format 3\0" and int.from_bytes(header[68:72], "big") == APPLICATION_ID
    return int.from_bytes(header[60:64], "big") if is_ours else None


def _check_files(path: Path) -> None:
    """Check the files of a database before SQLite opens it.

    Raises:
        StoreError: One is a link, or the write-ahead log belongs to another version of the database.
    """
    check_names(path, read_only=False)
    connections = Connections(path, read_only=False)
    try:
        check_log(connections)
    finally:
        connections.file.release()


# Copying


@contextmanager
def _reserved(path: Path) -> Iterator[tuple[sqlite3.Connection, Callable[[], None]]]:
    """Keep others from writing to a database, whose log is moved into its file.

    Yields:
        A connection to it, and what lets go of it before the end.

    Raises:
        StoreError: Another process is using it.
    """
    with ExitStack() as stack:
        holder = object()
        stack.callback(HELD_FILES.release, holder)
        HELD_FILES.hold(path, holder)
        connection = stack.enter_context(closing(open_connection(f"{path.as_uri()}?mode=rw")))
        connection.execute("PRAGMA trusted_schema = OFF")
        for _ in range(100):
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            until_unlocked(lambda: connection.execute("BEGIN IMMEDIATE"))
            if not store_files.size_of(log_of(path)):
                yield connection, stack.close
                return
            connection.rollback()
    raise StoreError(
        f"{str(path)!r} has an earlier format, and another process is using it; end that process, so that it can be "
        "converted"
    )


def _copy(earlier: sqlite3.Connection, folder: Path) -> None:
    """Copy what isn't yet in the new database."""
    old = Snapshot(earlier)
    check_head(str(folder / store_files.DATABASE_FILE), folder / HEAD_FILE, read_head(folder), old)
    (state_of_file,) = earlier.execute("PRAGMA integrity_check(1)").fetchone()
    if state_of_file != "ok":
        raise sqlite3.DatabaseError(f"it is damaged: {state_of_file}")
    # The times are part of the documents now.
    if mixture := find_mixture(earlier, old.state, CHECKSUMS | {"main.times": "checksum"}):
        raise sqlite3.DatabaseError(f"it is damaged: {mixture}")
    total, origin = old.state.sentences, [*old.head, old.state.token]
    path = folder / CONVERTED_FILE
    done = _Done(*_fact(path, _DONE) or ())
    if done.origin != origin:
        _remove(path)
        _make(path)
        done = _Done(origin)
    bar = tqdm(desc="Converting", unit=" sentences", total=total, initial=done.sentences, disable=None, delay=1.0)
    with bar, closing(open_connection(f"{path.as_uri()}?mode=rw")) as connection:
        while rows := earlier.execute(_SENTENCES, [done.last_row, PART_SIZE]).fetchall():
            done = _Done(origin, rows[-1][0], done.sentences + len(rows))
            _write(connection, rows, done)
            bar.update(len(rows))
        if done.sentences != total:
            raise sqlite3.DatabaseError(f"it is damaged: it has {done.sentences} sentences instead of {total}")
        facts = {name: old.fact(name) for name in ("embedder", "dimension", "settings")}
        times = dict(earlier.execute("SELECT doc_id, written FROM documents JOIN times USING (document)"))
        _finish(connection, facts, times)


class _Done(NamedTuple):
    """How much of which database was copied.

    Attributes:
        origin: The birth number, the generation and the token of the earlier database.
        last_row: The last row that was copied.
        sentences: The number of sentences that were copied.
    """

    origin: list[int] | None = None
    last_row: int = 0
    sentences: int = 0


_SENTENCES = """
    SELECT row, id, doc_id, sentence_index, section, text,
        CAST(ifnull(sections.context, x'') || sentences.context AS BLOB),
        sentences.metadata, ifnull(sources.metadata, ''), ifnull(sections.metadata, ''), vector,
        text_checksum, vectors.checksum
    FROM sentences JOIN vectors USING (row) LEFT JOIN documents USING (document) LEFT JOIN sources USING (source_key)
        LEFT JOIN sections USING (section_key)
    WHERE row > ? ORDER BY row LIMIT ?
"""


def _write(connection: sqlite3.Connection, rows: list[tuple[Any, ...]], done: _Done) -> None:
    """Copy sentences in one transaction.

    Raises:
        sqlite3.DatabaseError: A sentence isn't as it was written.
    """
    records, contexts, vectors = list[Record](), list[str](), list[bytes]()
    for row, id_, doc_id, index, section, text, context, own, source, of_section, vector, *checksums in rows:
        if [zlib.crc32(text, zlib.crc32(context)), zlib.crc32(vector, row & 0xFFFFFFFF)] != checksums:
            raise sqlite3.DatabaseError(f"it is damaged: row {row} of the sentences isn't as it was written")
        records.append(Record(id_, text.decode(*TEXT), own, source, of_section, doc_id, index, section))
        contexts.append(context.decode(*TEXT))
        vectors.append(vector)
    # By way of Documents, so that metadata are split among the tables as they are today.
    converted = to_records(to_documents(records), None, contexts)
    with _transaction(connection) as transaction:
        transaction.add(converted, vectors)
        transaction.set_fact(_DONE, done)


def _finish(connection: sqlite3.Connection, facts: Mapping[str, Any], times: Mapping[str, int]) -> None:
    """Write what is known of the index as a whole."""
    with _transaction(connection) as transaction:
        transaction.set_times(times)
        for name, value in facts.items():
            if value is not None:
                transaction.set_fact(name, value)
        transaction.execute("DELETE FROM facts WHERE name = ?", [_DONE])
    connection.execute("PRAGMA journal_mode = WAL")


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[Transaction]:
    connection.execute("BEGIN IMMEDIATE")
    transaction = Transaction(connection)
    yield transaction
    transaction.finish()
    connection.execute("COMMIT")


def _make(path: Path) -> None:
    part = store_files.make_part(path)
    with closing(sqlite3.connect(part, isolation_level=None)) as connection:
        make_tables(connection)
    part.replace(path)


def _fact(path: Path, name: str) -> Any:
    """Return a fact of a database; ``None`` if there is no usable database, or it doesn't have the fact."""
    if format_of(path) != FORMAT_VERSION:
        return None
    with suppress(sqlite3.Error, StoreError, ValueError), closing(sqlite3.connect(path)) as connection:
        return Snapshot(connection).fact(name)
    return None


def _remove(path: Path) -> None:
    for suffix in ("", *SIDE_FILE_SUFFIXES):
        path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)
