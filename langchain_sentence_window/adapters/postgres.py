"""The adapters of langchain-postgres: `PGVectorStore`, its search by words and its bulk loader; the older `PGVector`.

Plain searches and reads are SQL of our own: the store's own methods fetch the vector of each row as text, open a
transaction for each read, and have PostgreSQL plan a fetch again for each number of ids. So a query waits for two round
trips instead of seven. A search with other settings, such as a hybrid one, is the store's own.
"""

import copy
import json
import struct
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from io import BytesIO
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window._io import ASYNC, BLOCKING, IO, run
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window._validation import listed, optional_count
from langchain_sentence_window.documents.metadata_values import SCALARS
from langchain_sentence_window.documents.source_documents import StoreLimits
from langchain_sentence_window.embedding.embedder import embed_query
from langchain_sentence_window.errors import InvalidInputError

from .store_adapter import PAGE_SIZE, BulkLoader, Scored, StoreAdapter, batches
from .traits import is_plain_text

T = TypeVar("T")
Rows = Sequence[Any]

MAX_MATCHES = 20_000
"""Texts with one of the words by which texts are found. More words, the rarest first, aren't looked up, as reading all
texts with a common word takes seconds."""

_UNAVAILABLE = ("08", "53300", "57P0", "57014")
"""How codes of PostgreSQL begin that say: no connection, no room for one, shutting down or starting, out of time."""

_languages: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
"""The text search configuration of each store for which `enable_full_text` was called."""


class PostgresAdapter(StoreAdapter):
    """What both classes share: rows that begin with the id, the text, metadata as JSON, and columns of metadata."""

    holds_json = True
    columns: Sequence[str] = ()
    """The keys of metadata that have a column of their own."""
    id, vector = "id", "embedding"
    """Columns, as SQL writes them."""

    def is_away(self, error: BaseException) -> bool:
        """Return whether an error of SQLAlchemy, asyncpg or psycopg says that the database doesn't answer in time."""
        from sqlalchemy import exc

        state = getattr(error.orig if isinstance(error, exc.DBAPIError) else error, "sqlstate", None)
        if state is not None:
            return str(state).startswith(_UNAVAILABLE)
        # What has no code isn't from the server.
        is_lost = isinstance(error, exc.DBAPIError) and error.connection_invalidated
        return is_lost or isinstance(error, exc.OperationalError | exc.TimeoutError)

    async def list_pages(self, io: IO) -> AsyncIterator[Sequence[Document]]:
        """Read the table page by page, in the order in which its rows lie there."""
        # A name of its own, as a column named ctid would be what the rows are ordered by, as a text.
        condition = "ctid > CAST(CAST(:place AS text) AS tid) ORDER BY ctid LIMIT :most"
        place, has_more = "(0,0)", True
        while has_more:
            rows = await self.query(
                io, condition, {"place": place, "most": PAGE_SIZE}, more="CAST(ctid AS text) AS place"
            )
            yield self.documents(rows)
            place, has_more = rows[-1][-1] if rows else place, len(rows) == PAGE_SIZE

    async def vectors_of(self, io: IO, ids: Sequence[str]) -> Mapping[str, Sequence[float]]:
        """Read the column of vectors."""
        more = f"CAST({self.vector} AS text)"
        rows = await self.query(io, f"{self.id} = ANY (:ids)", {"ids": list(ids)}, more=more)
        return {str(row[0]): json.loads(row[-1]) for row in rows}

    def documents(self, rows: Rows) -> list[Document]:
        """Make Documents of rows."""
        end = 3 + len(self.columns)
        own = [{**(row[2] or {}), **dict(zip(self.columns, row[3:end], strict=True))} for row in rows]
        return [Document(row[1], id=str(row[0]), metadata=each) for row, each in zip(rows, own, strict=True)]

    async def within(
        self, io: IO, ids: Sequence[str] | None, condition: str, values: Mapping[str, Any]
    ) -> list[Document]:
        """Read rows for which a condition holds; ids are one parameter, so that one plan serves any number."""
        if ids is not None:
            condition, values = f"{condition} AND {self.id} = ANY (:ids)", {**values, "ids": list(ids)}
        return self.documents(await self.query(io, condition, values))

    async def query(self, io: IO, where: str, values: Mapping[str, Any], *, more: str = "NULL") -> Rows:
        """Select rows, with more columns at their end, for which a condition holds."""
        raise NotImplementedError


