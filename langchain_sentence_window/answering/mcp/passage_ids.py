"""Ids of passages, such as ``terms#2-5`` for the sentences 2 to 5 of the document ``terms``.

In such an id, the ``doc_id`` is percent-encoded, so that no ``doc_id`` can pass for a passage of another document and
no character of it gets lost on its way through a model.
"""

import re
from urllib.parse import quote, unquote

from langchain_sentence_window.answering.tools import MAX_ARGUMENT_CHARS, read_doc_id
from langchain_sentence_window.documents.ids import is_storable_id

MAX_PASSAGE_ID_CHARS = MAX_ARGUMENT_CHARS + 22
"""The most characters of a passage's id: of its ``doc_id`` in any form, and of two numbers."""

_PLAIN = "/:@+~=.,-_"
_PASSAGE = re.compile(r"(.+)#([0-9]{1,10})-([0-9]{1,10})", re.DOTALL)

Sentences = tuple[int, int]
"""The numbers of the first and the last sentence of a passage, both included."""


def passage_id(doc_id: str, sentences: Sentences | None) -> str:
    """Return the id of a passage, or of a whole document where the sentences aren't known."""
    name = quote(doc_id, safe=_PLAIN, errors="replace")
    return name if sentences is None else f"{name}#{sentences[0]}-{sentences[1]}"


def read_passage_id(given: str) -> list[tuple[str, Sentences | None]]:
    """Return what an id may mean, the likeliest first: a document's name, and the sentences of a passage.

    A document may be named by its id, by its ``doc_id``, or as a label quotes that.
    """
    found: list[tuple[str, Sentences | None]] = []
    passage = _PASSAGE.fullmatch(given)
    if passage and int(passage[2]) <= int(passage[3]):
        found.append((unquote(passage[1]), (int(passage[2]), int(passage[3]))))
    found += [(name, None) for name in (given, read_doc_id(given), unquote(given))]
    return [(name, sentences) for name, sentences in dict.fromkeys(found) if is_storable_id(name)]
