"""The adapters of search engines: langchain-elasticsearch's stores, blocking and async, and langchain-redis's."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window.documents.keys import DOC_ID
from langchain_sentence_window.documents.metadata_values import SCALARS
from langchain_sentence_window.errors import InvalidInputError

from .families import BlockingAdapter
from .store_adapter import PAGE_SIZE, Embedded, Scored, StoreAdapter
from .traits import has_only

_MOST_CANDIDATES = 10_000
_MAX_KEYWORD = 256


class ElasticsearchAdapter(StoreAdapter):
    """Elasticsearch filters by clauses of its query language, and gives each key of metadata a type of its own."""

    filter_form = "clauses such as {'term': {'metadata.tenant.keyword': 'a'}}"
    gives_distances = False
    away_errors = frozenset({"elastic_transport.ConnectionError", "elastic_transport.ConnectionTimeout"})

    def holds(self, key: str, value: Any) -> bool:
        """Return whether a field can hold a value: it takes one type, and names are paths."""
        if not key.strip(".") or key != key.strip(".") or ".." in key or not has_only([key, value]):
            return False
        if isinstance(value, list):
            return all(isinstance(each, SCALARS) for each in value) and len(set(map(type, value))) <= 1
        return value is None or isinstance(value, SCALARS)

    def reads_filter(self, filter: Any) -> bool:
        """Return whether it is a clause, or several."""
        clauses = [filter] if isinstance(filter, Mapping) else filter
        return isinstance(clauses, list | tuple) and all(map(_is_clause, clauses))

    def combine(self, filters: Sequence[Any]) -> Any:
        """Return all clauses, of which a document must match each."""
        return [clause for each in filters for clause in ([each] if isinstance(each, Mapping) else each)]

    def of_documents(self, doc_ids: Sequence[str]) -> Any:
        """Return a clause; ``None`` if it isn't known how documents' names are indexed."""
        own_mappings = self.store._store.metadata_mappings or {}
        if DOC_ID in own_mappings or any(len(each) > _MAX_KEYWORD for each in doc_ids):
            return None
        return [{"terms": {f"metadata.{DOC_ID}.keyword": list(doc_ids)}}]

    async def search(self, io: IO, query: str, settings: Mapping[str, Any]) -> Scored:
        """Search among more candidates than documents are wanted; the store itself asks for 50 at most."""
        from elasticsearch import NotFoundError

        own = settings.get("custom_query", lambda body, _: body)

        def widened(body: dict[str, Any], text: str | None) -> dict[str, Any]:
            body = own(body, text)
            if "knn" not in body:
                return body
            candidates = min(max(body["knn"].get("num_candidates", 0), 2 * settings["k"]), _MOST_CANDIDATES)
            return {**body, "knn": {**body["knn"], "num_candidates": candidates}}

        store = self.store
        search = store.asimilarity_search_with_score if self._is_async else store.similarity_search_with_score
        given = {**settings, "custom_query": widened}
        try:
            return self._best_highest(await self._call(io, search, query=query, **given))
        except NotFoundError:  # the first document makes the index
            return []

    async def select(self, io: IO, ids: Sequence[str] | None, filter: Any) -> list[Document] | None:
        """Search for the ids, so that what is read is as fresh as the hits are; scroll through all."""
        conditions = filter or []
        if ids is not None:
            query = {"bool": {"filter": [{"ids": {"values": list(ids)}}, *conditions]}}
            found = await self._call(io, self.store.client.search, query=query, size=len(ids), **self._source)
            return list(map(self._document, found["hits"]["hits"]))
        scan, body = self._ascan if self._is_async else self._scan, {"query": {"bool": {"filter": conditions}}}
        documents: list[Document] = await self._call(io, scan, query=body, **self._source)
        return documents

    def _scan(self, **given: Any) -> list[Document]:
        from elasticsearch.helpers import scan

        return list(map(self._document, scan(self.store.client, **given)))

    async def _ascan(self, **given: Any) -> list[Document]:
        from elasticsearch.helpers import async_scan

        return [self._document(hit) async for hit in async_scan(self.store.client, **given)]

    async def put(self, io: IO, documents: Sequence[Document]) -> None:
        """Add documents; first make the index, in which strings aren't taken for dates."""
        inner = self.store._store
        if not await self._call(io, self.store.client.indices.exists, index=inner.index):
            await self._call(io, inner._create_index_if_not_exists)
            # A heading such as "2024-05-01" would else give the field of headings the type of a date.
            await self._call(io, self.store.client.indices.put_mapping, index=inner.index, date_detection=False)
        add = self.store.aadd_documents if self._is_async else self.store.add_documents
        await self._call(io, add, documents=list(documents), ids=[each.id for each in documents])

    async def remove(self, io: IO, ids: Sequence[str]) -> None:
        """Delete documents."""
        if ids:
            await self._call(io, self.store.adelete if self._is_async else self.store.delete, ids=list(ids))

    async def _call(self, io: IO, function: Callable[..., Any], **given: Any) -> Any:
        """Call a method of the client, which blocks or is async as the store is."""
        return await (io.call(self._refuse, function, **given) if self._is_async else io.in_thread(function, **given))

    @property
    def _is_async(self) -> bool:
        return hasattr(self.store, "aclose")

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise InvalidInputError(
            f"{self.name} works with async methods alone, such as ainvoke; use them, or an ElasticsearchStore"
        )

    @property
    def _source(self) -> dict[str, Any]:
        """Arguments of the client that say what to read; nothing before the first document makes the index."""
        fields = [self.store.query_field, "metadata"]
        return {"index": self.store._store.index, "source_includes": fields, "ignore_unavailable": True}

    def _document(self, hit: Mapping[str, Any]) -> Document:
        source = hit["_source"]
        return Document(id=hit["_id"], page_content=source[self.store.query_field], metadata=source["metadata"])


