"""`cited_message`: an answer as a message with LangChain's standard `Citation` blocks, which any interface can show.

A citation belongs to the statement before it, see `cited_statements`.
"""

import re
import uuid
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any, NamedTuple

from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from langchain_core.messages.content import Annotation, TextContentBlock
from langchain_core.messages.content import Citation as CitationBlock

from langchain_sentence_window._arguments import checked_documents
from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import Span, encodable
from langchain_sentence_window._validation import as_integer, checked_list
from langchain_sentence_window.documents import keys
from langchain_sentence_window.errors import InvalidInputError

from .citation_format import citation_marks, spliced
from .citations import (
    LOCATION,
    NUMBER,
    SOURCE_END,
    SOURCE_START,
    VERDICT,
    CitedStretch,
    checked_answer,
    message_text,
    read_message_citations,
)
from .conversation import checked_sources, named_sources
from .links import link_to
from .locations import SourceTexts, Stretch, doc_id_of, document_title
from .quoted_answer import UNVERIFIED
from .quotes.answer_quotes import sentences_in
from .quotes.verification import QuotedPlace, VerifiedQuote

MARK = "mark"

_NAMESPACE = uuid.UUID("5d0b1c1e-6d0c-5c0e-8a53-2b1f5f1a7c49")


def cited_message(
    answer: str | AIMessage, windows: Iterable[Document], *, quotes: Sequence[VerifiedQuote] = ()
) -> AIMessage:
    """Write an answer as a message whose text carries its citations, as LangChain's standard content blocks.

    The message has one text block, so its ``text`` is the answer, and positions in its ``annotations`` count in the
    answer. `citation_blocks` returns these annotations. The message can be serialized, and `find_citations` reads it.
    Chat models get only its text, except OpenAI's Responses API, which also gets the annotations: send ``message.text``
    instead.

    Args:
        answer: The text that a model wrote, with citations such as ``[2]``, or its message, with citations of an API.
            The text, the id, the name and the usage of a message are kept.
        windows: The windows that the answer may cite, in the order of their numbers.
        quotes: The result of `verify_quotes` for the answer, to cite the quoted words.

    Raises:
        InvalidInputError: The answer is neither a string nor an AIMessage, or the windows or the quotes aren't what
            they must be.
    """
    blocks = citation_blocks(answer, windows, quotes=quotes)
    text: TextContentBlock = {"type": "text", "text": _answer_text(answer), "annotations": list[Annotation](blocks)}
    if isinstance(answer, str):
        return AIMessage(content_blocks=[text])
    return AIMessage(
        content_blocks=[text], id=answer.id, name=answer.name, usage_metadata=deepcopy(answer.usage_metadata)
    )


def citation_blocks(
    answer: str | AIMessage, windows: Iterable[Document], *, quotes: Sequence[VerifiedQuote] = ()
) -> list[CitationBlock]:
    """Return the citations of an answer as LangChain's standard `Citation` blocks.

    A chain that streams an answer can attach them at its end.

    Args:
        answer: See `cited_message`.
        windows: See `cited_message`.
        quotes: See `cited_message`.

    Returns:
        A block for each source that a citation names, in the order of the answer:

        - ``start_index`` and ``end_index`` are the statement that the citation belongs to: the text before it, from the
          beginning of its sentence or the last citation in it. See `cited_statements` for citations in other places.
          For an API's citation, it is the text that the API names.
        - ``cited_text`` is text of the source, character for character: the quote, if it was found there, or the
          sentences that an API cites. Otherwise it is the source's text or, above `MAX_EXCERPT_CHARS` characters, as
          many whole sentences around the best hit.
        - ``title`` is the title of the document, or its name. ``url`` is its address, if its metadata has one.
        - ``id`` is the same whenever the same is cited.
        - ``extras`` has the ``number`` of the source, its ``location`` (see `describe_location`), and as far as they
          are known ``doc_id``; ``start`` and ``end`` of the text in the document; ``sentences``, the index of the first
          and the last; ``pages``, from 0; ``lines``, the first and the last, from 1; and ``heading``. ``mark`` is the
          span of the ``[n]`` in the answer, and ``verdict`` that of the quote. If the quotation isn't in the source,
          the verdict is there with the source's own text. For a paraphrase, the verdict is there with the most similar
          sentence.

    Raises:
        InvalidInputError: See `cited_message`.
    """
    given, checked = checked_documents(windows), _checked_quotes(quotes)
    sources = checked_sources(given)
    text = _answer_text(answer)
    if isinstance(answer, AIMessage):
        stretches, are_numbered = read_message_citations(answer, sources, given)
        found = [_citation_block(_answer_uuid(text), each, sources) for each in stretches]
        return found if are_numbered else [*_of_text(text, sources, checked), *found]
    return _of_text(text, sources, checked)


