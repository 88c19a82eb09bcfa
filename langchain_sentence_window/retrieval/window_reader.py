"""`WindowReader`: the sentences that the windows of one query need, read in as few calls as the store allows.

A store that can be read in one state is asked for what is missing alone. Of any other, all sentences that decide about
windows come from one call, as its documents may change between two calls.
"""

from collections.abc import Iterable, Sequence

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.sentence_documents import SentencesByKey, StoredSentence, by_key
from langchain_sentence_window.documents.window_documents import window_document
from langchain_sentence_window.documents.window_fields import lead_in_indexes
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError
from langchain_sentence_window.windows.geometry import Window, best_windows

from .expansion import Expansion, changed, surroundings


class WindowReader:
    """Reads the sentences around hits.

    Attributes:
        io: Makes the calls.
        scope: The store, and what of it may be read.
        found: The sentences that the search found.
        read: The sentences that were read, all of one state of the store. If that is the state of the search, what it
            found, too.
        sentences: Both together, by document and index; what was read comes first.
        asked: The sentences that were asked for. Those of them that weren't read don't exist, or may not be read.
        inline: The sentences of inline windows.
    """

    def __init__(self, io: IO, scope: Scope, found: SentencesByKey, read: SentencesByKey | None = None) -> None:
        """Begin with what is known.

        Args:
            io: Makes the calls.
            scope: The store, and what of it may be read.
            found: The sentences that the search found.
            read: Sentences that were read in one call; ``None`` for none.
        """
        self.io, self.scope, self.found = io, scope, found
        self._reads_one_state = scope.adapter.reads_one_state
        self.read: dict[SentenceKey, StoredSentence] = {**(found if self._reads_one_state else {}), **(read or {})}
        self.sentences: dict[SentenceKey, StoredSentence] = {**found, **self.read}
        self.asked: dict[SentenceKey, None] = {}
        inline = by_key(sentence for hit in found.values() for sentence in hit.window)
        # A sentence that was found itself knows its own page, kind and lead-in.
        self.inline = {key: found.get(key, sentence) for key, sentence in inline.items()}

    async def read_around(self, expansion: Expansion, k: int, max_tokens: int | None) -> Expansion:
        """Read what the windows of hits will probably need; return the expansion with what ends windows.

        Args:
            expansion: The hits.
            k: The most windows.
            max_tokens: The most tokens of all windows; ``None`` for no limit.

        Raises:
            IncompleteWindowError: The store can't read what decides how far hits are expanded, or a hit may not be read
                any more.
        """
        needed, likely = surroundings(expansion, k, max_tokens)
        can_fetch = await self.fetch([*needed, *likely])
        missing = self._unread(needed)
        if missing and not can_fetch and self.scope.filter is None and self.inline:
            return expansion.without(missing)  # what a hit needs is taken as far as inline windows hold it
        if missing and not (can_fetch and self.read):
            missing = await self._require(missing)
        while self.scope.filter is not None:  # a window that ends before a forbidden sentence may need others
            expansion = expansion.without(missing) if missing else expansion
            windows = best_windows(expansion.hits, expansion.window, expansion.widens)
            missing = self._unread(key for window in windows if window.first < window.last for key in window.keys)
            if not missing:
                break
            missing = await self._require(missing)
        return expansion

    async def documents(self, windows: Sequence[Window]) -> list[Document]:
        """Read windows and what leads them in, and return a Document for each.

        Raises:
            IncompleteWindowError: The store lacks a sentence, or a document changed since the search.
        """
        while unasked := self.unasked(windows):  # what leads a window in may have a lead-in of its own
            await self.fetch(unasked)
        sentences = await self.settle(windows)
        return [window_document(window, sentences) for window in windows]

    async def fetch(self, keys: Iterable[SentenceKey]) -> bool:
        """Read sentences, as far as they can be read.

        Returns:
            Whether the store could be asked for all of them.
        """
        wanted = self._ask_for([key for key in dict.fromkeys(keys) if key not in self.asked])
        if not wanted:
            return True
        try:
            found = await self.scope.sentences(self.io, wanted)
        except InvalidInputError:  # the filter can't be enforced by id
            return False
        self._keep(wanted, found)
        return found is not None

    def unasked(self, windows: Iterable[Window]) -> list[SentenceKey]:
        """Return the sentences of windows, and what leads them in, that weren't asked for yet."""
        keys: dict[SentenceKey, None] = {}
        for window in windows:
            lead_ins = [key for key in self.missing_lead_ins(window) if key not in self.asked]
            if lead_ins or not self._is_at_hand(window):
                # Together, so that both are of one state.
                keys |= dict.fromkeys([*lead_ins, *window.keys])
        return [key for key in keys if key not in self.asked]

    async def settle(self, windows: Sequence[Window]) -> SentencesByKey:
        """Return the sentences that windows are made of, with their lead-ins as far as they can be read.

        Raises:
            IncompleteWindowError: The store lacks a sentence, or a document changed since the search.
        """
        missing = self._unread(key for window in windows if not self._is_at_hand(window) for key in window.keys)
        if missing:
            await self._require(missing)
        if self._reads_one_state:
            return self.sentences
        settled = dict(self.read)
        for window in windows:
            if self._is_of_search(window):
                settled |= {key: self.found[key] for key in window.keys}
            lead_ins = [(window.doc_id, index) for index in lead_in_indexes(window, self.sentences)]
            settled |= {key: self.found[key] for key in lead_ins if key in self.found and key not in settled}
            for hit in window.hits:
                if hit.key in settled and settled[hit.key].text != self.found[hit.key].text:
                    raise changed(hit)
        return settled

    def missing_lead_ins(self, window: Window) -> list[SentenceKey]:
        """Return what leads a window in and isn't at hand."""
        keys = [(window.doc_id, index) for index in lead_in_indexes(window, self.sentences)]
        return [key for key in keys if key not in self.sentences or not self.sentences[key].kind]

    async def _require(self, keys: Sequence[SentenceKey]) -> list[SentenceKey]:
        """Read sentences; return those that don't exist or that the filter forbids.

        Raises:
            IncompleteWindowError: The store can't fetch by id, and no inline window holds a sentence; or it returns
                none of those that the search found.
            InvalidInputError: The store can't enforce its filter by id.
        """
        scope, inline = self.scope, self.inline
        wanted = self._ask_for(keys)
        found = await scope.sentences(self.io, wanted) if wanted else {}
        if found is None and scope.filter is not None:
            # Inline windows may hold sentences that the filter forbids.
            raise InvalidInputError(
                f"{scope.adapter.name} can't fetch by id, so the filter can't be applied to the sentences around hits; "
                "ask with window=0, or write an adapter with the method select"
            )
        if found is None:
            doc_id, index = next(key for key in wanted if key not in inline)
            raise IncompleteWindowError(
                f"{scope.adapter.name} can't fetch documents by id, and no inline window holds sentence {index} of "
                f"document {doc_id!r}; use a store with get_by_ids, ask with a smaller window, or index with a larger "
                "window in the sentences: SentenceWindowRetriever(splitter=SentenceSplitter(inline_window=2), ...)"
            )
        if not found and self.found.keys() & set(wanted):
            raise IncompleteWindowError(
                f"{scope.adapter.name} returned none of {len(wanted)} sentences by their ids, though its search had "
                "found some of them; they were deleted just now, or the store doesn't keep the ids it is given: add "
                "documents through the retriever, or split them with SentenceSplitter(inline_window=2)"
            )
        self._keep(wanted, found)
        return self._unread(keys)

    def _unread(self, keys: Iterable[SentenceKey]) -> list[SentenceKey]:
        return [key for key in dict.fromkeys(keys) if key not in self.read]

    def _is_at_hand(self, window: Window) -> bool:
        """Return whether a window can be made of sentences that are of one state."""
        return all(key in self.read for key in window.keys) or self._is_of_search(window)

    def _is_of_search(self, window: Window) -> bool:
        """Return whether all that a window needs came from the search."""
        keys = set(window.keys)
        return {hit.key for hit in window.hits} >= keys and not self.read.keys() & keys

    def _ask_for(self, keys: Sequence[SentenceKey]) -> list[SentenceKey]:
        """Note what is asked for, take what inline windows hold, and return what has to be fetched."""
        self.asked |= dict.fromkeys(keys)
        if self.scope.filter is None and self.inline:
            held = {key: self.inline[key] for key in keys if key in self.inline}
            self.read |= held
            self.sentences |= held
        missing = self._unread(keys)
        if not missing or self._reads_one_state:
            return missing
        return [key for key in self.asked if self.scope.filter is not None or key not in self.inline]

    def _keep(self, wanted: Iterable[SentenceKey], found: SentencesByKey | None) -> None:
        if found is None:
            return
        if not self._reads_one_state:
            for key in wanted:  # what an earlier call read may be of another state
                self.read.pop(key, None)
                self.sentences.pop(key, None)
                if key in self.found:
                    self.sentences[key] = self.found[key]
        self.read |= found
        self.sentences |= found
