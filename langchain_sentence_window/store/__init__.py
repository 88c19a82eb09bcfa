"""The embedded vector store: SQLite is the truth, FAISS and tantivy are caches of it."""
