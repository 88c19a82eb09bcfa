"""`find_citations`: the sources that an answer cites, by numbers in its text or by what its message carries.

Three kinds are read: those of Anthropic's API to blocks of `as_search_results`, as ChatAnthropic returns them or as
LangChain's standard `Citation`; the standard ones that `cited_message` writes; and addresses, such as OpenAI's
``url_citation``. Whatever doesn't hold is dropped: a number out of range, a name or a text that isn't what stands
there. So a message can cite nothing but what it quotes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from langchain_core.documents import Document
from langchain_core.messages import AIMessage

from langchain_sentence_window._arguments import checked_documents
from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import Span, encodable
from langchain_sentence_window._validation import as_integer
from langchain_sentence_window.documents.keys import DOC_ID, END_INDEX, HEADING, LINES, PAGES, SENTENCES, START_INDEX
from langchain_sentence_window.documents.metadata_values import is_index
from langchain_sentence_window.documents.window_runs import lines_touched, read_span
from langchain_sentence_window.errors import InvalidInputError

from .citation_format import citation_marks, source_number, spliced
from .context import ResultBlock, search_results
from .conversation import checked_sources, named_sources, numbered
from .links import link_to
from .locations import SourceTexts, Stretch, describe_location, doc_id_of, source_address


@dataclass(frozen=True, slots=True)
class Citation:
    """A source that an answer cites.

    The first three fields are always set. The others belong to citations that name single sentences, as an API's do. A
    number such as ``[2]`` cites the whole source.

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
        verdict: How a quote agrees with the source, if a message of `cited_message` has it; else ``None``.
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
    verdict: str | None = None

    @property
    def url(self) -> str | None:
        """The address that opens the source at the place that is cited, by a text fragment, a page or lines.

        ``None`` if the source's metadata has no address of ``http``, ``https`` or ``file``.
        """
        return link_to(self.document, self.text, self.pages, self.lines)


def find_citations(answer: str | AIMessage, documents: Iterable[Document] | None = None) -> list[Citation]:
    """Find the sources that an answer cites.

    In a text, a citation is one or several numbers or ranges in square brackets, as models write them: ``[2]``,
    ``[1, 3]``, ``[1-3]``, ``[1 and 2]``, ``[Source 1]``, ``[^1]``, ``[1, p. 3]``. Full-width and lenticular brackets
    and any dash are read too. Code, links such as ``[3](address)``, brackets after a backslash, and numbers of no
    source are ignored.

    A message may carry citations of an API instead. Those that Anthropic's API makes for blocks of `as_search_results`
    are read, also from a stream whose chunks were added, and those that `cited_message` wrote. Then numbers in the text
    are ignored. A citation of an address, such as OpenAI's ``url_citation``, is read if exactly one source has that
    address. A citation is ignored if it names no source, or if its text isn't at the position that it names.

    A stream of ChatAnthropic without tools joins all text of an answer and keeps its citations apart, so their
    ``statement`` isn't known. With ``invoke`` and with tools, it is.

    Args:
        answer: The text that a model wrote, or its message.
        documents: The documents that `format_context` or `as_search_results` was given for it. Of a conversation, the
            documents of all search results that were sent, in their order, or what `shown_sources` returns. ``None``
            for a message that `cited_message` wrote, such as one of an earlier turn: its citations are returned as they
            are. Use ``None`` only for messages of your own program, because nothing is compared.

    Returns:
        Each source that the text cites once, in the order of first citation. Of a message that carries citations, each
        of these, in order.

    Raises:
        InvalidInputError: The answer is neither a string nor an AIMessage, or the documents aren't a list of Documents.
    """
    if documents is None:
        return list(_carried_citations(checked_answer(answer)))
    given = checked_documents(documents)
    sources = checked_sources(given)
    if isinstance(answer, str):
        return _citations_by_number(answer, sources)
    stretches, are_numbered = read_message_citations(checked_answer(answer), sources, given)
    found = [_make_citation(each, sources) for each in stretches]
    return found if are_numbered else [*_citations_by_number(message_text(answer), sources), *found]


