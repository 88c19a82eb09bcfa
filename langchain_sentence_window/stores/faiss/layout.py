"""The names of a store's files."""

DATABASE_FILE = "sentences.sqlite3"
VECTORS_FILE = "vectors.faiss"
LEXICAL_FOLDER = "lexical"