_UNVERIFIED = f" {UNVERIFIED}"
_END_OF_QUOTE = re.compile(
    r"(?:\s?[\"'\u00bb\u00ab\u2018-\u201f\u300d\u300f]|[*_])*"
    r"(?:[.!?]?(?:[\s,;&]*(?:and\s+)?\[[^\]\n]{1,40}\](?<!\[unverified\]))+)?"
)
"""Closing quotation marks and emphasis after a quotation, and its citations."""


def with_marks(
    text: str, failed: Iterable[VerifiedQuote], blocks: Sequence[CitationBlock]
) -> tuple[str, list[CitationBlock]]:
    """Put marks after quotes that failed, and move the spans of citations accordingly."""
    found = {_end_of(text, quote) for quote in failed}
    ends = sorted(end for end in found if not text.startswith(_UNVERIFIED, end))

    def moved(start: int, end: int) -> list[int]:
        # A mark at the end of a span isn't a part of it.
        return [start + len(_UNVERIFIED) * bisect_right(ends, start), end + len(_UNVERIFIED) * bisect_left(ends, end)]

    def shifted(block: Any) -> Any:
        extras = block["extras"]
        if MARK in extras:
            extras = {**extras, MARK: moved(*extras[MARK])}
        start, end = moved(block[keys.START_INDEX], block[keys.END_INDEX])
        return {**block, keys.START_INDEX: start, keys.END_INDEX: end, "extras": extras}

    return spliced(text, ((end, end, _UNVERIFIED) for end in ends)), list(map(shifted, blocks))


def _end_of(text: str, quote: VerifiedQuote) -> int:
    """Return where a quote ends with its citations, before the full stop of a sentence."""
    match = _END_OF_QUOTE.match(text, quote.end)
    end = match.end() if match else quote.end
    return end - (quote.kind == "claim" and end == quote.end and text[end - 1] in ".!?\u3002\uff01\uff1f")


class CitationMark(NamedTuple):
    """A citation in an answer.

    Attributes:
        start: The code point of its opening bracket.
        end: One past its closing bracket.
        numbers: The sources that it cites, from 1, each once.
    """

    start: int
    end: int
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CitedStatement:
    """A statement of an answer, and one of the citations that follow it.

    Attributes:
        start: Its first code point in the answer.
        end: One past its last code point, without the citation.
        region: Where a quote stands that the citation is of: from the region of the last citation to this one or, if
            no other follows in the sentence, to the end of that.
        mark: The citation.
    """

    start: int
    end: int
    region: Span
    mark: CitationMark


def _answer_text(answer: object) -> str:
    return answer if isinstance(answer, str) else message_text(checked_answer(answer))


def _checked_quotes(quotes: object) -> list[VerifiedQuote]:
    found: list[Any] = checked_list("quotes", quotes)
    needed = (keys.KIND, "start", "end", "cited", "verdict", "places")
    for position, quote in enumerate(found):
        if not all(hasattr(quote, name) for name in needed):
            raise InvalidInputError(f"quotes[{position}] is {shown(quote)}; give what verify_quotes returns")
    return found


