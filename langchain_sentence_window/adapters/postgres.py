"""The adapters of langchain-postgres: `PGVectorStore`, and the older `PGVector`; and full-text search for the former.

Full text stands beside the search by vectors: an index of words that we make, and BM25 scores. PostgreSQL's own ranks
know neither how rare a word is nor how long a text is, and reading the words of all texts that hold a common word takes
seconds. So the index tells which texts hold the rarer words of a question. Only the best of these are read and scored,
together with those that the vectors found.
"""

import copy
import json
import math
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from functools import partial
from hashlib import blake2b
from itertools import repeat
from typing import Any
from weakref import WeakKeyDictionary

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_sentence_window._display import shown
from langchain_sentence_window._io import ASYNC, BLOCKING, IO, run
from langchain_sentence_window._validation import listed
from langchain_sentence_window.documents.metadata_values import SCALARS
from langchain_sentence_window.documents.source_documents import StoreLimits
from langchain_sentence_window.embedding.embedder import embed_query
from langchain_sentence_window.errors import InvalidInputError

from .families import GetWhereAdapter
from .postgres_loader import PostgresLoader
from .postgres_sql import (
    PostgresEngine,
    PostgresQueries,
    TableNames,
    all_rows,
    as_vector,
    in_text,
    is_away,
    literal,
    quoted,
    searches_plainly,
)
from .store_adapter import PAGE_SIZE, BulkLoader, Read, ReadMethods, Scored, StoreAdapter
from .traits import has_only, is_plain_text

MAX_MATCHES = 20_000
"""Texts that hold one of the words by which texts are found. More words, the rarest first, aren't looked up."""

MAX_WORDS = 64
"""Words of a question that are looked up and scored, in their order."""

SAMPLE_ROWS = 2_000
"""Rows of which the mean number of words is taken."""

K1, B = 1.2, 0.75
"""BM25's usual constants, those of tantivy."""


@dataclass(frozen=True, slots=True)
class FullText:
    """Knowledge of a table's words.

    Attributes:
        language: The text search configuration, such as ``english``.
        rows: About how many rows there are.
        mean_words: The mean number of different words in a text.
        common: The share of texts that hold a word, for the most common words.
    """

    language: str
    rows: float
    mean_words: float
    common: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class WordSearch:
    """A search by words.

    Attributes:
        full_text: What is known of the table's words.
        query: The question.
        k: The most texts to find by words.
        filter: A filter, in the store's form; ``None`` for no filter.
        others: Ids of rows to score, too.
        vector: The question's vector, for the distances of what is found; ``None`` for none.
    """

    full_text: FullText
    query: str
    k: int
    filter: Any = None
    others: Sequence[str] = ()
    vector: Sequence[float] | None = None


_full_texts: WeakKeyDictionary[Any, FullText] = WeakKeyDictionary()
"""Holds what is known of the words of each store that searches by words."""


