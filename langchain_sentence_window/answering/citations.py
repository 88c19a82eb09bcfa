"""`find_citations`: the sources that an answer cites, by numbers in its text or by the citations of Anthropic's API.

A citation whose number, name or text doesn't match the sources is dropped, so a message can cite only what it quotes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.documents import Document
from langchain_core.messages import AIMessage

from langchain_sentence_window._arguments import checked_documents
from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import Span, encodable
from langchain_sentence_window._validation import as_integer
from langchain_sentence_window.errors import InvalidInputError

from .citation_format import citation_marks
from .context import ResultBlock, search_results
from .conversation import checked_sources, named_sources
from .links import link_to
from .locations import Stretch, describe_location


@dataclass(frozen=True, slots=True)
class Citation:
    """A source that an answer cites.

    A number such as ``[2]`` cites the whole source, and sets only the first three fields. An API's citation also names
    single sentences.

    Attributes:
        number: The source's number, from 1.
        location: Where the source is from, such as ``file, pp. 4–5 (heading > path)``, see `describe_location`; if the
            citation names sentences, where these are from.
        document: The source itself.
        text: The cited text, character for character as in the source; ``None`` for the whole source.
        start: The first code point of that text in the source document; ``None`` if it isn't known.
        end: One past its last code point.
        sentences: Index of the first and the last sentence that it touches; ``None`` if they aren't known.
        pages: The pages that it touches, from 0; empty if they aren't known.
        lines: The first and the last line of a text file that it touches, from 1; empty if they aren't known.
        statement: The span of the answer's text that the citation supports; ``None`` if it isn't known.
    """

    number: int
    location: str
    document: Document
    text: str | None = None
    start: int | None = None
    end: int | None = None
    sentences: Span | None = None
    pages: tuple[int, ...] = ()
    lines: tuple[int, ...] = ()
    statement: Span | None = None

    @property
    def url(self) -> str | None:
        """The address that opens the source at the place that is cited, by a text fragment, a page or lines.

        ``None`` if the source's metadata has no address of ``http``, ``https`` or ``file``.
        """
        return link_to(self.document, self.text, self.pages, self.lines)


def find_citations(answer: str | AIMessage, documents: Iterable[Document]) -> list[Citation]:
    """Find the sources that an answer cites.

    In a text, a citation is one or several numbers or ranges in square brackets, as models write them: ``[2]``,
    ``[1, 3]``, ``[1-3]``, ``[1 and 2]``, ``[Source 1]``, ``[^1]``, ``[1, p. 3]``. Full-width and lenticular brackets
    and any dash are read too. Code, links such as ``[3](address)``, brackets after a backslash, and numbers of no
    source are ignored.

    A message may carry citations that Anthropic's API makes for blocks of `as_search_results`, also one joined from
    the chunks of a stream. Then numbers in its text are ignored. A citation is ignored if it names no source, or if its
    text isn't at the position that it names.

    A stream of ChatAnthropic without tools joins all text of an answer and keeps its citations apart, so their
    ``statement`` isn't known. With ``invoke`` and with tools, it is.

    Args:
        answer: The text that a model wrote, or its message.
        documents: The documents that `format_context` or `as_search_results` was given for it. Of a conversation, the
            documents of all search results that were sent, in their order, or what `shown_sources` returns.

    Returns:
        Each source that the text cites once, in the order of first citation. Of a message that carries citations, each
        of these, in order.

    Raises:
        InvalidInputError: The answer is neither a string nor an AIMessage, or the documents aren't a list of Documents.
    """
    sent = checked_documents(documents)
    sources = checked_sources(sent)
    cited = None if isinstance(answer, str) else read_message_citations(checked_answer(answer), sent)
    if cited is not None:
        return [_make_citation(each, sources) for each in cited]
    ranges = (each for _, ranges in citation_marks(answer_text(answer)) for each in ranges)
    numbers = named_sources(ranges, sources)
    return [Citation(number, describe_location(sources[number - 1]), sources[number - 1]) for number in numbers]


def checked_answer(answer: object) -> AIMessage:
    """Return a message of a model.

    Raises:
        InvalidInputError: It isn't one.
    """
    if isinstance(answer, AIMessage):
        return answer
    raise InvalidInputError(f"the answer is {shown(answer)}; give its text, such as message.text, or the AIMessage")


def answer_text(answer: object) -> str:
    """Return the text of an answer: of a message, that of all its text blocks.

    Raises:
        InvalidInputError: The answer is neither a string nor an AIMessage.
    """
    if isinstance(answer, str):
        return answer
    return "".join(text for text, _ in _text_blocks(checked_answer(answer)))


@dataclass(frozen=True, slots=True)
class CitedStretch:
    """A stretch of a source that a message cites.

    Attributes:
        number: The source's number, from 1.
        stretch: The stretch.
        statement: The span of the message's text that it supports; ``None`` if it isn't known.
    """

    number: int
    stretch: Stretch
    statement: Span | None


def _make_citation(cited: CitedStretch, sources: Sequence[Document]) -> Citation:
    it, document = cited.stretch, sources[cited.number - 1]
    place = it.text, it.start, it.end, it.sentences, it.pages, it.lines
    return Citation(cited.number, it.location, document, *place, cited.statement)


def read_message_citations(message: AIMessage, sent: Sequence[Document]) -> list[CitedStretch] | None:
    """Read the citations of search results that a message carries.

    Args:
        message: The message.
        sent: The sources in the order in which they were sent, by which the API counts them.

    Returns:
        The valid ones in order, each once; ``None`` if the message carries no citations of search results.
    """
    cited: dict[CitedStretch, None] = {}
    carries_citations, start = False, 0
    results: list[ResultBlock] | None = None
    for text, citations in _text_blocks(message):
        for fields in map(_citation_fields, citations):
            if _RESULT_INDEX in fields:
                carries_citations = True
                results = search_results(sent) if results is None else results
                for number, stretch in _cited_stretches(fields, results):
                    cited[CitedStretch(number, stretch, _statement(fields, text, start))] = None
        start += len(text)
    return list(cited) if carries_citations else None


_RESULT_INDEX = "search_result_index"


def _cited_stretches(fields: Mapping[str, Any], results: Sequence[ResultBlock]) -> Iterator[tuple[int, Stretch]]:
    """Yield the number and the stretches of the source that a citation names, if its names and its text are right."""
    index = as_integer(fields[_RESULT_INDEX])
    first, end = as_integer(fields.get("start_block_index")), as_integer(fields.get("end_block_index"))
    quoted = fields.get("cited_text")
    if index is None or not 0 <= index < len(results) or first is None or end is None:
        return
    result = results[index]
    names = ((fields.get("source"), result.source), (fields.get("title"), result.title))
    if not 0 <= first < end <= len(result.blocks) or any(one is not None and one != other for one, other in names):
        return
    if isinstance(quoted, str) and _without_space(quoted) == _without_space("".join(result.blocks[first:end])):
        for stretch in result.stretches(first, end):
            yield result.number, stretch


def _text_blocks(message: AIMessage) -> Iterator[tuple[str, list[Any]]]:
    """Yield the text and the citations of each text block of a message."""
    content = message.content
    for block in [content] if isinstance(content, str) else content:
        if isinstance(block, str):
            yield block, []
        elif block.get("type") == "text":
            text = block.get("text")
            lists = (block.get("citations"), block.get("annotations"))
            given = [each for every in lists if isinstance(every, list) for each in every]
            yield text if isinstance(text, str) else "", given


def _citation_fields(citation: object) -> Mapping[str, Any]:
    """Return the fields of a citation, of its own and of its extras, or of an API's that LangChain has wrapped."""
    given = citation if isinstance(citation, Mapping) else {}
    if given.get("type") == "non_standard_annotation":
        inner = given.get("value")
        given = inner if isinstance(inner, Mapping) else {}
    extras = given.get("extras")
    return {**(extras if isinstance(extras, Mapping) else {}), **given}


def _statement(fields: Mapping[str, Any], text: str, at: int) -> Span | None:
    """Return the span that a citation in a text block supports, in the text of the whole message.

    Args:
        fields: The citation's fields.
        text: The block's text.
        at: Where it begins in the message's text.
    """
    start, end = as_integer(fields.get("start_index")), as_integer(fields.get("end_index"))
    if start is not None and end is not None and 0 <= start <= end <= len(text):
        return at + start, at + end
    # An API's citation is of all of its block. A stream that was joined from pieces may hold it apart from its text.
    return (at + len(text) - len(text.lstrip()), at + len(text.rstrip())) if text.strip() else None


def _without_space(text: str) -> str:
    return "".join(encodable(text).split())