def _of_text(answer: str, sources: Sequence[Document], quotes: Sequence[VerifiedQuote]) -> list[CitationBlock]:
    texts, key = SourceTexts(sources), _answer_uuid(answer)
    quotes = sorted(quotes, key=lambda quote: quote.start)
    starts = [quote.start for quote in quotes]
    blocks: dict[str, CitationBlock] = {}
    for cited in cited_statements(answer, sources):
        inside = quotes[bisect_left(starts, cited.region[0]) : bisect_left(starts, cited.region[1])]
        for number in cited.mark.numbers:
            for stretch, quote in _evidence(number, texts, [each for each in inside if number in each.cited]):
                said = CitedStretch(number, stretch, (cited.start, cited.end))
                more = {MARK: [cited.mark.start, cited.mark.end]}
                block = _citation_block(
                    key, said, sources, more if quote is None else more | {VERDICT: str(quote.verdict)}
                )
                blocks[str(block.get("id"))] = block
    return list(blocks.values())


def _evidence(
    number: int, texts: SourceTexts, quotes: Sequence[VerifiedQuote]
) -> Iterator[tuple[Stretch, VerifiedQuote | None]]:
    """Yield what a citation cites of a source: where quotes stand in it, and an excerpt for a wrong quote or none."""
    is_told = False
    for quote in quotes:
        placed = [stretch for place in quote.places if place.number == number and (stretch := _standing(place, texts))]
        yield from ((stretch, quote) for stretch in placed)
        is_said = _is_wrong(quote) or quote.verdict in ("paraphrase", "supported", "unsupported")
        if not placed and is_said:
            yield _closest(number, texts, quote) or texts.excerpt(number), quote
        is_told = is_told or bool(placed) or is_said
    if not is_told:
        yield texts.excerpt(number), None


_LIKELY = 0.5
"""How alike a claim and a sentence must be for the sentence to be cited for it."""


def _closest(number: int, texts: SourceTexts, quote: VerifiedQuote) -> Stretch | None:
    """Return the sentence of a source that a claim is likely of; ``None`` if there is none."""
    closest = quote.closest if (quote.similarity or 0) >= _LIKELY else None
    return _standing(closest, texts) if closest and closest.number == number else None


def _standing(place: QuotedPlace, texts: SourceTexts) -> Stretch | None:
    """Return a quotation's place as a stretch of its source; ``None`` if its text doesn't stand there."""
    own = texts.own(place.number, place.own, place.text) if place.own and place.start is None else None
    return own or texts.placed(place.number, as_integer(place.start), place.text)


def _is_wrong(quote: VerifiedQuote) -> bool:
    """Return whether a quote isn't in the sources that it cites; a claim need not be there word for word."""
    return quote.verdict == "misattributed" or (quote.verdict == "not_found" and quote.kind != "claim")


def _citation_block(
    key: uuid.UUID, cited: CitedStretch, sources: Sequence[Document], more: Mapping[str, Any] | None = None
) -> CitationBlock:
    document, stretch = sources[cited.number - 1], cited.stretch
    heading = document.metadata.get(keys.HEADING)
    known = {
        keys.DOC_ID: doc_id_of(document),
        SOURCE_START: stretch.start,
        SOURCE_END: stretch.end,
        keys.SENTENCES: None if stretch.sentences is None else list(stretch.sentences),
        keys.PAGES: list(stretch.pages) or None,
        keys.LINES: list(stretch.lines) or None,
        keys.HEADING: heading if isinstance(heading, str) and heading else None,
    }
    extras = {NUMBER: cited.number, LOCATION: stretch.location, **known, **(more or {})}
    block: CitationBlock = {
        "type": "citation",
        "id": _id(key, cited, more),
        "title": document_title(document),
        "cited_text": stretch.text,
        "extras": {key: value for key, value in extras.items() if value is not None},
    }
    if address := link_to(document, stretch.text, stretch.pages, stretch.lines):
        block["url"] = address
    if cited.statement is not None:
        start, end = cited.statement
        return {**block, keys.START_INDEX: start, keys.END_INDEX: end}  # type: ignore[misc]
    return block


def _answer_uuid(answer: str) -> uuid.UUID:
    """Return what the ids of an answer's citations are made of."""
    return uuid.uuid5(_NAMESPACE, encodable(answer))


def _id(key: uuid.UUID, cited: CitedStretch, more: Mapping[str, Any] | None) -> str:
    """Return an id that is the same for the same citation of the same answer."""
    stretch = cited.stretch
    what = (cited.number, cited.statement, stretch.start, stretch.text, stretch.location, more)
    return str(uuid.uuid5(key, encodable(repr(what))))