class FullTextQueries:
    """The queries of one store that look for words."""

    def __init__(self, table: Any, engine: PostgresEngine, queries: PostgresQueries) -> None:
        """Take the ``AsyncPGVectorStore``, what reaches it, and its other queries."""
        self._table, self._engine, self._queries = table, engine, queries
        self._names = TableNames.of(table)

    async def make(self, language: str) -> FullText:
        """Make the index if it isn't there, and collect what is known of the words.

        Raises:
            InvalidInputError: The database has no such text search configuration.
        """
        table, index = self._names.quoted, self._index_name(language)
        async with self._engine.connect() as connection:
            known = [row.name for row in await all_rows(connection, "SELECT cfgname AS name FROM pg_ts_config")]
            if language not in known:
                raise InvalidInputError(
                    f"language is {shown(language)}; give a text search configuration of the database: "
                    f"{', '.join(sorted(known))}"
                )
            words = self._words(language)
            await connection.exec_driver_sql(
                f"CREATE INDEX IF NOT EXISTS {quoted(index)} ON {table} USING gin ({words})"
            )
            await connection.exec_driver_sql(f"ANALYZE {table}")
            await connection.commit()
            (counted,) = await all_rows(
                connection,
                "SELECT greatest(reltuples, 0) AS rows, relpages AS pages FROM pg_class "
                "WHERE oid = to_regclass(CAST(:table AS text))",
                table=table,
            )
            share = min(100.0, 100.0 * SAMPLE_ROWS / max(1.0, counted.rows))
            sampled = f"SELECT avg(length({in_text(words)})) AS mean FROM {in_text(table)} TABLESAMPLE SYSTEM (:share)"  # noqa: S608
            (mean,) = await all_rows(connection, sampled, share=share)
            common = await all_rows(
                connection,
                "SELECT s.word, s.share FROM pg_stats, "
                "unnest(most_common_elems::text::text[], most_common_elem_freqs) AS s(word, share) "
                "WHERE schemaname = :schema AND tablename = :index AND s.word IS NOT NULL",
                schema=self._names.schema,
                index=index,
            )
        shares = {row.word: float(row.share) for row in common}
        return FullText(language, max(1.0, float(counted.rows)), float(mean.mean or 1.0), shares)

    async def search(self, search: WordSearch) -> Scored:
        """Search by words alone; scores are BM25 scores."""
        async with self._engine.connect() as connection:
            found = await self._scored(connection, search)
        return sorted(((document, words) for document, _, words in found), key=lambda each: -each[1])

    async def search_both(self, search: WordSearch, vector: Sequence[float]) -> list[tuple[Document, float, float]]:
        """Search by meaning and by words, each for ``k`` texts.

        Returns:
            Documents that either finds, each with its distance as the store measures it, and its BM25 score.
        """
        dense = self._queries.scored_documents(await self._queries.nearest(vector, search.k, search.filter))
        ids = [str(document.id) for document, _ in dense]
        async with self._engine.connect() as connection:
            found = await self._scored(connection, replace(search, others=ids, vector=vector))
        known = set(ids)
        scores = {str(document.id): score for document, _, score in found}
        both = [(document, distance, scores.get(str(document.id), 0.0)) for document, distance in dense]
        return both + [each for each in found if str(each[0].id) not in known]

    async def _scored(self, connection: Any, search: WordSearch) -> list[tuple[Document, float, float]]:
        """Return the texts with the most of the rarer words, and the other rows, with distances and BM25 scores."""
        weights = await self._weights(connection, search.full_text, search.query)
        if not weights:
            return []
        names, words = self._names, in_text(self._words(search.full_text.language))
        condition, values = self._queries.condition(search.filter)
        within = f" AND ({condition})" if condition else ""
        id_, content, table = (in_text(quoted(names.id)), in_text(quoted(names.content)), in_text(names.quoted))
        looked_up = _looked_up(weights)
        # S608: names are quoted, and values are parameters.
        holding = " UNION ALL ".join(
            f"(SELECT {id_} AS id, length({content}) AS size, CAST(:weight{number} AS float8) AS weight FROM {table} "  # noqa: S608
            f"WHERE {words} @@ CAST(CAST(:word{number} AS text) AS tsquery){within})"
            for number in range(len(looked_up))
        )
        for number, word in enumerate(looked_up):
            values |= {f"weight{number}": weights[word][0], f"word{number}": _as_query(word)}
        distance = "CAST(NULL AS float8)"
        if search.vector is not None:
            strategy, column = self._table.distance_strategy, in_text(quoted(names.embedding))
            distance = f"{strategy.search_function}({column}, :vector)"
            values["vector"] = as_vector(search.vector)
        best = f"SELECT id FROM ({holding}) h GROUP BY id ORDER BY sum(weight) DESC, min(size), id LIMIT :most"  # noqa: S608
        statement = (
            f"WITH best AS ({best}), "  # noqa: S608
            f"wanted AS (SELECT id FROM best UNION SELECT {id_} FROM {table} WHERE {id_} = ANY (:others)) "
            f"SELECT {self._queries.columns}, {distance} AS distance, {_bm25(words)} AS score "
            f"FROM {table} WHERE {id_} IN (SELECT id FROM wanted)"
        )
        values |= {
            "most": search.k,
            "others": list(search.others),
            "scored": list(weights),
            "rarity": [weight for weight, _ in weights.values()],
            "mean": search.full_text.mean_words,
        }
        rows = await all_rows(connection, statement, **values)
        documents = self._queries.documents(rows)
        return [
            (document, float(row.distance or 0.0), float(row.score or 0.0))
            for document, row in zip(documents, rows, strict=True)
        ]

    async def _weights(self, connection: Any, full_text: FullText, query: str) -> dict[str, tuple[float, float]]:
        """Return the words of a query that some text holds: how much each tells, and about how many texts hold it."""
        found = await all_rows(
            connection,
            "SELECT lexeme AS word "
            "FROM unnest(to_tsvector(CAST(CAST(:language AS text) AS regconfig), CAST(:query AS text))) "
            "ORDER BY positions[1] LIMIT :most",
            language=full_text.language,
            query=query.replace("\0", " "),
            most=MAX_WORDS,
        )
        asked = [row.word for row in found]
        held = {word: full_text.common[word] * full_text.rows for word in asked if word in full_text.common}
        held |= await self._count(connection, full_text, [word for word in asked if word not in held])
        rows = max(full_text.rows, *held.values(), 1.0)
        return {
            word: (math.log1p((rows - held[word] + 0.5) / (held[word] + 0.5)), held[word])
            for word in asked
            if held[word]
        }

    async def _count(self, connection: Any, full_text: FullText, words: Sequence[str]) -> dict[str, float]:
        if not words:
            return {}
        table, expression = in_text(self._names.quoted), in_text(self._words(full_text.language))
        statement = (
            f"SELECT w.word, (SELECT count(*) FROM {table} WHERE {expression} @@ CAST(w.query AS tsquery)) AS held "  # noqa: S608
            "FROM unnest(CAST(:words AS text[]), CAST(:queries AS text[])) AS w(word, query)"
        )
        rows = await all_rows(connection, statement, words=list(words), queries=[_as_query(word) for word in words])
        return {row.word: float(row.held) for row in rows}

    def _words(self, language: str) -> str:
        """Return SQL of the words of a text, that of the index."""
        return f"to_tsvector({literal(language)}::regconfig, {quoted(self._names.content)})"

    def _index_name(self, language: str) -> str:
        told = f"{self._names.quoted}\n{self._words(language)}"
        return f"sentence_window_words_{blake2b(told.encode(), digest_size=8).hexdigest()}"


