"""`FaissStore`: SQLite stores everything, FAISS and tantivy search it.

The façade, which is what LangChain sees:
    faiss_store: `FaissStore`: opening, reading, saving, backups.
    search_methods: Its searches.
    sentence_search: Its searches for the retriever, which read sentences and those beside them.
    varied_search: Its searches for documents that are different from each other.
    search_arguments: What searches take.
    write_methods: Adding, replacing and deleting documents.
    embedder_guard: Embeds, and proves that the store's vectors are from its embedder.
    conversion: Converts Documents to records and back.
    description: The ``repr`` of a store.

The engine, which knows no LangChain:
    engine: `StoreEngine`: the database and its two caches as one, with closing and forks.
    searcher: Its searches, each in one state of the database.
    writer: Its writes, each within a transaction.
    origin: Checks that all vectors are from one embedder.
    damaged_cache: What happens to a cache that is damaged.
    filter_cache: The rows that match the latest filters, and keys that no row has.
    stats: The size of a store.
    layout: The names of its files.

Its parts:
    database: The SQLite database.
    dense: The FAISS index, a cache of the database.
    lexical: The tantivy index, a cache of the database.
"""