class PGVectorAdapter(PostgresAdapter):
    """`PGVector` keeps all collections in one table, and was made for blocking calls or for asynchronous ones."""

    async def select(self, io: IO, ids: Sequence[str] | None, filter: Any) -> list[Document] | None:
        """Read rows, then leave out those that the filter forbids."""
        return self.matching(await self.within(io, ids, "true", {}), filter)

    async def query(self, io: IO, where: str, values: Mapping[str, Any], *, more: str = "NULL") -> Rows:
        """Select rows of the collection."""
        from sqlalchemy import text

        collection = "SELECT uuid FROM langchain_pg_collection WHERE name = :collection"
        statement = text(
            f"SELECT id, document, cmetadata, {more} FROM langchain_pg_embedding "  # noqa: S608 - values are parameters
            f"WHERE collection_id = ({collection}) AND {where}"
        )
        bound = {**values, "collection": self.store.collection_name}

        def blocking() -> Rows:
            with self.store._make_sync_session() as session:
                return list(session.execute(statement, bound))

        async def waiting() -> Rows:
            async with self.store._make_async_session() as session:
                return list(await session.execute(statement, bound))

        with self.reached(OSError):
            return await (io.call(blocking, waiting) if self.store.async_mode else io.in_thread(blocking))


class PGVectorStoreAdapter(PostgresAdapter):
    """`PGVectorStore` filters by mappings also what is read by id, and may keep some keys in columns of their own."""

    one_key_filters = True
    rechecks_hits = False  # its mappings mean other things than ours in places

    def __init__(self, store: Any) -> None:
        """Take the store, and the names of its table and columns."""
        super().__init__(store)
        self.async_store: Any = getattr(store, "_PGVectorStore__vs", store)  # the async store that it wraps, or is
        table = self.async_store
        self.columns = table.metadata_columns
        self.id, self.content = _quote_identifier(table.id_column), _quote_identifier(table.content_column)
        self.vector = _quote_identifier(table.embedding_column)
        self.table = f"{_quote_identifier(table.schema_name)}.{_quote_identifier(table.table_name)}"

    def holds(self, key: str, value: Any) -> bool:
        """Return whether a column of its own, or else the column of JSON, can hold a value."""
        if key in self.columns:
            return isinstance(value, SCALARS)
        return self.async_store.metadata_json_column is not None  # of type JSON, which holds a NUL too

    @property
    def limits(self) -> StoreLimits:
        """The metadata that the store can hold; nothing is converted for columns, as their types aren't known."""
        return replace(super().limits, typed=frozenset(self.columns))

    def stored_filter(self, filter: Any) -> Any:
        """Return the filter unchanged, as it reaches columns alone."""
        return filter

    async def search(self, io: IO, query: str, settings: Mapping[str, Any]) -> Scored:
        """Search without fetching vectors; let the store search if there are settings of its own."""
        if self.embedding is None or not self._searches_plainly(settings):
            # A copy, as the store writes the first query into the settings of a hybrid search.
            return await super().search(io, query, copy.deepcopy(dict(settings)))
        rows = await self._nearest(io, await embed_query(io, self.embedding, query), settings)
        return self._best_highest(zip(self.documents(rows), (row.distance for row in rows), strict=True))

    async def select(self, io: IO, ids: Sequence[str] | None, filter: Any) -> list[Document] | None:
        """Read rows within a filter."""
        return await self.within(io, ids, *self._condition(filter))

    @property
    def finds_words(self) -> bool:
        """Whether `enable_full_text` was called for the store."""
        return self.store in _languages

    async def search_both(self, io: IO, query: str, settings: Mapping[str, Any]) -> list[tuple[Document, float, float]]:
        """Search by vectors and by PostgreSQL's index of words, each for ``k`` sentences."""
        if self.embedding is None or not settings.keys() <= {"k", "filter"}:
            raise InvalidInputError(
                f"search_kwargs holds {listed(sorted(settings))}, but a {self.name} that also searches by words "
                "takes only k and filter; leave the others out"
            )
        vector, language = await embed_query(io, self.embedding, query), _languages[self.store]
        nearest = await self._nearest(io, vector, settings)
        table, (within, values) = self.async_store, self._condition(settings.get("filter"))
        index, words = self._words(language)
        names = {"id": self.id, "content": self.content, "words": words, "table": self.table, "within": within}
        values |= {
            "query": query.replace("\0", " "),
            "language": language,
            "k": settings["k"],
            "most": MAX_MATCHES,
            "schema": table.schema_name,
            "name": table.table_name,
            "content": table.content_column,
            "table": self.table,
            "index": index,
            "vector": _as_text(vector),
            "nearest": [row[0] for row in nearest],
        }
        strategy = table.distance_strategy
        more = f"{strategy.search_function}({self.vector}, :vector) AS distance, {_BM25.format(**names)} AS score"
        where = f"{self.id} IN (SELECT id FROM wanted)"  # noqa: S608 - a name is quoted
        rows = await self.query(io, where, values, more=more, before=_BEST.format(**names))
        sign = 1.0 if strategy.search_function == "inner_product" else -1.0
        scores = [(sign * row.distance, row.score or 0.0) for row in rows]
        return [(document, *both) for document, both in zip(self.documents(rows), scores, strict=True)]

    async def use_full_text(self, io: IO, language: str) -> None:
        """Make an index of words, and let the store search by it; see `enable_full_text`."""
        if not self._searches_plainly({}):
            raise InvalidInputError(
                f"{self.name} has a hybrid search of its own, or isn't langchain_postgres's own class; use that search "
                "through search_kwargs, or make the store without hybrid_search_config"
            )
        known = sorted(row[0] for row in await self._execute(io, "SELECT cfgname FROM pg_ts_config", {}))
        if language not in known:
            raise InvalidInputError(
                f"language is {shown(language)}; give a text search configuration of the database: {', '.join(known)}"
            )
        name, words = self._words(language)
        await self._execute(
            io, f"CREATE INDEX IF NOT EXISTS {_quote_identifier(name)} ON {self.table} USING gin ({words})", {}
        )
        await self._execute(io, f"ANALYZE {self.table}", {})  # collects how common words are
        _languages[self.store] = language

    def bulk_loader(self, **settings: Any) -> BulkLoader:
        """Return a loader that copies rows into the store's table, see `PostgresLoader`."""
        return PostgresLoader(self, **settings)

    def release(self) -> None:
        """Close the connections that wait in the pool of the store's engine."""
        run(self.run(BLOCKING, self.async_store.engine.dispose))

    async def run(self, io: IO, flow: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a flow in the engine's own event loop if it has one, and else in the current one."""
        engine = getattr(self.store, "_engine", None)  # none in an async store

        def blocking() -> T:
            if engine is None or engine._loop is None:
                raise InvalidInputError(
                    "the store's engine has no event loop of its own, so the store can't be used blocking; use async "
                    "methods, or make the engine with PGEngine.from_connection_string"
                )
            result: T = engine._run_as_sync(flow())
            return result

        async def waiting() -> T:
            result: T = await (flow() if engine is None else engine._run_as_async(flow()))
            return result

        with self.reached(OSError):  # any error of the network there is the database's
            return await io.call(blocking, waiting)

    async def query(
        self,
        io: IO,
        where: str,
        values: Mapping[str, Any],
        *,
        more: str = "NULL",
        before: str = "",
        options: Sequence[str] = (),
    ) -> Rows:
        """Select rows; ``before`` stands before the statement, and ``options`` are set for it."""
        json_column = self.async_store.metadata_json_column
        names = [
            self.id,
            self.content,
            _quote_identifier(json_column) if json_column else "NULL",
            *map(_quote_identifier, self.columns),
        ]
        statement = f"{before}SELECT {', '.join(names)}, {more} FROM {self.table} WHERE {where}"  # noqa: S608 - quoted
        return await self._execute(io, statement, values, options)

    async def _execute(self, io: IO, statement: str, values: Mapping[str, Any], options: Sequence[str] = ()) -> Rows:
        async def flow() -> Rows:
            async with self.async_store.engine.connect() as connection:
                if not options:  # no transaction, whose begin and end are round trips
                    await connection.execution_options(isolation_level="AUTOCOMMIT")
                for option in options:
                    await _fetch_rows(connection, f"SET LOCAL {option}")
                return await _fetch_rows(connection, statement, **values)

        return await self.run(io, flow)

    async def _nearest(self, io: IO, vector: Sequence[float], settings: Mapping[str, Any]) -> Rows:
        """Select the rows that are the closest to a vector, as the store's own search does."""
        within, values = self._condition(settings.get("filter"))
        given = self.async_store.index_query_options
        options = given.to_parameter() if given else []
        if not settings.get("filter"):
            # Conditions that PostgreSQL works out before it looks at the table, so that no transaction is needed around
            # the statement. Under a filter the plan may depend on the options, so they are set before.
            pairs = [option.replace(" ", "").split("=") for option in options]
            settings_made = [f"(SELECT set_config('{name}', '{value}', true)) IS NOT NULL" for name, value in pairs]
            within, options = " AND ".join([within, *settings_made]), []
        strategy = self.async_store.distance_strategy
        values |= {"vector": _as_text(vector), "k": settings["k"]}
        where = f"{within} ORDER BY {self.vector} {strategy.operator} :vector LIMIT :k"
        distance = f"{strategy.search_function}({self.vector}, :vector) AS distance"
        return await self.query(io, where, values, more=distance, options=options)

    def _searches_plainly(self, settings: Mapping[str, Any]) -> bool:
        """Return whether SQL of our own finds what the store's own search would."""
        table = self.async_store
        is_own = all(type(each).__module__.startswith("langchain_postgres.v2.") for each in (self.store, table))
        return is_own and table.hybrid_search_config is None and settings.keys() <= {"k", "filter"}

    def _condition(self, filter: Any) -> tuple[str, dict[str, Any]]:
        """Return a filter as SQL with its parameters, as the store reads it."""
        condition, values = self.async_store._create_filter_clause(filter) if filter else ("true", {})
        return f"({condition})", dict(values)

    def _words(self, language: str) -> tuple[str, str]:
        """Return the name of an index of words, and SQL of the words of a text, as in the index."""
        words = f"to_tsvector({_quote_literal(language)}\\:\\:regconfig, {self.content})"
        # Of what it indexes, so that another table or column gets another.
        digest = blake2b(f"{self.table}\n{words}".encode(), digest_size=8).hexdigest()
        return f"sentence_window_words_{digest}", words


_BEST = r"""
    WITH statistics AS (SELECT * FROM pg_stats WHERE schemaname = :schema AND tablename IN (:index, :name)),
    common AS (
        SELECT word, share FROM statistics,
            unnest(CAST(CAST(most_common_elems AS text) AS text[]), most_common_elem_freqs) AS c(word, share)
        WHERE tablename = :index
    ), asked AS (
        SELECT lexeme AS word,
            CAST('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''' AS tsquery) AS holds_it
        FROM unnest(to_tsvector(CAST(CAST(:language AS text) AS regconfig), CAST(:query AS text)))
        ORDER BY positions[1] LIMIT 64
    ), counted AS MATERIALIZED (
        SELECT word, holds_it, greatest(reltuples, 1) AS rows,
            coalesce(share * reltuples, (SELECT count(*) FROM {table} WHERE {words} @@ holds_it)) AS texts
        FROM asked LEFT JOIN common USING (word), pg_class WHERE oid = to_regclass(:table)
    ), weighed AS (
        SELECT word, holds_it, ln(1 + (greatest(rows, texts) - texts + 0.5) / (texts + 0.5)) AS rarity,
            row_number() OVER rarest = 1 OR sum(texts) OVER rarest <= :most AS is_looked_up
        FROM counted WHERE texts > 0 WINDOW rarest AS (ORDER BY texts, word)
    ), best AS (
        SELECT held.id FROM weighed, LATERAL (
            SELECT {id} AS id, length({content}) AS size FROM {table} WHERE {words} @@ weighed.holds_it AND {within}
        ) held
        WHERE is_looked_up GROUP BY held.id ORDER BY sum(rarity) DESC, min(size), held.id LIMIT :k
    ), wanted AS (SELECT id FROM best UNION SELECT {id} FROM {table} WHERE {id} = ANY (:nearest)) """
"""Finds the ids of the texts with the most of the rarer words of a question, and those of the nearest vectors, for the
statement that it precedes. As one set of ids, as PostgreSQL would read the whole table for two.

How many texts hold a word is known of common words, from the server's statistics of the index, and else counted."""

_BM25 = """(
    SELECT sum(rarity * 2.2 * n / (n + 1.2 * (0.25 + 0.75 * octet_length({content}) / coalesce(mean, 1.0))))
    FROM unnest({words}) JOIN weighed ON word = lexeme,
        LATERAL (SELECT CAST(coalesce(cardinality(positions), 1) AS float8) AS n) frequency,
        (SELECT max(avg_width) AS mean FROM statistics WHERE tablename = :name AND attname = :content) lengths)"""
"""The BM25 score of a text, with the usual constants; PostgreSQL's own ranks know neither how rare a word is nor how
long a text is. Lengths are in bytes, as the server knows their mean."""


class PostgresLoader(BulkLoader):
    """Loads a table of langchain-postgres with the rows that the store itself would write; indexes it after.

    Its settings: ``index``, the vector index to build at the end if the table has none, an index of langchain-postgres
    such as ``HNSWIndex(m=24)``, ``"hnsw"`` for one as the store searches, or ``None`` for none; ``build_memory_mb`` and
    ``build_workers``, what that may use.
    """

    adapter: PGVectorStoreAdapter

    def __init__(
        self,
        adapter: PGVectorStoreAdapter,
        *,
        index: Any = "hnsw",
        build_memory_mb: int | None = None,
        build_workers: int | None = None,
    ) -> None:
        """Take the store's adapter; raise an `InvalidInputError` if a setting can't be used."""
        from langchain_postgres.v2.indexes import BaseIndex, HNSWIndex

        super().__init__(adapter)
        self._memory_mb = optional_count("build_memory_mb", build_memory_mb)
        self._workers = build_workers and optional_count("build_workers", build_workers)  # 0: it is built by one alone
        self._index = index
        if index == "hnsw":
            self._index = HNSWIndex(distance_strategy=adapter.async_store.distance_strategy)
        elif not isinstance(index, BaseIndex | None):
            raise InvalidInputError(
                f"index is {shown(index)}; give 'hnsw', an index of langchain_postgres such as HNSWIndex(), or None"
            )

    async def write(self, io: IO, documents: Sequence[Document], vectors: Vectors) -> None:
        """Copy a batch into a temporary table, and from there; a row that is there, and the same, isn't touched."""
        await self.adapter.run(io, lambda: self._write(documents, vectors))

    async def _write(self, documents: Sequence[Document], vectors: Vectors) -> None:
        adapter = self.adapter
        async with adapter.async_store.engine.connect() as connection:
            await _fetch_rows(connection, _STAGED.format(vector=adapter.vector, table=adapter.table))
            for pairs in batches(list(zip(documents, vectors, strict=True)), adapter.write_batch_size):
                await _copy_rows(connection, [self._row(*pair) for pair in pairs])
            await _fetch_rows(connection, self._merge())
            await connection.commit()

    def _row(self, document: Document, vector: Vectors) -> bytes:
        """Return a row as ``COPY`` reads it: 16 bits count the fields, and 32 bits the bytes of each.

        The columns of the table are in an object of JSON, from which the server converts each value to its type.
        """
        table, columns = self.adapter.async_store, self.adapter.columns
        record = {table.id_column: document.id, table.content_column: document.page_content}
        record |= {key: value for key, value in document.metadata.items() if key in columns}
        for value in record.values():
            if not is_plain_text(value) or (isinstance(value, str) and "\0" in value):
                raise InvalidInputError(
                    f"the sentence {shown(document.id)} holds a NUL or a lone surrogate in {shown(value)}, which the "
                    "store can't keep; take such characters out of the document"
                )
        others = {key: value for key, value in document.metadata.items() if key not in columns}
        # pgvector reads the dimension and a zero, 16 bits each, then the numbers.
        packed = struct.pack(">HH", len(vector), 0) + vector.astype(">f4").tobytes()
        fields = [json.dumps(record).encode(), packed, json.dumps(others).encode()]
        return struct.pack(">H", len(fields)) + b"".join(struct.pack(">I", len(each)) + each for each in fields)

    def _merge(self) -> str:
        """Return SQL that inserts the rows of the temporary table, and updates those that are there and differ."""
        adapter, table = self.adapter, self.adapter.async_store
        values = {
            name: f"r.{_quote_identifier(name)}" for name in (table.id_column, table.content_column, *adapter.columns)
        }
        values[table.embedding_column] = "s.vector"
        if table.metadata_json_column:
            values[table.metadata_json_column] = "s.others"
        config = table.hybrid_search_config
        if config and config.tsv_column:  # the column of words for the store's hybrid search
            language = f"{_quote_literal(config.tsv_lang)}, " if config.tsv_lang else ""
            values[config.tsv_column] = f"to_tsvector({language}r.{adapter.content})"
        changes = ", ".join(f"{_quote_identifier(name)} = EXCLUDED.{_quote_identifier(name)}" for name in values)
        return (
            f"INSERT INTO {adapter.table} AS t ({', '.join(map(_quote_identifier, values))}) "  # noqa: S608 - names are quoted
            f"SELECT {', '.join(values.values())} FROM pg_temp.sentence_window_staged s, "
            f"json_populate_record(CAST(NULL AS {adapter.table}), s.record) r "
            f"ON CONFLICT ({adapter.id}) DO UPDATE SET {changes} "
            "WHERE CAST(t AS text) IS DISTINCT FROM CAST(EXCLUDED AS text)"  # JSON can't be compared otherwise
        )

    async def finish(self, io: IO) -> None:
        """Build the vector index if there is none; then collect statistics for plans."""
        await self.adapter.run(io, self._finish)

    async def _finish(self) -> None:
        table, index, name = self.adapter.async_store, self._index, self.adapter.table
        async with table.engine.connect() as connection:
            there = await _fetch_rows(connection, _VECTOR_INDEXES, table=name, column=table.embedding_column)
            if index is not None and not there:
                await _fetch_rows(connection, _ROOM, table=name, memory_mb=self._memory_mb, workers=self._workers)
                # As the store names it.
                index_name = _quote_identifier(index.name or f"{table.table_name}langchainvectorindex")
                partial = f" WHERE ({index.partial_indexes})" if index.partial_indexes else ""
                what = f"{self.adapter.vector} {index.get_index_function()}"
                where = f"{self.adapter.table} USING {index.index_type} ({what}) WITH {index.index_options()}{partial}"
                await _fetch_rows(connection, f"CREATE INDEX {index_name} ON {where}")
            await _fetch_rows(connection, f"ANALYZE {self.adapter.table}")
            await connection.commit()

    async def restore(self, io: IO) -> None:
        """Leave everything as it is, as nothing was switched off."""


_STAGED = """
    CREATE TEMPORARY TABLE sentence_window_staged ON COMMIT DROP AS
    SELECT CAST(NULL AS json) AS record, {vector} AS vector, CAST(NULL AS json) AS others FROM {table} WITH NO DATA
"""

_VECTOR_INDEXES = """
    SELECT 1 FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_am m ON m.oid = relam
    JOIN pg_attribute a ON a.attrelid = indrelid AND attnum = ANY (indkey)
    WHERE indrelid = to_regclass(:table) AND attname = :column AND amname NOT IN ('btree', 'hash') AND indisvalid
"""
"""Lists the indexes of a table that searches by vectors may use."""

_ROOM = """
    SELECT set_config('statement_timeout', '0', true), set_config('max_parallel_maintenance_workers',
        coalesce(CAST(CAST(:workers AS integer) AS text), current_setting('max_parallel_workers')), true),
    set_config('maintenance_work_mem', coalesce(CAST(:memory_mb AS bigint) * 1024, greatest(
        pg_size_bytes(current_setting('maintenance_work_mem')), least(2 * pg_table_size(to_regclass(:table)),
            pg_size_bytes(current_setting('effective_cache_size')) / 4)) / 1024) || 'kB', true)
"""
"""Lets an index have workers and memory: as much as the graph of an HNSW index needs, to a quarter of what the server
believes to have. A graph that outgrows its memory is built many times slower."""


async def _copy_rows(connection: Any, rows: Sequence[bytes]) -> None:
    """Send rows to ``COPY`` in its binary format, by asyncpg or psycopg.

    The drivers' own functions take twenty times as long for a vector: https://www.postgresql.org/docs/current/sql-copy.html.
    """
    raw = (await connection.get_raw_connection()).driver_connection
    data = b"".join([b"PGCOPY\n\xff\r\n\0", bytes(8), *rows, b"\xff\xff"])
    if hasattr(raw, "copy_to_table"):
        await raw.copy_to_table("sentence_window_staged", source=BytesIO(data), schema_name="pg_temp", format="binary")
        return
    statement = "COPY pg_temp.sentence_window_staged FROM STDIN WITH (FORMAT binary)"
    async with raw.cursor() as cursor, cursor.copy(statement) as copied:
        await copied.write(data)


def enable_full_text(store: Any, language: str = "english") -> None:
    """Let retrievers over a `PGVectorStore` search by words too, by PostgreSQL's own full-text search.

    It makes an index of the words if there is none, which the database keeps up to date from then on. Call it once for
    each store that a program makes, best after the documents were loaded. The store itself stays as it is, and so do
    its table and its own searches.

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


async def _fetch_rows(connection: Any, statement: str, **values: Any) -> Rows:
    """Run a statement with parameters, and return its rows; none for a statement that returns none."""
    from sqlalchemy import text

    result = await connection.execute(text(statement), values)
    rows: Rows = result.all() if result.returns_rows else []
    return rows


def _quote_identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _quote_literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _as_text(vector: Sequence[float]) -> str:
    return json.dumps([float(each) for each in vector])
