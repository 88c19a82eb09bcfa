"""`verify_quotes`: the quotations and cited claims of an answer, compared with its sources: a verdict for each."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Literal, TypeAlias

from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import UNSPACED, Span
from langchain_sentence_window._validation import as_integer, checked_flag
from langchain_sentence_window.answering.citation_format import MARKS, looks
from langchain_sentence_window.answering.conversation import checked_sources, named_sources
from langchain_sentence_window.answering.locations import describe_location, doc_id_of, sentence_spans_of, sentences_of
from langchain_sentence_window.documents.keys import END_INDEX, PAGE_LABELS, PAGES, PARTS, START_INDEX
from langchain_sentence_window.documents.window_documents import narrowed_window, window_slice
from langchain_sentence_window.documents.window_runs import lines_touched, pages_touched, read_span, source_span
from langchain_sentence_window.errors import InvalidInputError

from .answer_quotes import AnswerQuote, Cited, find_quoted, quotes_in
from .normalized_text import is_unspaced, plain_text, turns
from .quote_search import Found, InOrder, Source, Wanted, find_in, find_in_order, pieces_of, quote_source, touching
from .stitching import Stitching

Verdict: TypeAlias = Literal[
    "verbatim", "normalized", "stitched", "misattributed", "paraphrase", "supported", "unsupported", "not_found"
]
"""How a quotation agrees with the sources, see `VerifiedQuote`."""


@dataclass(frozen=True, slots=True)
class QuotedPlace:
    """The place of a quotation, or of a piece of one.

    Attributes:
        number: The number of the source, from 1.
        document: The source, a window.
        doc_id: The document that the window is of; ``None`` if its metadata doesn't say.
        start: First code point in the document. ``None`` if it isn't known: the source's metadata doesn't say where its
            text starts, or another step shortened or rewrote the text.
        end: One past the last code point; ``None`` as ``start``.
        text: The source's text there, character for character.
        pages: The pages that it touches, from 0; those of all of the source if ``start`` isn't known, and empty if
            they aren't either.
        lines: The first and the last line of its text file that it touches, from 1; empty if they aren't known.
        location: Where it is, as `describe_location` writes it; without a range if that isn't known.
        own: Its span in the source's own text; ``None`` if it is in a lead-in.
    """

    number: int
    document: Document
    doc_id: str | None
    start: int | None
    end: int | None
    text: str
    pages: tuple[int, ...]
    lines: tuple[int, ...]
    location: str
    own: Span | None = None

    @property
    def first_sentence(self) -> int | None:
        """Index of the first sentence that it touches, in the document; ``None`` if it isn't known."""
        return self._sentences()[0]

    @property
    def last_sentence(self) -> int | None:
        """Index of the last sentence that it touches; ``None`` if it isn't known."""
        return self._sentences()[1]

    def window(self) -> Document:
        """Return a window of this place alone: `locate` gives the boxes around it, and `highlight` marks it.

        If ``start`` isn't known, the window's metadata has the parts and pages of the whole source.
        """
        if self.start is None or self.end is None:
            part = window_slice(self.document, *(self.own or (0, 0)))
            kept = {key: value for key, value in self.document.metadata.items() if key in (PARTS, PAGES, PAGE_LABELS)}
            return part.model_copy(update={"metadata": part.metadata | kept})
        return narrowed_window(self.document, self.start, self.end, self.text)

    def _sentences(self) -> Span | tuple[None, None]:
        own = source_span(self.document)
        if own is None or self.start is None or self.end is None:
            return (None, None)
        return sentences_of(self.document).numbers(self.start - own[0], self.end - own[0]) or (None, None)


