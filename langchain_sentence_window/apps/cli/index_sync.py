"""Sync an index with files, with progress on a terminal, and without loading a model if nothing has changed."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import cast

import typer
from langchain_core.embeddings import Embeddings
from tqdm import tqdm

from langchain_sentence_window._display import shown
from langchain_sentence_window.apps.folders.file_sync import SyncProgress, SyncResult, sync_files
from langchain_sentence_window.apps.folders.file_watch import watch_files
from langchain_sentence_window.apps.hosts import at_interrupt
from langchain_sentence_window.embedding.named_embedders import DeferredEmbeddings, embedding_name
from langchain_sentence_window.errors import DocumentReadError
from langchain_sentence_window.retrieval.index_settings import read_index_settings
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever
from langchain_sentence_window.store.faiss_store import FaissStore

from .opened_index import check_writable, load, made_or_opened, other_embedders, remember, written
from .output import FAILED, MISSING_EXTRA, Output, counted, ending

_BAR = "{percentage:3.0f}% |{bar:10}| {n_fmt}/{total_fmt} files, {elapsed}{postfix}"
_SOME, _NAME_COLUMNS = 3, 30
"""How many files a line names, and how long their names may be."""

OnProgress = Callable[[SyncProgress], None]


def follow(
    out: Output, folder: Path, paths: Sequence[Path], embedding: str | None, *, delete: bool, watch: bool, strict: bool
) -> None:
    """Make an index equal to files.

    Args:
        out: Takes what was done, and the progress.
        folder: The folder of the index, which is made if it doesn't exist.
        paths: The files and folders.
        embedding: The name of the embedder; ``None`` for the one that the index remembers, or the default.
        delete: Whether documents of files that have gone are deleted.
        watch: Whether to go on until Ctrl-C, and to delete such documents too.
        strict: Whether files that failed before, and haven't changed since, decide the exit code.

    Raises:
        DocumentReadError: There is nothing at a path.
        Exit: There are no files, some can't be read, or an extra is needed for them.
    """
    check_writable(folder)
    remembered = read_index_settings(folder)
    name = embedding_name(embedding or remembered.embedding)
    sources = _joined(remembered.sources, paths)
    missing = [] if delete else [path for path in paths if not path.exists()]
    if missing:
        raise DocumentReadError(f"there is no file or folder at {shown(str(missing[0]))}; check the path")
    embedder = _embedder(out, folder, name)
    with other_embedders(folder, embedding), made_or_opened(folder, embedder) as retriever:
        # Before, so that the index can go on if it is stopped.
        remember(folder, embedding=name, sources=sources)
        if watch:
            _watch(out, retriever, paths)
            return
        done = _sync(out, retriever, paths, delete=delete)
    _report(out, done)
    if done.failed or (strict and done.known_failed):
        raise typer.Exit(FAILED)
    if done.missing_extras:
        raise typer.Exit(MISSING_EXTRA)
    if not (done.has_changes or done.unchanged or done.empty or done.known_failed):
        out.end_without("No files were found.")
    out.note(f"The index is in {folder}; {out.elapsed()}.")


def _embedder(out: Output, folder: Path, name: str) -> Embeddings:
    """Return the embedder; one that is known to have made the index is only loaded if it is needed."""
    if FaissStore.exists(folder) and read_index_settings(folder).embedding == name:
        with FaissStore.open(folder, DeferredEmbeddings(), read_only=True) as store:
            has_vectors = len(store) > 0
        if has_vectors:
            return DeferredEmbeddings(lambda: load(out, name))
    return load(out, name)


def _sync(out: Output, retriever: SentenceWindowRetriever, paths: Sequence[Path], *, delete: bool) -> SyncResult:
    try:
        with _progress(out) as on_progress:
            done = sync_files(retriever, paths, delete=delete, on_progress=on_progress)
    except KeyboardInterrupt:
        out.note("Stopped. Added documents stay; the same command continues from there.")
        raise
    _save(retriever, done)
    return done


def _watch(out: Output, retriever: SentenceWindowRetriever, paths: Sequence[Path]) -> None:
    def tell(done: SyncResult) -> None:
        _save(retriever, done)
        _report(out, done, goes_on=True)

    out.note(f"Following {', '.join(map(str, paths))}; Ctrl-C ends it.")
    stop = InterruptedEvent()
    with _progress(out) as on_progress, stop.set_by_interrupts():
        watch_files(
            retriever,
            paths,
            on_sync=tell,
            stop=stop,
            on_error=lambda error: out.complain(f"Error: {error}"),
            on_progress=on_progress,
        )


def _save(retriever: SentenceWindowRetriever, done: SyncResult) -> None:
    """Write what makes the next opening fast."""
    if done.has_changes:
        cast("FaissStore", retriever.vectorstore).save()


def _report(out: Output, done: SyncResult, *, goes_on: bool = False) -> None:
    out.line(f"{done.counts}; {counted(done.sentences, 'sentence')}" if done.sentences else done.counts)
    for reason in done.failed.values():
        out.complain(f"Failed: {reason}")
    for extra, paths in done.missing_extras.items():
        out.complain(
            f"{counted(len(paths), 'file')} can't be read without an extra: {_some(paths)}; install it with: "
            f'pip install "langchain-sentence-window[{extra}]"'
        )
    if done.empty:
        out.note(
            f"{counted(len(done.empty), 'file')} without text: {_some(done.empty)}; if they show pictures of text, "
            "recognize it first (OCR)"
        )
    for reason in done.known_failed.values():
        out.note(f"Known to fail: {reason}")
    out.document(done, on_one_line=goes_on)


def _some(paths: Sequence[str]) -> str:
    """Return the names of the first paths, and how many more there are."""
    names = ", ".join(ending(written(path), _NAME_COLUMNS) for path in paths[:_SOME])
    return f"{names} and {len(paths) - _SOME:,} more" if len(paths) > _SOME else names


def _joined(before: Sequence[str], paths: Sequence[Path]) -> tuple[str, ...]:
    """Return the sources of an index with others, without those that lie in another."""
    found = list(dict.fromkeys([*before, *map(os.path.abspath, paths)]))
    return tuple(each for each in found if not any(Path(other) in Path(each).parents for other in found))


@contextmanager
def _progress(out: Output) -> Iterator[OnProgress]:
    """Show a bar with the files that are finished, the sentences so far, and the file that is worked on."""
    if not out.shows_progress:
        yield lambda _: None
        return
    with tqdm(bar_format=_BAR, file=sys.stderr, leave=False, dynamic_ncols=True, disable=False) as bar:

        def show(progress: SyncProgress) -> None:
            name = "" if progress.current is None else f", {ending(written(progress.current), _NAME_COLUMNS)}"
            bar.total, bar.n = progress.total, progress.done
            bar.set_postfix_str(counted(progress.sentences, "sentence") + name, refresh=False)
            bar.refresh()

        yield show


class InterruptedEvent(Event):
    """An event that Ctrl-C sets, too."""

    def __init__(self) -> None:
        """Start unset."""
        super().__init__()
        # A signal handler can't call set(), whose lock the code that it interrupts may hold.
        self._is_interrupted = False

    def is_set(self) -> bool:
        """Return whether it was set, or Ctrl-C was pressed."""
        return self._is_interrupted or super().is_set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set, or for so many seconds."""
        return super().wait(timeout) or self.is_set()

    @contextmanager
    def set_by_interrupts(self) -> Iterator[None]:
        """Raise `KeyboardInterrupt` at Ctrl-C, at the end of the block at the latest."""

        def interrupt(*_: object) -> None:
            self._is_interrupted = True
            raise KeyboardInterrupt

        with at_interrupt(interrupt):
            yield
        if self._is_interrupted:
            raise KeyboardInterrupt
