"""The sentences of a document, as an index holds them."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from langchain_sentence_window._io import BLOCKING, run
from langchain_sentence_window._showing import shown
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.cli.output import WEAK, Output
from langchain_sentence_window.cli.plain_text import one_line, printable
from langchain_sentence_window.documents.indexed_documents import IndexedDocument
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.retrieval.one_state import in_one_state

if TYPE_CHECKING:
    from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever

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
