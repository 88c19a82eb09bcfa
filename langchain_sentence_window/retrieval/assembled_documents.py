"""Assemble windows: read what that needs, and make their Documents.

`langchain_sentence_window.windows.assembly` chooses, joins, completes and widens windows of sentences that it looks up.
Those that it asks for and that aren't read yet are read in one call, and it does it again. Windows of equal text come
once; whether they are equal shows when their sentences are read.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from langchain_core.documents import Document

from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window._validation import checking_counter
from langchain_sentence_window.documents.keys import CONTRACT_KEYS, RELEVANCE, RELEVANCE_SCORE, TEXT
from langchain_sentence_window.documents.window_documents import (
    better_of,
    rough_key,
    shown_window,
    text_key,
    window_document,
    window_text,
    with_counts,
    with_places,
    without_lead_ins,
)
from langchain_sentence_window.documents.window_fields import estimate_tokens, lead_ins
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.windows.assembly import (
    DIFFERENT,
    IS_UNSUPPORTED,
    MAX_JOINED,
    Assembled,
    Assembly,
    Budget,
    Equal,
    Ranked,
    Texts,
    assemble,
)
from langchain_sentence_window.windows.completion import NO_GROWTH, UNREAD, Line
from langchain_sentence_window.windows.geometry import Window

from .expansion import MAX_REACH, REACH, Expansion, line_of
from .request import Request
from .window_reader import WindowReader


@dataclass(frozen=True, slots=True)
class RankedWindow:
    """A window in the order in which windows are taken.

    Attributes:
        window: The window.
        document: Its Document with the metadata that a reranker added; ``None`` without a reranker.
    """

    window: Window
    document: Document | None = None


@dataclass(frozen=True, slots=True)
class AssembledDocuments:
    """The windows to return.

    Attributes:
        assembly: Which ranked windows they were made of, and why the others were left out.
        documents: A Document for each window, in the same order.
    """

    assembly: Assembly
    documents: Sequence[Document]

    def supported(self, hits: Collection[SentenceKey]) -> "AssembledDocuments":
        """Return the windows that hold one of some hits."""
        left_out, kept = dict(self.assembly.left_out), list[tuple[Assembled, Document]]()
        for each, document in zip(self.assembly.windows, self.documents, strict=True):
            if any(hit.key in hits for hit in each.window.hits):
                kept.append((each, document))
            else:
                left_out |= dict.fromkeys(each.ranks, IS_UNSUPPORTED)
        assembly = replace(self.assembly, windows=[each for each, _ in kept], left_out=left_out)
        return AssembledDocuments(assembly, [document for _, document in kept])

    def with_relevance(self, probability: float | None) -> "AssembledDocuments":
        """Return the windows with how likely it is that they answer the question, if that is known."""
        if probability is None:
            return self
        return replace(self, documents=[_with_metadata(each, {RELEVANCE: probability}) for each in self.documents])


class Assembler:
    """Assembles the windows of one query.

    It looks up what is known of sentences, and notes those that have to be read.
    """

    def __init__(self, request: Request, reader: WindowReader, expansion: Expansion) -> None:
        """Take what the windows are assembled from.

        Args:
            request: The query.
            reader: Reads sentences.
            expansion: How far hits were expanded.
        """
        self._request, self._reader, self._expansion = request, reader, expansion
        self._sentences = reader.sentences
        count = request.count_tokens
        self._count = cache(count if count is estimate_tokens else checking_counter("count_tokens", count))
        self._wanted: dict[SentenceKey, None] = {}
        self._is_bare = False
        self._lines: dict[SentenceKey, Line] = {}
        self._costs: dict[tuple[str, int, int], int] = {}
        self._reach = REACH

    async def assemble(self, windows: Sequence[RankedWindow]) -> AssembledDocuments:
        """Assemble windows, and make their Documents.

        Args:
            windows: The windows, best first.

        Raises:
            IncompleteWindowError: The store lacks a sentence of a window, or a document changed since the search.
            InvalidInputError: The budget is too small for any hit.
        """
        are_candidates = self._request.k > MAX_JOINED and self._request.max_tokens is None
        if are_candidates:  # to choose from: they aren't joined
            made = await self._made(windows, None)
        else:
            made = await self._each_text_once(windows)
        return replace(made, documents=[with_counts(document, self._count) for document in made.documents])

    async def _each_text_once(self, windows: Sequence[RankedWindow]) -> AssembledDocuments:
        """Assemble windows of different texts, each with the places of those that were left out as they equal it."""
        known: dict[int, Equal] = {}
        while True:
            made = await self._made(windows, known)
            taken = made.assembly.windows
            equal = {
                rank: Equal(taken[worse].window, taken[better].ranks[0])
                for worse, better in better_of(made.documents).items()
                for rank in taken[worse].ranks
            }
            if not equal:
                break
            known |= equal  # after joining and completing, texts may be equal that were not before
        left_out = sorted(made.assembly.equal.items(), key=lambda each: each[0])
        documents = list[Document]()
        for each, document in zip(made.assembly.windows, made.documents, strict=True):
            others = [equal.window for _, equal in left_out if equal.better in each.ranks]
            places = [window_document(window, self._sentences) for window in others]
            documents.append(with_places(document, places) if places else document)
        return replace(made, documents=documents)

    async def _made(self, windows: Sequence[RankedWindow], known: Mapping[int, Equal] | None) -> AssembledDocuments:
        """Assemble windows and make their Documents, without those that are known to equal better ones."""
        assembly = await self._assembly(windows, known)
        if windows and not assembly.windows and not self._is_bare:
            # Nothing fits: then hits alone, without what leads them in or completes them.
            self._is_bare = True
            self._costs.clear()
            assembly = await self._assembly(windows, known)
            if not assembly.windows:
                self._check_budget(windows)
        sentences = await self._reader.settle([each.window for each in assembly.windows])
        documents: list[Document] = []
        for each in assembly.windows:
            document = window_document(each.window, sentences)
            reranked = windows[each.ranks[0]].document
            if reranked is not None:
                document = _with_added(document, reranked)
            documents.append(without_lead_ins(document) if self._is_bare else document)
        return AssembledDocuments(assembly, documents)

    async def _assembly(self, windows: Sequence[RankedWindow], known: Mapping[int, Equal] | None) -> Assembly:
        """Assemble with what is known, read what that would have needed, and do it again until nothing is missing."""
        ranked, limit = [self._ranked(one, rank) for rank, one in enumerate(windows)], self._request.max_tokens
        budget = None if limit is None else Budget(limit, self._cost, self._cost_alone)
        equal = DIFFERENT if known is None else Texts(self._rough_key, self._are_equal, known)
        while True:
            self._wanted.clear()
            assembly = assemble(ranked, self._request.k, self._line, budget, equal)
            wanted = [*self._wanted, *self._reader.unasked(each.window for each in assembly.windows)]
            if not wanted:
                return assembly
            await self._reader.fetch(wanted)
            self._reach = min(2 * self._reach, MAX_REACH)  # a turn of tiny sentences took 16 calls

    def _ranked(self, one: RankedWindow, rank: int) -> Ranked:
        window = one.window
        is_open = not self._is_bare and self._expansion.sizes[window.best.key] is None
        growth = self._expansion.growth(window.best, rank) if is_open else NO_GROWTH
        return Ranked(window, is_open, growth=growth)

    def _check_budget(self, windows: Sequence[RankedWindow]) -> None:
        """Refuse a budget that is too small for anything.

        Raises:
            InvalidInputError: Always, if there is a budget.
        """
        limit = self._request.max_tokens
        if limit is None:
            return
        tokens = min(self._cost_alone(each.window.best.key) for each in windows)
        raise InvalidInputError(
            f"max_tokens is {limit}, and the shortest sentence that was found has {tokens} tokens; set it to {tokens} "
            "or more"
        )

    # What is known of sentences and windows

    def _line(self, key: SentenceKey) -> Line | None:
        """Return a sentence; `UNREAD` for one that has to be read first."""
        if key in self._lines:
            return self._lines[key]
        if key in self._sentences:
            line = self._lines[key] = line_of(self._sentences[key])
            return line
        doc_id, index = key
        around = range(max(0, index - self._reach), index + self._reach + 1)
        return UNREAD if self._want([(doc_id, each) for each in around]) else None

    def _rough_key(self, key: SentenceKey) -> str:
        """Return what the texts of equal sentences share."""
        return rough_key(self._sentences[key].text)

    def _are_equal(self, one: Window, other: Window) -> bool:
        """Return whether two windows have the same text and the same lead-ins."""
        missing = [key for key in (*one.keys, *other.keys) if key not in self._sentences]
        if missing:
            return self._want(missing)  # taken for equal until they are read, so that one call reads all of them
        if text_key(window_text(one, self._sentences)) != text_key(window_text(other, self._sentences)):
            return False
        self._want([*self._reader.missing_lead_ins(one), *self._reader.missing_lead_ins(other)])
        return self._lead_in_keys(one) == self._lead_in_keys(other)

    def _lead_in_keys(self, window: Window) -> list[str]:
        return [text_key(each[TEXT]) for each in lead_ins(window, self._sentences)]

    def _cost_alone(self, key: SentenceKey) -> int:
        return self._count((self._line(key) or UNREAD).text)

    def _cost(self, window: Window) -> int:
        """Return the tokens of a window as it is shown, with its lead-ins, as far as it is read."""
        place = window.doc_id, window.first, window.last
        if place in self._costs:
            return self._costs[place]
        keys, sentences = window.keys, self._sentences
        missing = [key for key in keys if key not in sentences]
        if missing:
            text = " ".join(sentences[key].text if key in sentences else UNREAD.text for key in keys)
        elif self._is_bare:
            text = window_text(window, sentences)
        else:
            missing = self._reader.missing_lead_ins(window)
            text = shown_window(window, sentences)
        cost = self._count(text)
        if not self._want(missing):  # else its text will be another one
            self._costs[place] = cost
        return cost

    def _want(self, keys: Iterable[SentenceKey]) -> bool:
        """Note sentences to read; return whether there is one that wasn't asked for before."""
        new = [key for key in keys if key not in self._reader.asked]
        self._wanted |= dict.fromkeys(new)
        return bool(new)


def _with_added(document: Document, reranked: Document) -> Document:
    """Return a window's Document with the metadata that a reranker added to its best part."""
    ours = CONTRACT_KEYS - {RELEVANCE_SCORE}
    return _with_metadata(document, {key: value for key, value in reranked.metadata.items() if key not in ours})


def _with_metadata(document: Document, added: Mapping[str, object]) -> Document:
    return document.model_copy(update={"metadata": {**document.metadata, **added}})