def renumber_citations(answer: str, documents: Iterable[Document]) -> tuple[str, list[Document]]:
    """Number the sources that an answer cites 1, 2, 3, in the order in which it cites them.

    In a long conversation, numbers grow. This shows an answer with small ones.

    Args:
        answer: The text that a model wrote.
        documents: The sources that it may cite, such as what `shown_sources` returns. They aren't changed.

    Returns:
        The answer with other numbers, and the sources that it cites by these: the first is ``[1]``. Numbers of no
        source stay as they are.

    Raises:
        InvalidInputError: The answer isn't a string, or the documents aren't a list of Documents.
    """
    if not isinstance(answer, str):
        raise InvalidInputError(f"the answer is {shown(answer)}; give its text, such as message.text")
    sources = checked_sources(documents)
    new: dict[int, int] = {}
    changes: list[tuple[int, int, str]] = []
    for (start, end), ranges in citation_marks(answer):
        if numbers := [new.setdefault(number, len(new) + 1) for number in named_sources(ranges, sources)]:
            changes.append((start, end, source_number(", ".join(map(str, numbers)))))
    return spliced(answer, changes), [numbered(sources[old - 1], number) for old, number in new.items()]


def checked_answer(answer: object) -> AIMessage:
    """Return a message of a model.

    Raises:
        InvalidInputError: It isn't one.
    """
    if isinstance(answer, AIMessage):
        return answer
    raise InvalidInputError(f"the answer is {shown(answer)}; give its text, such as message.text, or the AIMessage")


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


def _citations_by_number(answer: str, sources: Sequence[Document]) -> list[Citation]:
    """Return a citation of each source whose number is in an answer."""
    ranges = (each for _, ranges in citation_marks(answer) for each in ranges)
    numbers = named_sources(ranges, sources)
    return [Citation(number, describe_location(sources[number - 1]), sources[number - 1]) for number in numbers]


def _make_citation(cited: CitedStretch, sources: Sequence[Document]) -> Citation:
    it, document = cited.stretch, sources[cited.number - 1]
    place = it.text, it.start, it.end, it.sentences, it.pages, it.lines
    return Citation(cited.number, it.location, document, *place, cited.statement)


NUMBER, LOCATION, SOURCE_START, SOURCE_END, VERDICT = "number", "location", "start", "end", "verdict"
"""Keys of a standard `Citation`'s extras, as `cited_message` writes them."""

_RESULT_INDEX = "search_result_index"


def message_text(message: AIMessage) -> str:
    """Return the text of a message: that of all its text blocks, as ``message.text``."""
    return "".join(text for text, _ in _text_blocks(message))


def read_message_citations(
    message: AIMessage, sources: Sequence[Document], sent: Sequence[Document]
) -> tuple[list[CitedStretch], bool]:
    """Read the citations that a message carries.

    Args:
        message: The message.
        sources: The sources that it may cite, by their numbers.
        sent: The same in the order in which they were sent, by which an API counts them.

    Returns:
        Those that hold, in order, each once; and whether the message carries citations of numbered sources, even if
        none of them holds.
    """
    known = _Sources(sources, sent)
    found: dict[CitedStretch, None] = {}
    are_numbered, at = False, 0
    for text, given in _text_blocks(message):
        for each in given:
            fields = _citation_fields(each)
            are_numbered = are_numbered or _RESULT_INDEX in fields or NUMBER in fields
            for number, stretch in known.stretches(fields):
                found[CitedStretch(number, stretch, _statement(fields, text, at))] = None
        at += len(text)
    return list(found), are_numbered


def _carried_citations(message: AIMessage) -> Iterator[Citation]:
    """Yield the citations that `cited_message` wrote into a message, with what they say of their sources.

    Those of another form are left out. Nothing is compared, as the sources aren't at hand.
    """
    at = 0
    for text, given in _text_blocks(message):
        for fields in map(_citation_fields, given):
            number, location, cited = as_integer(fields.get(NUMBER)), fields.get(LOCATION), fields.get("cited_text")
            if number is not None and isinstance(location, str) and isinstance(cited, str) and cited:
                document = Document(page_content=cited, metadata=_metadata_of(fields))
                start, end = (as_integer(fields.get(key)) for key in (SOURCE_START, SOURCE_END))
                sentences, pages = read_span(fields.get(SENTENCES)), fields.get(PAGES)
                known = tuple(pages) if isinstance(pages, list) and all(map(is_index, pages)) else ()
                place = cited, start, end, sentences, known, lines_touched(document)
                statement = _statement(fields, text, at)
                told = fields.get(VERDICT)
                verdict = told if isinstance(told, str) else None
                yield Citation(number, location, document, *place, statement, verdict)
        at += len(text)


