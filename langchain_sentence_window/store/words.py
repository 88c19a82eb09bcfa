"""The words of a store's sentences, in a tantivy index that is kept in step with the database; a cache.

Words are those of `langchain_sentence_window.ranking.words.indexed`. There are no stop words and no stemming. The text
of a sentence is searched behind its heading path, so a word of a heading counts as one of the sentence.
"""

import os
import re
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from langchain_sentence_window._primitives import LONE_SURROGATE, Rows
from langchain_sentence_window.documents.keys import HEADING
from langchain_sentence_window.errors import StoreError
from langchain_sentence_window.ranking.words import in_other_number, indexed, plain_words

from .database import Database, OutdatedError, counted_call
from .files import WORDS_FOLDER, Checksum, checksum_of
from .reading import are_in, with_tied
from .records import read_metadata, with_heading
from .tables import Snapshot, Transaction, Version, as_text

MAX_REWRITTEN = 2_000
"""The most rows of an index that is rewritten after rows were removed. A larger one counts removed texts in the
frequency of words for some time, which changes scores slightly."""

FORMAT = 5
"""Increases whenever something else is indexed for a sentence. An index of another format is rebuilt."""

_FACT = "words"
_STATE_FILE = "meta.json"  # tantivy's list of the index's files
_FILE_NAME = re.compile(r"[\w.-]*\w")
_REWRITTEN = frozenset({_STATE_FILE, ".managed.json"})  # it never changes other files


class WordCache:
    """A lexical index, brought up to date with the database.

    It changes only within a transaction of the database, which locks out other processes. So the state that a search
    reads may be older; then it reads the present one.
    """

    def __init__(self, database: Database) -> None:
        """Start empty; the first search opens the index, or builds it."""
        self._database = database
        folder = None if database.folder is None else database.folder / WORDS_FOLDER
        # tantivy takes no path that isn't valid Unicode.
        self._folder = folder if folder is not None and not LONE_SURROGATE.search(str(folder)) else None
        self._lock = threading.Lock()
        self._index: LexicalIndex | None = None
        self._current: tuple[Version | None, LexicalSearcher | None] = (None, None)
        database.caches.add(self)

    def searcher(self, snapshot: Snapshot) -> "LexicalSearcher":
        """Return a searcher of a state.

        Raises:
            OutdatedError: The index is at another state; bring it up to date, and read the present one.
        """
        version, searcher = self._current
        if searcher is None or version != snapshot.version:
            raise OutdatedError(f"{self._database.name} changes too often to be searched in one state; search again")
        return searcher

    def catch_up(self) -> None:
        """Bring the index up to date with the database.

        Raises:
            StoreError: The index can't be written.
        """
        if self._database.read_only:
            with self._database.reading() as snapshot:
                self.advance(snapshot)
        else:
            with self._database.writing() as transaction:
                self.advance(transaction)

    def advance(self, snapshot: Snapshot) -> None:
        """Bring the index to a state: that of a transaction, which records it, or one of a store that is only read.

        Raises:
            StoreError: The index can't be written.
        """
        if self._current[0] == snapshot.version:
            return
        if not isinstance(snapshot, Transaction):
            with self._lock:
                self._current = snapshot.version, self._copied(snapshot) or _built(None, snapshot).searcher()
            return
        try:
            self._update(snapshot)
        except BaseException as error:
            # The index may be newer than its record; it is opened and checked again.
            self.forget()
            if not isinstance(error, OSError | ValueError | RuntimeError):
                raise
            raise StoreError(
                f"the lexical index of {self._database.name} can't be written: {error}; make sure that there is room "
                "and that the folder can be written, or open the store with read_only=True, and search again, which "
                "rebuilds the index if it was damaged"
            ) from error

    def _update(self, transaction: Transaction) -> None:
        version, record = transaction.version, recorded_words(transaction)
        at = self._opened_at(record)
        changes = None if at is None else transaction.changes_since(at)
        is_rewritten = changes is not None and len(changes.removed) and version.sentences <= MAX_REWRITTEN
        if self._index is None or changes is None:
            self._empty_folder()
            self._index = _built(self._folder, transaction)
        elif at != version:
            removed, after = (None, 0) if is_rewritten else (changes.removed, changes.last_row)
            self._index.change(removed, _texts_to_index(transaction, after))
        if at != version and self._folder is not None:
            # A file that was damaged since it was written must not get a new checksum.
            before = {} if record is None or changes is None else record.files
            files = checksums_in(self._folder, {name: before[name] for name in before.keys() - _REWRITTEN})
            transaction.set_fact(_FACT, {"format": FORMAT, "version": version, "files": files})
        self._current = version, self._index.searcher()

    def _opened_at(self, record: "Recorded | None") -> Version | None:
        """Open the index, if it is as it was recorded, and return the state that it is at; ``None`` if it isn't."""
        folder = self._folder
        if folder is None:
            return self._current[0]
        if record is None:
            return None
        if self._index is None and checksums_in(folder) == record.files:
            self._index = LexicalIndex(folder)
        elif self._index is not None and checksum_of(folder / _STATE_FILE) != record.files[_STATE_FILE]:
            return None  # another process was killed between changing the index and recording it
        return None if self._index is None else record.version

    def _empty_folder(self) -> None:
        folder = self._folder
        if folder is None:
            return
        if folder.is_dir() and not folder.is_symlink():
            shutil.rmtree(folder)
        else:  # rmtree would open a pipe, and wait for its other end
            folder.unlink(missing_ok=True)
        folder.mkdir()

    def _copied(self, snapshot: Snapshot) -> "LexicalSearcher | None":
        """Return a searcher of a copy of the index, if it is current.

        tantivy writes lock files next to an index that it reads. It keeps the files of a searcher mapped, so the copy
        is removed at once.
        """
        record = recorded_words(snapshot)
        if record is None or self._folder is None or record.version != snapshot.version:
            return None
        with tempfile.TemporaryDirectory(prefix="words", ignore_cleanup_errors=True) as name:
            copy = Path(name)
            with suppress(OSError):
                for file in record.files:
                    shutil.copyfile(self._folder / file, copy / file, follow_symlinks=False)
            # The copy is checked, not the original, which may have changed since.
            return LexicalIndex(copy).searcher() if checksums_in(copy) == record.files else None

    def forget(self) -> None:
        """Release the index and its files."""
        self._index, self._current = None, (None, None)

    def after_fork(self) -> None:
        """Reset in a child process, which has no threads of tantivy."""
        self._lock = threading.Lock()
        self.forget()