def _bm25(words: str) -> str:
    """Return SQL of the BM25 score of a text, of whose words there is an expression."""
    # S608: all of it is ours.
    return (
        f"(SELECT sum(s.rarity * {K1 + 1} * n.count / (n.count + n.base)) "  # noqa: S608
        f"FROM (SELECT {words} AS words OFFSET 0) v, unnest(v.words) w "
        "JOIN unnest(CAST(:scored AS text[]), CAST(:rarity AS float8[])) AS s(word, rarity) ON s.word = w.lexeme, "
        "LATERAL (SELECT CAST(coalesce(cardinality(w.positions), 1) AS float8) AS count, "
        f"{K1} * ({1 - B} + {B} * length(v.words) / CAST(:mean AS float8)) AS base) n)"
    )


def _looked_up(weights: Mapping[str, tuple[float, float]]) -> list[str]:
    """Return the rarest words, as many as texts hold that may be looked at; one at least."""
    taken: list[str] = []
    total = 0.0
    for word in sorted(weights, key=lambda each: weights[each][1]):
        total += weights[word][1]
        if taken and total > MAX_MATCHES:
            break
        taken.append(word)
    return taken


def _as_query(word: str) -> str:
    """Return a word as PostgreSQL reads it in a query for words."""
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"


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
            return isinstance(value, SCALARS)
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
        queries, rows = await self._nearest(io, self.embedding, query, settings)
        return self._best_highest(queries.scored_documents(rows))

    async def search_sentences(self, io: IO, query: str, settings: Mapping[str, Any]) -> Read | None:
        """Search without fetching vectors, and without making Documents, where the store would find the same."""
        is_read_here = type(self).read is ReadMethods.read and type(self).search is PGVectorStoreAdapter.search
        if self.embedding is None or not is_read_here or not searches_plainly(self.store, self._table, settings):
            return None
        queries, rows = await self._nearest(io, self.embedding, query, settings)
        return self._best_highest(queries.scored_sentences(rows))

    async def _nearest(
        self, io: IO, embedding: Embeddings, query: str, settings: Mapping[str, Any]
    ) -> tuple[PostgresQueries, Sequence[Any]]:
        """Search by meaning; return what reads the rows, and the rows."""
        vector, queries = await embed_query(io, embedding, query), PostgresQueries(self._table, self._engine)
        most, within = settings.get("k"), settings.get("filter")
        return queries, await self._engine.run(io, partial(queries.nearest, vector, most, within))

    @property
    def finds_words(self) -> bool:
        """Whether `enable_full_text` was called for the store."""
        return self.store in _full_texts

    async def search_both(self, io: IO, query: str, settings: Mapping[str, Any]) -> list[tuple[Document, float, float]]:
        """Search by vectors and by PostgreSQL's index of words, each for ``k`` sentences."""
        full_text, embedding = _full_texts.get(self.store), self.embedding
        if full_text is None or embedding is None or not settings.keys() <= {"k", "filter"}:
            raise InvalidInputError(
                f"search_kwargs holds {listed(sorted(settings))}, but a {self.name} that also searches by words "
                "takes only k and filter; leave the others out"
            )
        search = WordSearch(full_text, query, settings["k"], settings.get("filter"))
        vector = await embed_query(io, embedding, query)
        found = await self._engine.run(io, partial(self._full_text.search_both, search, vector))
        sign = -1.0 if self._are_distances([distance for _, distance, _ in found[: search.k]]) else 1.0
        return [(document, sign * distance, words) for document, distance, words in found]

    async def lexical_search(self, io: IO, query: str, settings: Mapping[str, Any]) -> Scored | None:
        """Search by PostgreSQL's index of words, if `enable_full_text` was called for the store."""
        full_text = _full_texts.get(self.store)
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
        _full_texts[self.store] = await self._engine.run(io, partial(self._full_text.make, language))

    async def get(self, io: IO, ids: Sequence[str], filter: Any) -> list[Document] | None:
        """Get documents in one statement; within a filter, by the store's own."""
        if filter is not None or not searches_plainly(self.store, self._table, {}):
            return await super().get(io, ids, filter)
        queries = PostgresQueries(self._table, self._engine)
        return queries.documents(await self._engine.run(io, partial(queries.of_ids, ids)))

    async def list_pages(self, io: IO) -> AsyncIterator[Sequence[Document]]:
        """Read the table page by page."""
        queries, place = PostgresQueries(self._table, self._engine), "(0,0)"
        while True:
            rows = await self._engine.run(io, partial(queries.after, place, PAGE_SIZE))
            yield queries.documents(rows)
            if len(rows) < PAGE_SIZE:
                return
            place = rows[-1].place

    async def vectors_of(self, io: IO, ids: Sequence[str]) -> Mapping[str, Sequence[float]]:
        """Read the column of vectors."""
        queries = PostgresQueries(self._table, self._engine)
        rows = await self._engine.run(io, partial(queries.vectors_of, ids))
        return {row.id: json.loads(row.vector) for row in rows}

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


