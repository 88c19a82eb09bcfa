"""`find_citations`: the sources that an answer cites."""

from collections.abc import Iterable
from dataclasses import dataclass

from langchain_core.documents import Document

from langchain_sentence_window._arguments import checked_documents
from langchain_sentence_window._showing import shown
from langchain_sentence_window.answering.citation_format import cited_numbers
from langchain_sentence_window.answering.locations import describe_location
from langchain_sentence_window.answering.shown_spans import ShownSpans
from langchain_sentence_window.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class Citation:
    """A source that an answer cites.

    Attributes:
        number: The source's number, from 1.
        location: Where the source is from, such as ``file, pp. 4–5 (heading > path)``, see `describe_location`.
        document: The source itself.
    """

    number: int
    location: str
    document: Document


def find_citations(answer: str, documents: Iterable[Document]) -> list[Citation]:
    """Find the sources that an answer cites.

    A citation is one or several numbers or ranges in square brackets, as models write them: ``[2]``, ``[1, 3]``,
    ``[1-3]``, ``[1 and 2]``, ``[Source 1]``, ``[^1]``, ``[1, p. 3]``. Full-width and lenticular brackets and any dash
    are read too. Code, links such as ``[3](address)``, brackets after a backslash, and numbers of no source are
    ignored.

    Args:
        answer: The text that a model wrote.
        documents: The documents that `format_context` was given for it.

    Returns:
        Each cited source once, in the order of first citation.

    Raises:
        InvalidInputError: The answer isn't a string, or the documents aren't a list of Documents.
    """
    if not isinstance(answer, str):
        raise InvalidInputError(f"the answer is {shown(answer)}; give its text, such as message.text")
    sources = checked_documents(documents)
    cited = ShownSpans()
    return [
        Citation(number, describe_location(sources[number - 1]), sources[number - 1])
        for first, last in cited_numbers(answer)
        if 1 <= first <= last <= len(sources)
        for start, end in cited.add((first, last + 1))
        for number in range(start, end)
    ]
