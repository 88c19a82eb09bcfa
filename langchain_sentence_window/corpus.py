"""Source documents in a vector store that knows only sentences: fetch, replace, delete.

Works with any LangChain vector store that has ``get_by_ids``. A store that can do a step in one
transaction says so with a method of its own, as `FaissStore.replace_documents` does.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window.calls import Call, Steps
from langchain_sentence_window.ids import sentence_id
from langchain_sentence_window.metadata import DOC_ID

IDS_AT_ONCE = 256
"""Sentence ids asked for in one call when looking for all that a document has in a store."""


def replace_documents(
    store: VectorStore,
    sentences: Sequence[Document],
    doc_ids: Sequence[str],
    contexts: Sequence[str] | None = None,
    *,
    show_progress: bool,
) -> Steps[None]:
    """Put sentences in the place of all that the source documents had in the store.

    New sentences go in first, so that a failing embedder leaves what was there.
    """
    replace: Any = getattr(store, "replace_documents", None)
    if replace is not None:
        areplace: Any = store.areplace_documents  # type: ignore[attr-defined]
        before = {"contexts": contexts}
        progress = {"show_progress": show_progress}
        yield Call(partial(replace, **progress), areplace, (sentences, doc_ids), before)
        return
    if sentences:
        ids = {"ids": [sentence.id for sentence in sentences]}
        yield Call(store.add_documents, store.aadd_documents, (list(sentences),), ids)
    counts = dict.fromkeys(doc_ids, 0)
    for sentence in sentences:
        counts[sentence.metadata[DOC_ID]] += 1
    for doc_id, count in counts.items():
        yield from _delete_from(store, doc_id, count)


def delete_documents(store: VectorStore, doc_ids: Sequence[str]) -> Steps[None]:
    """Delete all sentences of the source documents; those that don't exist are ignored."""
    yield from replace_documents(store, [], doc_ids, show_progress=False)


def _delete_from(store: VectorStore, doc_id: str, first: int) -> Steps[None]:
    """Delete the sentences of a document from an index on; a document's indexes have no gap."""
    while True:
        ids = [sentence_id(doc_id, index) for index in range(first, first + IDS_AT_ONCE)]
        found: list[Document] = yield Call(store.get_by_ids, store.aget_by_ids, (ids,))
        if found:
            yield Call(store.delete, store.adelete, (ids[: len(found)],))
        if len(found) < len(ids):
            return
        first += len(ids)
