"""Find an index and open it, with the embedder and the settings that it remembers; and find its documents by names.

People write names of documents as ids, paths from the current folder, or ends of paths, without a suffix. Whatever a
command shows is a name as well: with escapes for what can't be printed, and cut to the width of a terminal.
"""

import os
import posixpath
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import replace
from io import StringIO
from itertools import takewhile
from pathlib import Path
from typing import Any
from unicodedata import normalize

from langchain_core.embeddings import Embeddings
from rich.cells import cell_len
from rich.text import Text

from langchain_sentence_window._display import shown
from langchain_sentence_window._io import BLOCKING, run
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.indexed_documents import IndexedDocument
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.embedding.named_embedders import (
    DEFAULT_EMBEDDING,
    DeferredEmbeddings,
    embedding_name,
    load_embedding,
)
from langchain_sentence_window.errors import IndexMismatchError, IndexNotFoundError, InvalidInputError, StoreError
from langchain_sentence_window.retrieval.index_settings import IndexSettings, read_index_settings, write_index_settings
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever
from langchain_sentence_window.retrieval.stored_sentences import in_one_state
from langchain_sentence_window.store.faiss_store import FaissStore

from .options import INDEX_VARIABLE
from .output import CUT, WEAK, Output, ending, one_line, printable, unescaped, visibly_escaped

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
        "there is no index in this folder or one above; make one with: sentence-window index PATHS. For an index "
        f"elsewhere, give --index DIR, or set {INDEX_VARIABLE}"
    )


def new_index(given: Path | None) -> Path:
    """Return the folder of an index that may not exist yet: the one that was named, else one in this folder."""
    return Path(FOLDER) if given is None else given


@contextmanager
def open_index(
    out: Output, folder: Path, embedding: str | None = None, *, read_only: bool = True, **settings: Any
) -> Iterator[SentenceWindowRetriever]:
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
    settings = {**remembered.retriever, **settings}
    with (
        other_embedders(folder, embedding),
        open_to_read(folder, embedder, read_only=read_only, **settings) as retriever,
    ):
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


def nothing_found(retriever: SentenceWindowRetriever, found: str) -> str:
    """Say that nothing was found, or why nothing can be."""
    return found if retriever.stats().documents else EMPTY


def load(out: Output, embedding: str | None) -> Embeddings:
    """Load an embedder by its name; what libraries write meanwhile, such as progress bars, is left out."""
    # Weights are loaded when many texts are embedded first, which may be later.
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    with out.waiting(f"Loading {embedding or DEFAULT_EMBEDDING} …"), redirect_stderr(StringIO()):
        return load_embedding(embedding)


def remember(folder: Path, **changed: Any) -> IndexSettings:
    """Change what an index remembers, and return it."""
    before = read_index_settings(folder)
    settings = replace(before, **changed)
    if settings != before:
        check_writable(folder)
        write_index_settings(folder, settings)
    return settings


@contextmanager
def made_or_opened(folder: Path, embedding: Embeddings) -> Iterator[SentenceWindowRetriever]:
    """Open an index, or make an empty one, to add to; and close it after the block."""
    with FaissStore(embedding, folder) as store:
        yield SentenceWindowRetriever(vectorstore=store, **read_index_settings(folder).retriever)


@contextmanager
def open_to_read(
    folder: Path, embedding: Embeddings | None = None, *, read_only: bool = True, **settings: Any
) -> Iterator[SentenceWindowRetriever]:
    """Open an index, and close it after the block; without its embedder, to list, read, delete and copy."""
    if not read_only:
        check_writable(folder)
    embedder = DeferredEmbeddings() if embedding is None else embedding
    with FaissStore.open(folder, embedder, read_only=read_only) as store:
        yield SentenceWindowRetriever(vectorstore=store, **settings)


EMPTY = "The index holds no documents; add files with: sentence-window index PATHS"

_SOME = 10
"""The most documents that an error lists."""


def nearer(text: str) -> str:
    """Return a name, or a place that begins with one, seen from the current folder if it lies inside."""
    return text.removeprefix(os.getcwd().rstrip(os.sep) + os.sep)  # noqa: PTH109 - absolute paths are made with it


def written(doc_id: str) -> str:
    """Return the name of a document as a command shows it: from the current folder, with escapes where needed."""
    return visibly_escaped(nearer(doc_id))


def find_documents(retriever: SentenceWindowRetriever, names: Iterable[str]) -> list[IndexedDocument]:
    """Return the documents that are named, each once.

    Raises:
        InvalidInputError: A name stands for no document, or for several.
    """
    documents = {each.doc_id: each for each in retriever.documents()}
    known = NameLookup(documents.values())
    return [documents[doc_id] for doc_id in dict.fromkeys(map(known.find, names))]