@dataclass(frozen=True, slots=True)
class VerifiedQuote:
    """A quotation or a cited claim of an answer, and whether the sources hold it.

    The verdict is one of:

    - ``verbatim``: it is in a cited source, character for character; in any source if it cites none.
    - ``normalized``: the same, except for white space, line breaks and their hyphens, letter case, the kind of
      quotation marks, dashes and ellipses, invisible characters, compatible letters such as ligatures, Markdown's
      ``**``, and the mark that ends it.
    - ``stitched``: it combines pieces that aren't together in a source.
    - ``misattributed``: it is verbatim or normalized, but in a source that it doesn't cite.
    - ``paraphrase``: it is a claim in the answer's own words, whether true or not; compare it with ``closest``.
    - ``supported``, ``unsupported``: it is such a claim, and a judge decided; see `SentenceWindowMiddleware`.
    - ``not_found``: none of these.

    A quotation that marks omissions, by an ellipsis or by words in brackets, is verbatim or normalized if its pieces
    are in order in one source. It is stitched if they aren't, or if the omitted text changes the meaning.

    Attributes:
        kind: ``quotation`` for text between quotation marks or in a block quote; ``claim`` for a sentence of the answer
            that cites a source and has no quotation.
        text: The quotation without its marks, or the sentence; without citations.
        start: Its first code point in the answer.
        end: One past the last code point.
        cited: The numbers of the sources that it cites, each once. Numbers of no source aren't among them.
        verdict: How it agrees with the sources.
        places: Where it is, in order of its pieces; for ``misattributed``, where it really is. Empty for ``paraphrase``
            and ``not_found``.
        closest: For ``paraphrase``, the sentence of the cited sources with the most words of the claim; ``None`` if
            none has one.
        similarity: How many words the claim and ``closest`` share, from 0 to 1: twice the common words, divided by the
            words of both together. In scripts without spaces between words, pairs of characters count. No model is
            asked.
    """

    kind: Literal["quotation", "claim"]
    text: str
    start: int
    end: int
    cited: tuple[int, ...]
    verdict: Verdict
    places: tuple[QuotedPlace, ...]
    closest: QuotedPlace | None = None
    similarity: float | None = None


_Judged = tuple[Verdict, tuple[QuotedPlace, ...]]
_NOT_FOUND: _Judged = ("not_found", ())
_FOUND: tuple[Verdict, ...] = ("verbatim", "normalized")
_ESCAPED = re.compile(r"\\(.)|&lt;", re.DOTALL)
"""The escapes of `format_context`."""


def verify_quotes(text: str, windows: Iterable[Document], *, scanned: bool = False) -> list[VerifiedQuote]:
    """Find the quotations and cited claims of an answer, and compare each with the sources.

    Quotations are between the quotation marks of any language or in Markdown block quotes. A quotation has the
    citations ``[n]`` that follow it in its sentence, else those after the next quotation, else those before it. A claim
    is a sentence that cites a source and quotes nothing. If no source holds it word for word, it is a ``paraphrase``,
    because only quotation marks promise the words of a source. Code quotes nothing.

    Args:
        text: The answer that a model wrote.
        windows: The documents that `format_context` was given for it, in the same order.
        scanned: Whether letters that OCR confuses count as equal, such as ``rn`` and ``m``, and ``l`` and ``1`` in a
            word. Digits of a number never do.

    Returns:
        The quotations and claims in order, see `VerifiedQuote`.

    Raises:
        InvalidInputError: The answer isn't a string, or the windows aren't a list of Documents.
    """
    if not isinstance(text, str):
        raise InvalidInputError(f"the answer is {shown(text)}; give its text, such as message.text")
    judge = _Judge(checked_sources(windows), is_scanned=checked_flag("scanned", scanned))
    return [_verify_best_reading(judge, quote) for quote in quotes_in(text)]


