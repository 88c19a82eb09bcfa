"""The lexical index: kept in step with the database; texts by row, added, removed and searched with tantivy.

Words are those of `langchain_sentence_window.ranking.words.indexed`. There are no stop words and no stemming.
"""

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from langchain_sentence_window._primitives import Rows, encodable
from langchain_sentence_window.errors import StoreError
from langchain_sentence_window.ranking.words import in_other_number, indexed, plain

from .conversion import texts_with_headings
from .database.database import Database
from .database.locks import AccessLock, within
from .database.reads import are_in
from .database.schema import Version
from .database.snapshot import Snapshot
from .database.store_files import Seal, is_intact, seal_of, seals_in
from .database.transaction import Transaction
from .search_reads import with_tied

T = TypeVar("T")

MAX_WRITTEN_ANEW = 2_000
"""The most rows of an index that is written anew after rows were removed. A larger one counts removed texts in the
frequency of words for some time, which changes scores slightly."""

FORMAT = 4
"""Increases whenever something else is indexed for a sentence. An index of another format is rebuilt."""

_FACT = "lexical"
_STATE_FILE = "meta.json"  # tantivy's list of the index's files
_REWRITTEN = frozenset({_STATE_FILE, ".managed.json"})  # tantivy never changes other files


class LexicalCache:
    """A lexical index of one state of the database, which catches up before each search.

    It changes only within a transaction of the database, whose lock excludes other processes.

    Attributes:
        current: The version of the database that the index is at, and a searcher of it.
    """

    def __init__(self, database: Database, folder: Path | None) -> None:
        """Start empty; the first search opens the index, or builds it.

        Args:
            database: The database to cache.
            folder: The folder of the index; ``None`` for a store in memory.
        """
        self._database = database
        self._folder = folder
        self._lock = AccessLock()
        self._index: LexicalIndex | None = None
        # Replaced as a whole, so that no exception can leave a searcher with the version of another.
        self.current: tuple[Version | None, LexicalSearcher | None] = (None, None)

    def close(self) -> None:
        """Release the index and its files."""
        self._index, self.current = None, (None, None)

    def after_fork(self) -> None:
        """Start afresh in the child process, which has no threads of tantivy's."""
        self._lock.reset()
        self.close()

    def catch_up(self) -> None:
        """Bring the index up to date with the database.

        Raises:
            StoreError: The index can't be written.
        """
        if self._database.read_only:
            self._lock.write(lambda: self._database.read(self.advance_to_read))
        else:
            self.change(self.advance)

    def advance_to_read(self, snapshot: Snapshot) -> None:
        """Bring what a read-only store searches to a state: a copy of the index, or one in memory."""
        if self.current[0] != snapshot.version:
            index = self._copied(snapshot) or self._built(snapshot)
            self.current = snapshot.version, index.searcher()

    def change(self, work: Callable[[Transaction], T]) -> T:
        """Run a function of a transaction that may change the index.

        Raises:
            StoreError: The index can't be written.
        """
        try:
            return within((self._database.lock.alone,), partial(self._database.transact, work))
        except (OSError, ValueError, RuntimeError) as error:
            self.close()
            raise StoreError(
                f"the lexical index of {self._database.name} can't be written: {error}; make sure that there is room "
                "and that the folder can be written, or open the store with read_only=True, and search again, which "
                "rebuilds the index if it was damaged"
            ) from error
        except BaseException:
            # The index may be newer than its record; it is opened and checked again.
            self.close()
            raise

    def advance(self, transaction: Transaction) -> None:
        """Bring the index to the state of a transaction, which records it."""
        state = transaction.state
        version = state.generation, state.token
        if self.current[0] == version:
            return
        kept, folder = recorded_index(transaction), self._folder
        if self._index is None and kept and folder and is_intact(seals_in(folder), kept["files"]):
            self._index = LexicalIndex(folder)
        elif self._index is None or (
            kept and folder and seal_of(folder / _STATE_FILE) != kept["files"].get(_STATE_FILE)
        ):
            kept = None  # damaged, or another process was killed between changing the index and recording it
        at = (kept["generation"], kept["token"]) if kept else None
        changes = transaction.changes_since(*at) if at else None
        if at is None or changes is None or self._index is None:
            self._index = self._emptied()
            self._index.change(None, texts_with_headings(transaction.texts_after(0)))
        elif at != version and len(changes.removed) and state.sentences <= MAX_WRITTEN_ANEW:
            self._index.change(None, texts_with_headings(transaction.texts_after(0)))
        elif at != version:
            self._index.change(changes.removed, texts_with_headings(transaction.texts_after(changes.last_row)))
        searcher = self._index.searcher()
        if at != version:
            # A file that was damaged since it was written must not get a new seal; and reading all files takes time.
            written = kept["files"] if kept else {}
            unchanged = {name: seal for name, seal in written.items() if name not in _REWRITTEN}
            files = seals_in(folder, unchanged) if folder else {}
            record = {"format": FORMAT, "generation": state.generation, "token": state.token, "files": files}
            transaction.set_fact(_FACT, record)
        self.current = version, searcher

    def _emptied(self) -> "LexicalIndex":
        if self._folder:
            if self._folder.is_symlink() or self._folder.is_file():
                self._folder.unlink()
            elif self._folder.exists():
                shutil.rmtree(self._folder)
            self._folder.mkdir()
        return LexicalIndex(self._folder)

    def _copied(self, snapshot: Snapshot) -> "LexicalIndex | None":
        """Return a copy of the index if it is current, as tantivy writes lock files beside an index that it reads."""
        kept = recorded_index(snapshot)
        if kept is None or (kept["generation"], kept["token"]) != snapshot.version:
            return None
        return copied_index(self._folder, kept["files"]) if self._folder and kept["files"] else None

    def _built(self, snapshot: Snapshot) -> "LexicalIndex":
        index = LexicalIndex(None)
        index.change(np.empty(0, dtype=np.int64), texts_with_headings(snapshot.texts_after(0)))
        return index


