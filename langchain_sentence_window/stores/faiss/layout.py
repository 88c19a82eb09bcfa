"""The names of a store's files."""

DATABASE_FILE = "sentences.sqlite3"
VECTORS_FILE = "vectors.faiss"
LEXICAL_FOLDER = "lexical"
SETTINGS_FILE = "settings.json"
"""What the index remembers of how it was made and is asked; the store itself doesn't read it."""
