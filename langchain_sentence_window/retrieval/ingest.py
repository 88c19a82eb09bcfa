"""Adding source documents: split, describe the context of each sentence, replace what the store had."""

from collections.abc import Sequence

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.source_documents import document_ids
from langchain_sentence_window.embedding.situating import Situate, contexts_of
from langchain_sentence_window.ranking.bm25_index import BM25Index
from langchain_sentence_window.retrieval.indexing import replace_documents
from langchain_sentence_window.splitting.splitter import SentenceSplitter


async def ingest_documents(
    io: IO,
    scope: Scope,
    documents: Sequence[Document],
    splitter: SentenceSplitter,
    *,
    embed_headings: bool,
    situate: Situate | None,
    bm25_index: BM25Index | None,
    show_progress: bool,
) -> list[str]:
    """Index source documents; each replaces the document of the same ``doc_id``.

    Args:
        io: Makes the calls.
        scope: The store, and the filter that documents must pass.
        documents: The source documents.
        splitter: Splits them into sentences.
        embed_headings: Whether sentences are embedded with their heading path in front.
        situate: Writes a line to put in front of a sentence when it is embedded; ``None`` for no line.
        bm25_index: A lexical index to update too.
        show_progress: Whether to show a progress bar while embedding.

    Returns:
        The ``doc_id`` of each document, in order.

    Raises:
        InvalidInputError: Two documents have the same id, or the filter forbids one or what it would replace.
    """
    doc_ids = document_ids(documents)
    sentences = await io.call(splitter.split_documents, splitter.atransform_documents, documents)
    by_id = dict(zip(doc_ids, documents, strict=True))
    # In a thread, as `situate` may ask a model.
    contexts = await io.in_thread(contexts_of, sentences, by_id, situate, headings=embed_headings)
    await replace_documents(io, scope, sentences, doc_ids, contexts, show_progress=show_progress, bm25_index=bm25_index)
    return doc_ids
