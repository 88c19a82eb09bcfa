"""An index that follows files and folders.

    result = sync_files(retriever, ["handbook/"], delete=True)
    watch_files(retriever, ["handbook/"], on_sync=print, stop=threading.Event())

`sync_files` adds what is new or has changed, and deletes what has gone. What an index holds of a file stands in the
metadata of its document, so the index itself says what is left to do. `served_file` keeps a server within its folders.
"""

from .file_sync import SyncProgress, SyncResult, sync_files
from .file_watch import watch_files
from .found_files import served_file

__all__ = ["SyncProgress", "SyncResult", "served_file", "sync_files", "watch_files"]
