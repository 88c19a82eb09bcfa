"""Bring the index in PostgreSQL up to date with a folder: add what is new or has changed, delete what has gone.

    DATABASE_URL=postgresql+asyncpg://user:password@host/database python load.py FOLDER

Files that haven't changed are left alone. A run that was cut short goes on when it is started again.
"""

import sys

from langchain_postgres.v2.indexes import HNSWIndex
from serve import open_retriever

from langchain_sentence_window.folders import sync_files


def main(folder: str) -> None:
    """Load a folder, and make the index of vectors if there is none yet."""
    retriever = open_retriever()
    result = sync_files(retriever, folder, delete=True, on_progress=print)
    print(f"{len(result.added)} added, {len(result.updated)} updated, {len(result.deleted)} deleted")
    store = retriever.vectorstore
    if not store.is_valid_index():  # type: ignore[attr-defined]
        store.apply_vector_index(HNSWIndex())  # type: ignore[attr-defined]


if __name__ == "__main__":
    main(sys.argv[1])
