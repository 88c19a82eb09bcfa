"""The adapter of langchain-milvus's `Milvus`."""

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

from .families import BlockingAdapter
from .store_adapter import PAGE_SIZE, Embedded
from .stored_values import is_plain

_QUOTED = re.compile(r"""r?"(?:\\.|[^"\\])*"|r?'(?:\\.|[^'\\])*'""", re.DOTALL)
_PLAIN_NAME = re.compile(r"[\w./:@ #-]+")
_BRACKETS = {")": "(", "]": "[", "}": "{"}


class MilvusAdapter(BlockingAdapter):
    """Milvus filters by expressions, fetches by a query, and may embed with several embedders."""

    filter_name = "expr"
    write_batch_size = 1_000

    def holds(self, key: str, value: Any) -> bool:
        """Return whether a field can hold a value: a dynamic field or one for all metadata holds JSON."""
        holds_json = self.store.enable_dynamic_field or self.store._metadata_field
        return is_plain([key, value]) and (bool(holds_json) or isinstance(value, SCALARS))

    @property
    def embedding(self) -> Embeddings | None:
        """The first embedder."""
        found: Any = self.store.embeddings
        first: Embeddings | None = found[0] if isinstance(found, list) and found else found
        return first

    def combine(self, filters: Sequence[Any]) -> Any:
        """Join expressions in brackets, out of which none of them can break."""
        for each in filters:
            _check_expression(each)
        return filters[0] if len(filters) == 1 else " and ".join(f"({each})" for each in filters)

    def of_documents(self, doc_ids: Sequence[str]) -> Any:
        """Return an expression; ``None`` if a name needs escapes, or all metadata is in one field."""
        if self.store._metadata_field or not all(map(_PLAIN_NAME.fullmatch, doc_ids)):
            return None
        quoted = ", ".join(f'"{name}"' for name in doc_ids)
        return f"{DOC_ID} in [{quoted}]"

    def rows(self, ids: Sequence[str] | None, filter: Any) -> list[Document]:
        """Query ids within an expression, or iterate over all that matches it."""
        store = self.store
        if store.col is None:  # created with the first document
            return []
        fields = store._get_output_fields()
        if ids is not None:
            # Ids of this package need no escapes.
            expression = f"{store._primary_field} in [{', '.join(map(repr, ids))}]"
            if filter is not None:
                expression = f"({expression}) and ({filter})"
            found = store.client.query(store.collection_name, filter=expression, output_fields=fields, limit=len(ids))
            return self._documents(found)
        pages = store.client.query_iterator(
            store.collection_name, filter=filter or "", output_fields=fields, batch_size=PAGE_SIZE
        )
        with closing(pages):
            return [document for page in iter(pages.next, []) for document in self._documents(page)]

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

    def write(self, embedded: Embedded) -> None:
        """Write rows; the first ones create the collection if there is none."""
        store, vectors = self.store, [vector for _, vector in embedded]
        ids, texts = [each.id for each, _ in embedded], [each.page_content for each, _ in embedded]
        metadata = [dict(each.metadata) for each, _ in embedded]
        if store.col is None:
            store.add_embeddings(texts, vectors, metadata, ids=ids)
            return
        rows = store._prepare_insert_list(texts, [vectors], metadata, ids, force_ids=True)
        store.client.upsert(store.collection_name, data=rows, timeout=store.timeout)


def _check_expression(expression: object) -> None:
    """Check that an expression closes exactly what it opens, so that it stays inside brackets put around it."""
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
