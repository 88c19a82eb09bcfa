"""Assemble windows: read what that needs, and make their Documents.

`langchain_sentence_window.windows.assembly` chooses, joins, completes and widens windows of sentences that it looks up.
Those that it asks for and that aren't read yet are read in one call, and it does it again. Windows of equal text come
once; whether they are equal shows when their sentences are read.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.keys import CONTRACT_KEYS, RELEVANCE, RELEVANCE_SCORE, TEXT
from langchain_sentence_window.documents.window_documents import (
    better_of,
    rough_key,
    shown_text,
    shown_window,
    text_key,
    window_document,
    window_text,
    with_counts,
    with_places,
    without_lead_ins,
)
from langchain_sentence_window.documents.window_fields import lead_ins
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.windows.assembly import (
    IS_EQUAL,
    IS_UNSUPPORTED,
    MAX_JOINED,
    Assembly,
    Budget,
    Equal,
    Ranked,
    Texts,
    assemble,
)
from langchain_sentence_window.windows.completion import UNREAD, Line
from langchain_sentence_window.windows.geometry import Hit, Window

from .expansion import REACH, Expansion, line_of
from .request import Request
from .window_reader import WindowReader

_MAX_ROUNDS = 6
"""The most calls that read what decides about windows. One is usual."""


@dataclass(frozen=True, slots=True)
class RankedWindow:
    """A window in the order in which windows are taken.

    Attributes:
        window: The window.
        document: The Document that a reranker returned for it; ``None`` without a reranker.
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
        dropped = [
            rank
            for each in self.assembly.windows
            if not any(hit.key in hits for hit in each.window.hits)
            for rank in each.ranks
        ]
        return self.without(dropped, IS_UNSUPPORTED)

    def with_relevance(self, probability: float | None) -> "AssembledDocuments":
        """Return the windows with how likely it is that they answer the question, if that is known."""
        if probability is None:
            return self
        return replace(self, documents=[_with_metadata(each, {RELEVANCE: probability}) for each in self.documents])

    def without(self, ranks: Collection[int], reason: str) -> "AssembledDocuments":
        """Leave out the windows that some ranked windows became part of."""
        both = zip(self.assembly.windows, self.documents, strict=True)
        kept = [(each, document) for each, document in both if each.ranks[0] not in ranks]
        left_out = {**self.assembly.left_out, **dict.fromkeys(ranks, reason)}
        assembly = replace(self.assembly, windows=[each for each, _ in kept], left_out=left_out)
        return replace(self, assembly=assembly, documents=[document for _, document in kept])