def verify_quote(
    quote: str, windows: Iterable[Document], cited: Iterable[int] = (), *, scanned: bool = False
) -> VerifiedQuote:
    """Compare one quotation with the sources.

    Args:
        quote: The quotation. Quotation marks around it don't count.
        windows: The sources.
        cited: The numbers of the sources that it cites, from 1; none for any source.
        scanned: See `verify_quotes`.

    Returns:
        The quotation with its verdict; ``start`` and ``end`` are its span in ``quote``.

    Raises:
        InvalidInputError: The quotation isn't a string or has no letter and no digit, the windows aren't a list of
            Documents, or a number isn't one of a source.
    """
    if not isinstance(quote, str) or not any(each.isalnum() for each in quote):
        raise InvalidInputError(f"the quote is {shown(quote)}; give the text of a quotation")
    judge = _Judge(checked_sources(windows), is_scanned=checked_flag("scanned", scanned))
    numbers = _checked_numbers(cited, judge.count)
    start, end = len(quote) - len(quote.lstrip()), len(quote.rstrip())
    verdict, places = judge.judge(quote[start:end], numbers or None)
    quoted = find_quoted(quote) if verdict not in _FOUND else []
    if len(quoted) == 1 and quoted[0].outer == (start, end) and not quoted[0].is_block:
        start, end = quoted[0].start, quoted[0].end
        verdict, places = judge.judge(quote[start:end], numbers or None)
    return VerifiedQuote("quotation", quote[start:end], start, end, numbers, verdict, places)


_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")

_MIN_SIMILARITY = 0.5
"""The least similarity of a sentence that says what an answer says."""


@dataclass(frozen=True, slots=True)
class AnswerPlace:
    """Sentences of a document that say what an answer says.

    Attributes:
        doc_id: The document.
        spans: The sentences, in code points of the document.
        is_exact: Whether they hold the answer word for word; else they are the most similar ones.
    """

    doc_id: str
    spans: tuple[Span, ...]
    is_exact: bool


def find_said(answer: str, windows: Iterable[Document]) -> AnswerPlace | None:
    """Find the sentences of a document that say what an answer says, as `verify_quotes` compares a claim.

    Args:
        answer: One sentence or several.
        windows: The sources to look in, the likeliest first.

    Returns:
        The sentences of the document with the most of it; ``None`` if none says it.
    """
    judge = _Judge(checked_sources(windows), is_scanned=False)
    sentences = [answer[start:end] for start, end in sentence_spans_of(answer)]
    found: dict[str, list[tuple[float, bool, Span]]] = {}
    for sentence in sentences:
        verdict, places = judge.judge(sentence, None, is_claim=True)
        # A single word, such as "Yes", occurs in many places.
        is_exact = verdict in _FOUND and (_words_of(sentence).total() > 1 or any(map(str.isdigit, sentence)))
        alike = 1.0
        if not is_exact:
            closest, similarity = judge.closest(sentence, range(1, judge.count + 1))
            places, alike = (closest,) if closest else (), similarity or 0.0
        for place in places if alike >= _MIN_SIMILARITY else ():
            if place.doc_id is not None and (span := _sentences_around(place)) is not None:
                found.setdefault(place.doc_id, []).append((len(sentence) * alike, is_exact, span))
    if not found:
        return None
    doc_id, in_document = max(found.items(), key=lambda each: sum(weight for weight, _, _ in each[1]))
    are_exact = len(in_document) >= len(sentences) and all(is_exact for _, is_exact, _ in in_document)
    return AnswerPlace(doc_id, tuple(sorted({span for _, _, span in in_document})), are_exact)


def states_something(answer: str, question: str, sources: Sequence[Document], *, has_searched: bool) -> bool:
    """Return whether an answer that cites nothing states something of its sources.

    It does if it repeats a sentence of a source, or a number that the question doesn't have. Otherwise it does if it
    follows a search and contains no negation: "the documents don't say it" states nothing of them.

    Args:
        answer: The answer.
        question: The question.
        sources: The sources that the model was shown.
        has_searched: Whether it was shown some of them for this question.
    """
    sentences = [answer[start:end] for start, end in sentence_spans_of(answer)]
    statements = [each for each in sentences if not each.rstrip().endswith(("?", "\uff1f"))]
    texts = "\n".join(source.page_content for source in sources)
    source_numbers = set(_NUMBER.findall(texts)) - set(_NUMBER.findall(question))
    stated = "\n\n".join(statements)
    if not source_numbers.isdisjoint(_NUMBER.findall(stated)) or find_said(stated, sources):
        return True
    return has_searched and bool(statements) and not any(map(turns, statements))


