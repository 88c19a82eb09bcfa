"""The adapters of langchain-postgres: `PGVectorStore`, and the older `PGVector`."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass, replace
from functools import partial
from itertools import repeat
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._io import ASYNC, BLOCKING, IO, run
from langchain_sentence_window._showing import shown
from langchain_sentence_window._validation import listed
from langchain_sentence_window.adapters.base import StoreAdapter
from langchain_sentence_window.adapters.bulk.base import BulkLoader
from langchain_sentence_window.adapters.bulk.postgres import PostgresLoader
from langchain_sentence_window.adapters.get_where import GetWhereAdapter
from langchain_sentence_window.adapters.holding import has_only, is_plain_text
from langchain_sentence_window.adapters.postgres_engine import PostgresEngine, is_away
from langchain_sentence_window.adapters.postgres_full_text import (
    FullTextQueries,
    WordSearch,
    full_text_of,
    use_full_text,
)
from langchain_sentence_window.adapters.postgres_names import TableNames
from langchain_sentence_window.adapters.postgres_queries import PostgresQueries, searches_plainly
from langchain_sentence_window.adapters.read_methods import ReadMethods
from langchain_sentence_window.adapters.search_methods import Read, Scored
from langchain_sentence_window.documents.stored_metadata import StoreLimits
from langchain_sentence_window.documents.values import is_scalar
from langchain_sentence_window.embedding.embedder import embed_query
from langchain_sentence_window.errors import InvalidInputError


class PostgresAdapter(StoreAdapter):
    """PostgreSQL plans a fetch anew for each number of ids; a call takes no more than 32,767 ids."""

    holds_json = True

    def is_away(self, error: BaseException) -> bool:
        """Return whether an error of the database's drivers says so."""
        return is_away(error)

    def holds(self, key: str, value: Any) -> bool:
        """Return whether JSONB can hold a value, which has no NUL in a string."""
        return has_only([key, value], _is_of_jsonb)

    async def search(self, io: IO, query: str, settings: Mapping[str, Any]) -> Scored:
        """Search with copies of the settings, as the store writes the first query into a hybrid search's."""
        own = {name: copy.deepcopy(value) if is_dataclass(value) else value for name, value in settings.items()}
        return await super().search(io, query, own)

    async def get(self, io: IO, ids: Sequence[str], filter: Any) -> list[Document] | None:
        """Get documents by 1, 2, 4, 8 ... ids, repeating the last id, so that few plans are made."""
        wanted = 1 << (len(ids) - 1).bit_length()
        return await super().get(io, [*ids, *repeat(ids[-1], wanted - len(ids))], filter)


