"""The FAISS index, a cache of the database."""
