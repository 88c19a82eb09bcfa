"""Bring the index in PostgreSQL up to date with a folder: add what is new or has changed, delete what has gone.

    DATABASE_URL=postgresql+asyncpg://user:password@host/database python load.py FOLDER

Files that haven't changed are left alone. A run that was cut short goes on when it is started again. If a file can't be
read, all others are loaded, and the exit code is 1.
"""

import sys

from langchain_postgres.v2.indexes import HNSWIndex
from serve import open_retriever

from sentence_window.folders import SyncProgress, sync_files


def main(folder: str) -> int:
    """Load a folder, make the index of vectors if there is none yet, and return the exit code."""
    retriever = open_retriever()
    result = sync_files(retriever, folder, delete=True, on_progress=show)
    print(result)  # the numbers of files, then each file that can't be read
    store = retriever.vectorstore
    if not store.is_valid_index():  # type: ignore[attr-defined]
        store.apply_vector_index(HNSWIndex())  # type: ignore[attr-defined]
    return 1 if result.failed else 0


def show(progress: SyncProgress) -> None:
    """Print a line for each file that is read, as a container's log has no place for a bar."""
    if progress.current is not None:
        counts = f"{progress.done:,} of {progress.total:,} files, {progress.sentences:,} sentences"
        print(f"{counts}: {progress.current}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
