"""An index that follows files and folders.

    result = sync_files(retriever, ["handbook/"], delete=True)
    watch_files(retriever, ["handbook/"], on_sync=print, stop=threading.Event())

`sync_files` adds what is new or has changed, and deletes what has gone. What an index holds of a file stands in the
metadata of its document, so the index itself says what is left to do. `served_file` keeps a server within its folders.
"""

from typing import TYPE_CHECKING

from langchain_sentence_window._lazy import lazy_names

if TYPE_CHECKING:
    from langchain_sentence_window.folders.results import SyncProgress, SyncResult
    from langchain_sentence_window.folders.served import served_file
    from langchain_sentence_window.folders.syncing import sync_files
    from langchain_sentence_window.folders.watching import watch_files

__all__ = ["SyncProgress", "SyncResult", "served_file", "sync_files", "watch_files"]

_HOMES = {
    "SyncProgress": "results",
    "SyncResult": "results",
    "served_file": "served",
    "sync_files": "syncing",
    "watch_files": "watching",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
