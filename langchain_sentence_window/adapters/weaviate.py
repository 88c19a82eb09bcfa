"""The adapter of langchain-weaviate's `WeaviateVectorStore`."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.errors import InvalidInputError

from .families import VectorAdapter
from .store_adapter import PAGE_SIZE, Embedded, Scored, StoreAdapter
from .stored_values import is_plain, survives_as_float, with_integers

_NAME = re.compile(r"[_a-z]\w{0,229}", re.ASCII)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_RESERVED = {"id", "_id", "_additional", "vector"}


class WeaviateAdapter(VectorAdapter):
    """Weaviate filters by objects of its client, and creates a typed property for each new key of metadata.

    The store's search is always hybrid, with scores relative to each other, and its writing only logs failures. So
    vectors are searched here, unless ``search_kwargs`` hold settings of the hybrid search, and documents are written
    here.
    """

    away_errors = frozenset({"weaviate.exceptions.WeaviateConnectionError", "weaviate.exceptions.WeaviateTimeoutError"})
    filter_name = "filters"
    read_batch_size = PAGE_SIZE
    write_batch_size = 100
    filter_form = "weaviate.classes.query.Filter"
    filter_class = "weaviate.", "_Filters"

    def holds(self, key: str, value: Any) -> bool:
        """Return whether a value comes back unchanged: Weaviate makes floats of numbers, and times of such texts."""
        if not _NAME.fullmatch(key) or key in _RESERVED or key == self.store._text_key or not is_plain(value):
            return False
        if isinstance(value, list):
            return bool(value) and len(set(map(type, value))) == 1 and all(map(_comes_back, value))
        return _comes_back(value)

    def of_documents(self, doc_ids: Sequence[str]) -> None:
        """Return ``None``: by default Weaviate indexes names word by word."""

    async def search(self, io: IO, query: str, settings: Mapping[str, Any]) -> Scored:
        """Search the vectors, or let the store do a hybrid search if there are settings for it."""
        if settings.keys() - {"k", self.filter_name}:
            return await StoreAdapter.search(self, io, query, settings)
        return await super().search(io, query, settings)

    def nearest(self, vector: list[float], k: int, filter: Any) -> Scored:
        """Search the vectors."""
        found = self._collection.query.near_vector(vector, limit=k, filters=filter, return_metadata=["distance"])
        return [(self._document(each), -float(each.metadata.distance)) for each in found.objects]

    def rows(self, ids: Sequence[str] | None, filter: Any) -> list[Document]:
        """Iterate over all documents. Within a filter, the server lists 10,000 at most by default."""
        from weaviate.classes.query import Filter

        if ids is None and filter is None:
            return list(map(self._document, self._collection.iterator()))
        within = filter
        if ids is not None:
            by_id = Filter.by_id().contains_any(list(ids))
            within = by_id if filter is None else by_id & filter
        found: list[Document] = []
        while True:
            page = self._collection.query.fetch_objects(filters=within, limit=PAGE_SIZE, offset=len(found)).objects
            found += map(self._document, page)
            if len(page) < PAGE_SIZE:
                return found

    def read(self, document: Document) -> StoredSentence:
        """Read a sentence Document, in which times become strings again, and floats integers."""
        return super().read(_with_plain_values(document))

    def write(self, embedded: Embedded) -> None:
        """Write documents with their vectors, in place of those with the same ids.

        Raises:
            InvalidInputError: Weaviate refused some.
        """
        from weaviate.classes.data import DataObject
        from weaviate.exceptions import WeaviateInsertManyAllFailedError

        text = self.store._text_key
        objects = [
            DataObject(properties={**each.metadata, text: each.page_content}, uuid=each.id, vector=list(vector))
            for each, vector in embedded
        ]
        try:
            errors = self._collection.data.insert_many(objects).errors
        except WeaviateInsertManyAllFailedError as error:
            raise self._refused(len(objects), len(objects), error.message) from error
        if errors:
            raise self._refused(len(errors), len(objects), next(iter(errors.values())).message)

    def _refused(self, count: int, of: int, reason: str) -> InvalidInputError:
        return InvalidInputError(
            f"{self.name} refused {count} of {of} sentences: {reason.rstrip('.')}; give each key of metadata values of "
            "one type, or leave the key out"
        )

    def _document(self, found: Any) -> Document:
        properties = dict(found.properties)
        text = properties.pop(self.store._text_key)
        metadata = {key: value for key, value in properties.items() if value is not None}
        return _with_plain_values(Document(id=str(found.uuid), page_content=text, metadata=metadata))

    @property
    def _collection(self) -> Any:
        if self.store._multi_tenancy_enabled:
            raise InvalidInputError(
                f"the collection of {self.name} uses Weaviate's own tenants, which aren't supported; use a "
                "collection without tenants, and a filter"
            )
        return self.store._collection


def _comes_back(value: Any) -> bool:
    if isinstance(value, str):
        return not _TIME.fullmatch(value) or _is_canonical(value)
    return survives_as_float(value)


def _is_canonical(time: str) -> bool:
    try:
        return datetime.fromisoformat(time).isoformat() == time
    except ValueError:
        return False


def _with_plain_values(document: Document) -> Document:
    times = {key: each.isoformat() for key, each in document.metadata.items() if isinstance(each, datetime)}
    return with_integers(document.model_copy(update={"metadata": document.metadata | times}))
