"""`find_citations`: the sources that an answer cites."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from langchain_core.documents import Document
from langchain_core.messages import AIMessage

from langchain_sentence_window._arguments import checked_documents
from langchain_sentence_window._showing import shown
from langchain_sentence_window._types import Span
from langchain_sentence_window._validation import as_integer
from langchain_sentence_window.answering.citation_format import cited_numbers
from langchain_sentence_window.answering.locations import describe_location
from langchain_sentence_window.answering.message_citations import (
    CarriedCitation,
    CitedStretch,
    carried_citations,
    message_text,
    read_message_citations,
)
from langchain_sentence_window.answering.shown_spans import ShownSpans
from langchain_sentence_window.documents.keys import END_INDEX, START_INDEX
from langchain_sentence_window.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class Citation:
    """A source that an answer cites.

    The fields after the first three are of citations that name single sentences, as those of an API do. A number such
    as ``[2]`` cites all of its source.

    Attributes:
        number: The source's number, from 1.
        location: Where the source is from, such as ``file, pp. 4–5 (heading > path)``, see `describe_location`; of a
            citation that names sentences, where these are from.
        document: The source itself.
        text: What is cited, character for character as it stands in the source; ``None`` for the whole source.
        start: The first code point of that text in the source document; ``None`` if it isn't known.
        end: One past its last code point.
        sentences: Index of the first and the last sentence that it touches; ``None`` if they aren't known.
        pages: The pages that it touches, from 0; empty if they aren't known.
        statement: The span of the answer's text that it supports; ``None`` if it isn't known.
    """

    number: int
    location: str
    document: Document
    text: str | None = None
    start: int | None = None
    end: int | None = None
    sentences: Span | None = None
    pages: tuple[int, ...] = ()
    statement: Span | None = None


def find_citations(answer: str | AIMessage, documents: Iterable[Document] | None = None) -> list[Citation]:
    """Find the sources that an answer cites.

    In a text, a citation is one or several numbers or ranges in square brackets, as models write them: ``[2]``,
    ``[1, 3]``, ``[1-3]``, ``[1 and 2]``, ``[Source 1]``, ``[^1]``, ``[1, p. 3]``. Full-width and lenticular brackets
    and any dash are read too. Code, links such as ``[3](address)``, brackets after a backslash, and numbers of no
    source are ignored.

    A message may carry citations of an API instead. Those that Anthropic's API makes to blocks of `as_search_results`
    are read, also from a stream whose chunks were added, and those that `cited_message` wrote. Then numbers in the
    text aren't. A citation of an address, such as OpenAI's ``url_citation``, is read if exactly one source has that
    address. A citation is ignored if it names no source, or a text that doesn't stand where it says.

    A stream of ChatAnthropic without tools joins all text of an answer and keeps its citations apart, so their
    ``statement`` isn't known. ``invoke`` and models with tools tell it.

    Args:
        answer: The text that a model wrote, or its message.
        documents: The documents that `format_context` or `as_search_results` was given for it. Of a conversation, the
            documents of all search results that were sent, in their order. ``None`` for a message that `cited_message`
            wrote, whose citations are taken as they are, without the sources: as of an earlier turn. Take them from
            messages of your own program alone, as nothing is compared.

    Returns:
        Each source that the text cites once, in the order of first citation. Of a message that carries citations, each
        of these, in order.

    Raises:
        InvalidInputError: The answer is neither a string nor an AIMessage, or the documents aren't a list of Documents.
    """
    if documents is None:
        return [_carried(each) for each in carried_citations(checked_answer(answer))]
    sources = checked_documents(documents)
    if isinstance(answer, str):
        return _numbered(answer, sources)
    carried = read_message_citations(checked_answer(answer), sources)
    found = [_citation(each, sources) for each in carried.found]
    return found if carried.are_numbered else [*_numbered(message_text(answer), sources), *found]


def checked_answer(answer: object) -> AIMessage:
    """Return a message of a model.

    Raises:
        InvalidInputError: It isn't one.
    """
    if isinstance(answer, AIMessage):
        return answer
    raise InvalidInputError(f"the answer is {shown(answer)}; give its text, such as message.text, or the AIMessage")


def _carried(cited: CarriedCitation) -> Citation:
    """Return a citation whose source is known by what the message says of it."""
    document = cited.document
    start, end = (as_integer(document.metadata.get(key)) for key in (START_INDEX, END_INDEX))
    text = document.page_content
    return Citation(
        cited.number, cited.location, document, text, start, end, cited.sentences, cited.pages, cited.statement
    )


def _numbered(answer: str, sources: Sequence[Document]) -> list[Citation]:
    cited = ShownSpans()
    return [
        Citation(number, describe_location(sources[number - 1]), sources[number - 1])
        for first, last in cited_numbers(answer)
        if 1 <= first <= last <= len(sources)
        for start, end in cited.add((first, last + 1))
        for number in range(start, end)
    ]


def _citation(cited: CitedStretch, sources: Sequence[Document]) -> Citation:
    stretch = cited.stretch
    return Citation(
        cited.number,
        stretch.location,
        sources[cited.number - 1],
        stretch.text,
        stretch.start,
        stretch.end,
        stretch.sentences,
        stretch.pages,
        cited.statement,
    )