def _sentences_around(place: QuotedPlace) -> Span | None:
    """Return the span, in the document, of the sentences that a place touches."""
    own = source_span(place.document)
    if own is None or place.start is None or place.end is None:
        return None
    spans = [(own[0] + start, own[0] + end) for start, end in sentences_of(place.document).spans]
    touched = [span for span in spans if span[0] < place.end and place.start < span[1]]
    return (touched[0][0], touched[-1][1]) if touched else None


def _checked_numbers(cited: object, count: int) -> tuple[int, ...]:
    given = list(cited) if isinstance(cited, Iterable) and not isinstance(cited, str | bytes) else [cited]
    numbers = [as_integer(each) for each in given]
    found = tuple(dict.fromkeys(each for each in numbers if each is not None and 1 <= each <= count))
    if any(each not in found for each in numbers):
        raise InvalidInputError(f"cited is {shown(cited)}; give the numbers of sources, from 1 to {count}")
    return found


def _verify_best_reading(judge: "_Judge", quote: AnswerQuote) -> VerifiedQuote:
    """Return the verdict on the first reading that a cited source holds, else on one that another source holds."""
    verified = list[VerifiedQuote]()
    for reading in quote.readings:
        cited = judge.numbers(reading.cited)
        is_claim = quote.kind == "claim"
        verdict, places = judge.judge(reading.text, cited, in_full=bool(verified), is_claim=is_claim)
        verified.append(VerifiedQuote(quote.kind, reading.text, quote.start, quote.end, cited or (), verdict, places))
        if verdict in _FOUND:
            return verified[-1]
    best = next((each for each in verified if each.verdict != "not_found"), verified[0])
    if best.kind == "claim" and best.verdict in ("stitched", "not_found"):
        closest, similarity = judge.closest(best.text, best.cited)
        return replace(best, verdict="paraphrase", places=(), closest=closest, similarity=similarity)
    return best