class NameLookup:
    """The names of an index's documents.

    Names are compared in one normal form of Unicode and as they are shown, so that what is copied or typed is found.
    Where several agree so far, one that agrees character for character wins.
    """

    def __init__(self, documents: Iterable[IndexedDocument]) -> None:
        """Note all names that each document goes by."""
        self._ids: set[str] = set()
        self._ends: dict[str, dict[str, str]] = {}
        self._stems: dict[str, dict[str, str]] = {}
        wholes: list[tuple[str, str]] = []
        for document in documents:
            self._ids.add(document.doc_id)
            for whole in dict.fromkeys([document.doc_id, document.source or document.doc_id]):
                wholes.append((_key(whole)[::-1], document.doc_id))
                for name in _ends(whole):
                    self._ends.setdefault(_key(name), {})[document.doc_id] = name
                    stem, suffix = posixpath.splitext(name)
                    if suffix:
                        self._stems.setdefault(_key(stem), {})[document.doc_id] = stem
        self._backward = sorted(wholes)

    @property
    def has_any(self) -> bool:
        """Whether the index holds documents."""
        return bool(self._ids)

    def named(self, name: str) -> list[str]:
        """Return the ids of the documents that a name may stand for."""
        for form in dict.fromkeys([name, unescaped(name)]):
            if form in self._ids:
                return [form]
            for table, tried in self._tried(form):
                found = table.get(_key(tried), {})
                exact = [doc_id for doc_id, own in found.items() if own == tried]
                if found:
                    return exact or list(found)
        return self._of_cut(_key(name)) if CUT in name else []

    def find(self, name: str) -> str:
        """Return the id of a document.

        Raises:
            InvalidInputError: The name stands for no document, or for several.
        """
        found = self.named(name)
        if len(found) == 1:
            return found[0]
        if not self.has_any:
            raise InvalidInputError(EMPTY)
        if not found:
            raise InvalidInputError(
                f"the index has no document {shown(name)}; see what it has with: sentence-window ls"
            )
        some = ", ".join(f"'{self.shown(each)}'" for each in found[:_SOME])
        raise InvalidInputError(
            f"{shown(name)} could be any of {len(found):,} documents, such as {some}; write more of its path"
        )

    def shown(self, doc_id: str, columns: int | None = None) -> str:
        """Return a name by which a document is found: the shortest way to it from here, with escapes where needed.

        Args:
            doc_id: The document.
            columns: The columns of a terminal that the name is cut to. It takes more if it would name others, too.
        """
        whole = next(
            (each for each in (written(doc_id), visibly_escaped(doc_id)) if self.named(each) == [doc_id]), doc_id
        )
        if columns is None:
            return whole
        cuts = (ending(whole, width) for width in range(columns, cell_len(whole)))
        return next((cut for cut in cuts if self.named(cut) == [doc_id]), whole)

    def _tried(self, name: str) -> Iterator[tuple[dict[str, dict[str, str]], str]]:
        """Yield what a name may be, the most exact first."""
        path = os.path.expanduser(name)  # noqa: PTH111 - names aren't all paths
        here, end = os.path.abspath(path), posixpath.normpath(name.replace("\\", "/"))  # noqa: PTH100 - leaves no ".."
        yield self._ends, here
        yield self._ends, name
        yield self._ends, end
        yield self._stems, here
        yield self._stems, end
        yield self._ends, os.path.realpath(path)

    def _of_cut(self, name: str) -> list[str]:
        """Return the ids of the documents with a name that was cut."""
        first, *others = name.split(CUT)
        if first or len(others) > 1:
            pattern = re.compile(".*".join(map(re.escape, [first, *others])))
            return list(
                dict.fromkeys(each for key, ids in self._ends.items() if pattern.fullmatch(key) for each in ids)
            )
        end = others[0][::-1]
        at = bisect_left(self._backward, (end, ""))
        same = takewhile(
            lambda each: each[0].startswith(end), (self._backward[i] for i in range(at, len(self._backward)))
        )
        return list(dict.fromkeys(doc_id for _, doc_id in same))


def _key(name: str) -> str:
    return normalize("NFC", one_line(name))


def _ends(name: str) -> Iterator[str]:
    """Yield a name, and the ends of its path."""
    yield name
    parts = name.replace("\\", "/").rstrip("/").split("/")
    yield from filter(None, ("/".join(parts[i:]) for i in range(len(parts))))


_RANGE = re.compile(r"\s*(\d{1,9})\s*(?:[-–:,]\s*(\d{1,9})\s*)?")
_BATCH_SIZE = 5_000


def read_range(text: str) -> range:
    """Read the numbers of sentences, such as ``12-15``.

    Raises:
        InvalidInputError: They can't be read.
    """
    match = _RANGE.fullmatch(text)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
    if first > last:
        raise InvalidInputError(f"the sentences are {shown(text)}; give their numbers, such as 12-15")
    return range(first, last + 1)


def read_sentences(
    retriever: SentenceWindowRetriever, document: IndexedDocument, chosen: range | None = None
) -> list[StoredSentence]:
    """Return the sentences of a document in order; all of them, or those with some numbers."""
    doc_id, wanted = document.doc_id, range(document.sentences)
    if chosen is not None:
        wanted = range(chosen.start, min(chosen.stop, document.sentences))

    async def read(scope: Scope) -> list[StoredSentence]:
        found: list[StoredSentence] = []
        for begin in range(wanted.start, wanted.stop, _BATCH_SIZE):
            keys = [(doc_id, number) for number in range(begin, min(begin + _BATCH_SIZE, wanted.stop))]
            found += map(scope.adapter.read, await scope.fetch(BLOCKING, keys) or [])
        return sorted(found, key=lambda sentence: sentence.index)

    return run(in_one_state(retriever.scope(), read))


def show_sentences(out: Output, sentences: Sequence[StoredSentence], *, numbered: bool) -> None:
    """Write sentences: each on a line with its number, or as the text that they are."""
    if not numbered:
        out.line("".join(each.text if each is sentences[-1] else each.text + each.separator for each in sentences))
        return
    width = max((len(str(each.index)) for each in sentences), default=0)
    for each in sentences:
        text = one_line(each.text) if "\n" not in each.text.strip() else printable(each.text)
        first, *others = text.split("\n")
        out.line(Text.assemble((f"{each.index:>{width}}", WEAK), "  ", first))
        for line in others:
            out.line(line, indent=width + 2)