class Assembler:
    """Assembles the windows of one query.

    Attributes:
        scope: The store, and what may be read of it.
        request: The query.
        reader: Reads sentences.
        expansion: How far hits were expanded.
    """

    def __init__(self, scope: Scope, request: Request, reader: WindowReader, expansion: Expansion) -> None:
        """Take what the windows are assembled from."""
        self.scope, self.request, self.reader, self.expansion = scope, request, reader, expansion
        self.count_tokens = request.count_tokens
        self._texts = {bare: _KnownTexts(reader, request.count_tokens, is_bare=bare) for bare in (False, True)}

    async def assemble(self, io: IO, windows: Sequence[RankedWindow]) -> AssembledDocuments:
        """Assemble windows, and make their Documents.

        Args:
            io: Makes the calls.
            windows: The windows, best first.

        Raises:
            IncompleteWindowError: The store lacks a sentence of a window, or a document changed since the search.
            InvalidInputError: The budget is too small for any hit.
        """
        ranked = [self._ranked(each) for each in windows]
        are_candidates = self.request.k > MAX_JOINED and self.request.max_tokens is None
        if are_candidates:  # to choose from: they are left as they are
            made = await self._made(io, windows, ranked, None)
        else:
            made = await self._each_text_once(io, windows, ranked)
        return replace(made, documents=[with_counts(document, self.count_tokens) for document in made.documents])

    def _ranked(self, one: RankedWindow) -> Ranked:
        cost = None
        if one.document is not None and one.document.page_content != window_text(one.window, self.reader.sentences):
            cost = self.count_tokens(shown_text(one.document))  # the reranker rewrote it
        return Ranked(one.window, cost is None and self.expansion.sizes[one.window.best.key] is None, cost)

    async def _each_text_once(
        self, io: IO, windows: Sequence[RankedWindow], ranked: Sequence[Ranked]
    ) -> AssembledDocuments:
        """Assemble windows of different texts, each with the places of those that were left out as they equal it."""
        known: dict[int, Equal] = {}
        for _ in range(_MAX_ROUNDS):
            made = await self._made(io, windows, ranked, known)
            taken = made.assembly.windows
            equal = {
                rank: Equal(taken[worse].window, taken[better].ranks[0])
                for worse, better in better_of(made.documents).items()
                for rank in taken[worse].ranks
            }
            if not equal:
                break
            known |= equal  # after joining and completing, texts may be equal that were not before
        if equal:
            made = made.without(equal, IS_EQUAL)
            made = replace(made, assembly=replace(made.assembly, equal={**made.assembly.equal, **equal}))
        others: dict[int, list[tuple[int, Window]]] = {}
        for rank, left_out in made.assembly.equal.items():
            others.setdefault(left_out.better, []).append((rank, left_out.window))
        documents = list[Document]()
        for each, document in zip(made.assembly.windows, made.documents, strict=True):
            of_it = sorted((place for rank in each.ranks for place in others.get(rank, [])), key=lambda place: place[0])
            places = [window_document(window, self.reader.sentences) for _, window in of_it]
            documents.append(with_places(document, places) if places else document)
        return replace(made, documents=documents)

    async def _made(
        self,
        io: IO,
        windows: Sequence[RankedWindow],
        ranked: Sequence[Ranked],
        known: Mapping[int, Equal] | None,
    ) -> AssembledDocuments:
        """Assemble windows and make their Documents, without those that are known to equal better ones."""
        assembly = await self._assembly(io, ranked, known, is_bare=False)
        is_bare = bool(ranked) and not assembly.windows
        if is_bare:  # nothing fits: then hits alone, without what leads them in or completes them
            ranked = [self._bare(each, one) for each, one in zip(ranked, windows, strict=True)]
            assembly = await self._assembly(io, ranked, known, is_bare=True)
            self._check_taken(assembly, ranked)
        sentences = await self.reader.settle(io, self.scope, [each.window for each in assembly.windows])
        documents: list[Document] = []
        for each in assembly.windows:
            document = window_document(each.window, sentences)
            reranked = windows[each.ranks[0]].document
            if reranked is not None:
                is_rewritten = ranked[each.ranks[0]].fixed_cost is not None
                document = reranked if is_rewritten else _with_added(document, reranked)
            documents.append(without_lead_ins(document) if is_bare else document)
        return AssembledDocuments(assembly, documents)

    async def _assembly(
        self, io: IO, ranked: Sequence[Ranked], known: Mapping[int, Equal] | None, *, is_bare: bool
    ) -> Assembly:
        """Assemble with what is known, read what that would have needed, and do it again until nothing is missing."""
        texts = self._texts[is_bare]
        budget = None if self.request.max_tokens is None else texts.budget(self.request.max_tokens)
        equal = None if known is None else Texts(texts.rough_key, texts.are_equal, known)
        for rounds_left in range(_MAX_ROUNDS, -1, -1):
            texts.begin(may_want=rounds_left > 0)
            assembly = assemble(ranked, self.request.k, texts.line, budget, equal)
            wanted = [*texts.wanted, *self.reader.unread(each.window for each in assembly.windows)]
            if not wanted or not rounds_left:
                break
            await self.reader.fetch(io, self.scope, wanted)
        return assembly

    def _bare(self, each: Ranked, one: RankedWindow) -> Ranked:
        """Return a window without what leads it in or completes it."""
        if each.fixed_cost is None or one.document is None:
            return replace(each, is_open=False)
        return replace(each, is_open=False, fixed_cost=self.count_tokens(one.document.page_content))

    def _check_taken(self, assembly: Assembly, ranked: Sequence[Ranked]) -> None:
        """Check that the budget was large enough for something.

        Raises:
            InvalidInputError: It wasn't.
        """
        if assembly.windows or self.request.max_tokens is None:
            return
        least = [(each.fixed_cost, "text that the reranker returned") for each in ranked if each.fixed_cost is not None]
        for each in ranked:
            if each.fixed_cost is None:
                text = self.reader.sentences[each.window.best.key].text
                least.append((self.count_tokens(text), "sentence that was found"))
        tokens, what = min(least)
        limit = self.request.max_tokens
        raise InvalidInputError(
            f"max_tokens is {limit}, and the shortest {what} has {tokens} tokens; set it to {tokens} or more"
        )