class _Judge:
    """The sources of one answer."""

    def __init__(self, documents: Sequence[Document], *, is_scanned: bool) -> None:
        self._documents = documents
        self._sources = [quote_source(number, each, is_scanned=is_scanned) for number, each in enumerate(documents, 1)]
        self._is_scanned = is_scanned
        self._stitching: dict[tuple[int, ...], Stitching] = {}
        self._sentences: dict[int, _Sentences] = {}

    @property
    def count(self) -> int:
        return len(self._sources)

    @cached_property
    def _touching(self) -> list[Source]:
        return touching(self._sources)

    def numbers(self, cited: Sequence[Cited]) -> tuple[int, ...] | None:
        """Return the sources that are cited, each once in order of citation; ``None`` if nothing is cited."""
        ranges = (each for mark in cited for each in mark.numbers)
        return tuple(named_sources(ranges, self._documents)) if cited else None

    def closest(self, claim: str, cited: Sequence[int]) -> tuple[QuotedPlace | None, float | None]:
        """Return the sentence of cited sources that shares the most words with a claim, and how many it shares."""
        words = _words_of(claim)
        best: tuple[float, int, Span] = (0.0, 0, (0, 0))
        for number in cited:
            for span, others in self._sentences_of(number).likely(words):
                shared = 2 * (words & others).total() / max(1, words.total() + others.total())
                if shared > best[0]:
                    best = shared, number, span
        similarity, number, span = best
        if not number:
            return None, None
        return self._placed(Found(self._sources[number - 1].passages[-1], *span)), round(similarity, 2)

    def _sentences_of(self, number: int) -> "_Sentences":
        if number not in self._sentences:
            self._sentences[number] = _Sentences(self._documents[number - 1])
        return self._sentences[number]

    def judge(
        self, text: str, cited: tuple[int, ...] | None, *, in_full: bool = False, is_claim: bool = False
    ) -> _Judged:
        """Compare a text with the sources.

        Args:
            text: The text.
            cited: The sources that it cites; ``None`` if it cites nothing.
            in_full: Whether it is compared as it is, not by its pieces.
            is_claim: Whether it is a sentence of the answer's own.
        """
        own = self._sources if cited is None else [self._sources[number - 1] for number in cited]
        others = [] if cited is None else [each for each in self._sources if each.numbers[0] not in cited]
        forms = [Wanted(form, is_claim=is_claim) for form in _forms(text)]
        return self._whole(forms, own, others) if in_full else self._judge(text, forms, own, others)

    def _judge(self, text: str, forms: Sequence[Wanted], own: Sequence[Source], others: Sequence[Source]) -> _Judged:
        pieces = pieces_of(text)
        if pieces is None:
            judged = self._whole(forms, own, others)
            return judged if judged is not _NOT_FOUND else self._stitched(forms[-1].plain, own)
        loose: InOrder | None = None
        for sources in self._in_turn(own, others, pieces.pieces):
            found, gapped = _find_with_verdict(forms, sources), find_in_order(sources, pieces)
            is_slice = gapped is not None and gapped.is_sound and gapped.is_exact and len(gapped.places) == 1
            if found and (found[0] == "verbatim" or not is_slice):
                return self._verdict(found[0], [found[1]], own)
            if gapped and gapped.is_sound:
                return self._verdict("verbatim" if gapped.is_exact else "normalized", gapped.places, own)
            loose = loose or gapped
        if loose:
            return "stitched", self._places(loose.places)
        if not pieces.are_stretches:
            return _NOT_FOUND
        apart = [_find_with_verdict([piece], own) or _find_with_verdict([piece], others) for piece in pieces.pieces]
        places = [each[1] for each in apart if each]
        return ("stitched", self._places(places)) if len(places) == len(apart) > 1 else _NOT_FOUND

    def _whole(self, forms: Sequence[Wanted], own: Sequence[Source], others: Sequence[Source]) -> _Judged:
        for sources in self._in_turn(own, others, forms):
            if (found := _find_with_verdict(forms, sources)) is not None:
                return self._verdict(found[0], [found[1]], own)
        return _NOT_FOUND

    def _in_turn(
        self, own: Sequence[Source], others: Sequence[Source], wanted: Sequence[Wanted]
    ) -> Iterator[Sequence[Source]]:
        """Yield the sources to search in turn: the cited ones, the others, and adjacent ones joined."""
        yield own
        yield others
        words = self._joined(self._sources)
        if self._is_scanned or any(words.has_words(each.plain) for each in wanted):
            yield self._touching

    def _stitched(self, plain: str, own: Sequence[Source]) -> _Judged:
        if not self._joined(self._sources).has_words(plain):
            return _NOT_FOUND
        for sources in (own, self._sources) if own else (self._sources,):
            if found := self._joined(sources).find(plain):
                return "stitched", self._places(found)
        return _NOT_FOUND

    def _joined(self, sources: Sequence[Source]) -> Stitching:
        key = tuple(source.numbers[0] for source in sources)
        if key not in self._stitching:
            self._stitching[key] = Stitching(sources)
        return self._stitching[key]

    def _verdict(self, verdict: Verdict, found: Sequence[Found], own: Sequence[Source]) -> _Judged:
        places, cited = self._places(found), {number for source in own for number in source.numbers}
        is_own = any(place.number in cited for place in places)
        return (verdict if is_own else "misattributed"), places

    def _places(self, found: Sequence[Found]) -> tuple[QuotedPlace, ...]:
        return tuple(self._placed(part) for each in found for part in each.passage.pieces(each.start, each.end))

    def _placed(self, found: Found) -> QuotedPlace:
        """Return the place of a stretch in its source document."""
        passage = found.passage
        document, text = passage.document, passage.text[found.start : found.end]
        is_own = passage.text is document.page_content
        own = (found.start, found.end) if is_own else None
        start = self._found_again(document, text) if passage.base is None else passage.base + found.start
        end = None if start is None else start + len(text)
        held = document if start is None or end is None else narrowed_window(document, start, end, text)
        pages, lines, location = pages_touched(held), lines_touched(held), describe_location(held)
        return QuotedPlace(passage.number, document, doc_id_of(document), start, end, text, pages, lines, location, own)

    def _found_again(self, document: Document, text: str) -> int | None:
        """Return where a text of a window that was shortened or rewritten starts, by another source that has all of it.

        ``None`` if no source does, or if the text occurs more than once in the original window.
        """
        whole = read_span([document.metadata.get(key) for key in (START_INDEX, END_INDEX)])
        doc_id = doc_id_of(document)
        if whole is None or doc_id is None:
            return None
        for passage in (each for source in [*self._sources, *self._touching] for each in source.passages):
            base = passage.base
            is_same = base is not None and doc_id_of(passage.document) == doc_id
            if base is None or not is_same or not base <= whole[0] <= whole[1] <= base + len(passage.text):
                continue
            there = passage.text[whole[0] - base : whole[1] - base]
            if (at := there.find(text)) >= 0 and there.find(text, at + 1) < 0:
                return whole[0] + at
        return None


