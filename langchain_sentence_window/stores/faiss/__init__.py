"""`FaissStore`: SQLite stores everything, FAISS and tantivy search it.

What LangChain sees:
    faiss_store: `FaissStore`: opening, adding and deleting; on top of `IndexSearch` and `OpenIndex`.
    store_searches: `IndexSearch`: the searches.
    open_index: `OpenIndex`: what a store holds, its size, its soundness, its files, and what its searches find.
    store_writer: Writes: the vectors of new texts come first, then one transaction.
    embedder_guard: Embeds, and proves that the store's vectors are from its embedder.
    conversion: Converts Documents to records and back.

The index, which knows no LangChain:
    session: `IndexSession`: reads and writes of one state; opening, closing and forks.
    index_state: `IndexState`: what a read searches.
    search_reads: What a search found: its order, equal scores by document and index, and what is read of its rows.
    word_uses: Evidence of names in a query.
    origin: Checks that all vectors are from one embedder.
    soundness: Measures an index, and checks everything that it holds.
    lexical_index: The tantivy index, a cache of the database.

Its folders:
    database: The SQLite database.
    dense: The FAISS index, a cache of the database.
"""
