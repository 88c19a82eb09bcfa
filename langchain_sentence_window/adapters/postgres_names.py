"""`TableNames`: the names that a `PGVectorStore` gives its table and columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from langchain_sentence_window.adapters.postgres_engine import quoted


@dataclass(frozen=True, slots=True)
class TableNames:
    """The names that a store gives its table and columns.

    Attributes:
        schema: The schema.
        table: The table.
        id: The column of ids.
        content: The column of texts.
        embedding: The column of vectors.
        metadata: Columns of metadata.
        json: The column of the metadata that has no column; ``None`` if there is none.
        tsv: The column of words for the store's hybrid search, and its language; ``None`` if there is none.
    """

    schema: str
    table: str
    id: str
    content: str
    embedding: str
    metadata: Sequence[str]
    json: str | None
    tsv: tuple[str, str] | None

    @property
    def quoted(self) -> str:
        """The table, with its schema, as SQL writes it."""
        return f"{quoted(self.schema)}.{quoted(self.table)}"

    @classmethod
    def of(cls, store: Any) -> Self:
        """Return those of an async store of langchain-postgres."""
        config = store.hybrid_search_config
        return cls(
            schema=store.schema_name,
            table=store.table_name,
            id=store.id_column,
            content=store.content_column,
            embedding=store.embedding_column,
            metadata=tuple(store.metadata_columns),
            json=store.metadata_json_column or None,
            tsv=(config.tsv_column, config.tsv_lang or "") if config and config.tsv_column else None,
        )