def _find_with_verdict(forms: Sequence[Wanted], sources: Sequence[Source]) -> tuple[Verdict, Found] | None:
    """Find a text in sources, character for character if any of them has it so."""
    for verdict in _FOUND:
        for form in forms:
            if found := find_in(sources, form, exact=verdict == "verbatim"):
                return verdict, found
    return None


def _forms(text: str) -> list[str]:
    """Return a quotation, and also without the escapes of `format_context` if it has any."""
    source = _ESCAPED.sub(_unescaped, text)
    return [text] if source == text else [text, source]


def _unescaped(found: re.Match[str]) -> str:
    if found[1] is None:
        return "<"
    return found[1] if looks(found[1]) == MARKS[0] else found[0]


_WORD = re.compile(rf"(?:(?=\w)[{UNSPACED}])+|[^\W{UNSPACED}]+")


def _words_of(text: str) -> Counter[str]:
    """Return how often a text has each word; of scripts without spaces, each pair of characters."""
    found = Counter[str]()
    for word in _WORD.findall(plain_text(text).text):
        found.update(map("".join, pairwise(word)) if is_unspaced(word[0]) and len(word) > 1 else [word])
    return found


_MAX_LIKELY = 64
"""The most sentences of a source that a claim is compared with, and that are remembered for a word."""


class _Sentences:
    """The sentences of a source, by their words."""

    def __init__(self, document: Document) -> None:
        text = document.page_content
        self._all = [(span, _words_of(text[slice(*span)])) for span in sentences_of(document).spans]
        self._with: dict[str, list[int]] = {}
        for at, (_, words) in enumerate(self._all):
            for word in words:
                known = self._with.setdefault(word, [])
                if len(known) < _MAX_LIKELY:
                    known.append(at)

    def likely(self, words: Counter[str]) -> list[tuple[Span, Counter[str]]]:
        """Return the sentences that share words, in order; if there are many, those that share rare words."""
        found = dict[int, None]()
        for known in sorted((self._with[word] for word in words if word in self._with), key=len):
            found.update(dict.fromkeys(known))
            if len(found) >= _MAX_LIKELY:
                break
        return [self._all[at] for at in sorted(found)]
