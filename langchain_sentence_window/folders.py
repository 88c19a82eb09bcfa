"""An index that follows files and folders.

    result = sync_files(retriever, ["handbook/"], delete=True)
    watch_files(retriever, ["handbook/"], on_sync=print, stop=threading.Event())

`sync_files` adds what is new or has changed, and deletes what has gone. What an index holds of a file stands in the
metadata of its document, so the index itself says what is left to do. `served_file` keeps a server within its folders.
"""

from typing import TYPE_CHECKING

from ._lazy import lazy_names

if TYPE_CHECKING:
    from .apps.folders.file_sync import SyncProgress, SyncResult, sync_files
    from .apps.folders.file_watch import watch_files
    from .apps.folders.found_files import served_file

__all__ = ["SyncProgress", "SyncResult", "served_file", "sync_files", "watch_files"]

_NAMES = {
    ".apps.folders.file_sync": ["sync_files", "SyncProgress", "SyncResult"],
    ".apps.folders.file_watch": ["watch_files"],
    ".apps.folders.found_files": ["served_file"],
}

__getattr__, __dir__ = lazy_names(__name__, _NAMES)
