"""A stream of Documents in batches, none of which splits a document.

A batch ends where the next Document is of another name. So parts that come one after the other, such as the pages of a
file, are in one batch, however many they are.
"""

from collections import Counter
from hashlib import blake2b
from typing import NamedTuple

from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window.documents.parts.grouping import (
    Group,
    JoinParts,
    check_groups,
    document_ids,
    group_by_name,
)
from langchain_sentence_window.documents.parts.versions import is_whole
from langchain_sentence_window.errors import InvalidInputError

MAX_BATCH_CHARS = 1_000_000
"""Characters after which a batch ends: some thousands of sentences, which are enough to sort them by length."""

_DOCUMENT_CHARS = 200  # what a Document takes beside its text, in characters
_DIGEST_SIZE = 12


class Batch(NamedTuple):
    """Some Documents of a stream.

    Attributes:
        names: For each Document, the name of the document that it is, or is a part of.
        groups: The documents that they make up.
        continues: Whether one of them has parts that came in an earlier batch.
    """

    names: list[str]
    groups: list[Group]
    continues: bool


class Batches:
    """Collects the Documents of a stream into batches.

    Of each document that it has passed on it keeps a few bytes.
    """

    def __init__(self, join: JoinParts) -> None:
        """Begin without a Document.

        Args:
            join: As for `group_documents`. With ``False`` there is one batch, as a source names a document only if no
                other Document has that source.
        """
        self._join = join
        self._copies: Counter[bytes] = Counter()
        self._passed_on: set[bytes] = set()
        self._begin()

    def _begin(self) -> None:
        self._documents: list[Document] = []
        self._names: list[str] = []
        self._chars = 0

    def put(self, document: Document) -> Batch | None:
        """Add the next Document; return the batch before it if that is complete.

        Raises:
            InvalidInputError: The Document has an id that stores can't keep; or as for `rest`.
        """
        name = "" if self._join is False else document_ids([document], self._join, self._copies)[0]
        complete = self._end() if self._chars >= MAX_BATCH_CHARS and name not in ("", self._names[-1]) else None
        self._documents.append(document)
        self._names.append(name)
        self._chars += len(document.page_content) + _DOCUMENT_CHARS
        return complete

    def rest(self) -> Batch | None:
        """Return the last batch; ``None`` if there is no Document in it.

        Raises:
            InvalidInputError: Two documents have the same name.
        """
        return self._end() if self._documents else None

    def _end(self) -> Batch:
        names = document_ids(self._documents, self._join) if self._join is False else self._names
        groups = group_by_name(self._documents, self._join, names)
        check_groups(groups)
        digests = [blake2b(group.doc_id.encode(), digest_size=_DIGEST_SIZE).digest() for group in groups]
        again = [group for group, digest in zip(groups, digests, strict=True) if digest in self._passed_on]
        for group in again:
            if is_whole(group.parts):
                raise InvalidInputError(
                    f"{shown(group.doc_id)} comes again, long after other documents of this call; give the parts of a "
                    "document one after the other, and different documents different ids"
                )
        self._passed_on.update(digests)
        self._begin()
        return Batch(names, groups, bool(again))
