"""Documents by the names that people write: ids, paths from the current folder, ends of paths, without a suffix.

Whatever a command shows is a name as well: with escapes for what can't be printed, and cut to the width of a terminal.
"""

import os
import posixpath
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING
from unicodedata import normalize

from rich.cells import cell_len
from rich.text import Text

from langchain_sentence_window._display import shown
from langchain_sentence_window._io import BLOCKING, run
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.apps.cli.output import (
    CUT,
    WEAK,
    Output,
    ending,
    one_line,
    printable,
    unescaped,
    visibly_escaped,
)
from langchain_sentence_window.documents.indexed_documents import IndexedDocument
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.retrieval.stored_sentences import in_one_state

if TYPE_CHECKING:
    from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever


EMPTY = "The index holds no documents; add files with: sentence-window index PATHS"

_SOME = 10
"""The most documents that an error lists."""


def nearer(text: str) -> str:
    """Return a name, or a place that begins with one, seen from the current folder if it lies inside."""
    return text.removeprefix(os.getcwd().rstrip(os.sep) + os.sep)  # noqa: PTH109 - absolute paths are made with it


def written(doc_id: str) -> str:
    """Return the name of a document as a command shows it: from the current folder, with escapes where needed."""
    return visibly_escaped(nearer(doc_id))


def find_documents(retriever: "SentenceWindowRetriever", names: Iterable[str]) -> list[IndexedDocument]:
    """Return the documents that are named, each once.

    Raises:
        InvalidInputError: A name stands for no document, or for several.
    """
    documents = {each.doc_id: each for each in retriever.documents()}
    known = DocumentNames(documents.values())
    return [documents[doc_id] for doc_id in dict.fromkeys(map(known.find, names))]


class DocumentNames:
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
    retriever: "SentenceWindowRetriever", document: IndexedDocument, chosen: range | None = None
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
        out.line("".join(_with_white_space(each, is_last=each is sentences[-1]) for each in sentences))
        return
    width = max((len(str(each.index)) for each in sentences), default=0)
    for each in sentences:
        text = one_line(each.text) if "\n" not in each.text.strip() else printable(each.text)
        first, *others = text.split("\n")
        out.line(Text.assemble((f"{each.index:>{width}}", WEAK), "  ", first))
        for line in others:
            out.line(line, indent=width + 2)


def _with_white_space(sentence: StoredSentence, *, is_last: bool) -> str:
    return sentence.text if is_last else sentence.text + sentence.separator
