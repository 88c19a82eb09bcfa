"""Reading the sentences around those that were found: by id where the store can, else from inline windows."""

from collections.abc import Sequence

from langchain_core.vectorstores import VectorStore

from langchain_sentence_window.calls import Steps
from langchain_sentence_window.errors import IncompleteWindowError
from langchain_sentence_window.ids import sentence_id
from langchain_sentence_window.metadata import SentencesByPlace, StoredSentence, by_place, read_sentence
from langchain_sentence_window.stores import fetch


class Neighbours:
    """Reads sentences of a store by their places, each once, so that a query makes one round trip."""

    def __init__(self, store: VectorStore) -> None:
        """Begin with nothing read."""
        self._store = store
        self._asked: set[tuple[str, int]] = set()
        self._read: dict[tuple[str, int], StoredSentence] = {}

    def read(self, places: Sequence[tuple[str, int]], found: SentencesByPlace) -> Steps[SentencesByPlace]:
        """Read sentences by document and index; those that don't exist are left out.

        Args:
            places: Which to read.
            found: What the search found; sentences of their inline windows need no reading.

        Raises:
            IncompleteWindowError: The store can't fetch by id, and no inline window holds a sentence; or it
                gives back none of those that the search found.
        """
        inline = by_place(sentence for hit in found.values() for sentence in hit.window)
        self._read = inline | self._read
        missing = [place for place in dict.fromkeys(places) if place not in self._asked and place not in self._read]
        if missing:
            self._asked.update(missing)
            fetched = yield from fetch(self._store, [sentence_id(*place) for place in missing])
            if fetched is None:
                raise IncompleteWindowError(_neither(self._store, missing, has_inline=bool(inline)))
            if not fetched and found.keys() & set(missing):
                raise IncompleteWindowError(
                    f"{type(self._store).__name__} gave back none of {len(missing)} sentences by their ids, though its "
                    "search had found some of them; they were deleted just now, or the store doesn't keep the ids it "
                    "is given: add documents through the retriever, or use SentenceSplitter(inline_window=2)"
                )
            self._read |= by_place(map(read_sentence, fetched))
        return self._read


def _neither(store: VectorStore, missing: Sequence[tuple[str, int]], *, has_inline: bool) -> str:
    name, (doc_id, index) = type(store).__name__, missing[0]
    if has_inline:
        return (
            f"{name} can't fetch documents by id, and no inline window holds sentence {index} of document {doc_id!r}; "
            "ask with a smaller window, or index with a larger inline_window of SentenceSplitter"
        )
    return (
        f"{name} can't fetch documents by id, and its sentences carry no inline windows; use a store with get_by_ids, "
        "or index with SentenceWindowRetriever(splitter=SentenceSplitter(inline_window=2), ...)"
    )
