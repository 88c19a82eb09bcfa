"""The adapters of stores in a cloud: langchain-pinecone's, and langchain-mongodb's of Atlas."""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window.documents.sentence_documents import StoredSentence

from .families import BlockingAdapter, FilteredByMappings
from .store_adapter import Embedded, Scored, batches
from .stored_values import is_plain, survives_as_float, with_integers

_FETCHED = 100
"""Ids in one request, whose URL they are a part of."""
_NUMBERS = 40_000
"""Numbers of vectors in one request, which must stay below 2 MB."""


class PineconeAdapter(FilteredByMappings):
    """Pinecone keeps the text in the metadata, makes floats of all numbers, and filters by mappings."""

    write_batch_size = 100

    def holds(self, key: str, value: Any) -> bool:
        """Return whether a value comes back unchanged: strings, booleans, numbers up to 2**53, lists of strings."""
        if not key or key.startswith("$") or key == self.store._text_key or not is_plain([key, value]):
            return False
        if isinstance(value, list):
            return all(isinstance(each, str) for each in value)
        return isinstance(value, str) or survives_as_float(value)

    def nearest(self, vector: list[float], k: int, filter: Any) -> Scored:
        """Let the store search."""
        return self._best_highest(self.store.similarity_search_by_vector_with_score(vector, k=k, filter=filter))

    def rows(self, ids: Sequence[str] | None, filter: Any) -> list[Document]:
        """Fetch documents by id, then apply the filter. Only serverless indexes can list all ids."""
        store, found = self.store, list[Document]()
        if ids is None:
            ids = [id_ for page in store.index.list(namespace=store._namespace) for id_ in page]
        for batch in batches(ids, _FETCHED):
            for id_, vector in store.index.fetch(ids=list(batch), namespace=store._namespace).vectors.items():
                metadata = dict(vector.metadata or {})
                text = metadata.pop(store._text_key, None)
                if text is not None:
                    found.append(with_integers(Document(id=id_, page_content=text, metadata=metadata)))
        return self.matching(found, filter)

    def write(self, embedded: Embedded) -> None:
        """Write documents with their vectors, in place of those with the same ids."""
        text = self.store._text_key
        records = [
            {"id": each.id, "values": vector, "metadata": {**each.metadata, text: each.page_content}}
            for each, vector in embedded
        ]
        dimension = len(embedded[0][1])
        for batch in batches(records, max(1, _NUMBERS // dimension)):
            self.store.index.upsert(vectors=batch, namespace=self.store._namespace)

    def read(self, document: Document) -> StoredSentence:
        """Read a sentence Document, in which floats become integers again."""
        return super().read(with_integers(document))


_ID = "_id"
_OVERSAMPLING = 10
_MOST_CANDIDATES = 10_000


class MongoDBAdapter(BlockingAdapter):
    """MongoDB filters by its own query language, and keeps text, vector and metadata as fields of one document.

    The store's own ``get_by_ids`` only works with the default names of fields, and its writing embeds batch by batch.
    So documents are read and written here.
    """

    filter_name = "pre_filter"
    filter_form = "a query such as {'tenant': {'$eq': 'a'}}"
    one_key_filters = True
    added_keys = frozenset({_ID})
    away_errors = frozenset({"pymongo.errors.ConnectionFailure"})
    holds_json = True
    write_batch_size = 1_000

    def holds(self, key: str, value: Any) -> bool:
        """Return whether a field can hold a value: names are paths, and some are reserved."""
        reserved = {_ID, "id", "score", self.store._text_key, self.store._embedding_key}
        return key not in reserved and is_plain({key: value}) and _names_are_plain({key: value})

    @property
    def takes_vectors(self) -> bool:
        """Whether documents are embedded here, not by the server."""
        return self.store._embedding_key is not None

    def matcher(self, filter: Any) -> None:
        """Return ``None``: only MongoDB evaluates its queries."""

    def of_documents(self, doc_ids: Sequence[str]) -> None:
        """Return ``None``: it isn't known which fields the index filters by."""

    async def search(self, io: IO, query: str, settings: Mapping[str, Any]) -> Scored:
        """Search among as many candidates as Atlas allows; the store itself asks for ten times ``k``."""
        most = max(1, min(_OVERSAMPLING, _MOST_CANDIDATES // settings["k"]))
        return await super().search(io, query, {"oversampling_factor": most, **settings})

    def rows(self, ids: Sequence[str] | None, filter: Any) -> list[Document]:
        """Query them within the filter."""
        text, embedding = self.store._text_key, self.store._embedding_key
        queries = [] if filter is None else [filter]
        if ids is not None:
            queries.append({_ID: {"$in": list(ids)}})
        fields = None if embedding is None else {embedding: 0}
        rows = self.store.collection.find({"$and": queries} if queries else {}, fields)
        return [Document(id=str(row.pop(_ID)), page_content=row.pop(text), metadata=row) for row in rows if text in row]

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