MAX_NUMBERS = 100
"""The most sources that one citation cites. Nobody checks more, and an answer could repeat them on every line."""

_MAX_OPENING_CHARS = 100
_BETWEEN_MARKS = re.compile(r"[\s,;&\uff0c\uff1b\u3001]*(?:and\b\s*)?", re.IGNORECASE)
_LIST_MARK = re.compile(r"(?:[\s,;:.!?|]|[-*+>#\u2022\u2013\u2014]+(?=\s)|\d{1,3}[.)](?=\s))*+(?:(?:and|but)\b\s*)?+")
_ATTRIBUTING = frozenset(
    ["according", "as", "both", "by", "cf", "document", "from", "in", "per", "see", "source", "to"]
)
"""Words of which some may stand before a citation that the statement follows, as in "According to [1], it is so"."""


def cited_statements(answer: str, sources: Sequence[Document]) -> list[CitedStatement]:
    """Return the statement that each citation of an answer belongs to.

    It is what stands before the citation, from the last citation in the same sentence, or the beginning of the
    sentence. Citations with nothing between them share a statement. One at the beginning of a sentence, or after
    nothing but words such as "according to", belongs to what follows, up to the next citation or the end of the
    sentence. One that stands alone belongs to the sentence before it, or, if there is none, to itself.

    Args:
        answer: The text of the answer.
        sources: The sources by their numbers. Other numbers aren't citations.

    Returns:
        One for each citation, in order.
    """
    groups = _group_marks(answer, list(_source_marks(answer, sources)))
    if not groups:
        return []
    sentences = sentences_in(answer)
    starts = [start for start, _ in sentences]
    edges = [0, *(group[-1].end for group in groups)]
    next_marks = [*(group[0].start for group in groups[1:]), len(answer)]
    found: list[CitedStatement] = []
    region = (0, 0)
    for group, before, following in zip(groups, edges, next_marks, strict=False):
        first, last = group[0].start, group[-1].end
        place = bisect_right(starts, first) - 1
        sentence = sentences[place] if place >= 0 else (0, first)
        start, end = max(before, sentence[0]), first
        rest = (last, max(last, min(following, sentence[1])))
        is_last = following >= sentence[1]
        if _is_opening(answer, sentence[0], first) and _has_words(answer[slice(*rest)]):
            start, end = rest
        elif not _has_words(answer[start:end]):
            start, end = sentences[place - 1] if place > 0 and sentences[place - 1][0] >= before else (first, last)
        low, high = _trim_statement(answer, start, end)
        region = (region[1], max(high, rest[1] if is_last else first))
        found += [CitedStatement(low, high, region, mark) for mark in group]
    return found


def _source_marks(answer: str, sources: Sequence[Document]) -> Iterator[CitationMark]:
    """Yield the citations that name one of the sources."""
    for (start, end), given in citation_marks(answer):
        if numbers := tuple(islice(named_sources(given, sources), MAX_NUMBERS)):
            yield CitationMark(start, end, numbers)


def _group_marks(answer: str, marks: Sequence[CitationMark]) -> list[list[CitationMark]]:
    """Group citations with nothing but commas between them."""
    groups = [[mark] for mark in marks[:1]]
    for one, two in pairwise(marks):
        between = answer[one.end : two.start]
        if "\n\n" not in between and _BETWEEN_MARKS.fullmatch(between):
            groups[-1].append(two)
        else:
            groups.append([two])
    return groups


def _is_opening(answer: str, start: int, end: int) -> bool:
    """Return whether the beginning of a sentence says nothing but where the rest of it is from."""
    if end - start > _MAX_OPENING_CHARS:
        return False
    return all(word.lower() in _ATTRIBUTING for word in re.findall(r"\w+", answer[start:end]))


def _has_words(text: str) -> bool:
    return any(map(str.isalnum, text))


def _trim_statement(answer: str, start: int, end: int) -> Span:
    """Return a span without white space around it, and without the marks of a list or a clause before it."""
    opening = _LIST_MARK.match(answer, start, end)
    low = opening.end() if opening and _has_words(answer[opening.end() : end]) else start
    text = answer[low:end]
    return low + len(text) - len(text.lstrip()), max(low, low + len(text.rstrip()))
