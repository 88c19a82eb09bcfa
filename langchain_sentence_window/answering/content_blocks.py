"""`cited_message`: an answer as a message with LangChain's standard `Citation` blocks, which any interface can show.

A citation belongs to the statement before it, see `cited_statements`.
"""

import re
import uuid
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

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
from .citations import CitedStretch, answer_text, read_message_citations
from .conversation import checked_sources, named_sources
from .links import link_to
from .locations import SourceTexts, Stretch, doc_id_of, document_title
from .quoted_answer import UNVERIFIED
from .quotes.answer_quotes import sentences_in
from .quotes.verification import QuotedPlace, VerifiedQuote

NUMBER, LOCATION, SOURCE_START, SOURCE_END, MARK, VERDICT = "number", "location", "start", "end", "mark", "verdict"
"""Keys of a citation's ``extras``."""

_NAMESPACE = uuid.UUID("5d0b1c1e-6d0c-5c0e-8a53-2b1f5f1a7c49")


def cited_message(
    answer: str | AIMessage, windows: Iterable[Document], *, quotes: Sequence[VerifiedQuote] = ()
) -> AIMessage:
    """Write an answer as a message whose text carries its citations, as LangChain's standard content blocks.

    The message has one text block, so its ``text`` is the answer, and positions in its ``annotations`` count in the
    answer. `citation_blocks` returns these annotations. The message can be serialized.
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
    text: TextContentBlock = {"type": "text", "text": answer_text(answer), "annotations": list[Annotation](blocks)}
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
    text = answer_text(answer)
    key = uuid.uuid5(_NAMESPACE, encodable(text))
    cited = read_message_citations(answer, given) if isinstance(answer, AIMessage) else None
    if cited is not None:
        return [_citation_block(key, each, sources) for each in cited]
    blocks: dict[str, CitationBlock] = {}
    for each, extras in _cited_in_text(text, sources, checked):
        block = _citation_block(key, each, sources, extras)
        blocks[str(block.get("id"))] = block
    return list(blocks.values())


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


@dataclass(frozen=True, slots=True)
class CitedStatement:
    """A statement of an answer, and one of the citations that follow it.

    Attributes:
        start: Its first code point in the answer.
        end: One past its last code point, without the citation.
        region: The span whose quotes the citation belongs to: from the region of the last citation to this one or, if
            no other follows in the sentence, to the end of that.
        mark: The span of the citation.
        numbers: The sources that it cites, from 1, each once.
    """

    start: int
    end: int
    region: Span
    mark: Span
    numbers: tuple[int, ...]


def _checked_quotes(quotes: object) -> list[VerifiedQuote]:
    found: list[Any] = checked_list("quotes", quotes)
    for position, quote in enumerate(found):
        if not isinstance(quote, VerifiedQuote):
            raise InvalidInputError(f"quotes[{position}] is {shown(quote)}; give what verify_quotes returns")
    return found


def _cited_in_text(
    answer: str, sources: Sequence[Document], quotes: Sequence[VerifiedQuote]
) -> Iterator[tuple[CitedStretch, dict[str, Any]]]:
    """Yield what the numbers in an answer cite, and further extras of the citation."""
    texts = SourceTexts(sources)
    quotes = sorted(quotes, key=lambda quote: quote.start)
    starts = [quote.start for quote in quotes]
    for cited in cited_statements(answer, sources):
        inside = quotes[bisect_left(starts, cited.region[0]) : bisect_left(starts, cited.region[1])]
        for number in cited.numbers:
            for stretch, quote in _evidence(number, texts, [each for each in inside if number in each.cited]):
                verdict = None if quote is None else str(quote.verdict)
                extras = {MARK: list(cited.mark), VERDICT: verdict}
                yield CitedStretch(number, stretch, (cited.start, cited.end)), extras


def _evidence(
    number: int, texts: SourceTexts, quotes: Sequence[VerifiedQuote]
) -> Iterator[tuple[Stretch, VerifiedQuote | None]]:
    """Yield what a citation cites of a source: the places of its quotes, or an excerpt if it has none there."""
    is_cited = False
    for quote in quotes:
        placed = [stretch for place in quote.places if place.number == number and (stretch := _placed(place, texts))]
        yield from ((stretch, quote) for stretch in placed)
        # A claim needn't be in the source word for word.
        is_wrong = quote.verdict == "misattributed" or (quote.verdict == "not_found" and quote.kind != "claim")
        if not placed and (is_wrong or quote.verdict in ("paraphrase", "supported", "unsupported")):
            yield _closest(number, texts, quote) or texts.excerpt(number), quote
            is_cited = True
        is_cited = is_cited or bool(placed)
    if not is_cited:
        yield texts.excerpt(number), None


_LIKELY = 0.5
"""How alike a claim and a sentence must be for the sentence to be cited for it."""


def _closest(number: int, texts: SourceTexts, quote: VerifiedQuote) -> Stretch | None:
    """Return the sentence of a source that a claim is likely of; ``None`` if there is none."""
    closest = quote.closest if (quote.similarity or 0) >= _LIKELY else None
    return _placed(closest, texts) if closest and closest.number == number else None


def _placed(place: QuotedPlace, texts: SourceTexts) -> Stretch | None:
    """Return the place of a quotation as a stretch of its source; ``None`` if the text there is another one."""
    own = texts.own(place.number, place.own, place.text) if place.own and place.start is None else None
    return own or texts.placed(place.number, as_integer(place.start), place.text)


def _citation_block(
    key: uuid.UUID, cited: CitedStretch, sources: Sequence[Document], extras: Mapping[str, Any] | None = None
) -> CitationBlock:
    document, stretch = sources[cited.number - 1], cited.stretch
    heading = document.metadata.get(keys.HEADING)
    known = {
        NUMBER: cited.number,
        LOCATION: stretch.location,
        keys.DOC_ID: doc_id_of(document),
        SOURCE_START: stretch.start,
        SOURCE_END: stretch.end,
        keys.SENTENCES: None if stretch.sentences is None else list(stretch.sentences),
        keys.PAGES: list(stretch.pages) or None,
        keys.LINES: list(stretch.lines) or None,
        keys.HEADING: heading if isinstance(heading, str) and heading else None,
        **(extras or {}),
    }
    start, end = cited.statement or (None, None)
    fields = {
        "title": document_title(document),
        "cited_text": stretch.text,
        "extras": {name: value for name, value in known.items() if value is not None},
        "url": link_to(document, stretch.text, stretch.pages, stretch.lines),
        keys.START_INDEX: start,
        keys.END_INDEX: end,
    }
    # The same citation of the same answer has the same id.
    block = {"type": "citation", "id": str(uuid.uuid5(key, encodable(repr(fields))))}
    return cast("CitationBlock", block | {name: value for name, value in fields.items() if value is not None})


MAX_NUMBERS = 100
"""The most sources that one citation cites, as an answer could repeat a long range on every line."""

_MAX_OPENING_CHARS = 100
_BETWEEN_MARKS = re.compile(r"[\s,;&\uff0c\uff1b\u3001]*(?:and\b\s*)?", re.IGNORECASE)
_LIST_MARK = re.compile(r"(?:[\s,;:.!?|]|[-*+>#\u2022\u2013\u2014]+(?=\s)|\d{1,3}[.)](?=\s))*+(?:(?:and|but)\b\s*)?+")
_ATTRIBUTING = frozenset(
    ["according", "as", "both", "by", "cf", "document", "from", "in", "per", "see", "source", "to"]
)
"""Words that may precede a citation whose statement follows it, as in "According to [1], it is so"."""


def cited_statements(answer: str, sources: Sequence[Document]) -> list[CitedStatement]:
    """Return the statement that each citation of an answer belongs to.

    It is the text before the citation, from the last citation in the same sentence, or the beginning of the sentence.
    Citations with nothing between them share a statement. One at the beginning of a sentence, or after nothing but
    words such as "according to", belongs to what follows, up to the next citation or the end of the sentence. One
    without other text belongs to the sentence before it or, if there is none, to itself.

    Args:
        answer: The text of the answer.
        sources: The sources by their numbers. Other numbers aren't citations.

    Returns:
        One for each citation, in order.
    """
    groups = _group_marks(answer, sources)
    if not groups:
        return []
    sentences = sentences_in(answer)
    starts = [start for start, _ in sentences]
    edges = [0, *(group[-1][0][1] for group in groups)]
    next_marks = [*(group[0][0][0] for group in groups[1:]), len(answer)]
    found: list[CitedStatement] = []
    region = (0, 0)
    for group, before, following in zip(groups, edges, next_marks, strict=False):
        (first, _), (_, last) = group[0][0], group[-1][0]
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
        found += [CitedStatement(low, high, region, mark, numbers) for mark, numbers in group]
    return found


def _group_marks(answer: str, sources: Sequence[Document]) -> list[list[tuple[Span, tuple[int, ...]]]]:
    """Return the citations that name sources, each with its numbers; those with only commas between them together."""
    groups: list[list[tuple[Span, tuple[int, ...]]]] = []
    for mark, ranges in citation_marks(answer):
        numbers = tuple(islice(named_sources(ranges, sources), MAX_NUMBERS))
        if not numbers:
            continue
        between = answer[groups[-1][-1][0][1] : mark[0]] if groups else "\n\n"
        if "\n\n" not in between and _BETWEEN_MARKS.fullmatch(between):
            groups[-1].append((mark, numbers))
        else:
            groups.append([(mark, numbers)])
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
