"""Numbers of sources through a conversation: a passage keeps its number, and none is shown twice.

Each source that a model is shown has a number in its metadata. The messages of tools hold their sources as artifacts,
and an answer of a chain says the numbers of its sources in its metadata.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from typing import NamedTuple

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, ToolMessage

from langchain_sentence_window._arguments import checked_documents
from langchain_sentence_window._primitives import MAX_INDEX, Span
from langchain_sentence_window._validation import as_integer
from langchain_sentence_window.documents.keys import CITATION_NUMBER, SENTENCES
from langchain_sentence_window.documents.window_documents import window_slice
from langchain_sentence_window.documents.window_runs import source_span
from langchain_sentence_window.splitting.blocks import trim

from .citation_format import MergedSpans, numbers_once
from .locations import offsets_key, sentences_of, text_name

RECORD = "sentence_window_sources"
"""The key of an answer's metadata under which the numbers of its sources are."""

_DIGEST_CHARS = 16

MAX_SOURCES = 1_000
"""The most sources of a conversation that are known. Of more, the first ones are shown again, with new numbers."""


@dataclass(frozen=True, slots=True)
class NumberedSource:
    """A source of a conversation.

    Attributes:
        document: The source, with its number in its metadata.
        number: Its number, from 1.
        is_new: Whether no message of the conversation shows it.
    """

    document: Document
    number: int
    is_new: bool