class Recorded(NamedTuple):
    """The index as it was when it was last brought up to date.

    Attributes:
        version: The state that it is at.
        files: The checksums of its files, by name.
    """

    version: Version
    files: dict[str, Checksum]


def recorded_words(snapshot: Snapshot) -> Recorded | None:
    """Return the record of the index; ``None`` if there is none of this format, or it is malformed."""
    try:
        kept = snapshot.fact(_FACT, dict) or {}
        found = Recorded(Version._make(kept["version"]), kept["files"])
        numbers = [*found.version, *(number for size, crc in found.files.values() for number in (size, crc))]
        is_valid = kept["format"] == FORMAT and all(type(number) is int for number in numbers)
        # Files of these names are copied, and the database may come from a stranger.
        is_valid = is_valid and all(map(_FILE_NAME.fullmatch, found.files))
    except (StoreError, ValueError, TypeError, KeyError, AttributeError):
        return None
    return found if is_valid and _STATE_FILE in found.files else None


def checksums_in(folder: Path, known: Mapping[str, Checksum] = MappingProxyType({})) -> dict[str, Checksum | None]:
    """Return the checksums of all files in a folder, by name; none if it holds anything else, or if one is a link.

    Args:
        folder: The folder.
        known: Checksums of files that don't change once they are written; these aren't read again.
    """
    paths = list(folder.iterdir()) if folder.is_dir() and not folder.is_symlink() else []
    if not all(path.is_file() and not path.is_symlink() for path in paths):
        return {}
    return {path.name: known.get(path.name) or checksum_of(path) for path in paths}


