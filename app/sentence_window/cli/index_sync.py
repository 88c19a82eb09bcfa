"""Sync an index with files, with progress on a terminal; a model is only loaded if something has changed."""

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

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.documents import shown
from langchain_sentence_window.errors import DocumentReadError
from langchain_sentence_window.stores import DeferredEmbeddings, embedding_name, read_index_settings
from sentence_window.cli.opened_index import load, remember, written
from sentence_window.cli.output import FAILED, Output, counted, one_line
from sentence_window.folders import SyncProgress, SyncResult, sync_files, watch_files

_BAR = "{percentage:3.0f}% |{bar:10}| {n_fmt}/{total_fmt} files, {elapsed}{postfix}"
_MAX_LISTED = 3
"""The most files that a line names."""


def follow(
    out: Output, folder: Path, paths: Sequence[Path], embedding: str | None, *, delete: bool, watch: bool, strict: bool
) -> None:
    """Make an index equal to files.

    Args:
        out: Receives what was done, and the progress.
        folder: The folder of the index, which is made if it doesn't exist.
        paths: The files and folders.
        embedding: The name of the embedder; ``None`` for the one that the index remembers, or the default.
        delete: Whether to delete documents whose files are gone.
        watch: Whether to keep running until Ctrl-C, and to delete such documents too.
        strict: Whether files that failed before, and haven't changed since, affect the exit code.

    Raises:
        DocumentReadError: There is nothing at a path.
        Exit: There are no files, or some can't be read.
    """
    remembered = read_index_settings(folder)
    name = embedding_name(embedding or remembered.embedding)
    missing = [] if delete else [path for path in paths if not path.exists()]
    if missing:
        raise DocumentReadError(f"there is no file or folder at {shown(str(missing[0]))}; check the path")
    embedder = _load_embedder(out, folder, name, is_remembered=name == remembered.embedding)
    with FaissStore(embedder, folder) as store:
        retriever = SentenceWindowRetriever(vectorstore=store, **remembered.retriever)
        # Before the sync, so that it can continue if it is stopped.
        remember(folder, embedding=name, sources=_joined_sources(remembered.sources, paths))
        if watch:
            _watch(out, retriever, paths)
            return
        done = _sync(out, retriever, paths, delete=delete)
    _report(out, done)
    if done.failed or (strict and done.known_failed):
        raise typer.Exit(FAILED)
    if not (done.has_changes or done.unchanged or done.empty or done.known_failed):
        out.end_without("No files were found.")
    out.note(f"The index is in {folder}; {out.elapsed()}.")


def _load_embedder(out: Output, folder: Path, name: str, *, is_remembered: bool) -> Embeddings:
    """Return the embedder; it is only loaded on use if the index has vectors that it made."""
    if is_remembered and FaissStore.exists(folder):
        with FaissStore.open(folder, DeferredEmbeddings(), read_only=True) as store:
            has_vectors = len(store) > 0
        if has_vectors:
            return DeferredEmbeddings(lambda: load(out, name))
    return load(out, name)


def _joined_sources(before: Sequence[str], paths: Sequence[Path]) -> tuple[str, ...]:
    """Return the sources of an index with others, without those that lie in another."""
    sources = dict.fromkeys([*before, *map(os.path.abspath, paths)])
    return tuple(each for each in sources if not any(Path(other) in Path(each).parents for other in sources))


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
    """Sync until Ctrl-C."""

    def report(done: SyncResult) -> None:
        _save(retriever, done)
        _report(out, done, on_one_line=True)

    def complain(error: Exception) -> None:
        out.complain(f"Error: {error}")

    out.note(f"Following {', '.join(map(str, paths))}; Ctrl-C ends it.")
    with _progress(out) as on_progress:
        watch_files(retriever, paths, on_sync=report, stop=Event(), on_error=complain, on_progress=on_progress)


def _save(retriever: SentenceWindowRetriever, done: SyncResult) -> None:
    """Write the caches that make the next opening fast."""
    if done.has_changes:
        cast("FaissStore", retriever.vectorstore).save()


def _report(out: Output, done: SyncResult, *, on_one_line: bool = False) -> None:
    out.line(f"{done.counts}; {counted(done.sentences, 'sentence')}" if done.sentences else done.counts)
    for reason in done.failed.values():
        out.complain(f"Failed: {reason}")
    if done.empty:
        names = ", ".join(map(written, done.empty[:_MAX_LISTED]))
        if len(done.empty) > _MAX_LISTED:
            names += f" and {len(done.empty) - _MAX_LISTED:,} more"
        out.note(
            f"{counted(len(done.empty), 'file')} without text: {names}; if they show pictures of text, recognize it "
            "first (OCR)"
        )
    for reason in done.known_failed.values():
        out.note(f"Known to fail: {reason}")
    out.document(done, on_one_line=on_one_line)


@contextmanager
def _progress(out: Output) -> Iterator[Callable[[SyncProgress], None]]:
    """Show a bar with the number of finished files, the sentences so far, and the current file."""
    if not out.shows_progress:
        yield lambda _: None
        return
    with tqdm(bar_format=_BAR, file=sys.stderr, leave=False, dynamic_ncols=True) as bar:

        def show(progress: SyncProgress) -> None:
            name = "" if progress.current is None else f", {one_line(Path(progress.current).name)}"
            bar.total, bar.n = progress.total, progress.done
            bar.set_postfix_str(counted(progress.sentences, "sentence") + name, refresh=False)
            bar.refresh()

        yield show