def _metadata_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a cited text, as far as the citation says it."""
    named = {DOC_ID: DOC_ID, START_INDEX: SOURCE_START, END_INDEX: SOURCE_END, SENTENCES: SENTENCES, PAGES: PAGES}
    named |= {LINES: LINES, HEADING: HEADING, "title": "title", "url": "url"}
    found = {key: fields.get(name) for key, name in named.items()}
    return {key: value for key, value in found.items() if value is not None}


class _Sources:
    """Finds what a citation cites."""

    def __init__(self, documents: Sequence[Document], sent: Sequence[Document]) -> None:
        self._documents = documents
        self._sent = sent
        self._texts = SourceTexts(documents)

    @cached_property
    def _results(self) -> list[ResultBlock]:
        return search_results(self._sent)

    @cached_property
    def _by_address(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for number, document in enumerate(self._documents, 1):
            if address := source_address(document):
                found.setdefault(address, []).append(number)
        return found

    def stretches(self, fields: Mapping[str, Any]) -> Iterator[tuple[int, Stretch]]:
        """Yield the number and the stretch of each source that a citation cites and whose text it quotes rightly."""
        if _RESULT_INDEX in fields:
            yield from self._of_search_result(fields)
        elif NUMBER in fields:
            yield from self._of_number(fields)
        elif isinstance(address := fields.get("url"), str):
            yield from self._of_address(address, fields.get("cited_text"))

    def _of_search_result(self, fields: Mapping[str, Any]) -> Iterator[tuple[int, Stretch]]:
        index = as_integer(fields[_RESULT_INDEX])
        first, end = as_integer(fields.get("start_block_index")), as_integer(fields.get("end_block_index"))
        quoted = fields.get("cited_text")
        if index is None or not 0 <= index < len(self._results) or first is None or end is None:
            return
        result = self._results[index]
        names = ((fields.get("source"), result.source), (fields.get("title"), result.title))
        if not 0 <= first < end <= len(result.blocks) or any(one is not None and one != other for one, other in names):
            return
        if isinstance(quoted, str) and _without_space(quoted) == _without_space("".join(result.blocks[first:end])):
            for stretch in result.stretches(first, end):
                yield result.number, stretch

    def _of_number(self, fields: Mapping[str, Any]) -> Iterator[tuple[int, Stretch]]:
        number, quoted = as_integer(fields[NUMBER]), fields.get("cited_text")
        if number is None or not 0 < number <= len(self._documents) or not isinstance(quoted, str) or not quoted:
            return
        document = self._documents[number - 1]
        if fields.get(DOC_ID) != doc_id_of(document):
            return
        stretch = self._texts.placed(number, as_integer(fields.get(SOURCE_START)), quoted)
        if stretch is not None:
            yield number, stretch

    def _of_address(self, address: str, quoted: object) -> Iterator[tuple[int, Stretch]]:
        """Yield the one source that has an address, if the citation's text stands in it."""
        numbers = self._by_address.get(address, [])
        if len(numbers) == 1:
            text = self._documents[numbers[0] - 1].page_content if quoted is None else quoted
            stretch = self._texts.placed(numbers[0], None, text) if isinstance(text, str) else None
            if stretch is not None:
                yield numbers[0], stretch


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
    start, end = as_integer(fields.get(START_INDEX)), as_integer(fields.get(END_INDEX))
    if start is not None and end is not None and 0 <= start <= end <= len(text):
        return at + start, at + end
    # An API's citation is of all of its block. A stream that was joined from pieces may hold it apart from its text.
    is_known = text.strip() and NUMBER not in fields
    return (at + len(text) - len(text.lstrip()), at + len(text.rstrip())) if is_known else None


def _without_space(text: str) -> str:
    return "".join(encodable(text).split())
