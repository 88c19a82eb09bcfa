"""The embedded store: one SQLite database holds the data; FAISS and tantivy search it, and are its caches.

Modules, of which each imports only from those before it:
    files: The names of the files, and writing a file completely or not at all.
    filters: Metadata filters as SQL.
    tables: The schema, the rules of its rows, and what is read and written in a transaction.
    database: Connections, transactions, states that several reads share, forks and closing.
    records: Documents as rows.
    reading: Rows as Documents, and as candidates and sentences for a retriever.
    origin: Which embedder made the vectors.
    faiss_index: The choice, training and search of a FAISS index.
    vectors: The FAISS index at a state of the database, and its files.
    words: The lexical index at a state of the database, and its folder.
    names: What the index knows of the names in a question.
    state: Searches of one state, by vectors and words.
    writing: Embedding new texts, then writing them.
    check: Sizes, and the check of everything.
    backup: Copying and replacing a database.
    faiss_store: `FaissStore`.
    bm25_index: `BM25Index`, a lexical index for other stores.
"""