class PGVectorStoreAdapter(PostgresAdapter, GetWhereAdapter):
    """`PGVectorStore` filters what it gets by id, and may keep some keys in columns of their own."""

    def holds(self, key: str, value: Any) -> bool:
        """Return whether a column of its own, or else the column of JSON, can hold a value."""
        if key in self._columns:
            return is_scalar(value)
        return self._table.metadata_json_column is not None  # of type JSON, which holds a NUL too

    @property
    def limits(self) -> StoreLimits:
        """The metadata that the store can hold; nothing is converted for columns, as their types aren't known."""
        return replace(super().limits, typed=self._columns)

    def stored_filter(self, filter: Any) -> Any:
        """Return the filter unchanged, as it reaches columns alone."""
        return filter

    async def get_where(self, io: IO, ids: list[str] | None, filter: Any) -> Mapping[str, Any]:
        """Call the store's ``get``, or await its ``aget``."""
        with self._engine.reached():
            found: Mapping[str, Any] = await io.call(self.store.get, self.store.aget, ids=ids, where=filter)
        return found

    def bulk_loader(self, settings: Mapping[str, Any]) -> BulkLoader:
        """Return a loader that copies rows into the store's table, see `PostgresLoader`."""
        names, distance = TableNames.of(self._table), self._table.distance_strategy
        return PostgresLoader(self, settings, names, engine=self._engine, distance=distance)

    def release(self) -> None:
        """Close the connections that wait in the pool of the store's engine."""
        run(self._engine.run(BLOCKING, self._engine.dispose))

    async def search(self, io: IO, query: str, settings: Mapping[str, Any]) -> Scored:
        """Search without fetching vectors, where the store would find the same."""
        if self.embedding is None or not searches_plainly(self.store, self._table, settings):
            return await super().search(io, query, settings)
        vector, queries = await embed_query(io, self.embedding, query), PostgresQueries(self._table, self._engine)
        most, within = settings.get("k"), settings.get("filter")
        found = queries.scored_documents(await self._engine.run(io, partial(queries.nearest, vector, most, within)))
        sign = -1.0 if self._are_distances([score for _, score in found]) else 1.0
        return [(document, sign * score) for document, score in found]

    async def search_sentences(self, io: IO, query: str, settings: Mapping[str, Any]) -> Read | None:
        """Search without fetching vectors, and without making Documents, where the store would find the same."""
        is_read_here = type(self).read is ReadMethods.read and type(self).search is PGVectorStoreAdapter.search
        if self.embedding is None or not is_read_here or not searches_plainly(self.store, self._table, settings):
            return None
        vector, queries = await embed_query(io, self.embedding, query), PostgresQueries(self._table, self._engine)
        rows = await self._engine.run(io, partial(queries.nearest, vector, settings.get("k"), None))
        found = queries.scored_sentences(rows)
        sign = -1.0 if self._are_distances([score for _, score in found]) else 1.0
        return [(sentence, sign * score) for sentence, score in found]

    @property
    def finds_words(self) -> bool:
        """Whether `enable_full_text` was called for the store."""
        return full_text_of(self.store) is not None

    async def search_both(self, io: IO, query: str, settings: Mapping[str, Any]) -> list[tuple[Document, float, float]]:
        """Search by vectors and by PostgreSQL's index of words, each for ``k`` sentences."""
        full_text, embedding = full_text_of(self.store), self.embedding
        if full_text is None or embedding is None or not settings.keys() <= {"k", "filter"}:
            raise InvalidInputError(
                f"search_kwargs holds {listed(sorted(settings))}, and where {self.name} searches by words too it takes "
                "k and filter alone; leave the others out"
            )
        search = WordSearch(full_text, query, settings["k"], settings.get("filter"))
        vector = await embed_query(io, embedding, query)
        found = await self._engine.run(io, partial(self._full_text.search_both, search, vector))
        sign = -1.0 if self._are_distances([distance for _, distance, _ in found[: search.k]]) else 1.0
        return [(document, sign * distance, words) for document, distance, words in found]

    async def lexical_search(self, io: IO, query: str, settings: Mapping[str, Any]) -> Scored | None:
        """Search by PostgreSQL's index of words, if `enable_full_text` was called for the store."""
        full_text = full_text_of(self.store)
        if full_text is None:
            return None
        search = WordSearch(full_text, query, settings["k"], settings.get("filter"))
        return await self._engine.run(io, partial(self._full_text.search, search))

    async def use_full_text(self, io: IO, language: str) -> None:
        """Make an index of words, and let the store search by it; see `enable_full_text`."""
        if not searches_plainly(self.store, self._table, {}):
            raise InvalidInputError(
                f"{self.name} has a hybrid search of its own, or isn't langchain_postgres's own class; use that search "
                "through search_kwargs, or make the store without hybrid_search_config"
            )
        use_full_text(self.store, await self._engine.run(io, partial(self._full_text.make, language)))

    async def get(self, io: IO, ids: Sequence[str], filter: Any) -> list[Document] | None:
        """Get documents in one statement; within a filter, by the store's own."""
        if filter is not None or not searches_plainly(self.store, self._table, {}):
            return await super().get(io, ids, filter)
        queries = PostgresQueries(self._table, self._engine)
        return queries.documents(await self._engine.run(io, partial(queries.of_ids, ids)))

    @property
    def _columns(self) -> frozenset[str]:
        return frozenset(self._table.metadata_columns)

    @property
    def _table(self) -> Any:
        """The async store that a store wraps."""
        return getattr(self.store, "_PGVectorStore__vs", self.store)

    @property
    def _full_text(self) -> FullTextQueries:
        return FullTextQueries(self._table, self._engine, PostgresQueries(self._table, self._engine))

    @property
    def _engine(self) -> PostgresEngine:
        """The part of the store that reaches the database."""
        return PostgresEngine(getattr(self.store, "_engine", self._table.engine))


def enable_full_text(store: Any, language: str = "english") -> None:
    """Let retrievers over a `PGVectorStore` search by words too, by PostgreSQL's own full-text search.

    It makes an index of the words if there is none, which the database keeps up to date from then on, and learns how
    common words are. Call it once for each store that a program makes, best after the documents were loaded. The store
    itself stays as it is, and so do its table and its own searches.

    Args:
        store: The store, without a hybrid search of its own.
        language: The text search configuration of the database that cuts texts into words, such as ``english``,
            ``german``, or ``simple`` for words as they stand.

    Raises:
        InvalidInputError: It isn't such a store, or the database has no such configuration.
    """
    run(_adapter(store).use_full_text(BLOCKING, language))


async def aenable_full_text(store: Any, language: str = "english") -> None:
    """Async version of `enable_full_text`."""
    await _adapter(store).use_full_text(ASYNC, language)


def _adapter(store: Any) -> PGVectorStoreAdapter:
    if not any(each.__module__.startswith("langchain_postgres.v2.") for each in type(store).__mro__):
        raise InvalidInputError(f"store is {shown(store)}; give a PGVectorStore")
    return PGVectorStoreAdapter(store)


def _is_of_jsonb(value: Any) -> bool:
    return is_plain_text(value) and not (isinstance(value, str) and "\0" in value)
