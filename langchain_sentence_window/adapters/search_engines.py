"""The adapters of search engines: langchain-elasticsearch's `ElasticsearchStore` and langchain-redis's store."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window.documents.keys import DOC_ID
from langchain_sentence_window.documents.metadata_values import SCALARS

from .families import BlockingAdapter
from .store_adapter import PAGE_SIZE, Embedded, Scored
from .stored_values import is_plain

_MOST_CANDIDATES = 10_000
_MAX_KEYWORD = 256


class ElasticsearchAdapter(BlockingAdapter):
    """Elasticsearch filters by clauses of its query language, and gives each key of metadata a type of its own."""

    filter_form = "clauses such as {'term': {'metadata.tenant.keyword': 'a'}}"
    away_errors = frozenset({"elastic_transport.ConnectionError", "elastic_transport.ConnectionTimeout"})

    def holds(self, key: str, value: Any) -> bool:
        """Return whether a field can hold a value: it takes one type, and names are paths."""
        if not key.strip(".") or key != key.strip(".") or ".." in key or not is_plain([key, value]):
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
        """Search among more candidates than ``k``; the store itself asks for 50 at most."""
        from elasticsearch import NotFoundError

        def widened(body: dict[str, Any], _: str | None) -> dict[str, Any]:
            if "knn" in body:
                body["knn"]["num_candidates"] = min(2 * settings["k"], _MOST_CANDIDATES)
            return body

        try:
            return await super().search(io, query, {"custom_query": widened, **settings})
        except NotFoundError:  # the first document creates the index
            return []

    def rows(self, ids: Sequence[str] | None, filter: Any) -> list[Document]:
        """Search for the ids, so that what is read is as fresh as the hits are; scroll through all."""
        from elasticsearch.helpers import scan

        store, conditions = self.store, filter or []
        fields = [store.query_field, "metadata"]
        given = {"index": store._store.index, "source_includes": fields, "ignore_unavailable": True}
        if ids is None:
            hits = scan(store.client, query={"query": {"bool": {"filter": conditions}}}, **given)
        else:
            query = {"bool": {"filter": [{"ids": {"values": list(ids)}}, *conditions]}}
            hits = store.client.search(query=query, size=len(ids), **given)["hits"]["hits"]
        sources = [(hit["_id"], hit["_source"]) for hit in hits]
        return [
            Document(id=id_, page_content=source[store.query_field], metadata=source["metadata"])
            for id_, source in sources
        ]

    async def put(self, io: IO, documents: Sequence[Document]) -> None:
        """Add documents; first create the index, in which strings aren't taken for dates."""
        await io.in_thread(self._create_index)
        await super().put(io, documents)

    def _create_index(self) -> None:
        inner, indices = self.store._store, self.store.client.indices
        if not indices.exists(index=inner.index):
            inner._create_index_if_not_exists()
            # Otherwise a heading such as "2024-05-01" gives the field of headings the type of a date.
            indices.put_mapping(index=inner.index, date_detection=False)


def _is_clause(given: Any) -> bool:
    """Return whether it looks like a clause: a mapping from one kind of query to its arguments."""
    return isinstance(given, Mapping) and [isinstance(each, Mapping) for each in given.values()] == [True]


_METADATA = "_metadata_json"
_INDEX_NAME = "_index_name"


class RedisAdapter(BlockingAdapter):
    """Redis filters by expressions of redisvl, over the fields that the store's ``metadata_schema`` declares.

    The store keeps metadata as JSON, and also each value in a field of its own, where a value named ``text`` would
    replace the sentence. So documents are written here, with only the fields that can be filtered by.
    """

    filter_form = "an expression of redisvl, such as Tag('tenant') == 'a'"
    filter_class = "redisvl.", "FilterExpression"
    holds_json = True
    takes_vectors = True
    away_errors = frozenset({"redis.exceptions.ConnectionError", "redis.exceptions.TimeoutError"})

    def _are_distances(self, scores: Sequence[float]) -> bool:
        return True

    def holds(self, key: str, value: Any) -> bool:
        """Return whether a field can hold a value; the JSON can hold any."""
        return key not in self._fields or is_plain(value)

    def of_documents(self, doc_ids: Sequence[str]) -> Any:
        """Return an expression; ``None`` if documents' names aren't a field."""
        from redisvl.query.filter import Tag

        field = self.store.index.schema.fields.get(DOC_ID)
        return Tag(DOC_ID) == list(doc_ids) if field is not None and field.type == "tag" else None

    def rows(self, ids: Sequence[str] | None, filter: Any) -> list[Document]:
        """Search among the keys of ids, or page through all that is within the filter."""
        from redisvl.query import FilterQuery

        index = self.store.index
        query = FilterQuery(filter, [self.store.config.content_field, _METADATA])
        if ids is None:
            return [self._document(row) for page in index.paginate(query, PAGE_SIZE) for row in page]
        query.limit_ids(*map(self._key, ids))
        query.paging(0, len(ids))
        return list(map(self._document, index.query(query)))

    def write(self, embedded: Embedded) -> None:
        """Write documents with their vectors."""
        from redisvl.redis.utils import array_to_buffer

        config, names, records = self.store.config, self._fields, []
        as_json = config.storage_type == "json"
        for document, vector in embedded:
            record = {
                key: _as_field(value, config.default_tag_separator)
                for key, value in document.metadata.items()
                if key in names
            }
            record = {key: value for key, value in record.items() if value is not None}
            record[config.content_field] = document.page_content
            record[config.embedding_field] = vector if as_json else array_to_buffer(vector, config.vector_datatype)
            record[_INDEX_NAME] = config.index_name
            record[_METADATA] = json.dumps(document.metadata)
            records.append(record)
        keys = [self._key(str(document.id)) for document, _ in embedded]
        self.store.index.load(records, keys=keys, ttl=self.store.ttl)

    def _document(self, row: Mapping[str, Any]) -> Document:
        id_ = row["id"].removeprefix(self._key(""))
        return Document(id=id_, page_content=row[self.store.config.content_field], metadata=json.loads(row[_METADATA]))

    def _key(self, id_: str) -> str:
        prefix = self.store.config.key_prefix
        return f"{prefix}:{id_}" if prefix else id_

    @property
    def _fields(self) -> frozenset[str]:
        """The fields that hold a value of metadata each."""
        config = self.store.config
        own = {config.content_field, config.embedding_field, _INDEX_NAME, _METADATA}
        return frozenset(self.store.index.schema.fields) - own


def _as_field(value: Any, separator: str) -> Any:
    """Return a value as a field holds it; ``None`` if no field can."""
    if isinstance(value, list):
        return separator.join(each if isinstance(each, str) else json.dumps(each) for each in value)
    if isinstance(value, bool):
        return json.dumps(value)
    return value if isinstance(value, SCALARS) else None
