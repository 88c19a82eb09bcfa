"""A lexical index for a store that has no lexical search, in a folder or in memory.

The retriever updates it together with the store, and adds its BM25 scores to the sentences that the store has found. It
adds no sentence that the store didn't find, so the store's filters and tenants hold. What the store holds and the index
lacks is read from the store when a query finds some of it.
"""

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike

import numpy as np
from langchain_core.documents import Document
from tqdm.auto import tqdm

from langchain_sentence_window._arguments import checked_documents
from langchain_sentence_window._display import shown, summary_repr
from langchain_sentence_window._io import OpenFiles
from langchain_sentence_window.documents.keys import HEADING, checked_ids, sentence_id
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.errors import InvalidInputError, StoreError
from langchain_sentence_window.ranking.candidates import SPREAD, spread

from .files import as_folder, make_folder, refuse_links
from .records import with_heading
from .words import LexicalIndex

_SECONDS_TO_WAIT = 10.0
"""How long a query waits for another process that writes to the index which it has to fill."""


class BM25Index(OpenFiles):
    """A BM25 index for a retriever over a store that has no lexical search.

    If the store holds documents already, the first query fills the index; the store must be able to list them. The
    index's scores count without a ranking, and in a ranking that has a weight for ``lexical`` or ``lexical_rank``. The
    default ranking has none.

    Processes on one machine may share the index's folder: all see what one has written, and one may write at a time. If
    several machines write, use the store's hybrid search through ``search_kwargs`` instead.

    Examples:
        >>> SentenceWindowRetriever(vectorstore=store, bm25_index=BM25Index("words/"))  # doctest: +SKIP
    """

    def __init__(self, path: str | PathLike[str] | None = None) -> None:
        """Open the index in a folder, or create it there.

        Args:
            path: The folder; ``None`` for an index in memory.

        Raises:
            StoreError: The path can't be used.
        """
        self._path = None if path is None else as_folder(path)
        self._unlisted: set[int] = set()
        try:
            if self._path is not None:
                make_folder(self._path)
                refuse_links(*self._path.iterdir())
            self._index = LexicalIndex(self._path)
        except (OSError, ValueError) as error:
            raise StoreError(
                f"{str(path)!r} can't be used for a BM25 index: {error}; choose another path, or, if an earlier "
                "version of this package made that index, remove the folder and add the documents again"
            ) from error

    def __repr__(self) -> str:
        """Return where the index is."""
        return summary_repr(type(self).__name__, self.__dict__.get("_path"), ())

    def _reopened(self) -> str:
        if self._path is None:
            return "make one at a path, BM25Index(path), and add the documents again"
        return f"BM25Index({str(self._path)!r})"

    def change(self, removed: Sequence[str], added: Sequence[Document]) -> None:
        """Remove sentences, and add others; an added sentence replaces one with the same id.

        Args:
            removed: Ids of sentences.
            added: Sentence Documents.

        Raises:
            InvalidInputError: One isn't the id of a sentence, or isn't a sentence Document; nothing was changed.
            StoreError: The index can't be written; nothing was changed.
        """
        removed, added = checked_ids(removed), checked_documents(added)
        ids = {*removed, *(str(sentence.id) for sentence in added)}
        rows = np.array(sorted(map(_row_of_id, ids)), dtype=np.int64)
        try:
            texts = [
                (_row_of_id(str(each.id)), with_heading(each.metadata.get(HEADING), each.page_content))
                for each in added
            ]
            self._index.change(rows, texts)
        except (OSError, ValueError) as error:
            raise self._unwritable(error, "add the documents again") from error

    def lacking(self, found: Sequence[StoredSentence]) -> list[StoredSentence]:
        """Return the sentences that a store has found and this index doesn't hold, as far as it may be filled."""
        by_row = {_row_of_id(sentence_id(*sentence.key)): sentence for sentence in found}
        known = self._index.searcher().known(np.array(sorted(by_row), dtype=np.int64)).tolist()
        return [sentence for row, sentence in by_row.items() if row not in self._unlisted.union(known)]

    def fill(self, stored: Iterable[StoredSentence], lacking: Sequence[StoredSentence]) -> None:
        """Add the sentences of a store that it lacks; what it holds stays as it is.

        Args:
            stored: All sentences of the store.
            lacking: Those that were found and are lacking. One that isn't stored any more is not asked for again.

        Raises:
            StoreError: The index can't be written; nothing was changed.
        """
        listed = {_row_of_id(sentence_id(*each.key)): with_heading(each.heading, each.text) for each in stored}

        def texts() -> Iterator[tuple[int, str]]:
            # Runs while no other process can write, so that no newer text is replaced.
            known = set(self._index.searcher().all_rows().tolist())
            missing = [row for row in listed if row not in known]
            for row in tqdm(missing, "Filling the BM25 index", unit=" sentences", disable=None, delay=1.0):
                yield row, listed[row]

        deadline = time.monotonic() + _SECONDS_TO_WAIT
        while listed and self.lacking(lacking):
            try:
                self._index.change(np.empty(0, dtype=np.int64), texts())
            except (OSError, ValueError) as error:
                is_writable = self._path is None or os.access(self._path, os.W_OK)
                if not is_writable or time.monotonic() > deadline:
                    raise self._unwritable(error, "ask again") from error
                time.sleep(0.05)
            else:
                break
        self._unlisted.update({_row_of_id(sentence_id(*each.key)) for each in lacking} - listed.keys())

    def spread_scores(
        self, query: str, found: Sequence[StoredSentence], *, found_alone: bool = False
    ) -> dict[int, float]:
        """Return the BM25 scores of sentences that a store has found, with shares of their neighbors'.

        Args:
            query: The query.
            found: The sentences that the store has found.
            found_alone: Whether only sentences that were found give their neighbors a share of their scores.

        Returns:
            Scores by position in ``found``; 0 for a sentence without a word of the query near it.
        """
        reach = len(SPREAD) - 1
        around = {
            (sentence.doc_id, index): _row_of_id(sentence_id(sentence.doc_id, index))
            for sentence in found
            for index in range(
                max(sentence.index - reach, sentence.section_start),
                min(sentence.index + reach + 1, sentence.section_end),
            )
        }
        giving = {around[sentence.key] for sentence in found} if found_alone else set(around.values())
        rows = np.array(sorted(giving), dtype=np.int64)
        bm25 = dict(self._index.searcher().search(query, max(1, len(rows)), rows))
        scores = spread(bm25, _neighbor_pairs(found, around, bm25, reach))
        found_rows = [around[sentence.key] for sentence in found]
        return {number: scores.get(row, 0.0) for number, row in enumerate(found_rows)}

    def scores(self, query: str, found: Sequence[StoredSentence]) -> list[tuple[int, float]]:
        """Return the BM25 scores of sentences that a store has found; those without a word of the query have none.

        Returns:
            ``(index in found, BM25 score)``, best first, equal ones by document and index.
        """
        numbers = {_row_of_id(sentence_id(*sentence.key)): number for number, sentence in enumerate(found)}
        rows = np.array(sorted(numbers), dtype=np.int64)
        scored = self._index.searcher().search(query, max(1, len(rows)), rows)
        best = sorted(scored, key=lambda each: (-each[1], found[numbers[each[0]]].key))
        return [(numbers[row], score) for row, score in best]

    def _unwritable(self, error: Exception, then: str) -> StoreError:
        return StoreError(
            f"the BM25 index at {str(self._path)!r} can't be written: {error}; let this user write in its folder, or, "
            f"if another process is writing to it, wait for its end, and {then}"
        )


def _row_of_id(id_: str) -> int:
    """Return the row of a sentence: 63 bits of its id."""
    try:
        return int(id_.replace("-", "")[:16], 16) >> 1
    except ValueError:
        raise InvalidInputError(
            f"{shown(id_)} isn't the id of a sentence; give one that SentenceSplitter made"
        ) from None


def _neighbor_pairs(
    found: Sequence[StoredSentence], around: dict[tuple[str, int], int], bm25: dict[int, float], reach: int
) -> list[tuple[int, int, int]]:
    """Return ``(row with a score, row found, sentences apart)`` for all neighbors in the same section."""
    return [
        (row, around[sentence.key], abs(index - sentence.index))
        for sentence in found
        for index in range(sentence.index - reach, sentence.index + reach + 1)
        if index != sentence.index and sentence.section_start <= index < sentence.section_end
        for row in [around[sentence.doc_id, index]]
        if row in bm25
    ]