class _KnownTexts:
    """Looks up what is known of sentences, and notes those that have to be read.

    Attributes:
        wanted: The sentences to read.
    """

    def __init__(self, reader: WindowReader, count_tokens: Callable[[str], int], *, is_bare: bool) -> None:
        self.wanted: dict[SentenceKey, None] = {}
        self._reader, self._sentences = reader, reader.sentences
        self._count, self._is_bare, self._may_want = count_tokens, is_bare, False
        self._lines: dict[SentenceKey, Line] = {}
        self._costs: dict[tuple[str, int, int], int] = {}
        self._keys: dict[tuple[str, int, int], list[str]] = {}

    def begin(self, *, may_want: bool) -> None:
        """Begin a round."""
        self.wanted.clear()
        self._may_want = may_want

    def line(self, key: SentenceKey) -> Line | None:
        """Return a sentence; `UNREAD` for one that has to be read first."""
        if key in self._lines:
            return self._lines[key]
        if key in self._sentences:
            line = self._lines[key] = line_of(self._sentences[key])
            return line
        doc_id, index = key
        around = range(max(0, index - REACH), index + REACH + 1)
        return UNREAD if self._want([(doc_id, each) for each in around]) else None

    def budget(self, limit: int) -> Budget:
        """Return a budget in tokens."""
        return Budget(limit, self._cost, self._cost_alone)

    def rough_key(self, hit: Hit) -> str:
        """Return what the texts of equal sentences share."""
        return rough_key(self._sentences[hit.key].text)

    def are_equal(self, one: Window, other: Window) -> bool:
        """Return whether two windows have the same text and the same lead-ins."""
        missing = [key for key in (*one.keys, *other.keys) if key not in self._sentences]
        if missing:
            return self._want(missing)  # taken for equal until they are read, so that one call reads all of them
        if self._text_keys(one)[0] != self._text_keys(other)[0]:
            return False
        self._want([key for window in (one, other) for key in self._reader.missing_lead_ins(window)])
        return self._text_keys(one) == self._text_keys(other)

    def _text_keys(self, window: Window) -> list[str]:
        """Return what the texts of equal windows share: of the window, then of its lead-ins."""
        place = window.doc_id, window.first, window.last
        keys = self._keys.get(place)
        if keys is None:
            led = [text_key(each[TEXT]) for each in lead_ins(window, self._sentences)]
            keys = [text_key(window_text(window, self._sentences)), *led]
            if self._has_lead_ins(window):
                self._keys[place] = keys
        return keys

    def _cost_alone(self, key: SentenceKey) -> int:
        doc_id, index = key
        place = doc_id, index, -1
        cost = self._costs.get(place)
        if cost is None:
            cost = self._count((self.line(key) or UNREAD).text)
            if key in self._sentences:  # else it is of another text once it is read
                self._costs[place] = cost
        return cost

    def _cost(self, window: Window) -> int:
        place = window.doc_id, window.first, window.last
        cost = self._costs.get(place)
        if cost is None:
            text, is_final = self._shown(window)
            cost = self._count(text)
            if is_final:
                self._costs[place] = cost
        return cost

    def _has_lead_ins(self, window: Window) -> bool:
        """Return whether what leads a window in is at hand, or can't be read."""
        return all(key in self._reader.asked for key in self._reader.missing_lead_ins(window))

    def _shown(self, window: Window) -> tuple[str, bool]:
        """Return what is shown of a window, with its lead-ins, as far as it is read; and whether that is all of it."""
        found = [self._sentences.get(key) for key in window.keys]
        if not all(found):
            self._want([key for key, sentence in zip(window.keys, found, strict=True) if sentence is None])
            return " ".join(UNREAD.text if sentence is None else sentence.text for sentence in found), False
        if self._is_bare:
            return window_text(window, self._sentences), True
        missing = self._reader.missing_lead_ins(window)
        self._want(missing)
        return shown_window(window, self._sentences), all(key in self._reader.asked for key in missing)

    def _want(self, keys: Iterable[SentenceKey]) -> bool:
        """Note sentences to read; return whether there is one that wasn't asked for before."""
        new = [key for key in keys if key not in self._reader.asked] if self._may_want else []
        self.wanted |= dict.fromkeys(new)
        return bool(new)


def _with_added(document: Document, reranked: Document) -> Document:
    """Return a window's Document with the metadata that a reranker added to its best part."""
    ours = CONTRACT_KEYS - {RELEVANCE_SCORE}
    return _with_metadata(document, {key: value for key, value in reranked.metadata.items() if key not in ours})


def _with_metadata(document: Document, added: Mapping[str, object]) -> Document:
    return document.model_copy(update={"metadata": {**document.metadata, **added}})