class NumberSeries(NamedTuple):
    """The numbers that one of several agents or calls may give, so that they agree without asking each other.

    Attributes:
        first: The first of them.
        step: From one to the next. Several calls of one message each take every n-th number.
    """

    first: int = 1
    step: int = 1

    def after(self, number: int) -> "NumberSeries":
        """Return the rest of the series, above a number."""
        steps = max(0, -((self.first - number - 1) // self.step))
        return NumberSeries(self.first + steps * self.step, self.step)

    def share(self, position: int, count: int) -> "NumberSeries":
        """Return the part of one of several that share the series.

        Args:
            position: Which one, from 0.
            count: How many there are.
        """
        return NumberSeries(self.first + position * self.step, self.step * count)


ALL_NUMBERS = NumberSeries()


class Conversation:
    """The sources that a model was shown in one conversation."""

    def __init__(
        self,
        sources: Iterable[Document] = (),
        *,
        passages: Mapping[str, int] | None = None,
        shown: Iterable[int] = (),
        series: NumberSeries = ALL_NUMBERS,
        concurrent: MutableMapping[str, int] | None = None,
    ) -> None:
        """Take the sources that are known.

        Args:
            sources: Sources that were found, with their numbers in their metadata. Others are ignored.
            passages: Numbers of sources whose text isn't known, by their `passage_digest`.
            shown: Numbers of sources that the model can read. Other known ones are shown again.
            series: The numbers to give, of which those are left out that known ones exceed.
            concurrent: The numbers that concurrent calls have given, by `passage_digest`. Those given here are added.
        """
        self._shown = set(shown)
        self._known: OrderedDict[int, tuple[str, Span, str]] = OrderedDict()  # key, span and text by number
        self._begun: dict[tuple[str, int], str] = {}
        self._passages = dict(passages or {})
        self._concurrent = concurrent
        self._taken = set((concurrent or {}).values())
        self._highest = max(self._passages.values(), default=0)
        for source in sources:
            if (number := number_of(source)) is not None:
                self._remember(number, source)
        self._series = series.after(self._highest)

    def add(self, documents: Iterable[Document], *, whole: bool = False) -> list[NumberedSource]:
        """Number sources that are to be shown.

        Args:
            documents: The sources, in order. They aren't changed.
            whole: Whether all of each source is shown, regardless of what the conversation has shown before.

        Returns:
            The sources. One whose text is in a known source has the number of that source. One that
            overlaps others is cut into what is known, with their numbers, and what is new.
        """
        return [source for document in documents for source in self._added(document, whole=whole)]

    def _added(self, document: Document, *, whole: bool) -> list[NumberedSource]:
        (key, (start, end)), text = self._key(document), document.page_content
        known = self._given_to(document)
        if known is not None and known in self._known and self._known[known][2] != text:
            known = None  # given in another branch of the conversation
        overlaps: list[tuple[Span, int]] = []
        for number, (other, span, known_text) in self._known.items():
            low, high = max(start, span[0]), min(end, span[1])
            is_same = other == key and low < high
            # A document that was changed since isn't the same text in the same place.
            if is_same and known_text[low - span[0] : high - span[0]] == text[low - start : high - start]:
                overlaps.append(((low, high), number))
                known = number if known is None and (low, high) == (start, end) else known
        if known is not None or whole or not overlaps:
            return [self._source(document, known, is_new=whole)]
        shown = MergedSpans()
        for span, _ in overlaps:
            shown.add(span)
        new: list[tuple[Span, int | None]] = [(span, None) for span in shown.add((start, end))]
        found = sorted([*new, *overlaps], key=lambda each: each[0])
        return [
            self._source(_slice_source(document, low - start, high - start), number)
            for (low, high), number in found
            if text[low - start : high - start].strip()
        ]

    def _source(self, document: Document, known: int | None, *, is_new: bool = False) -> NumberedSource:
        number = self._next_number() if known is None else known
        source = numbered(document, number)
        if number not in self._known:
            self._remember(number, source)
        if self._concurrent is not None:
            self._concurrent.setdefault(passage_digest(document), number)
        # A new passage is shown, even if some text pretends to be a source with its number.
        is_new = is_new or known is None or number not in self._shown
        self._shown.add(number)
        return NumberedSource(source, number, is_new)

    def _given_to(self, document: Document) -> int | None:
        """Return the number of a passage by its digest; ``None`` if it isn't known."""
        if not self._passages and not self._concurrent:
            return None
        digest = passage_digest(document)
        return self._passages.get(digest, (self._concurrent or {}).get(digest))

    def _next_number(self) -> int:
        """Take the next number that no concurrent call has given."""
        while True:
            number = self._series.first
            self._series = self._series.after(number)
            if number not in self._taken:
                return number

    def _remember(self, number: int, document: Document) -> None:
        key, span = self._key(document)
        self._known.setdefault(number, (key, span, document.page_content))
        self._highest = max(self._highest, number)
        if len(self._known) > MAX_SOURCES:
            self._known.popitem(last=False)

    def _key(self, document: Document) -> tuple[str, Span]:
        span = source_span(document)
        if span is None:
            return f"text {document.page_content}", (0, len(document.page_content))
        return offsets_key(document, span[0], self._begun), span


def shown_sources(messages: Iterable[object]) -> list[Document]:
    """Return the sources that a model was shown in a conversation, for `find_citations` and the like.

    Args:
        messages: The messages of the conversation, such as ``state["messages"]`` of an agent with the tools of
            `create_tools`. Messages without sources are ignored.

    Returns:
        The sources in order, each with its number in its metadata as ``citation_number``; each number once.
    """
    artifacts = [message.artifact for message in messages if isinstance(message, ToolMessage)]
    return merge_sources(*(each for each in artifacts if isinstance(each, list | tuple)))


def merge_sources(*several: Iterable[object]) -> list[Document]:
    """Return the sources of several lists that have a number, each number once, in the order of their first places.

    Of several sources with one number, such as a passage and a part of it that was shown again, the longest counts.
    """
    found: dict[int, Document] = {}
    for source in map(_as_document, chain.from_iterable(several)):
        number = None if source is None else number_of(source)
        if number is None or source is None:
            continue
        if number not in found or len(source.page_content) > len(found[number].page_content):
            found[number] = source
    return list(found.values())


def _as_document(given: object) -> Document | None:
    """Return a value as a Document, also if a LangGraph checkpoint has turned it into a mapping; else ``None``."""
    if isinstance(given, Mapping) and given.get("type") == "Document":
        try:
            return Document.model_validate(given)
        except ValueError:
            return None
    return given if isinstance(given, Document) else None


def passage_digest(document: Document) -> str:
    """Return a digest of a passage's document, place and text, which identifies it."""
    name = repr((text_name(document), source_span(document), document.page_content))
    return sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]


def numbers_of(documents: Sequence[Document]) -> list[int]:
    """Return the numbers of sources: their own if all have one, else they are counted from 1."""
    own = [number for number in map(number_of, documents) if number is not None]
    return own if len(own) == len(documents) else list(range(1, len(documents) + 1))


NO_SOURCE = Document(page_content="")
"""Fills the place of a number that no source has."""

_MAX_NUMBER = 100_000


def checked_sources(documents: Iterable[Document]) -> list[Document]:
    """Return sources by their numbers: the first is the one with the number 1, or `NO_SOURCE`.

    Of several sources with one number, the first counts.

    Raises:
        InvalidInputError: They aren't a list of Documents.
    """
    given = checked_documents(documents)
    numbers = numbers_of(given)
    if max(numbers, default=0) > _MAX_NUMBER or numbers == list(range(1, len(given) + 1)):
        return given
    found = [NO_SOURCE] * max(numbers)
    for number, document in zip(numbers, given, strict=True):
        found[number - 1] = document if found[number - 1] is NO_SOURCE else found[number - 1]
    return found


def named_sources(ranges: Iterable[Span], sources: Sequence[Document]) -> Iterator[int]:
    """Yield the numbers of the ranges that name one of the sources, each once, in the order of the ranges."""
    return (number for number in numbers_once(ranges, len(sources)) if sources[number - 1] is not NO_SOURCE)


def record_sources(message: AIMessage, documents: Iterable[Document]) -> AIMessage:
    """Return an answer that says the numbers that its sources have, in metadata that no model is sent."""
    numbers = {passage_digest(each): number for each in documents if (number := number_of(each)) is not None}
    if not numbers:
        return message
    return message.model_copy(update={"response_metadata": {**message.response_metadata, RECORD: numbers}})


def recorded_sources(messages: Iterable[object]) -> dict[str, int]:
    """Return the numbers that the answers among some messages say, by `passage_digest`."""
    found: dict[str, int] = {}
    for message in messages:
        record = message.response_metadata.get(RECORD) if isinstance(message, AIMessage) else None
        for passage, given in record.items() if isinstance(record, Mapping) else ():
            number = as_integer(given)
            if isinstance(passage, str) and number is not None and 0 < number < MAX_INDEX:
                found.setdefault(passage, number)
    return found


def _slice_source(document: Document, low: int, high: int) -> Document:
    """Return a stretch of a source, without the white space around it, as a source that says its sentences."""
    low, high = trim(document.page_content, low, high)
    part, sentences = window_slice(document, low, high), sentences_of(document).numbers(low, high)
    if sentences is None:
        return part
    return part.model_copy(update={"metadata": {**part.metadata, SENTENCES: list(sentences)}})


def numbered(document: Document, number: int) -> Document:
    """Return a copy of a source with a number in its metadata."""
    return document.model_copy(update={"metadata": {**document.metadata, CITATION_NUMBER: number}})


def number_of(document: Document) -> int | None:
    """Return the number of a source in its conversation; ``None`` if it has none."""
    number = as_integer(document.metadata.get(CITATION_NUMBER))
    return number if number is not None and number > 0 else None
