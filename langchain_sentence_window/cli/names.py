"""Names of documents as people write them: ids, paths from the current folder, and the ends of paths."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from langchain_sentence_window._showing import shown
from langchain_sentence_window.documents.indexed_documents import IndexedDocument
from langchain_sentence_window.errors import InvalidInputError

if TYPE_CHECKING:
    from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever

_SOME = 3


def nearer(text: str) -> str:
    """Return a name, or a place that begins with one, seen from the current folder if it lies inside."""
    return text.removeprefix(os.getcwd().rstrip(os.sep) + os.sep)  # noqa: PTH109 - absolute paths are made with it


def find_documents(retriever: "SentenceWindowRetriever", names: Iterable[str]) -> list[str]:
    """Return the ids of documents that are named by their id, their source, or the end of its path.

    Raises:
        InvalidInputError: A name stands for no document, or for several.
    """
    known = DocumentNames(retriever.documents())
    return list(dict.fromkeys(map(known.find, names)))


class DocumentNames:
    """The names of an index's documents."""

    def __init__(self, documents: Iterable[IndexedDocument]) -> None:
        """Note all names that each document goes by."""
        self._ids: set[str] = set()
        self._by_name: dict[str, list[str]] = {}
        for document in documents:
            self._ids.add(document.doc_id)
            for name in dict.fromkeys(_tails(document.source or document.doc_id)):
                self._by_name.setdefault(name, []).append(document.doc_id)

    def named(self, name: str) -> list[str]:
        """Return the ids of the documents that a name may stand for."""
        if name in self._ids:
            return [name]
        path = os.path.abspath(name)  # noqa: PTH100 - Path.absolute leaves ".." in it
        return self._by_name.get(path) or self._by_name.get(name) or self._by_name.get(Path(name).as_posix(), [])

    def find(self, name: str) -> str:
        """Return the id of a document.

        Raises:
            InvalidInputError: The name stands for no document, or for several.
        """
        found = self.named(name)
        if len(found) == 1:
            return found[0]
        if not found:
            raise InvalidInputError(
                f"the index has no document {shown(name)}; see what it has with: sentence-window ls"
            )
        some = ", ".join(shown(nearer(each)) for each in found[:_SOME])
        raise InvalidInputError(
            f"{shown(name)} could be any of {len(found):,} documents, such as {some}; write more of its path"
        )


def _tails(source: str) -> list[str]:
    """Return a source, and the ends of its path."""
    parts = source.replace("\\", "/").split("/")
    return [source, *("/".join(parts[i:]) for i in range(len(parts)))]
