"""Searching by words beside a store that can't: a lexical index of one's own, in a folder or in memory.

It is kept in step by the retriever that has it, and adds BM25 scores to what the store has found by meaning. It
brings in no sentence that the store didn't find, so a filter, or whose text it is, stays the store's business.
"""

from collections.abc import Sequence
from os import PathLike

import numpy as np
from langchain_core.documents import Document

from langchain_sentence_window._arguments import checked_documents
from langchain_sentence_window._handles import OpenFiles
from langchain_sentence_window._showing import as_place, shown
from langchain_sentence_window.documents.ids import checked_ids, sentence_id
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.errors import InvalidInputError, StoreError
from langchain_sentence_window.ranking.fusion import SPREAD, fuse, spread
from langchain_sentence_window.stores.faiss.database.files import as_folder, make_folder, refuse_links
from langchain_sentence_window.stores.faiss.database.locks import AccessLock
from langchain_sentence_window.stores.faiss.lexical.index import LexicalIndex


class BM25Index(OpenFiles):
    """Words of sentences, for a retriever over a store that can't search by words.

    It is one machine's: processes that share its folder see what one of them has written, and only one may write
    at a time. Where several machines write, use the store's own hybrid search through ``search_kwargs``.

    Example:
        >>> SentenceWindowRetriever(vectorstore=store, bm25_index=BM25Index("words/"))  # doctest: +SKIP
    """

    def __init__(self, path: str | PathLike[str] | None = None) -> None:
        """Open the index at a path, or make it there.

        Args:
            path: A folder; ``None`` for an index in memory.

        Raises:
            StoreError: The path can't be used.
        """
        self._path = None if path is None else as_folder(path)
        self._writing = AccessLock()
        try:
            if self._path is not None:
                make_folder(self._path)
                refuse_links(*self._path.iterdir())
            self._index = LexicalIndex(self._path)
        except (OSError, ValueError) as error:
            raise StoreError(f"{str(path)!r} can't be used for an index of words: {error}; choose another") from error

    def __repr__(self) -> str:
        """Say where the index is."""
        return as_place(type(self).__name__, self.__dict__.get("_path"), ())

    def _reopened(self) -> str:
        if self._path is None:
            return "make one at a path, BM25Index(path), and add the documents again"
        return f"BM25Index({str(self._path)!r})"

    def change(self, removed: Sequence[str], added: Sequence[Document]) -> None:
        """Remove sentences by their ids, and add others, or put them in the place of those with the same ids.

        Raises:
            InvalidInputError: They aren't ids of sentences, and sentence Documents; nothing was changed.
            StoreError: The index can't be written; nothing was changed.
        """
        removed, added = checked_ids(removed), checked_documents(added)
        ids = {*removed, *(str(sentence.id) for sentence in added)}
        rows = np.array(sorted(map(_row, ids)), dtype=np.int64)
        try:
            texts = [(_row(str(sentence.id)), sentence.page_content) for sentence in added]
            self._writing.write(lambda: self._index.change(rows, texts))
        except (OSError, ValueError) as error:
            raise StoreError(
                f"the index of words at {str(self._path)!r} can't be written: {error}; if another process writes it, "
                "let it end, and add the documents again"
            ) from error

    def rank(
        self,
        query: str,
        found: Sequence[StoredSentence],
        scores: Sequence[float],
        weight: float,
        *,
        found_alone: bool = False,
    ) -> list[tuple[int, float]]:
        """Rank what a store has found by meaning and words together; see `fusion`.

        Args:
            query: What was asked.
            found: Sentences.
            scores: Theirs, higher for a better one.
            weight: What a standard deviation of BM25 scores counts, in standard deviations of the store's scores.
            found_alone: Whether only sentences that were found give their neighbors a share of their scores.

        Returns:
            ``(place in found, score)``, best first.
        """
        reach = len(SPREAD) - 1
        around = {
            (sentence.doc_id, index): _row(sentence_id(sentence.doc_id, index))
            for sentence in found
            for index in range(
                max(sentence.index - reach, sentence.section_start),
                min(sentence.index + reach + 1, sentence.section_end),
            )
        }
        if found_alone:
            places = {(sentence.doc_id, sentence.index) for sentence in found}
            rows = np.array(sorted({around[place] for place in places}), dtype=np.int64)
        else:
            rows = np.array(sorted(set(around.values())), dtype=np.int64)
        bm25 = dict(self._index.searcher().search(query, max(1, len(rows)), rows))
        spread_scores = spread(bm25, _pairs(found, around, bm25, reach))
        at = [around[sentence.doc_id, sentence.index] for sentence in found]
        lexical = {place: spread_scores.get(row, 0.0) for place, row in enumerate(at)}
        return fuse(dict(enumerate(scores)), lexical, weight)

    def scores(self, query: str, found: Sequence[StoredSentence]) -> list[tuple[int, float]]:
        """Score what a store has found by words alone; a sentence without any of them is left out.

        Returns:
            ``(place in found, BM25 score)``, best first.
        """
        places = {_row(sentence_id(sentence.doc_id, sentence.index)): place for place, sentence in enumerate(found)}
        rows = np.array(sorted(places), dtype=np.int64)
        return [(places[row], score) for row, score in self._index.searcher().search(query, max(1, len(rows)), rows)]


def _row(id_: str) -> int:
    """A number for a sentence: 63 bits of its id."""
    try:
        return int(id_.replace("-", "")[:16], 16) >> 1
    except ValueError:
        raise InvalidInputError(f"{shown(id_)} isn't the id of a sentence, as SentenceSplitter gives it") from None


def _pairs(
    found: Sequence[StoredSentence], around: dict[tuple[str, int], int], bm25: dict[int, float], reach: int
) -> list[tuple[int, int, int]]:
    """``(row with a score, row found, how many sentences apart)`` for those of the same section."""
    return [
        (row, around[sentence.doc_id, sentence.index], abs(index - sentence.index))
        for sentence in found
        for index in range(sentence.index - reach, sentence.index + reach + 1)
        if index != sentence.index and sentence.section_start <= index < sentence.section_end
        for row in [around[sentence.doc_id, index]]
        if row in bm25
    ]
