"""Assemble the windows to return: read what decides about them, join those of equal text, and make their Documents."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.keys import CONTRACT_KEYS, RELEVANCE, RELEVANCE_SCORE, TEXT
from langchain_sentence_window.documents.sentence_documents import SentencesByKey, StoredSentence
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
from langchain_sentence_window.windows.completion import Line
from langchain_sentence_window.windows.geometry import Window

from .expansion import UNREAD as _UNREAD
from .expansion import Expansion, Sentences, line_of, read_windows
from .stored_sentences import fetch_available, wanted_lead_ins

_MAX_ROUNDS = 6
"""The most calls that read what decides about windows. One is usual."""

_REACH = 6
"""Sentences on each side of a missing one that are read with it, as a list or a table needs one after the other. Read
one at a time, manuals took six calls a question, and their long lists were still cut."""


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
class Assembling:
    """The parts that windows are assembled from.

    Attributes:
        scope: The store, and what may be read of it.
        ranked: The windows, best first.
        expansion: How far hits were expanded.
        sentences: The sentences that are known.
        k: The most windows.
        max_tokens: The most tokens of all windows together; ``None`` for no limit.
        count_tokens: Counts the tokens of a text.
    """

    scope: Scope
    ranked: Sequence[RankedWindow]
    expansion: Expansion
    sentences: Sentences
    k: int
    max_tokens: int | None
    count_tokens: Callable[[str], int]


@dataclass(frozen=True, slots=True)
class AssembledDocuments:
    """The windows to return.

    Attributes:
        assembly: Which ranked windows they were made of, and why the others were left out.
        documents: A Document for each window, in the same order.
        sentences: Their sentences, and others that were read.
    """

    assembly: Assembly
    documents: Sequence[Document]
    sentences: SentencesByKey

    def supported(self, hits: Collection[SentenceKey]) -> "AssembledDocuments":
        """Return the windows that hold one of some hits."""
        dropped = [
            rank
            for each in self.assembly.windows
            if not any((hit.doc_id, hit.index) in hits for hit in each.window.hits)
            for rank in each.ranks
        ]
        return self.without(dropped, IS_UNSUPPORTED)

    def with_relevance(self, probability: float | None) -> "AssembledDocuments":
        """Return the windows with how likely it is that they answer the question, if that is known."""
        if probability is None:
            return self
        added = {RELEVANCE: probability}
        documents = [each.model_copy(update={"metadata": each.metadata | added}) for each in self.documents]
        return replace(self, documents=documents)

    def without(self, ranks: Collection[int], reason: str) -> "AssembledDocuments":
        """Leave out the windows that some ranked windows became part of."""
        both = zip(self.assembly.windows, self.documents, strict=True)
        kept = [(each, document) for each, document in both if each.ranks[0] not in ranks]
        left_out = {**self.assembly.left_out, **dict.fromkeys(ranks, reason)}
        assembly = replace(self.assembly, windows=[each for each, _ in kept], left_out=left_out)
        return replace(self, assembly=assembly, documents=[document for _, document in kept])


async def assemble_documents(io: IO, given: Assembling) -> AssembledDocuments:
    """Assemble windows, and make their Documents.

    Raises:
        IncompleteWindowError: The store lacks a sentence of a window, or a document changed since the search.
        InvalidInputError: The budget is too small for any hit.
    """
    ranked: list[Ranked] = []
    for one in given.ranked:
        cost = None
        if one.document is not None and one.document.page_content != window_text(one.window, given.sentences):
            cost = given.count_tokens(shown_text(one.document))  # the reranker rewrote it
        is_open = cost is None and given.expansion.sizes[one.window.best.key] is None
        ranked.append(Ranked(one.window, is_open, cost))
    if given.k > MAX_JOINED and given.max_tokens is None:  # candidates to choose from, which are left as they are
        made = await _made(io, given, ranked, None)
    else:
        made = await _each_text_once(io, given, ranked)
    return replace(made, documents=[with_counts(document, given.count_tokens) for document in made.documents])


async def _each_text_once(io: IO, given: Assembling, ranked: Sequence[Ranked]) -> AssembledDocuments:
    """Assemble windows of different texts, each with the places of those that were left out as they equal it."""
    known: dict[int, Equal] = {}
    sentences: dict[SentenceKey, StoredSentence] = {}
    for _ in range(_MAX_ROUNDS):
        made = await _made(io, given, ranked, known)
        sentences |= made.sentences  # those of a window that is found to be equal aren't read again
        windows = made.assembly.windows
        equal = {
            rank: Equal(windows[worse].window, windows[better].ranks[0])
            for worse, better in better_of(made.documents).items()
            for rank in windows[worse].ranks
        }
        if not equal:
            break
        known |= equal  # after joining and completing, texts may be equal that were not before
    if equal:
        made = made.without(equal, IS_EQUAL)
        made = replace(made, assembly=replace(made.assembly, equal={**made.assembly.equal, **equal}))
    others: dict[int, dict[int, Equal]] = {}
    for rank, left_out in made.assembly.equal.items():
        others.setdefault(left_out.better, {})[rank] = left_out
    documents = list[Document]()
    for each, document in zip(made.assembly.windows, made.documents, strict=True):
        of_it = {rank: left_out for better in each.ranks for rank, left_out in others.get(better, {}).items()}
        places = [window_document(of_it[rank].window, sentences) for rank in sorted(of_it)]
        documents.append(with_places(document, places) if places else document)
    return replace(made, documents=documents)


async def _made(
    io: IO, given: Assembling, ranked: Sequence[Ranked], known: Mapping[int, Equal] | None
) -> AssembledDocuments:
    """Assemble windows and make their Documents, without those that are known to equal better ones."""
    assembly, read = await _assemble(io, given, ranked, known)
    is_bare = bool(ranked) and not assembly.windows
    if is_bare:
        # Nothing fits: then hits alone, without what leads them in or completes them.
        ranked = [_bare(each, one, given) for each, one in zip(ranked, given.ranked, strict=True)]
        assembly, read = await _assemble(io, given, ranked, known, is_bare=True)
        _check_taken(assembly, ranked, given)
    windows = [each.window for each in assembly.windows]
    made, read = await read_windows(io, given.scope, windows, given.sentences, read)
    documents: list[Document] = []
    for each, document in zip(assembly.windows, made, strict=True):
        rank = each.ranks[0]
        reranked = given.ranked[rank].document
        if reranked is None:
            documents.append(document)
        elif ranked[rank].fixed_cost is None:
            documents.append(_with_added(document, reranked))
        else:  # it was rewritten
            documents.append(reranked)
    if is_bare:
        documents = [without_lead_ins(document) for document in documents]
    return AssembledDocuments(assembly, documents, {**given.sentences, **read})


async def _assemble(
    io: IO, given: Assembling, ranked: Sequence[Ranked], known: Mapping[int, Equal] | None, *, is_bare: bool = False
) -> tuple[Assembly, dict[SentenceKey, StoredSentence]]:
    """Assemble with what is known, read what that would have needed, and do it again until nothing is missing.

    What was read comes from one call, so it is of one state of the store.
    """
    read = given.expansion.read
    asked = dict.fromkeys(given.expansion.asked)
    for attempt in range(_MAX_ROUNDS + 1):
        reader = _Reader(given, read, asked, known, is_bare=is_bare, may_want=attempt < _MAX_ROUNDS)
        assembly = assemble(ranked, given.k, reader.line, reader.budget, reader.texts)
        if not reader.wanted:
            break
        windows = [each.window for each in assembly.windows]
        lead_ins = wanted_lead_ins(windows, {**given.sentences, **read})
        asked |= reader.wanted | dict.fromkeys([key for window in windows for key in window.keys] + lead_ins)
        if given.scope.adapter.reads_one_state:  # else all that decides must come from one call
            missing = [key for key in asked if key not in read]
            found, _ = await fetch_available(io, given.scope, missing, given.sentences)
            read = {**read, **found}
        else:
            read, _ = await fetch_available(io, given.scope, asked, given.sentences)
    return assembly, read


def _check_taken(assembly: Assembly, ranked: Sequence[Ranked], given: Assembling) -> None:
    """Check that the budget was large enough for something.

    Raises:
        InvalidInputError: It wasn't.
    """
    if assembly.windows or given.max_tokens is None:
        return
    hits = (each.window.best for each in ranked if each.fixed_cost is None)
    least = [
        (given.count_tokens(given.sentences[hit.doc_id, hit.index].text), "sentence that was found") for hit in hits
    ]
    rewritten = [each.fixed_cost for each in ranked if each.fixed_cost is not None]
    tokens, what = min([*least, *((cost, "text that the reranker returned") for cost in rewritten)])
    raise InvalidInputError(
        f"max_tokens is {given.max_tokens}, and the shortest {what} has {tokens} tokens; set it to {tokens} or more"
    )


class _Reader:
    """Looks sentences up, and notes those that aren't read yet."""

    def __init__(
        self,
        given: Assembling,
        read: SentencesByKey,
        asked: Mapping[SentenceKey, None],
        known: Mapping[int, Equal] | None,
        *,
        is_bare: bool,
        may_want: bool,
    ) -> None:
        self.wanted: dict[SentenceKey, None] = {}
        self._sentences = {**given.sentences, **read}
        self.texts: Texts | None = None
        if known is not None:
            self.texts = Texts(lambda hit: rough_key(self._sentences[hit.key].text), self._are_equal, known)
        self._count = given.count_tokens
        limit = given.max_tokens
        self.budget = None if limit is None else Budget(limit, self._cost, self._cost_alone)
        self._asked, self._may_want, self._is_bare = asked, may_want, is_bare
        self._costs: dict[tuple[str, int, int], int] = {}
        self._alone: dict[SentenceKey, int] = {}
        self._lines: dict[SentenceKey, Line] = {}

    def line(self, key: SentenceKey) -> Line | None:
        line = self._lines.get(key)
        if line is None:
            sentence = self._sentences.get(key)
            if sentence is None:
                doc_id, index = key
                around = range(max(0, index - _REACH), index + _REACH + 1)
                return _UNREAD if self._wants((doc_id, each) for each in around) else None
            line = self._lines[key] = line_of(sentence)
        return line

    def _are_equal(self, one: Window, other: Window) -> bool:
        missing = [key for key in (*one.keys, *other.keys) if key not in self._sentences]
        if missing:
            return self._wants(missing)  # taken for equal until they are read, so that one call reads all of them
        if text_key(window_text(one, self._sentences)) != text_key(window_text(other, self._sentences)):
            return False
        self._wants(wanted_lead_ins([one, other], self._sentences))
        led = [[text_key(each[TEXT]) for each in lead_ins(window, self._sentences)] for window in (one, other)]
        return led[0] == led[1]

    def _cost_alone(self, key: SentenceKey) -> int:
        if key not in self._alone:
            self._alone[key] = self._count((self.line(key) or _UNREAD).text)
        return self._alone[key]

    def _cost(self, window: Window) -> int:
        place = window.doc_id, window.first, window.last
        if place not in self._costs:
            self._costs[place] = self._count(self._shown(window))
        return self._costs[place]

    def _shown(self, window: Window) -> str:
        """Return what is shown of a window, with its lead-ins, as far as it is read."""
        keys = window.keys
        if self._sentences.keys() >= set(keys):
            if self._is_bare:
                return window_text(window, self._sentences)
            self._wants(wanted_lead_ins([window], self._sentences))
            return shown_window(window, self._sentences)
        found = [self._sentences.get(key) for key in keys]
        self._wants(key for key, sentence in zip(keys, found, strict=True) if sentence is None)
        return " ".join(_UNREAD.text if sentence is None else sentence.text for sentence in found)

    def _wants(self, keys: Iterable[SentenceKey]) -> bool:
        """Note sentences to read; return whether there is one that wasn't asked for before."""
        new = [key for key in keys if key not in self._asked] if self._may_want else []
        self.wanted |= dict.fromkeys(new)
        return bool(new)


def _bare(each: Ranked, ranked: RankedWindow, given: Assembling) -> Ranked:
    """Return a window without what leads it in or completes it."""
    if each.fixed_cost is None or ranked.document is None:
        return replace(each, is_open=False)
    return replace(each, is_open=False, fixed_cost=given.count_tokens(ranked.document.page_content))


def _with_added(document: Document, reranked: Document) -> Document:
    """Return a window's Document with the metadata that a reranker added to its best part."""
    ours = CONTRACT_KEYS - {RELEVANCE_SCORE}
    added = {key: value for key, value in reranked.metadata.items() if key not in ours}
    return document.model_copy(update={"metadata": document.metadata | added})