def _texts_to_index(snapshot: Snapshot, after: int) -> Iterator[tuple[int, str]]:
    """Yield the rows after one, with the texts to index."""
    last, before = None, ""
    for row, text, section in snapshot.execute(
        "SELECT row, text, sections.metadata FROM sentences LEFT JOIN sections USING (section_key) WHERE row > ? "
        "ORDER BY row",
        [after],
    ):
        if section != last:
            heading = read_metadata([section])[0].get(HEADING) if section is not None else None
            last, before = section, with_heading(heading, "")
        yield row, before + as_text(text)


def _built(folder: Path | None, snapshot: Snapshot) -> "LexicalIndex":
    index = LexicalIndex(folder)
    index.change(None, _texts_to_index(snapshot, 0))
    return index


_ROW = "row"
_TEXT = "heading_and_text_separated"
"""The field's name says what it holds, as tantivy opens no index whose fields have other names."""

_TOKENIZER = "words"  # of texts as `indexed` returns them
_HEAP = 30_000_000  # bytes; tantivy takes no less than 15 million
_MAX_ROWS_IN_QUERY = 10_000
"""The largest number of allowed rows to pass to tantivy; with more, hits are filtered until there are enough."""


class LexicalIndex:
    """Texts by row, searched for words."""

    def __init__(self, folder: Path | None) -> None:
        """Open the index in a folder, or create it there; ``None`` for an index in memory."""
        import tantivy  # on use, as a program may search another store

        self._folder, self._library = folder, tantivy
        self._lock = threading.Lock()
        builder = tantivy.SchemaBuilder()
        # Signed, as a Python int in an unsigned field crashes tantivy's writer.
        builder.add_integer_field(_ROW, indexed=True, fast=True)
        builder.add_text_field(_TEXT, tokenizer_name=_TOKENIZER, index_option="freq")
        self._schema = builder.build()
        self._analyzer = (
            tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).filter(tantivy.Filter.lowercase()).build()
        )
        self._open()
        _INDEXES.add(self)

    def _open(self) -> None:
        self._index = self._library.Index(self._schema, path=str(self._folder) if self._folder else None)
        self._index.register_tokenizer(_TOKENIZER, self._analyzer)
        self._index.config_reader("manual")
        self._index.reload()

    def after_fork(self) -> None:
        """Reset in a child process, if the fork didn't wait for a change to end; an index in memory stays."""
        self._lock = threading.Lock()
        if self._folder is not None:
            with suppress(OSError, ValueError):  # the next use says what is wrong with the files
                self._open()

    def change(self, removed: Rows | None, added: Iterable[tuple[int, str]]) -> None:
        """Remove rows, add pairs of ``(row, text)``, and commit.

        Args:
            removed: The rows; those that don't exist are ignored. ``None`` removes all, and what is remembered of them.
            added: The rows to add, and their texts.
        """
        with counted_call("the lexical index"), self._lock:  # which forks wait for
            writer = self._index.writer(_HEAP, 1)
            try:
                if removed is None:
                    writer.delete_all_documents()
                for row in () if removed is None else removed.tolist():
                    writer.delete_documents_by_term(_ROW, row)
                for row, text in added:
                    document = self._library.Document()
                    document.add_integer(_ROW, row)
                    document.add_text(_TEXT, indexed(text))
                    writer.add_document(document)
                writer.commit()
                writer.wait_merging_threads()
            finally:
                writer = None  # it holds tantivy's lock while it exists, and an exception would keep it with this frame

    def searcher(self) -> "LexicalSearcher":
        """Return a searcher of the current state, which later changes don't affect."""
        with counted_call("the lexical index"):
            self._index.reload()
            return LexicalSearcher(self._library, self._schema, self._analyzer, self._index.searcher())


_INDEXES: "weakref.WeakSet[LexicalIndex]" = weakref.WeakSet()


def _reset_indexes_after_fork() -> None:
    for index in list(_INDEXES):
        index.after_fork()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_reset_indexes_after_fork)


