"""The adapter of langchain-pinecone's `PineconeVectorStore`."""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.families import FilteredByMappings, with_whole_numbers
from langchain_sentence_window.adapters.store_adapter import Scored, batches
from langchain_sentence_window.adapters.traits import has_only
from langchain_sentence_window.documents.sentence_documents import StoredSentence

_FETCHED = 100
"""Ids in one request, as they stand in its address."""
_UPSERTED = 100
_NUMBERS = 40_000
"""Numbers of vectors in one request, which must stay below 2 MB."""
_EXACT = 2**53


class PineconeAdapter(FilteredByMappings):
    """Pinecone keeps text among the metadata, makes floats of all numbers, and filters by mappings."""

    def holds(self, key: str, value: Any) -> bool:
        """Return whether a value comes back as it is: strings, booleans, numbers as of floats, lists of strings."""
        if not key or key.startswith("$") or key == self.store._text_key or not has_only([key, value]):
            return False
        if isinstance(value, list):
            return all(isinstance(each, str) for each in value)
        return isinstance(value, str | float) or (isinstance(value, int) and abs(value) <= _EXACT)

    async def search(self, io: IO, query: str, settings: Mapping[str, Any]) -> Scored:
        """Let the store search, in a thread: its async searches close each other's connection."""
        found = await io.in_thread(self.store.similarity_search_with_score, query, **settings)
        sign = -1.0 if self._are_distances([float(score) for _, score in found]) else 1.0
        return [(document, sign * float(score)) for document, score in found]

    async def get(self, io: IO, ids: Sequence[str], filter: Any) -> list[Document] | None:
        """Fetch documents by id, then leave out those that the filter forbids."""
        matches = None if filter is None else self._required_matcher(filter)
        found = await io.in_thread(self._fetched, ids)
        return found if matches is None else [document for document in found if matches(document)]

    async def list_sentences(self, io: IO, filter: Any) -> list[Document]:
        """Go through all ids, which only serverless indexes list, and fetch what they name."""
        ids = await io.in_thread(self._all_ids)
        return await self.get(io, ids, filter) or []

    async def put_embedded(self, io: IO, documents: Sequence[Document], vectors: Sequence[list[float]]) -> None:
        """Write documents with their vectors, in place of those with the same ids."""
        text = self.store._text_key
        records = [
            {"id": each.id, "values": vector, "metadata": {**each.metadata, text: each.page_content}}
            for each, vector in zip(documents, vectors, strict=True)
        ]
        size = max(1, min(_UPSERTED, _NUMBERS // max(map(len, vectors), default=1)))
        for batch in batches(records, size):
            await io.in_thread(self.store.index.upsert, vectors=batch, namespace=self.store._namespace)

    async def remove(self, io: IO, ids: Sequence[str]) -> None:
        """Delete documents, in a thread too."""
        if ids:
            await io.in_thread(self.store.delete, list(ids))

    def read(self, document: Document) -> StoredSentence:
        """Read a sentence Document, with numbers as they were before they became floats."""
        return super().read(with_whole_numbers(document))

    def _fetched(self, ids: Sequence[str]) -> list[Document]:
        store, found = self.store, list[Document]()
        for batch in batches(ids, _FETCHED):
            for id_, vector in store.index.fetch(ids=list(batch), namespace=store._namespace).vectors.items():
                metadata = dict(vector.metadata or {})
                text = metadata.pop(store._text_key, None)
                if text is not None:
                    found.append(with_whole_numbers(Document(id=id_, page_content=text, metadata=metadata)))
        return found

    def _all_ids(self) -> list[str]:
        store = self.store
        return [id_ for page in store.index.list(namespace=store._namespace) for id_ in page]
