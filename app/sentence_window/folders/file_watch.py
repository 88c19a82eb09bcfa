"""`watch_files`: syncs an index whenever its files change."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from os import PathLike
from pathlib import Path

import watchfiles

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window._validation import checked_callback, checked_flag
from langchain_sentence_window.documents import shown
from langchain_sentence_window.errors import InvalidInputError
from sentence_window.files.readers import readers
from sentence_window.folders.file_sync import OnProgress, SyncResult, index_folder, sync
from sentence_window.folders.found_files import FailedFiles, checked_paths, is_below

DEBOUNCE_MS = 1_000
"""Milliseconds that changes are gathered for, as an editor makes several for one save."""

CHECK_MS = 2_000
"""Milliseconds after which the stop event and single files are looked at."""

RETRY_CHECKS = 15
"""Such checks after which a sync that failed is tried again, even if nothing has changed since."""

_GONE = "deleted"

OnSync = Callable[[SyncResult], object]
OnError = Callable[[Exception], object]


def watch_files(
    retriever: SentenceWindowRetriever,
    paths: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    on_sync: OnSync,
    stop: threading.Event,
    delete: bool = True,
    on_error: OnError | None = None,
    on_progress: OnProgress | None = None,
) -> None:
    """Sync an index with files and folders, now and whenever they change, until ``stop`` is set.

    Changes are collected for a moment, so that a save is one sync. If a sync fails, watching continues, and the sync is
    tried again at the next change, or after half a minute.

    Args:
        retriever: The retriever of the index.
        paths: Paths of files and folders, see `sync_files`.
        on_sync: Called with the `SyncResult` of the first sync, and of each one that changed the index or met a file
            that can't be read or holds no text.
        stop: Ends the watching within seconds, after a running sync.
        delete: Whether to delete documents of files that have gone.
        on_error: Called with the exception of a sync that failed; ``None`` to drop it.
        on_progress: Called with a `SyncProgress`, see `sync_files`.

    Raises:
        InvalidInputError: An argument is of another type, or the store can't list its documents.
        DocumentReadError: There is nothing at a path that was given.
    """
    checked_callback("on_sync", on_sync, "result")
    if on_error is not None:
        checked_callback("on_error", on_error, "error")
    if not isinstance(stop, threading.Event):
        raise InvalidInputError(f"stop is {shown(stop)}; give a threading.Event, and set it to end the watching")
    checked_flag("delete", delete)
    if on_progress is not None:
        checked_callback("on_progress", on_progress, "progress")
    given = checked_paths(paths)
    watched = _Watched(given, index_folder(retriever))
    failures = FailedFiles.of(index_folder(retriever))
    call = partial(sync, retriever, given, failures, delete=delete, on_progress=on_progress)
    on_sync(call())  # it isn't tried again, as its errors are those of the arguments
    while not stop.is_set():
        _follow(watched.changes(stop), call, on_sync, on_error)


def _follow(
    changes: Iterator[tuple[bool, int]], call: Callable[[], SyncResult], on_sync: OnSync, on_error: OnError | None
) -> None:
    """Sync at each change, until one succeeds after another that failed; what it is watching may be a new folder."""
    has_failed = False
    for has_changed, checks in changes:
        # What changed after the first sync and before the watching began is found by the first check.
        if not has_changed and checks > 1 and not (has_failed and checks % RETRY_CHECKS == 0):
            continue
        try:
            result = call()
        except Exception as error:  # noqa: BLE001 - an embedder's service may be down for a while
            has_failed = True
            if on_error is not None:
                on_error(error)
            continue
        if result.has_changes or result.failed or result.empty:
            on_sync(result)
        if has_failed:
            return


class _Watched:
    """The files and folders that are watched."""

    def __init__(self, paths: Sequence[str], leave_out: Path | None) -> None:
        self._folders = [path for path in paths if Path(path).is_dir()]
        # An editor replaces a file by another, which ends the watching of the first, so single files are looked at.
        self._files = [path for path in paths if path not in self._folders]
        self._leave_out = None if leave_out is None else str(leave_out)

    def changes(self, stop: threading.Event) -> Iterator[tuple[bool, int]]:
        """Yield whether something has changed, and the number of checks so far; end when ``stop`` is set."""
        marks = self._marks()
        for checks, found in enumerate(self._found(stop), 1):
            before, marks = marks, self._marks()
            yield bool(found) or before != marks, checks

    def _found(self, stop: threading.Event) -> Iterator[object]:
        if self._folders:
            yield from watchfiles.watch(
                *self._folders,
                watch_filter=lambda change, path: self._is_watched(path, is_gone=change.name == _GONE),
                debounce=DEBOUNCE_MS,
                rust_timeout=CHECK_MS,
                yield_on_timeout=True,
                stop_event=stop,
                raise_interrupt=True,
            )
            return
        while not stop.wait(CHECK_MS / 1000):
            yield ()

    def _is_watched(self, path: str, *, is_gone: bool) -> bool:
        """Return whether a change at a path may matter: of a file that is read, or of a folder."""
        if self._leave_out is not None and (path == self._leave_out or is_below(path, self._leave_out)):
            return False
        # What has gone may have been a folder, whatever its name.
        return is_gone or Path(path).suffix.lower() in readers() or Path(path).is_dir()

    def _marks(self) -> list[tuple[int, int, int] | None]:
        return [_mark(path) for path in self._files]


def _mark(path: str) -> tuple[int, int, int] | None:
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino
