"""Reading the sentences around those that were found."""

from collections.abc import Sequence

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window.calls import Call, Steps
from langchain_sentence_window.errors import IncompleteWindowError
from langchain_sentence_window.ids import sentence_id
from langchain_sentence_window.metadata import StoredSentence, by_place, read_sentence


def fetch_sentences(
    store: VectorStore, places: Sequence[tuple[str, int]]
) -> Steps[dict[tuple[str, int], StoredSentence]]:
    """Fetch sentences by document and index, in one call; those that don't exist are left out.

    Raises:
        IncompleteWindowError: The store can't fetch by id.
    """
    if not places:
        return {}
    ids = [sentence_id(doc_id, index) for doc_id, index in places]
    try:
        documents: list[Document] = yield Call(store.get_by_ids, store.aget_by_ids, (ids,))
    except NotImplementedError as error:
        raise IncompleteWindowError(
            f"{type(store).__name__} can't fetch documents by id, and windows are read so; use a store with get_by_ids"
        ) from error
    return by_place(map(read_sentence, documents))