def _is_clause(given: Any) -> bool:
    """Return whether it looks like a clause: a kind of query, and what it asks for."""
    return isinstance(given, Mapping) and [isinstance(each, Mapping) for each in given.values()] == [True]


_METADATA = "_metadata_json"
_INDEX_NAME = "_index_name"


class RedisAdapter(BlockingAdapter):
    """Redis filters by expressions of redisvl, over the fields that the store was told of as ``metadata_schema``.

    The store keeps metadata as JSON, and each value in a field of its own too, where a value named ``text`` would take
    the place of the sentence. So documents are written here, with no more fields than those that can be filtered by.
    """

    filter_form = "an expression of redisvl, such as Tag('tenant') == 'a'"
    filter_class = "redisvl.", "FilterExpression"
    gives_distances = True
    holds_json = True
    takes_vectors = True
    away_errors = frozenset({"redis.exceptions.ConnectionError", "redis.exceptions.TimeoutError"})

    def holds(self, key: str, value: Any) -> bool:
        """Return whether a field can hold a value; what is only in the JSON can be anything."""
        return key not in self._fields or has_only(value)

    def of_documents(self, doc_ids: Sequence[str]) -> Any:
        """Return an expression; ``None`` if documents' names aren't a field."""
        from redisvl.query.filter import Tag

        field = self.store.index.schema.fields.get(DOC_ID)
        return Tag(DOC_ID) == list(doc_ids) if field is not None and field.type == "tag" else None

    def rows(self, ids: Sequence[str] | None, filter: Any) -> list[Document]:
        """Search among the keys of ids, or go through all that is within the filter with a cursor."""
        from redisvl.query import FilterQuery

        if ids is None:
            return self._all_within(filter)
        query = FilterQuery(filter, [self.store.config.content_field, _METADATA], num_results=len(ids))
        query.limit_ids(*map(self._key, ids))
        return [self._document(row["id"], row) for row in self.store.index.query(query)]

    def write(self, embedded: Embedded) -> None:
        """Write documents with their vectors."""
        from redisvl.redis.utils import array_to_buffer

        config, names, records = self.store.config, self._fields, []
        as_json = config.storage_type == "json"
        for document, vector in embedded:
            fields = {key: value for key, value in document.metadata.items() if key in names}
            record = {key: _flat(value, config.default_tag_separator) for key, value in fields.items()}
            record = {key: value for key, value in record.items() if value is not None}
            record[config.content_field] = document.page_content
            record[config.embedding_field] = vector if as_json else array_to_buffer(vector, config.vector_datatype)
            record[_INDEX_NAME] = config.index_name
            record[_METADATA] = json.dumps(document.metadata)
            records.append(record)
        keys = [self._key(str(document.id)) for document, _ in embedded]
        self.store.index.load(records, keys=keys, ttl=self.store.ttl)

    def _all_within(self, filter: Any) -> list[Document]:
        from redis.commands.search.aggregation import AggregateRequest

        config, index = self.store.config, self.store.index
        own = f"@{_INDEX_NAME}:({config.index_name})"
        request = AggregateRequest(own if filter is None else f"({filter}) ({own})")
        request = request.load("@__key", f"@{config.content_field}", f"@{_METADATA}").dialect(2).cursor(PAGE_SIZE)
        search, found = index.client.ft(index.name), list[Document]()
        page = None
        while page is None or page.cursor.cid:
            page = search.aggregate(request if page is None else page.cursor)
            for row in page.rows:
                texts = [each.decode() if isinstance(each, bytes) else str(each) for each in row]
                fields = dict(zip(texts[::2], texts[1::2], strict=True))
                found.append(self._document(fields["__key"], fields))
        return found

    def _document(self, key: str, fields: Mapping[str, Any]) -> Document:
        text, metadata = fields[self.store.config.content_field], json.loads(fields[_METADATA])
        return Document(id=key.removeprefix(self._key("")), page_content=text, metadata=metadata)

    def _key(self, id_: str) -> str:
        prefix = self.store.config.key_prefix
        return f"{prefix}:{id_}" if prefix else id_

    @property
    def _fields(self) -> frozenset[str]:
        """The names of the fields that hold a value of metadata each."""
        config = self.store.config
        own = {config.content_field, config.embedding_field, _INDEX_NAME, _METADATA}
        return frozenset(self.store.index.schema.fields) - own


def _flat(value: Any, separator: str) -> Any:
    """Return a value as a field holds it; ``None`` if none can."""
    if isinstance(value, list):
        return separator.join(each if isinstance(each, str) else json.dumps(each) for each in value)
    if isinstance(value, bool):
        return json.dumps(value)
    return value if isinstance(value, SCALARS) else None
