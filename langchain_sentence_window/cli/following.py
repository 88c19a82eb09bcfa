"""Let an index follow files, with its progress on a terminal, and without loading a model if nothing has changed."""

import os
from collections.abc import Sequence
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import typer

from langchain_sentence_window.cli.exit_codes import FAILED, NOTHING
from langchain_sentence_window.cli.names import nearer
from langchain_sentence_window.cli.opening import load, open_index, open_to_read, remember
from langchain_sentence_window.cli.output import Output
from langchain_sentence_window.cli.plain_text import one_line
from langchain_sentence_window.embedding.named import embedding_name
from langchain_sentence_window.folders import SyncProgress, SyncResult, sync_files, watch_files
from langchain_sentence_window.retrieval.index_settings import read_index_settings
from langchain_sentence_window.stores.faiss.faiss_store import FaissStore

if TYPE_CHECKING:
    from tqdm import tqdm


class _SomethingToReadError(Exception):
    """A file has changed, so the embedder is needed."""


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
        watch: Whether to go on until Ctrl-C.

    Raises:
        Exit: There are no files, or some can't be read.
    """
    for path in paths:
        if not path.exists() and not delete:
            sync_files(_in_memory(), path)  # says what is wrong, before a model is loaded and a folder made
    done = None if watch else _unchanged(folder, paths, delete=delete)
    if done is None:
        done = _follow(out, folder, paths, embedding, delete=delete, watch=watch)
    _remember_sources(folder, paths)
    _tell(out, folder, done)
    if done.failed:
        raise typer.Exit(FAILED)
    if not (done.added or done.updated or done.unchanged or done.deleted):
        out.complain("No files were found.")
        raise typer.Exit(NOTHING)