def copied_index(folder: Path, files: Mapping[str, Seal]) -> "LexicalIndex | None":
    """Open a copy of an index, which is removed when nothing uses it any more.

    Args:
        folder: The folder of the index.
        files: The seals of its files by name.

    Returns:
        ``None`` if the files aren't those that were sealed.
    """
    copy = _TemporaryFolder()
    try:
        for name in files:
            shutil.copyfile(folder / name, copy.path / name, follow_symlinks=False)
    except OSError:
        return None
    # The copy is checked, not the original, which may have changed meanwhile.
    return LexicalIndex(copy.path, owner=copy) if is_intact(seals_in(copy.path), files) else None


def recorded_index(snapshot: Snapshot) -> dict[str, Any] | None:
    """Return the record of the index from when it was last brought up to date, if it has this format."""
    kept: dict[str, Any] | None = snapshot.fact(_FACT)
    return kept if kept is not None and kept.get("format") == FORMAT else None


class _TemporaryFolder:
    """A folder that is removed when nothing refers to this object any more."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="lexical"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


_ROW = "row"
_TEXT = "heading_and_text_separated"
"""The field's name says what it holds, as tantivy opens no index whose fields have other names."""

_TOKENIZER = "words"  # of texts as `indexed` returns them
_HEAP = 30_000_000  # bytes; tantivy takes no less than 15 million
_MAX_WORDS_COMPARED = 200
_MAX_ROWS_IN_QUERY = 10_000
"""The largest number of allowed rows to pass to tantivy; with more, hits are filtered until there are enough."""