@dataclass(eq=False)
class LexicalSearcher:
    """A searcher of one state of a lexical index, for any number of threads."""

    _library: Any
    _schema: Any
    _analyzer: Any
    _searcher: Any

    def search(self, query: str, k: int, allowed: Rows | None) -> list[tuple[int, float]]:
        """Find the rows whose texts match best; a text needs one of the query's words.

        Args:
            query: Any text; it has no special syntax. A word that no text holds is searched as its English singular or
                plural. A form that is held counts alone, as the two name different things in contracts and code.
            k: The number of results; there are fewer only if fewer texts match, and more if others match as well as the
                last.
            allowed: The rows to search, in order; ``None`` for all.

        Returns:
            ``(row, BM25 score)``, best first, ties by row.
        """
        read = dict.fromkeys(self._analyzer.analyze(indexed(query)))
        words = dict.fromkeys(each if self._searcher.doc_freq(_TEXT, each) else in_other_number(each) for each in read)
        if not words or (allowed is not None and not len(allowed)):
            return []
        k = min(k, self._searcher.num_docs) or 1
        should = self._library.Occur.Should
        any_word = self._library.Query.boolean_query(
            [(should, self._library.Query.term_query(self._schema, _TEXT, word, "freq")) for word in words]
        )
        find: Callable[[int], list[tuple[int, float]]]
        if allowed is None:
            find = partial(self._run, any_word)
        elif len(allowed) <= _MAX_ROWS_IN_QUERY:
            find = partial(self._run, self._within(any_word, allowed))
        else:
            find = partial(self._run_and_filter, any_word, allowed=allowed)
        pairs = with_tied(find, k)
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))

    def document_frequency(self, words: Sequence[str]) -> tuple[list[int], int]:
        """Return how many texts hold each word, and how many texts there are.

        Args:
            words: Words as the index has them, in any case. Of another string, the rarest of its words counts.
        """
        # Removed texts count until their part of the index is rewritten.
        texts = int(self._searcher.num_docs)
        analyzed = [self._analyzer.analyze(plain_words(word)) for word in words]
        counts = [min((self._searcher.doc_freq(_TEXT, each) for each in found), default=0) for found in analyzed]
        return [min(int(count), texts) for count in counts], texts

    def all_rows(self) -> Rows:
        """Return all rows, in any order."""
        every = self._library.Query.all_query()
        return self._rows(self._searcher.search(every, max(1, self._searcher.num_docs), count=False).hits)

    def known(self, rows: Rows) -> Rows:
        """Return those of some rows that are there, in any order."""
        if not len(rows):
            return rows
        these = self._library.Query.term_set_query(self._schema, _ROW, rows.tolist())
        return self._rows(self._searcher.search(these, len(rows), count=False).hits)

    def _rows(self, hits: Sequence[tuple[Any, Any]]) -> Rows:
        return np.array(self._searcher.fast_field_values(_ROW, [address for _, address in hits]), dtype=np.int64)

    def _run_and_filter(self, query: Any, k: int, *, allowed: Rows) -> list[tuple[int, float]]:
        limit = 2 * k * max(1, self._searcher.num_docs // len(allowed)) + 10
        while True:
            pairs = self._run(query, limit)
            matches = are_in(np.array([row for row, _ in pairs], dtype=np.int64), allowed)
            if np.count_nonzero(matches) >= k or len(pairs) < limit:
                return [pair for pair, is_match in zip(pairs, matches, strict=True) if is_match][:k]
            limit *= 4

    def _run(self, query: Any, limit: int) -> list[tuple[int, float]]:
        hits = self._searcher.search(query, limit, count=False).hits
        rows = self._searcher.fast_field_values(_ROW, [address for _, address in hits])
        return list(zip(rows, [score for score, _ in hits], strict=True))

    def _within(self, query: Any, allowed: Rows) -> Any:
        must, queries = self._library.Occur.Must, self._library.Query
        rows = queries.term_set_query(self._schema, _ROW, allowed.tolist())
        return queries.boolean_query([(must, query), (must, queries.const_score_query(rows, 0.0))])
