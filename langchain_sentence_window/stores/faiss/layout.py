"""The names of a store's files."""

import re
from pathlib import Path

DATABASE_FILE = "sentences.sqlite3"
VECTORS_FILE = "vectors.faiss"
VECTOR_FILES_BEGIN = "vectors"
"""The beginning of the names of all files of the FAISS index."""

VECTOR_FILES = "vectors.*"
"""A pattern of all files of the FAISS index, also of unfinished ones."""

_VECTOR_FILE = re.compile(r"vectors(\.[0-9a-f]{16})?\.(faiss|records)")

LEXICAL_FOLDER = "lexical"
SETTINGS_FILE = "settings.json"
"""Settings with which the index was made and is asked; the store itself doesn't read them."""


def is_vector_file(name: str) -> bool:
    """Return whether a name is one that a file of a saved FAISS index may have."""
    return _VECTOR_FILE.fullmatch(name) is not None


def vector_files(folder: Path) -> list[Path]:
    """Return the files of all saved FAISS indexes in a folder, in the order of their names."""
    return sorted(path for path in folder.glob(VECTOR_FILES) if is_vector_file(path.name))