class LexicalIndex:
    """Texts by row, searched for words."""

    def __init__(self, folder: Path | None, *, owner: object = None) -> None:
        """Open the index in a folder, or create it there.

        Args:
            folder: The folder; ``None`` for an index in memory.
            owner: The object that removes the folder when it is collected; kept as long as something searches there.
        """
        import tantivy  # on use, as a program may search another store

        self._owner, self._library = owner, tantivy
        builder = tantivy.SchemaBuilder()
        # Signed, as a Python int in an unsigned field crashes tantivy's writer.
        builder.add_integer_field(_ROW, indexed=True, fast=True)
        builder.add_text_field(_TEXT, tokenizer_name=_TOKENIZER, index_option="freq")
        self._schema = builder.build()
        self._analyzer = (
            tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).filter(tantivy.Filter.lowercase()).build()
        )
        self._index = tantivy.Index(self._schema, path=str(folder) if folder else None)
        self._index.register_tokenizer(_TOKENIZER, self._analyzer)
        self._index.config_reader("manual")
        self._index.reload()

    def change(self, removed: Rows | None, added: Iterable[tuple[int, str]]) -> None:
        """Remove rows, add pairs of ``(row, text)``, and commit.

        Args:
            removed: The rows; those that don't exist are ignored. ``None`` removes all, and what is remembered of them.
            added: The rows to add, and their texts.
        """
        writer = None
        try:
            try:
                writer = self._index.writer(_HEAP, 1)
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
                # The writer holds tantivy's lock while it exists, and an exception would keep it with this frame.
                writer = None
        finally:
            writer = None  # again, in case another exception interrupted the first

    def searcher(self) -> "LexicalSearcher":
        """Return a searcher of the current state, which later changes don't affect."""
        self._index.reload()
        return LexicalSearcher(self._library, self._schema, self._analyzer, self._index.searcher(), self._owner)


@dataclass(eq=False)
class LexicalSearcher:
    """A searcher of one state of a lexical index, for any number of threads; the owner keeps its files."""

    _library: Any
    _schema: Any
    _analyzer: Any
    _searcher: Any
    _owner: object

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
        if allowed is None:
            pairs = with_tied(lambda count: self._run(any_word, count), k)
        elif len(allowed) <= _MAX_ROWS_IN_QUERY:
            within = self._within(any_word, allowed)
            pairs = with_tied(lambda count: self._run(within, count), k)
        else:
            pairs = with_tied(lambda count: self._run_and_filter(any_word, count, allowed), k)
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))

    def document_frequency(self, words: Sequence[str]) -> tuple[list[int], int]:
        """Return how many texts hold each word, and how many texts there are.

        Args:
            words: Words as the index has them, in any case. Of another string, the rarest of its words counts.
        """
        # Removed texts count until their part of the index is rewritten.
        texts = int(self._searcher.num_docs)
        analyzed = [self._analyzer.analyze(plain(word)) for word in words]
        counts = [min((self._searcher.doc_freq(_TEXT, each) for each in found), default=0) for found in analyzed]
        return [min(int(count), texts) for count in counts], texts

    def sample(self, word: str, size: int, most: int, allowed: Rows | None) -> tuple[int, Rows]:
        """Return how many texts hold a word, and the rows of some of them, spread evenly over the index.

        Args:
            word: A word as the index has it.
            size: The most rows to return.
            most: The most texts to look at; if more hold the word, no row is returned.
            allowed: The rows to count, in order; ``None`` for all.
        """
        word = encodable(plain(word).strip())
        count = int(self._searcher.doc_freq(_TEXT, word))
        if not 0 < count <= most:
            return count, np.empty(0, dtype=np.int64)
        query = self._library.Query.term_query(self._schema, _TEXT, word, "freq")
        unscored = self._library.Query.const_score_query(query, 0.0)
        found = self._searcher.search(unscored, count, count=False).hits
        if allowed is not None:
            rows = self._rows(found)
            found = rows[are_in(rows, allowed)].tolist()
        total = len(found)
        if total > size:
            found = [found[(2 * number + 1) * total // (2 * size)] for number in range(size)]
        return total, self._rows(found) if allowed is None else np.array(found, dtype=np.int64)

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

    def has_words(self, row: int, text: str) -> bool:
        """Return whether a row's text has all words of another text."""
        words = list(dict.fromkeys(self._analyzer.analyze(indexed(text))))[:_MAX_WORDS_COMPARED]
        must = self._library.Occur.Must
        terms = [self._library.Query.term_query(self._schema, _TEXT, word, "freq") for word in words]
        of_row = self._library.Query.term_query(self._schema, _ROW, row)
        every = self._library.Query.boolean_query([(must, each) for each in (of_row, *terms)])
        return bool(self._searcher.search(every, 1, count=False).hits)

    def _rows(self, hits: Sequence[tuple[Any, Any]]) -> Rows:
        return np.array(self._searcher.fast_field_values(_ROW, [address for _, address in hits]), dtype=np.int64)

    def _run_and_filter(self, query: Any, k: int, allowed: Rows) -> list[tuple[int, float]]:
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
