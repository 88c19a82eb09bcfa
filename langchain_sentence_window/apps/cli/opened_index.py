"""Find an index and open it, with the embedder and the settings that it remembers."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_core.embeddings import Embeddings

from langchain_sentence_window._display import shown
from langchain_sentence_window.apps.cli.named_documents import EMPTY
from langchain_sentence_window.apps.cli.options import INDEX_VARIABLE
from langchain_sentence_window.apps.cli.output import Output
from langchain_sentence_window.embedding.named_embedders import (
    DEFAULT_EMBEDDING,
    DeferredEmbeddings,
    embedding_name,
    load_embedding,
)
from langchain_sentence_window.errors import IndexMismatchError, IndexNotFoundError, InvalidInputError, StoreError
from langchain_sentence_window.retrieval.index_settings import IndexSettings, read_index_settings, write_index_settings
from langchain_sentence_window.stores.faiss.faiss_store import FaissStore

if TYPE_CHECKING:
    from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever


FOLDER = ".sentence-window"
"""The folder of an index whose folder isn't named."""


def existing_index(given: Path | None) -> Path:
    """Return the folder of an index: the one that was named, else the nearest, from this folder upward.

    Raises:
        IndexNotFoundError: There is no index.
    """
    if given is not None:
        if not FaissStore.exists(given):
            raise IndexNotFoundError(
                f"there is no index in {shown(str(given))}; make one with: sentence-window index PATHS --index {given}"
            )
        return given
    here = Path.cwd()
    for folder in (here, *here.parents):
        if FaissStore.exists(folder / FOLDER):
            return Path(os.path.relpath(folder / FOLDER))
    raise IndexNotFoundError(
        f"there is no index in this folder or one above; make one with: sentence-window index PATHS. For one elsewhere "
        f"give --index DIR, or set {INDEX_VARIABLE}"
    )


def new_index(given: Path | None) -> Path:
    """Return the folder of an index that may not exist yet: the one that was named, else one in this folder."""
    return Path(FOLDER) if given is None else given


@contextmanager
def open_index(
    out: Output, folder: Path, embedding: str | None = None, *, read_only: bool = True, **settings: Any
) -> Iterator["SentenceWindowRetriever"]:
    """Open an index with an embedder, and close it after the block.

    Args:
        out: Says that a model is loaded.
        folder: The folder of the index.
        embedding: The name of the embedder; ``None`` for the one that the index remembers.
        read_only: Whether to leave the files unchanged.
        **settings: Settings of the retriever, before those that the index remembers.
    """
    remembered = read_index_settings(folder)
    embedder = load(out, embedding or remembered.embedding)
    settings = remembered.retriever_settings(folder) | settings
    with other_embedders(folder, embedding), _opened(folder, embedder, settings, read_only=read_only) as retriever:
        yield retriever


@contextmanager
def other_embedders(folder: Path, given: str | None) -> Iterator[None]:
    """Say that an index was made with another embedder than the one that was given."""
    made_with = read_index_settings(folder).embedding
    try:
        yield
    except IndexMismatchError as error:
        if given is None or made_with in (None, embedding_name(given)):
            raise
        raise IndexMismatchError(
            f"the index in {shown(str(folder))} was made with {made_with} and can't be searched with {given}; leave "
            "out --embedding, or make another index with: sentence-window index PATHS --index DIR --embedding NAME"
        ) from error


def check_writable(folder: Path, cure: str = "give yourself the permission, or name another folder") -> None:
    """Check that an index can be made or changed, before a model is loaded for it.

    Raises:
        InvalidInputError: There is a file at the path, or above it.
        StoreError: It can't be written.
    """
    there = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
    if not there.is_dir():
        raise InvalidInputError(f"the index can't be in {shown(str(folder))}, as {there} is a file; name a folder")
    inside = there.iterdir() if there == folder.absolute() else ()
    if not all(os.access(each, os.W_OK) for each in (there, *inside)):
        raise StoreError(f"you may not write to {there}, so the index can't be made or changed; {cure}")


@contextmanager
def open_to_read(folder: Path, *, read_only: bool = True) -> Iterator["SentenceWindowRetriever"]:
    """Open an index without its embedder, to list, read, delete and copy; and close it after the block."""
    with _opened(folder, DeferredEmbeddings(), {}, read_only=read_only) as retriever:
        yield retriever


def nothing_found(retriever: "SentenceWindowRetriever", found: str) -> str:
    """Say that nothing was found, or why nothing can be."""
    return found if retriever.stats().documents else EMPTY


def load(out: Output, embedding: str | None) -> Embeddings:
    """Load an embedder by its name; what libraries write meanwhile, such as progress bars, is left out."""
    with out.waiting(f"Loading {embedding or DEFAULT_EMBEDDING} …"), redirect_stderr(StringIO()):
        return load_embedding(embedding)


def remember(folder: Path, **changed: Any) -> IndexSettings:
    """Change what an index remembers, and return it."""
    before = read_index_settings(folder)
    fields = {name: getattr(before, name) for name in IndexSettings.__dataclass_fields__}
    settings = IndexSettings(**fields | changed)
    if settings != before:
        check_writable(folder)
        write_index_settings(folder, settings)
    return settings


@contextmanager
def made_or_opened(folder: Path, embedding: Embeddings) -> Iterator["SentenceWindowRetriever"]:
    """Open an index, or make an empty one, to add to; and close it after the block."""
    from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever

    with FaissStore(embedding, folder) as store:
        yield SentenceWindowRetriever(vectorstore=store, **read_index_settings(folder).retriever_settings(folder))


@contextmanager
def _opened(
    folder: Path, embedding: Embeddings, settings: dict[str, Any], *, read_only: bool
) -> Iterator["SentenceWindowRetriever"]:
    from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever

    if not read_only:
        check_writable(folder)
    with FaissStore.open(folder, embedding, read_only=read_only) as store:
        yield SentenceWindowRetriever(vectorstore=store, **settings)
