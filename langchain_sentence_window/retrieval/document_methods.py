"""The retriever's methods that add, list, read and delete whole documents."""

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from langchain_core.documents import Document

from langchain_sentence_window._arguments import DocumentStream, as_documents_or_stream
from langchain_sentence_window._display import shown
from langchain_sentence_window._io import ASYNC, BLOCKING, IO, arun, run
from langchain_sentence_window.adapters.scope import check_binds
from langchain_sentence_window.documents.indexed_documents import IndexedDocument
from langchain_sentence_window.documents.keys import checked_ids
from langchain_sentence_window.errors import InvalidInputError

from .call_settings import QueryMethods
from .stored_sentences import join_documents

if TYPE_CHECKING:  # asking needs nothing of what adds documents
    from langchain_sentence_window.documents.part_groups import Batch


class DocumentMethods(QueryMethods):
    """The methods of `SentenceWindowRetriever` for the documents of its store."""

    def add_documents(self, documents: Iterable[Document], *, show_progress: bool = False) -> list[str]:
        """Index documents; each replaces the document of the same ``doc_id``.

        Pages, elements, rows and chunks of one source are parts of one document, and are joined first. Parts that are
        given alone are added to those that the store has.

        A list is stored all at once. An iterator, such as ``loader.lazy_load()``, may be of any length: it is read and
        stored in batches of about a million characters, none of which splits a document. An error leaves the batches
        before it stored, and its notes say so. To go on, call again with the rest, or with all: texts that have a
        vector in a `FaissStore` aren't embedded again.

        Args:
            documents: The documents; of an iterator, the parts of a document one after the other. Each is named by its
                id, else by ``doc_id`` in its metadata, else by its source, else by a hash of its text. So several texts
                of one source need ids, unless they are its parts.
            show_progress: Whether to show a progress bar while embedding.

        Returns:
            The ``doc_id`` of each document, in order.

        Raises:
            InvalidInputError: Two documents have the same id, one isn't a Document, or the filter forbids one or
                what it would replace. Nothing was stored of a list, or of the batch.
        """
        given = as_documents_or_stream(documents, is_async=False)
        return run(self._add(BLOCKING, given, show_progress=show_progress))

    async def aadd_documents(self, documents: Iterable[Document] | AsyncIterable[Document]) -> list[str]:
        """Async version of `add_documents`, which takes async iterators too."""
        return await self._add(ASYNC, as_documents_or_stream(documents, is_async=True))

    def documents(self, filter: Any = None, *, source: str | PathLike[str] | None = None) -> list[IndexedDocument]:
        """List the documents in the store: their names, sources, titles, counts, and when they were added.

        Args:
            filter: Narrows the retriever's own filter. A document of which it lets through a part is listed with that
                part's sentences and pages.
            source: The source that their metadata names, such as a path or an address; ``None`` for any.

        Raises:
            InvalidInputError: The store can't list what it holds, or the filter can't be read.
        """
        scope = self.scope(filter)
        wanted = None if source is None else _source_as_string(source)
        return run(scope.adapter.list_documents(BLOCKING, scope.filter, wanted))

    async def adocuments(
        self, filter: Any = None, *, source: str | PathLike[str] | None = None
    ) -> list[IndexedDocument]:
        """Async version of `documents`."""
        scope = self.scope(filter)
        wanted = None if source is None else _source_as_string(source)
        return await arun(lambda io: scope.adapter.list_documents(io, scope.filter, wanted))

    def delete(
        self, ids: Sequence[str] | None = None, *, source: str | PathLike[str] | None = None, filter: Any = None
    ) -> int:
        """Delete whole documents: by their ``doc_id``, their source, or a filter. All that are given must fit.

        Documents that don't exist, or that the retriever's own filter forbids, are ignored.

        Args:
            ids: The ``doc_id`` of each document.
            source: The source that their metadata names, such as a path or an address.
            filter: Narrows the retriever's own filter. A document is deleted if all its sentences match.

        Returns:
            The number of documents deleted.

        Raises:
            InvalidInputError: There is no list of ids, no source and no filter; or a filter allows only a part of a
                document, or can't be read; or the store can't list what it holds. Nothing was deleted.
        """
        return len(run(self._delete(BLOCKING, ids, source, filter)))

    async def adelete(
        self, ids: Sequence[str] | None = None, *, source: str | PathLike[str] | None = None, filter: Any = None
    ) -> int:
        """Async version of `delete`."""
        return len(await self._delete(ASYNC, ids, source, filter))

    def get(self, ids: Sequence[str]) -> list[Document]:
        """Read whole documents by their ``doc_id``, joined from their sentences.

        Documents that don't exist, or of which the filter forbids any part, are left out.

        Returns:
            The documents, each with its text from the first sentence to the last, ``source[start_index:end_index]``.
            If it was joined from parts, ``parts`` in its metadata says where each of them stands.

        Raises:
            IncompleteWindowError: The store can't fetch by id, or lacks sentences.
        """
        return run(join_documents(BLOCKING, self.scope(), checked_ids(ids)))

    async def aget(self, ids: Sequence[str]) -> list[Document]:
        """Async version of `get`."""
        wanted = checked_ids(ids)
        return await arun(lambda io: join_documents(io, self.scope(), wanted))

    async def _delete(
        self, io: IO, ids: Sequence[str] | None, source: str | PathLike[str] | None, filter: Any
    ) -> Sequence[str]:
        from .indexing import delete_documents

        check_binds(filter)
        names = None if ids is None and (source is not None or filter is not None) else checked_ids(ids)
        scope, wanted = self.scope(filter), None if source is None else _source_as_string(source)
        return await delete_documents(io, scope, names, source=wanted, bm25_index=self.bm25_index)

    async def _add(
        self,
        io: IO,
        given: DocumentStream,
        *,
        batches: "AsyncIterator[Batch] | None" = None,
        show_progress: bool = False,
    ) -> list[str]:
        """Add documents, of which batches may have been read already."""
        from .indexing import Preparation
        from .ingest import ingest_batches, read_batches

        scope = self.scope()
        batches = batches or read_batches(io, given, self.splitter.join_parts)
        prepare = Preparation(self.splitter, scope.adapter.limits, self.embed_headings, self.situate)
        how: Any = {"bm25_index": self.bm25_index, "is_list": isinstance(given, list), "show_progress": show_progress}
        return await ingest_batches(io, scope, batches, prepare, **how)


def _source_as_string(source: object) -> str:
    """Return a source as metadata has it.

    Raises:
        InvalidInputError: It isn't a string or a path.
    """
    if isinstance(source, str | PathLike):
        return str(source)
    raise InvalidInputError(f"source is {shown(source)}; give the source in the documents' metadata as a string")
