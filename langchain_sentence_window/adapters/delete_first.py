"""The common part of the adapters of Milvus and langchain-community's FAISS: neither replaces documents by id."""

from collections.abc import Sequence

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.base import StoreAdapter


class DeleteFirstAdapter(StoreAdapter):
    """The store refuses an id that it holds, or keeps both documents; so the old one is deleted first."""

    async def put(self, io: IO, documents: Sequence[Document], existing: Sequence[str] | None) -> None:
        """Delete documents with the same ids, then add the new ones."""
        ids = [str(document.id) for document in documents]
        if existing is None:
            found = await self.fetch(io, ids)
            existing = ids if found is None else [str(document.id) for document in found]
        old = sorted(set(existing).intersection(ids))
        if not old or self.embedding is None:
            await self.remove(io, old)
            await super().put(io, documents, existing)
            return
        # Embedded before the old ones go, so that a failing embedder leaves them.
        embedding = self.embedding
        texts = [document.page_content for document in documents]
        vectors = await io.call(embedding.embed_documents, embedding.aembed_documents, texts)
        await self.remove(io, old)
        for start in range(0, len(documents), self.write_batch_size):
            part = slice(start, start + self.write_batch_size)
            await self.add_embedded(io, documents[part], vectors[part])

    async def add_embedded(self, io: IO, documents: Sequence[Document], vectors: Sequence[list[float]]) -> None:
        """Add documents with their vectors."""
        raise NotImplementedError
