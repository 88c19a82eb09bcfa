"""The adapter of langchain-redis's `RedisVectorStore`."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.families import EmbeddedAdapter
from langchain_sentence_window.adapters.store_adapter import Scored
from langchain_sentence_window.adapters.traits import has_only
from langchain_sentence_window.documents.keys import DOC_ID
from langchain_sentence_window.documents.metadata_values import is_scalar
from langchain_sentence_window.errors import InvalidInputError

_METADATA = "_metadata_json"
_INDEX_NAME = "_index_name"
_PAGE_SIZE = 1_000


class RedisAdapter(EmbeddedAdapter):
    """Redis filters by expressions of redisvl, over the fields that the store was told of as ``metadata_schema``.

    The store keeps metadata as JSON, and each value in a field of its own too, where a value named ``text`` would take
    the place of the sentence. So documents are written here, with no more fields than those that can be filtered by.
    """

    holds_json = True
    away_errors = frozenset({"redis.exceptions.ConnectionError", "redis.exceptions.TimeoutError"})

    def holds(self, key: str, value: Any) -> bool:
        """Return whether a field can hold a value; what is only in the JSON can be anything."""
        return key not in self._fields or has_only(value)

    def join(self, filters: Sequence[Any]) -> Any:
        """Return one expression with all of them."""
        joined: Any = None
        for each in filters:
            if type(each).__name__ != "FilterExpression" or not type(each).__module__.startswith("redisvl"):
                raise InvalidInputError(
                    f"{self.name} filters by an expression of redisvl, such as Tag('tenant') == 'a', not by "
                    f"{shown(each)}"
                )
            joined = each if joined is None else joined & each
        return joined

    def of_documents(self, doc_ids: Sequence[str]) -> Any:
        """Return an expression; ``None`` if documents' names aren't a field."""
        from redisvl.query.filter import Tag

        field = self.store.index.schema.fields.get(DOC_ID)
        return Tag(DOC_ID) == list(doc_ids) if field is not None and field.type == "tag" else None

    async def search(self, io: IO, query: str, settings: Mapping[str, Any]) -> Scored:
        """Search; the store gives distances."""
        store = self.store
        search, asearch = store.similarity_search_with_score, store.asimilarity_search_with_score
        found: Scored = await io.call(search, asearch, query, **settings)
        return [(document, -float(distance)) for document, distance in found]

    async def get(self, io: IO, ids: Sequence[str], filter: Any) -> list[Document] | None:
        """Get documents, with a filter by a search among their keys."""
        if filter is None:
            return await super().get(io, ids, None)
        return await io.in_thread(self._within, [self._key(each) for each in ids], filter)

    async def list_sentences(self, io: IO, filter: Any) -> list[Document]:
        """Go through all that is within the filter with a cursor."""
        return await io.in_thread(self._all_within, filter)

    async def put_embedded(self, io: IO, documents: Sequence[Document], vectors: Sequence[list[float]]) -> None:
        """Write documents with their vectors."""
        records = [self._record(each, vector) for each, vector in zip(documents, vectors, strict=True)]
        keys = [self._key(str(each.id)) for each in documents]
        await io.in_thread(self.store.index.load, records, keys=keys, ttl=self.store.ttl)

    def _record(self, document: Document, vector: Sequence[float]) -> dict[str, Any]:
        from redisvl.redis.utils import array_to_buffer

        config, metadata = self.store.config, document.metadata
        as_json = config.storage_type == "json"
        separator = config.default_tag_separator
        fields = {key: _flat(metadata[key], separator) for key in self._fields.intersection(metadata)}
        return {
            config.content_field: document.page_content,
            config.embedding_field: vector if as_json else array_to_buffer(vector, dtype=config.vector_datatype),
            _INDEX_NAME: config.index_name,
            _METADATA: json.dumps(metadata),
            **{key: value for key, value in fields.items() if value is not None},
        }

    def _within(self, keys: Sequence[str], filter: Any) -> list[Document]:
        from redisvl.query import FilterQuery

        query = FilterQuery(filter, [self.store.config.content_field, _METADATA], num_results=len(keys))
        query.limit_ids(*keys)
        return [self._document(row["id"], row) for row in self.store.index.query(query)]

    def _all_within(self, filter: Any) -> list[Document]:
        from redis.commands.search.aggregation import AggregateRequest

        config, index = self.store.config, self.store.index
        own = f"@{_INDEX_NAME}:({config.index_name})"
        request = AggregateRequest(own if filter is None else f"({filter}) ({own})")
        request = request.load("@__key", f"@{config.content_field}", f"@{_METADATA}").dialect(2).cursor(_PAGE_SIZE)
        search, found = index.client.ft(index.name), list[Document]()
        page = search.aggregate(request)
        while True:
            for row in page.rows:
                fields = dict(zip(map(_text, row[::2]), map(_text, row[1::2]), strict=True))
                found.append(self._document(fields["__key"], fields))
            if not page.cursor.cid:
                return found
            page = search.aggregate(page.cursor)

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
    return value if is_scalar(value) else None


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
