"""Let an index follow files, with progress on a terminal, and without loading a model if nothing has changed."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import typer
from langchain_core.embeddings import Embeddings
from tqdm import tqdm

from langchain_sentence_window._showing import shown
from langchain_sentence_window.cli.exit_codes import FAILED, NOTHING
from langchain_sentence_window.cli.interrupts import InterruptedEvent
from langchain_sentence_window.cli.names import nearer
from langchain_sentence_window.cli.opening import load, made_or_opened, remember
from langchain_sentence_window.cli.output import Output
from langchain_sentence_window.cli.plain_text import one_line
from langchain_sentence_window.embedding.deferred import DeferredEmbeddings
from langchain_sentence_window.embedding.named import embedding_name
from langchain_sentence_window.errors import DocumentReadError
from langchain_sentence_window.folders import SyncProgress, SyncResult, sync_files, watch_files
from langchain_sentence_window.retrieval.index_settings import read_index_settings
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever
from langchain_sentence_window.stores.faiss.faiss_store import FaissStore

OnProgress = Callable[[SyncProgress], None]


def follow(
    out: Output, folder: Path, paths: Sequence[Path], embedding: str | None, *, delete: bool, watch: bool
) -> None:
    """Make an index equal to files.

    Args:
        out: Takes what was done, and the progress.
        folder: The folder of the index, which is made if it doesn't exist.
        paths: The files and folders.
        embedding: The name of the embedder; ``None`` for the one that the index remembers, or the default.
        delete: Whether documents of files that have gone are deleted.
        watch: Whether to go on until Ctrl-C, and to delete such documents too.

    Raises:
        DocumentReadError: There is nothing at a path.
        Exit: There are no files, or some can't be read.
    """
    remembered = read_index_settings(folder)
    name = embedding_name(embedding or remembered.embedding)
    sources = _joined(remembered.sources, paths)
    if not delete:
        _check_there(paths)
    with made_or_opened(folder, _embedder(out, folder, name)) as retriever:
        # Before, so that the index can go on if it is stopped.
        remember(folder, embedding=name, sources=sources)
        if watch:
            _watch(out, retriever, paths)
            return
        done = _sync(out, retriever, paths, delete=delete)
    _tell(out, done)
    if done.failed:
        raise typer.Exit(FAILED)
    if not (done.has_changes or done.unchanged):
        out.complain("No files were found.")
        raise typer.Exit(NOTHING)
    out.note(f"The index is in {folder}; {out.elapsed()}.")


def _embedder(out: Output, folder: Path, name: str) -> Embeddings:
    """Return the embedder; one that is known to have made the index is only loaded if it is needed."""
    if FaissStore.exists(folder) and read_index_settings(folder).embedding == name:
        with FaissStore.open(folder, DeferredEmbeddings(), read_only=True) as store:
            has_vectors = len(store) > 0
        if has_vectors:
            return DeferredEmbeddings(lambda: load(out, name))
    return load(out, name)


def _check_there(paths: Sequence[Path]) -> None:
    for path in paths:
        if not path.exists():
            raise DocumentReadError(f"there is no file or folder at {shown(str(path))}; check the path")


def _sync(out: Output, retriever: SentenceWindowRetriever, paths: Sequence[Path], *, delete: bool) -> SyncResult:
    try:
        with _progress(out) as on_progress:
            done = sync_files(retriever, paths, delete=delete, on_progress=on_progress)
    except KeyboardInterrupt:
        out.note("Stopped. What was added stays; the same command goes on from there.")
        raise
    _save(retriever, done)
    return done


def _watch(out: Output, retriever: SentenceWindowRetriever, paths: Sequence[Path]) -> None:
    def tell(done: SyncResult) -> None:
        _save(retriever, done)
        _tell(out, done, goes_on=True)

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


def _tell(out: Output, done: SyncResult, *, goes_on: bool = False) -> None:
    counts, _, sentences = str(done).splitlines()[0].partition("; ")
    out.line(f"{counts}; {sentences}" if done.sentences else counts)
    for reason in done.failed.values():
        out.complain(f"Failed: {reason}")
    out.document(done, on_one_line=goes_on)


def _joined(before: Sequence[str], paths: Sequence[Path]) -> tuple[str, ...]:
    """Return the sources of an index with others, without those that lie in another."""
    found = list(dict.fromkeys([*before, *map(os.path.abspath, paths)]))
    return tuple(each for each in found if not any(Path(other) in Path(each).parents for other in found))


@contextmanager
def _progress(out: Output) -> Iterator[OnProgress]:
    """Show a bar with the file that is read."""
    if not out.shows_progress:
        yield lambda _: None
        return
    with tqdm(unit=" files", file=sys.stderr, leave=False, dynamic_ncols=True, disable=False) as bar:

        def show(progress: SyncProgress) -> None:
            bar.total = progress.total
            bar.set_postfix_str("" if progress.current is None else one_line(nearer(progress.current)), refresh=False)
            bar.update(progress.done - bar.n)
            bar.refresh()

        yield show
