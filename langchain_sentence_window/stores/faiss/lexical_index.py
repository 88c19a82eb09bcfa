"""Adds, removes and searches texts, by row, with tantivy.

Words are those of `langchain_sentence_window.ranking.words`, in lower case. There are no stop words and no stemming.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from langchain_sentence_window._primitives import Rows, encodable
from langchain_sentence_window.ranking.words import separated
from langchain_sentence_window.stores.faiss.database.reads import are_in
from langchain_sentence_window.stores.faiss.ties import with_tied

T = TypeVar("T")

_ROW = "row"
_TEXT = "heading_and_text_separated"
"""The field's name says what it holds, as tantivy opens no index whose fields have other names."""

_TOKENIZER = "words"  # of texts as `separated` returns them
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
        self._owner = owner
        tantivy = _tantivy()
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
        tantivy = _tantivy()
        writer = None
        try:
            try:
                writer = self._index.writer(_HEAP, 1)
                if removed is None:
                    writer.delete_all_documents()
                for row in () if removed is None else removed.tolist():
                    writer.delete_documents_by_term(_ROW, row)
                for row, text in added:
                    document = tantivy.Document()
                    document.add_integer(_ROW, row)
                    document.add_text(_TEXT, separated(text))
                    writer.add_document(document)
                writer.commit()
                writer.wait_merging_threads()
            finally:
                # The writer holds tantivy's lock while it exists, and an exception would keep it with this frame.
                writer = None
        finally:
            writer = None  # again, in case another exception interrupted the first
        self._index.reload()

    def searcher(self) -> "LexicalSearcher":
        """Return a searcher of the current state, which later changes don't affect."""
        self._index.reload()
        return LexicalSearcher(self._schema, self._analyzer, self._index.searcher(), self._owner)


class LexicalSearcher:
    """A searcher of one state of a lexical index, for any number of threads."""

    def __init__(self, schema: Any, analyzer: Any, searcher: Any, owner: object = None) -> None:
        """Search with tantivy's searcher, whose files an owner keeps."""
        self._owner = owner
        self._schema = schema
        self._analyzer = analyzer
        self._searcher = searcher

    def search(self, query: str, k: int, allowed: Rows | None) -> list[tuple[int, float]]:
        """Find the rows whose texts match best; a text needs one of the query's words.

        Args:
            query: Any text; it has no special syntax.
            k: The number of results; there are fewer only if fewer texts match, and more if others match as well as the
                last.
            allowed: The rows to search, in order; ``None`` for all.

        Returns:
            ``(row, BM25 score)``, best first, ties by row.
        """
        words = list(dict.fromkeys(self._words_of(query)))
        if not words or (allowed is not None and not len(allowed)):
            return []
        k = min(k, self._searcher.num_docs) or 1
        any_word = self._any_of(words)
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
        analyzed = [self._words_of(word) for word in words]
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
        word = encodable(word)
        count = int(self._searcher.doc_freq(_TEXT, word))
        if not 0 < count <= most:
            return count, np.empty(0, dtype=np.int64)
        unscored = _tantivy().Query.const_score_query(self._any_of([word]), 0.0)
        hits = self._searcher.search(unscored, count, count=False).hits
        if allowed is None:
            return len(hits), self._rows(_evenly(hits, size))
        rows = self._rows(hits)
        rows = rows[are_in(rows, allowed)]
        return len(rows), np.array(_evenly(rows.tolist(), size), dtype=np.int64)

    def all_rows(self) -> Rows:
        """Return all rows, in any order."""
        every = _tantivy().Query.all_query()
        return self._rows(self._searcher.search(every, max(1, self._searcher.num_docs), count=False).hits)

    def known(self, rows: Rows) -> Rows:
        """Return those of some rows that are there, in any order."""
        if not len(rows):
            return rows
        these = _tantivy().Query.term_set_query(self._schema, _ROW, rows.tolist())
        return self._rows(self._searcher.search(these, len(rows), count=False).hits)

    def has_words(self, row: int, text: str) -> bool:
        """Return whether a row's text has all words of another text."""
        words = list(dict.fromkeys(self._words_of(text)))[:_MAX_WORDS_COMPARED]
        tantivy = _tantivy()
        must = tantivy.Occur.Must
        terms = [tantivy.Query.term_query(self._schema, _TEXT, word, "freq") for word in words]
        of_row = tantivy.Query.term_query(self._schema, _ROW, row)
        every = tantivy.Query.boolean_query([(must, each) for each in (of_row, *terms)])
        return bool(self._searcher.search(every, 1, count=False).hits)

    def _words_of(self, text: str) -> list[str]:
        words: list[str] = self._analyzer.analyze(separated(text))
        return words

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

    def _any_of(self, words: list[str]) -> Any:
        tantivy = _tantivy()
        should = tantivy.Occur.Should
        return tantivy.Query.boolean_query(
            [(should, tantivy.Query.term_query(self._schema, _TEXT, word, "freq")) for word in words]
        )

    def _within(self, query: Any, allowed: Rows) -> Any:
        tantivy = _tantivy()
        must = tantivy.Occur.Must
        rows = tantivy.Query.term_set_query(self._schema, _ROW, allowed.tolist())
        return tantivy.Query.boolean_query([(must, query), (must, tantivy.Query.const_score_query(rows, 0.0))])


def _evenly(items: Sequence[T], size: int) -> Sequence[T]:
    """Return up to ``size`` items, spread evenly over all."""
    if len(items) <= size:
        return items
    return [items[(2 * number + 1) * len(items) // (2 * size)] for number in range(size)]


def _tantivy() -> Any:
    """Import tantivy on use, as a program may search another store."""
    import tantivy

    return tantivy
