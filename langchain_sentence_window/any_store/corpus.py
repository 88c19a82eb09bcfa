"""Source documents in a vector store that knows only sentences: replace and delete.

Works with any LangChain vector store. A store that can do it in one transaction says so with a method of its
own, as `FaissStore.replace_documents` does. In the others a document's sentences are written from the first to
the last and deleted from the last to the first, so that whatever is cut short leaves no gap, and doing it again
puts it right.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window.any_store.access import embedder_of, fetch, put, remove
from langchain_sentence_window.any_store.words import WordIndex
from langchain_sentence_window.calls import Call, Steps, in_thread
from langchain_sentence_window.embedding.in_context import EmbeddingsInContext, prepare
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError
from langchain_sentence_window.ids import sentence_id
from langchain_sentence_window.metadata.keys import DOC_ID
from langchain_sentence_window.metadata.sentence_documents import StoredSentence, read_sentence
from langchain_sentence_window.metadata.window_documents import source_document

ASKED_AT_ONCE = 256
"""Sentences of a document asked for in one call when looking for all that it has in a store."""

MOST_UNSEEN = 4_096
"""Sentences that a document may have in a store that can't fetch by id. What such a store has of a document
can't be known, so all that it may have is deleted."""


def replace_documents(
    store: VectorStore,
    sentences: Sequence[Document],
    doc_ids: Sequence[str],
    contexts: Sequence[str] | None = None,
    *,
    show_progress: bool,
    words: WordIndex | None = None,
) -> Steps[None]:
    """Put sentences in the place of all that the source documents had in the store.

    A failing embedder leaves what was there, of up to `WRITTEN_AT_ONCE` sentences in a store that embeds them itself.

    Args:
        store: Where they go.
        sentences: Sentence Documents, document by document, in order.
        doc_ids: The source documents they replace; those without a sentence now are removed.
        contexts: What is put before each sentence when it is embedded, where the store lets us embed: one that
            was built with `EmbeddingsInContext`, or `FaissStore`.
        show_progress: Whether to show a progress bar while embedding, where the store lets us embed.
        words: An index of words that is kept in step.

    Raises:
        InvalidInputError: A document is too long for a store that can't fetch by id.
    """
    replace: Any = getattr(store, "replace_documents", None)
    if replace is not None:
        areplace: Any = store.areplace_documents  # type: ignore[attr-defined]
        before = {"contexts": contexts}
        progress = {"show_progress": show_progress}
        yield Call(partial(replace, **progress), areplace, (sentences, doc_ids), before)
        return
    stored = yield from _stored(store, doc_ids)
    if stored is None:
        _check_lengths(store, sentences)
        existing = None
        stale = [sentence_id(doc_id, index) for doc_id in doc_ids for index in range(MOST_UNSEEN)]
    else:
        existing = stale = [sentence_id(each.doc_id, each.index) for all_of in stored.values() for each in all_of]
    yield from _write(store, sentences, contexts, existing, show_progress=show_progress)
    new = {sentence.id for sentence in sentences}
    yield from remove(store, [id_ for id_ in reversed(stale) if id_ not in new])
    if words is not None:
        yield in_thread(words.change, stale, sentences)


def delete_documents(store: VectorStore, doc_ids: Sequence[str], *, words: WordIndex | None = None) -> Steps[None]:
    """Delete all sentences of the source documents; those that don't exist are ignored."""
    yield from replace_documents(store, [], doc_ids, show_progress=False, words=words)


def read_documents(store: VectorStore, doc_ids: Sequence[str]) -> Steps[list[Document]]:
    """Put source documents together again of their sentences; those that don't exist are left out.

    Raises:
        IncompleteWindowError: The store can't fetch by id, or lacks sentences.
    """
    found = yield from _stored(store, doc_ids)
    if found is None:
        raise IncompleteWindowError(
            f"{type(store).__name__} can't fetch documents by id, so what it has of a source document can't be read"
        )
    return [source_document(sentences) for sentences in found.values() if sentences]


def _write(
    store: VectorStore,
    sentences: Sequence[Document],
    contexts: Sequence[str] | None,
    existing: Sequence[str] | None,
    *,
    show_progress: bool,
) -> Steps[None]:
    if not sentences:
        return
    embedding = embedder_of(store)
    if isinstance(embedding, EmbeddingsInContext):
        prepared = yield from prepare(embedding, sentences, contexts, show_progress=show_progress)
        yield from put(store, prepared.documents, existing)
        prepared.finish(store)
    else:
        yield from put(store, sentences, existing)


def _stored(store: VectorStore, doc_ids: Sequence[str]) -> Steps[dict[str, list[StoredSentence]] | None]:
    """All sentences that the store has of documents, by document, in order; ``None`` if it can't fetch by id."""
    has: dict[str, list[StoredSentence]] = {doc_id: [] for doc_id in doc_ids}
    first, asked, open_ones = 0, 1, list(has)  # a document without a first sentence has none
    while open_ones:
        ids = [sentence_id(doc_id, index) for doc_id in open_ones for index in range(first, first + asked)]
        found = yield from fetch(store, ids)
        if found is None:
            return None
        for sentence in sorted(map(read_sentence, found), key=lambda sentence: sentence.index):
            has[sentence.doc_id].append(sentence)
        first, asked = first + asked, ASKED_AT_ONCE
        open_ones = [doc_id for doc_id in open_ones if has[doc_id] and has[doc_id][-1].index + 1 == first]
    return has


def _check_lengths(store: VectorStore, sentences: Sequence[Document]) -> None:
    counts: dict[str, int] = {}
    for sentence in sentences:
        name = sentence.metadata[DOC_ID]
        counts[name] = counts.get(name, 0) + 1
    for name, count in counts.items():
        if count > MOST_UNSEEN:
            raise InvalidInputError(
                f"document {name!r} has {count:,} sentences, and {type(store).__name__} can't fetch by id, so no more "
                f"than {MOST_UNSEEN:,} could ever be deleted; split it into several documents"
            )
