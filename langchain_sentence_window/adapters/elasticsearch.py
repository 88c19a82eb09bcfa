"""The adapter of langchain-elasticsearch's `ElasticsearchStore` and `AsyncElasticsearchStore`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.store_adapter import Scored, StoreAdapter
from langchain_sentence_window.adapters.traits import has_only
from langchain_sentence_window.documents.keys import DOC_ID
from langchain_sentence_window.documents.metadata_values import is_scalar
from langchain_sentence_window.errors import InvalidInputError

_PAGE_SIZE = 1_000
_KEPT_OPEN = "1m"
_MOST_CANDIDATES = 10_000
_MAX_KEYWORD = 256


class ElasticsearchAdapter(StoreAdapter):
    """Elasticsearch filters by clauses of its query language, and gives each key of metadata a type of its own."""

    away_errors = frozenset({"elastic_transport.ConnectionError", "elastic_transport.ConnectionTimeout"})

    def holds(self, key: str, value: Any) -> bool:
        """Return whether a field can hold a value: it takes one type, and names are paths."""
        if not key.strip(".") or key != key.strip(".") or ".." in key or not has_only([key, value]):
            return False
        if isinstance(value, list):
            return all(map(is_scalar, value)) and len(set(map(type, value))) <= 1
        return value is None or is_scalar(value)

    def join(self, filters: Sequence[Any]) -> Any:
        """Return all clauses, of which a document must match each."""
        clauses: list[Any] = []
        for each in filters:
            parts = [each] if isinstance(each, Mapping) else each
            if not isinstance(parts, list | tuple) or not all(map(_is_clause, parts)):
                raise InvalidInputError(
                    f"{self.name} filters by clauses such as {{'term': {{'metadata.tenant.keyword': 'a'}}}}, not by "
                    f"{shown(each)}"
                )
            clauses += parts
        return clauses

    def of_documents(self, doc_ids: Sequence[str]) -> Any:
        """Return a clause; ``None`` if it isn't known how documents' names are indexed."""
        own_mappings = self.store._store.metadata_mappings or {}
        if DOC_ID in own_mappings or any(len(each) > _MAX_KEYWORD for each in doc_ids):
            return None
        return [{"terms": {f"metadata.{DOC_ID}.keyword": list(doc_ids)}}]

    def matcher(self, filter: Any) -> None:
        """Return ``None``: only Elasticsearch reads its clauses."""

    async def search(self, io: IO, query: str, settings: Mapping[str, Any]) -> Scored:
        """Search among more candidates than documents are wanted; the store itself asks for 50 at most."""
        own = settings.get("custom_query")

        def widened(body: dict[str, Any], text: str | None) -> dict[str, Any]:
            body = body if own is None else own(body, text)
            if "knn" not in body:
                return body
            candidates = min(max(body["knn"].get("num_candidates", 0), 2 * settings["k"]), _MOST_CANDIDATES)
            return {**body, "knn": {**body["knn"], "num_candidates": candidates}}

        given = {"query": query, **settings, "custom_query": widened}
        name = "asimilarity_search_with_score" if self._is_async else "similarity_search_with_score"
        try:
            found = await self._call(io, getattr(self.store, name), **given)
        except self._not_found:
            return []
        return [(document, float(score)) for document, score in found]

    async def get(self, io: IO, ids: Sequence[str], filter: Any) -> list[Document] | None:
        """Get documents by id, or search for them within the filter."""
        source: dict[str, Any] = {"index": self.store._store.index, "source_includes": self._source_fields}
        if filter is None:
            try:
                found = await self._call(io, self.store.client.mget, ids=list(ids), **source)
            except self._not_found:
                return []
            return [self._document(hit) for hit in found["docs"] if hit.get("found")]
        query = {"bool": {"filter": [{"ids": {"values": list(ids)}}, *filter]}}
        source["ignore_unavailable"] = True
        found = await self._call(io, self.store.client.search, query=query, size=len(ids), **source)
        return [self._document(hit) for hit in found["hits"]["hits"]]

    async def list_sentences(self, io: IO, filter: Any) -> list[Document]:
        """Scroll through all that matches the filter."""
        client, documents = self.store.client, list[Document]()
        query = {"bool": {"filter": filter or []}}
        source = {"index": self.store._store.index, "source_includes": self._source_fields}
        settings = {"scroll": _KEPT_OPEN, "sort": "_doc", "size": _PAGE_SIZE, "ignore_unavailable": True}
        found = await self._call(io, client.search, query=query, **source, **settings)
        try:
            while hits := found["hits"]["hits"]:
                documents += map(self._document, hits)
                found = await self._call(io, client.scroll, scroll_id=found["_scroll_id"], scroll=_KEPT_OPEN)
        finally:
            if found.get("_scroll_id"):
                await self._call(io, client.clear_scroll, scroll_id=found["_scroll_id"])
        return documents

    async def put(self, io: IO, documents: Sequence[Document], existing: Sequence[str] | None) -> None:
        """Add documents; first make the index, in which strings aren't taken for dates."""
        inner = self.store._store
        if not await self._call(io, self.store.client.indices.exists, index=inner.index):
            await self._call(io, inner._create_index_if_not_exists)
            # A heading such as "2024-05-01" would else give the field of headings the type of a date.
            await self._call(io, self.store.client.indices.put_mapping, index=inner.index, date_detection=False)
        if self._is_async and documents:
            await io.call(self._refuse, self.store.aadd_documents, list(documents), ids=[each.id for each in documents])
        else:
            await super().put(io, documents, existing)

    async def remove(self, io: IO, ids: Sequence[str]) -> None:
        """Delete documents."""
        if self._is_async and ids:
            await io.call(self._refuse, self.store.adelete, list(ids))
        else:
            await super().remove(io, ids)

    async def _call(self, io: IO, function: Callable[..., Any], **given: Any) -> Any:
        """Call a method of the client, which blocks or is async as the store is."""
        return await (io.call(self._refuse, function, **given) if self._is_async else io.in_thread(function, **given))

    @property
    def _not_found(self) -> type[Exception]:
        """The error that is raised before the first document comes, which makes the index."""
        from elasticsearch import NotFoundError

        raised: type[Exception] = NotFoundError
        return raised

    @property
    def _is_async(self) -> bool:
        return hasattr(self.store, "aclose")

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise InvalidInputError(
            f"{self.name} works with async methods alone, such as ainvoke; use them, or an ElasticsearchStore"
        )

    @property
    def _source_fields(self) -> list[str]:
        return [self.store.query_field, "metadata"]

    def _document(self, hit: Mapping[str, Any]) -> Document:
        source = hit["_source"]
        return Document(id=hit["_id"], page_content=source[self.store.query_field], metadata=source["metadata"])


def _is_clause(given: Any) -> bool:
    """Return whether it looks like a clause: a kind of query, and what it asks for."""
    return isinstance(given, Mapping) and [isinstance(each, Mapping) for each in given.values()] == [True]
