"""Serve an index in PostgreSQL to agents: the Model Context Protocol over HTTP, and /health beside it.

    DATABASE_URL=postgresql+asyncpg://user:password@host/database MCP_TOKEN=... python serve.py

MCP_NAMES are the names by which clients reach it, with commas between them. It listens on PORT, or 8000.
"""

import logging
import os
from contextlib import suppress

from langchain_postgres import PGEngine, PGVectorStore
from langchain_postgres.v2.indexes import HNSWQueryOptions
from sqlalchemy.exc import ProgrammingError

from langchain_sentence_window import SentenceWindowRetriever, load_embedding
from langchain_sentence_window.stores import NeighborMixedEmbeddings
from sentence_window.mcp import create_mcp_server, serve_mcp

TABLE, DIMENSION = "sentences", 384


def open_retriever() -> SentenceWindowRetriever:
    """Open the table, or make it."""
    engine = PGEngine.from_connection_string(
        os.environ["DATABASE_URL"],
        pool_size=10,  # connections that stay open
        max_overflow=10,  # more of them while many ask
        pool_timeout=5,  # seconds to wait for one that is free
        pool_pre_ping=True,  # one that the database has closed meanwhile is replaced
        connect_args={"timeout": 5, "command_timeout": 10},  # seconds to connect, and for each statement
    )
    with suppress(ProgrammingError):  # it is there
        engine.init_vectorstore_table(TABLE, DIMENSION)
    embedding = NeighborMixedEmbeddings(load_embedding("minilm"))
    # The index finds no more rows than ef_search, so it is above the retriever's fetch_k.
    store = PGVectorStore.create_sync(engine, embedding, TABLE, index_query_options=HNSWQueryOptions(ef_search=200))
    return SentenceWindowRetriever(vectorstore=store)


def main() -> None:
    """Serve until the process is told to end."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    names = [name for name in os.environ.get("MCP_NAMES", "").split(",") if name]
    server = create_mcp_server(open_retriever(), name="documents", timeout=20)
    port = int(os.environ.get("PORT", "8000"))
    serve_mcp(server, "http", host="0.0.0.0", port=port, names=names, token=os.environ["MCP_TOKEN"])  # noqa: S104


if __name__ == "__main__":
    main()