class PGVectorAdapter(PostgresAdapter):
    """`PGVector` keeps all collections in one table, and was made for blocking calls or for asynchronous ones."""

    async def get(self, io: IO, ids: Sequence[str], filter: Any) -> list[Document] | None:
        """Get documents by the calls that the store was made for."""
        if self.store.async_mode:
            return await super().get(io, ids, filter)
        return await io.in_thread(run, super().get(BLOCKING, ids, filter))

    async def list_pages(self, io: IO) -> AsyncIterator[Sequence[Document]]:
        """Read the collection page by page, in the order in which its rows lie in the table."""
        place = "(0,0)"
        while True:
            rows = await self._rows(
                io,
                "id, document, cmetadata, CAST(ctid AS text) AS place",
                "ctid > CAST(CAST(:place AS text) AS tid) ORDER BY ctid LIMIT :most",
                place=place,
                most=PAGE_SIZE,
            )
            yield [Document(id=row.id, page_content=row.document, metadata=row.cmetadata or {}) for row in rows]
            if len(rows) < PAGE_SIZE:
                return
            place = rows[-1].place

    async def vectors_of(self, io: IO, ids: Sequence[str]) -> Mapping[str, Sequence[float]]:
        """Read the column of vectors."""
        rows = await self._rows(io, "id, CAST(embedding AS text) AS vector", "id = ANY (:ids)", ids=list(ids))
        return {row.id: json.loads(row.vector) for row in rows}

    async def _rows(self, io: IO, columns: str, condition: str, **values: Any) -> Sequence[Any]:
        from sqlalchemy import text

        statement = text(
            f"SELECT {columns} FROM langchain_pg_embedding WHERE collection_id = "  # noqa: S608 - the values are bound
            f"(SELECT uuid FROM langchain_pg_collection WHERE name = :collection) AND {condition}"
        )
        values["collection"] = self.store.collection_name

        def blocking() -> Sequence[Any]:
            with self.store._make_sync_session() as session:
                return list(session.execute(statement, values))

        async def waiting() -> Sequence[Any]:
            async with self.store._make_async_session() as session:
                return list(await session.execute(statement, values))

        with self.reached():
            return await (io.call(blocking, waiting) if self.store.async_mode else io.in_thread(blocking))


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
