"""The adapters of stores in a cloud: langchain-pinecone's, and langchain-mongodb's of Atlas."""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window.documents.sentence_documents import StoredSentence

from .families import BlockingAdapter, FilteredByMappings, with_whole_numbers
from .store_adapter import Embedded, Scored, batches
from .traits import has_only

_FETCHED = 100
"""Ids in one request, as they stand in its address."""
_NUMBERS = 40_000
"""Numbers of vectors in one request, which must stay below 2 MB."""
_EXACT = 2**53


class PineconeAdapter(FilteredByMappings):
    """Pinecone keeps text among the metadata, makes floats of all numbers, and filters by mappings."""

    write_batch_size = 100

    def holds(self, key: str, value: Any) -> bool:
        """Return whether a value comes back as it is: strings, booleans, numbers as of floats, lists of strings."""
        if not key or key.startswith("$") or key == self.store._text_key or not has_only([key, value]):
            return False
        if isinstance(value, list):
            return all(isinstance(each, str) for each in value)
        return isinstance(value, str | float) or (isinstance(value, int) and abs(value) <= _EXACT)

    def nearest(self, vector: list[float], k: int, filter: Any) -> Scored:
        """Let the store search."""
        return self._best_highest(self.store.similarity_search_by_vector_with_score(vector, k=k, filter=filter))

    def rows(self, ids: Sequence[str] | None, filter: Any) -> list[Document]:
        """Fetch documents by id, or by all ids, which only serverless indexes list; then apply the filter."""
        store, found = self.store, list[Document]()
        if ids is None:
            ids = [id_ for page in store.index.list(namespace=store._namespace) for id_ in page]
        for batch in batches(ids, _FETCHED):
            for id_, vector in store.index.fetch(ids=list(batch), namespace=store._namespace).vectors.items():
                metadata = dict(vector.metadata or {})
                text = metadata.pop(store._text_key, None)
                if text is not None:
                    found.append(with_whole_numbers(Document(id=id_, page_content=text, metadata=metadata)))
        return self.matching(found, filter)

    def write(self, embedded: Embedded) -> None:
        """Write documents with their vectors, in place of those with the same ids."""
        text = self.store._text_key
        records = [
            {"id": each.id, "values": vector, "metadata": {**each.metadata, text: each.page_content}}
            for each, vector in embedded
        ]
        size = max(1, _NUMBERS // len(embedded[0][1]))
        for batch in batches(records, size):
            self.store.index.upsert(vectors=batch, namespace=self.store._namespace)

    def read(self, document: Document) -> StoredSentence:
        """Read a sentence Document, with numbers as they were before they became floats."""
        return super().read(with_whole_numbers(document))


_ID = "_id"
_OVERSAMPLING = 10
_MOST_CANDIDATES = 10_000


class MongoDBAdapter(BlockingAdapter):
    """MongoDB filters by its own query language; metadata stands beside the text, and the vector, in one document.

    The store's own ``get_by_ids`` knows only its usual names of fields, and it embeds in batches while it writes; so
    documents are read and written here.
    """

    filter_name = "pre_filter"
    filter_form = "a query such as {'tenant': {'$eq': 'a'}}"
    one_key_filters = True
    filters_by_doc_id = False  # the fields that the index filters by aren't known
    gives_distances = False
    added_keys = frozenset({_ID})
    away_errors = frozenset({"pymongo.errors.ConnectionFailure"})
    holds_json = True
    write_batch_size = 1_000

    def holds(self, key: str, value: Any) -> bool:
        """Return whether a field can hold a value: names are paths, and some are taken."""
        taken = {_ID, "id", "score", self.store._text_key, self.store._embedding_key}
        return key not in taken and has_only({key: value}) and _names_are_plain({key: value})

    @property
    def takes_vectors(self) -> bool:
        """Whether documents are embedded here, not by the server."""
        return self.store._embedding_key is not None

    def matcher(self, filter: Any) -> None:
        """Return ``None``: only MongoDB reads its queries."""

    async def search(self, io: IO, query: str, settings: Mapping[str, Any]) -> Scored:
        """Search among as many candidates as the index takes; the store itself asks for too many."""
        most = max(1, min(_OVERSAMPLING, _MOST_CANDIDATES // settings["k"]))
        return await super().search(io, query, {"oversampling_factor": most, **settings})

    def rows(self, ids: Sequence[str] | None, filter: Any) -> list[Document]:
        """Query them within the filter."""
        text, embedding = self.store._text_key, self.store._embedding_key
        queries = ([] if ids is None else [{_ID: {"$in": list(ids)}}]) + ([] if filter is None else [filter])
        found: list[Document] = []
        for row in self.store.collection.find(
            {"$and": queries} if queries else {}, None if embedding is None else {embedding: 0}
        ):
            content = row.pop(text, None)
            if content is not None:
                found.append(Document(id=str(row.pop(_ID)), page_content=content, metadata=row))
        return found

    def write(self, embedded: Embedded) -> None:
        """Write documents with their vectors, in place of those with the same ids."""
        from pymongo import ReplaceOne

        text, embedding = self.store._text_key, self.store._embedding_key
        rows = [
            {_ID: each.id, **each.metadata, text: each.page_content, embedding: list(vector)}
            for each, vector in embedded
        ]
        self.store.collection.bulk_write([ReplaceOne({_ID: row[_ID]}, row, upsert=True) for row in rows])


def _names_are_plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_names_are_plain, value))
    if not isinstance(value, dict):
        return True
    return all(
        name and not name.startswith("$") and not {".", "\0"}.intersection(name) and _names_are_plain(each)
        for name, each in value.items()
    )
