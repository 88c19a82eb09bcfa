"""Find an index and open it, with the embedder and the settings that it remembers; and find its documents by name.

A document's name is its id, its path from the current folder, or the end of its path, with or without a suffix. What a
command prints is a name as well, although control characters are left out of it.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any
from unicodedata import normalize

from langchain_core.embeddings import Embeddings

from langchain_sentence_window import FaissStore, SentenceWindowRetriever, load_embedding
from langchain_sentence_window.documents import shown
from langchain_sentence_window.errors import IndexNotFoundError, InvalidInputError
from langchain_sentence_window.stores import (
    DEFAULT_EMBEDDING,
    DeferredEmbeddings,
    IndexedDocument,
    IndexSettings,
    read_index_settings,
    write_index_settings,
)
from sentence_window.cli.options import INDEX_VARIABLE
from sentence_window.cli.output import Output, one_line

FOLDER = ".sentence-window"
"""The folder of an index without ``--index``."""

EMPTY = "The index holds no documents; add files with: sentence-window index PATHS"

_MAX_LISTED = 10
"""The most documents that an error lists."""


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
        "there is no index in this folder or one above; make one with: sentence-window index PATHS. For an index "
        f"elsewhere, give --index DIR, or set {INDEX_VARIABLE}"
    )


def load(out: Output, embedding: str | None) -> Embeddings:
    """Load an embedder by its name, and discard what libraries write to stderr, such as progress bars."""
    # An environment variable, as weights are loaded on first use, after this function.
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    with out.waiting(f"Loading {embedding or DEFAULT_EMBEDDING} …"), redirect_stderr(StringIO()):
        return load_embedding(embedding)


@contextmanager
def open_index(
    out: Output, index: Path | None, embedding: str | None, *, read_only: bool = True, **settings: Any
) -> Iterator[SentenceWindowRetriever]:
    """Open an index with an embedder, and close it after the block.

    Args:
        out: Says that a model is loaded.
        index: The folder of the index; ``None`` for the nearest one.
        embedding: The name of the embedder; ``None`` for the one that the index remembers.
        read_only: Whether to leave the files unchanged.
        **settings: Settings of the retriever; they override those that the index remembers.
    """
    folder = existing_index(index)
    remembered = read_index_settings(folder)
    embedder = load(out, embedding or remembered.embedding)
    settings = {**remembered.retriever, **settings}
    with open_to_read(folder, embedder, read_only=read_only, **settings) as retriever:
        yield retriever


@contextmanager
def open_to_read(
    index: Path | None, embedding: Embeddings | None = None, *, read_only: bool = True, **settings: Any
) -> Iterator[SentenceWindowRetriever]:
    """Open an index, and close it after the block; no embedder is needed to list, read, delete and copy."""
    with FaissStore.open(existing_index(index), embedding or DeferredEmbeddings(), read_only=read_only) as store:
        yield SentenceWindowRetriever(**{**settings, "vectorstore": store})


def remember(folder: Path, **changed: Any) -> IndexSettings:
    """Change what an index remembers, and return it."""
    before = read_index_settings(folder)
    settings = replace(before, **changed)
    if settings != before:
        write_index_settings(folder, settings)
    return settings


def nothing_found(retriever: SentenceWindowRetriever, message: str) -> str:
    """Return a message, or that the index is empty."""
    return message if retriever.stats().documents else EMPTY


def written(name: str) -> str:
    """Return a document's name, or a location that begins with it, as a command prints it: from the current folder."""
    return one_line(name.removeprefix(os.getcwd().rstrip(os.sep) + os.sep))  # noqa: PTH109 - absolute paths are made with it


def find_documents(retriever: SentenceWindowRetriever, names: Iterable[str]) -> list[IndexedDocument]:
    """Return the documents with these names, each once.

    Raises:
        InvalidInputError: A name fits no document, or several.
    """
    documents = {each.doc_id: each for each in retriever.documents()}
    known = DocumentNames(documents.values())
    found: dict[str, IndexedDocument] = {}
    for name in names:
        ids = known.find(name)
        if not ids:
            raise InvalidInputError(
                f"the index has no document {shown(name)}; see what it has with: sentence-window ls"
            )
        if len(ids) > 1:
            some = ", ".join(f"'{written(each)}'" for each in ids[:_MAX_LISTED])
            raise InvalidInputError(
                f"{shown(name)} could be any of {len(ids):,} documents, such as {some}; write more of its path"
            )
        found[ids[0]] = documents[ids[0]]
    return list(found.values())


class DocumentNames:
    """The names of an index's documents; they are compared as they are printed, and in one normal form of Unicode."""

    def __init__(self, documents: Iterable[IndexedDocument]) -> None:
        """Collect the ids and the sources, the ends of both, and these without a suffix."""
        self._ids: set[str] = set()
        self._ids_by_name: dict[str, dict[str, None]] = {}
        for document in documents:
            self._ids.add(document.doc_id)
            for whole in (document.doc_id, document.source or document.doc_id):
                parts = _name_key(whole).split("/")
                for end in ("/".join(parts[i:]) for i in range(len(parts))):
                    for name in (end, os.path.splitext(end)[0]):  # noqa: PTH122 - names aren't all paths
                        self._ids_by_name.setdefault(name, {})[document.doc_id] = None

    def find(self, name: str) -> list[str]:
        """Return the ids of the documents that a name fits."""
        if name in self._ids:
            return [name]
        path = os.path.expanduser(name)  # noqa: PTH111 - names aren't all paths
        # Without links first: a link's name may be the document's own.
        for tried in (os.path.abspath(path), name, os.path.realpath(path)):  # noqa: PTH100 - leaves no ".."
            if tried in self._ids:
                return [tried]
            if ids := self._ids_by_name.get(_name_key(tried)):
                return list(ids)
        return []


def _name_key(name: str) -> str:
    return normalize("NFC", one_line(name)).replace("\\", "/").rstrip("/")
