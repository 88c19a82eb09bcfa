"""LangChain's ``index()`` on a retriever: a thin object that hands its calls to the retriever."""

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.indexing import DeleteResponse, UpsertResponse
from langchain_core.indexing.base import DocumentIndex

from .document_methods import DocumentMethods


class WindowDocumentIndex(DocumentIndex):
    """A retriever in the form that LangChain's ``index()`` writes to.

    ``index()`` names each document by a hash of its text and metadata.

    Attributes:
        retriever: The retriever that does the work.
    """

    # Apart from the retriever, as `DocumentIndex` is in beta and may change.
    retriever: DocumentMethods

    def upsert(self, items: Sequence[Document], /, **kwargs: Any) -> UpsertResponse:
        """Add documents with the retriever's ``add_documents``."""
        return UpsertResponse(succeeded=self.retriever.add_documents(items, **kwargs), failed=[])

    async def aupsert(self, items: Sequence[Document], /, **kwargs: Any) -> UpsertResponse:
        """Async version of `upsert`."""
        return UpsertResponse(succeeded=await self.retriever.aadd_documents(items, **kwargs), failed=[])

    def delete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> DeleteResponse:
        """Delete documents with the retriever's ``delete``."""
        deleted = self.retriever.delete(ids, **kwargs)
        return DeleteResponse(num_deleted=deleted, num_failed=0, failed=[])

    async def adelete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> DeleteResponse:
        """Async version of `delete`."""
        deleted = await self.retriever.adelete(ids, **kwargs)
        return DeleteResponse(num_deleted=deleted, num_failed=0, failed=[])

    def get(self, ids: Sequence[str], /, **kwargs: Any) -> list[Document]:
        """Read documents with the retriever's ``get``."""
        return self.retriever.get(ids, **kwargs)

    async def aget(self, ids: Sequence[str], /, **kwargs: Any) -> list[Document]:
        """Async version of `get`."""
        return await self.retriever.aget(ids, **kwargs)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **settings: Any
    ) -> list[Document]:
        return self.retriever.invoke(query, {"callbacks": run_manager.get_child()}, **settings)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **settings: Any
    ) -> list[Document]:
        return await self.retriever.ainvoke(query, {"callbacks": run_manager.get_child()}, **settings)
