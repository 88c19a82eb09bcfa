"""The adapter of langchain-milvus's `Milvus`, and its loader."""

import re
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_sentence_window._display import shown
from langchain_sentence_window._io import IO
from langchain_sentence_window.documents.keys import DOC_ID
from langchain_sentence_window.documents.metadata_values import SCALARS
from langchain_sentence_window.errors import InvalidInputError

from .store_adapter import PAGE_SIZE, BulkLoader, Embedded, StoreAdapter
from .traits import has_only


class MilvusLoader(BulkLoader):
    """Loads a collection of Milvus by batches of rows."""

    def __init__(self, adapter: StoreAdapter) -> None:
        """Take the store's adapter.

        Raises:
            InvalidInputError: The store makes ids itself.
        """
        super().__init__(adapter)
        if adapter.store.auto_id:
            raise InvalidInputError(
                f"{adapter.name} was built with auto_id=True, so it can't replace a document; build it without auto_id"
            )

    async def finish(self, io: IO) -> None:
        """Store what is still in memory, so that its index is built."""
        store = self.adapter.store
        if store.col is not None:
            await io.in_thread(store.client.flush, store.collection_name)


_QUOTED = re.compile(r"""r?"(?:\\.|[^"\\])*"|r?'(?:\\.|[^'\\])*'""", re.DOTALL)
_PLAIN_NAME = re.compile(r"[\w./:@ #-]+")
_BRACKETS = {")": "(", "]": "[", "}": "{"}


class MilvusAdapter(StoreAdapter):
    """Milvus filters by expressions, fetches by a query, and may embed with several embedders."""

    filter_name = "expr"
    write_batch_size = 1_000
    loader_class = MilvusLoader

    def holds(self, key: str, value: Any) -> bool:
        """Return whether a field can hold a value: a dynamic field or one for all metadata holds JSON."""
        holds_json = self.store.enable_dynamic_field or self.store._metadata_field
        return has_only([key, value]) and (bool(holds_json) or isinstance(value, SCALARS))

    @property
    def embedding(self) -> Embeddings | None:
        """The first embedder."""
        found: Any = self.store.embeddings
        first: Embeddings | None = found[0] if isinstance(found, list) and found else found
        return first

    def combine(self, filters: Sequence[Any]) -> Any:
        """Return all in brackets, which none of them can leave."""
        for each in filters:
            _check_expression(each)
        return filters[0] if len(filters) == 1 else " and ".join(f"({each})" for each in filters)

    def of_documents(self, doc_ids: Sequence[str]) -> Any:
        """Return an expression; ``None`` if a name holds what it would have to escape, or metadata has one field."""
        if self.store._metadata_field or not all(map(_PLAIN_NAME.fullmatch, doc_ids)):
            return None
        quoted = ", ".join(f'"{name}"' for name in doc_ids)
        return f"{DOC_ID} in [{quoted}]"

    async def select(self, io: IO, ids: Sequence[str] | None, filter: Any) -> list[Document] | None:
        """Query ids within an expression, or go through all that is within it; an iterator only blocks."""
        store = self.store
        if store.col is None:  # made when the first document comes
            return []
        if ids is None:
            return await io.in_thread(self._all_within, filter or "")
        # Ids of this package hold nothing that an expression would have to escape.
        expression = f"{store._primary_field} in [{', '.join(map(repr, ids))}]"
        if filter is not None:
            expression = f"({expression}) and ({filter})"
        settings = {"filter": expression, "output_fields": store._get_output_fields(), "limit": len(ids)}
        return self._documents(await self._call(io, "query", **settings))

    async def _call(self, io: IO, name: str, **arguments: Any) -> Any:
        """Call a method that both clients have."""
        store = self.store

        async def asynchronous(*given: Any, **keywords: Any) -> Any:  # the async client is made when it is first named
            return await getattr(store.aclient, name)(*given, **keywords)

        return await io.call(getattr(store.client, name), asynchronous, store.collection_name, **arguments)

    def _all_within(self, expression: str) -> list[Document]:
        store = self.store
        settings = {"filter": expression, "output_fields": store._get_output_fields(), "batch_size": PAGE_SIZE}
        with closing(store.client.query_iterator(store.collection_name, **settings)) as rows:
            return [document for page in iter(rows.next, []) for document in self._documents(page)]

    def _documents(self, rows: Sequence[Any]) -> list[Document]:
        store = self.store
        parsed = [(row[store._primary_field], store._parse_document(dict(row))) for row in rows]
        return [document.model_copy(update={"id": str(id_)}) for id_, document in parsed]

    @property
    def takes_vectors(self) -> bool:
        """Whether a text has one vector, made by an embedder."""
        return not (self.store._is_multi_embedding or self.store._is_function_only)

    async def put(self, io: IO, documents: Sequence[Document]) -> None:
        """Add documents; let the store embed them if a text has several vectors, or none of an embedder."""
        if self.takes_vectors or self.store.col is None:
            await super().put(io, documents)
        else:
            await io.in_thread(self.store.upsert, [str(each.id) for each in documents], list(documents))

    async def put_vectors(self, io: IO, embedded: Embedded) -> None:
        """Write rows; the first make the collection if there is none."""
        store, vectors = self.store, [vector for _, vector in embedded]
        ids, texts = [each.id for each, _ in embedded], [each.page_content for each, _ in embedded]
        metadata = [dict(each.metadata) for each, _ in embedded]
        if store.col is None:
            await io.call(store.add_embeddings, store.aadd_embeddings, texts, vectors, metadata, ids=ids)
            return
        rows = store._prepare_insert_list(texts, [vectors], metadata, ids, force_ids=True)
        await self._call(io, "upsert", data=rows, timeout=store.timeout)


def _check_expression(expression: object) -> None:
    """Check that an expression closes just what it opens, so that it stays in brackets put around it."""
    if not isinstance(expression, str) or not expression.strip():
        raise InvalidInputError(
            f"Milvus filters by an expression such as 'tenant == \"a\"', not by {shown(expression)}"
        )
    opened: list[str] = []
    for character in _QUOTED.sub(" ", expression):
        if character in "([{":
            opened.append(character)
        elif character in "\"'" or (character in _BRACKETS and (not opened or opened.pop() != _BRACKETS[character])):
            opened.append("?")
            break
    if opened:
        raise InvalidInputError(
            f"the expression {shown(expression)} doesn't close its brackets and quotes in order; close each of them"
        )
