"""The embedded vector store: SQLite is the truth, FAISS a cache of it."""
