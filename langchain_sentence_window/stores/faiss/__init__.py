"""`FaissStore`: SQLite keeps everything, FAISS and tantivy search it."""
