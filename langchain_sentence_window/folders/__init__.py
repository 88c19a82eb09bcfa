"""An index that follows files and folders.

    result = sync_files(retriever, ["handbook/"], delete=True)
    watch_files(retriever, ["handbook/"], on_sync=print, stop=threading.Event())

`sync_files` adds what is new or has changed, and deletes what has gone. What an index holds of a file stands in the
metadata of its document, so the index itself says what is left to do. `served_file` keeps a server within its folders.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
