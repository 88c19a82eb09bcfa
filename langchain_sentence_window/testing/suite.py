"""The conformance suite; see `langchain_sentence_window.testing`."""

import re
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window.agents.tools import create_tools
from langchain_sentence_window.documents.keys import WINDOW_KEYS, sentence_id
from langchain_sentence_window.documents.splitter import SentenceSplitter
from langchain_sentence_window.embedding.contextual_vectors import NeighborMixedEmbeddings
from langchain_sentence_window.embedding.vectors import NEIGHBOR_WEIGHTS
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError, SentenceWindowWarning
from langchain_sentence_window.retrieval import copying
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever
from langchain_sentence_window.store.faiss_store import FaissStore

from .material import Way, WordVectors, either_way, source, stories

SAME_SCORE = 2e-3
"""Scores that differ by less are a tie, as stores keep vectors in different precisions."""

MakeStore = Callable[[Embeddings], VectorStore]


@pytest.mark.asyncio
class SentenceWindowStoreTests:
    """The tests of a store: subclass it, and define the fixture `make_store`."""

    has_filters = True
    """Whether a search can be limited to the documents of one ``tenant``, see `tenant_filter`."""
    many = 10_000
    """Sentences of the largest document."""
    splitter = SentenceSplitter()
    """Splits the documents; for a store that can't fetch by id, ``SentenceSplitter(inline_window=3)``."""

    @pytest.fixture
    def make_store(self) -> MakeStore:
        """Return a function that makes a new, empty store for an embedder."""
        raise NotImplementedError("define the fixture make_store: it returns a function from an embedder to a store")

    def tenant_filter(self, tenant: str) -> Any:
        """Return the ``filter`` for the store's search that matches the documents of one tenant."""
        return {"tenant": tenant}

    def settle(self, store: VectorStore) -> None:
        """Prepare a store after many deletions, for example by a vacuum; most stores need nothing."""

    @pytest.fixture(params=["sync", "async"])
    def way(self, request: pytest.FixtureRequest) -> Way:
        """Return a function that calls a method by its name, in its sync or its async form."""
        return either_way(request.param)

    @pytest.fixture
    def words(self) -> WordVectors:
        """Return the embedder of the store under test."""
        return WordVectors()

    @pytest.fixture
    def retriever(self, make_store: MakeStore, words: WordVectors) -> SentenceWindowRetriever:
        """Return a retriever over an empty store, whose vectors aren't mixed."""
        return self.over(make_store(words))

    def over(self, store: VectorStore, **settings: Any) -> SentenceWindowRetriever:
        """Return a retriever over a store that ranks by vectors alone."""
        by_vectors = {"lexical_weight": 0, "ranking": None, "names": False}
        return SentenceWindowRetriever(
            vectorstore=store, **{"splitter": self.splitter, "window": 2, **by_vectors, **settings}
        )

    # Results

    async def test_windows_are_verbatim(self, way: Way, retriever: SentenceWindowRetriever) -> None:
        """Check that a window is a slice of its source, with the source's metadata and no other."""
        given = source(
            "a",
            "# Grand Hôtel\n\nIt's  \"quoted\", {braced} & 'apt'.\tTabs\tstay. 😀 Emoji é\u0301!\n\n"
            "- kiwi; 100 % juice\n- lemon\n\nOne $1 \\n backslash. Two?  Three…",
            number=3,
            share=0.25,
            flag=True,
        )
        await way(retriever, "add_documents", [given])
        found = await way(retriever, "invoke", "kiwi juice", k=1, window=0)
        assert "kiwi" in found[0].page_content
        for window in await way(retriever, "invoke", "emoji tabs", k=9, window=1):
            _check_verbatim(window, given)
            assert window.metadata.items() >= given.metadata.items()
            assert _OURS <= window.metadata.keys() <= WINDOW_KEYS | given.metadata.keys()

    async def test_metadata_comes_back_unchanged_or_with_a_warning(
        self, way: Way, retriever: SentenceWindowRetriever
    ) -> None:
        """Check that one warning names what the store can't hold, and that windows share no list with the store."""
        own: dict[str, Any] = {
            "groups": ["staff", "north"],
            "numbers": [1, 2],
            "mixed": [1, "b", None],
            "empty": [],
            "nested": {"list": [{"none": None}]},
            "nothing": None,
            "large": 2**70,
            "name": "Zoë \N{GRINNING FACE}",
        }
        given = source("a", "One kiwi. Two kiwi.", day=date(2024, 5, 1), odd=object(), **own)
        with pytest.warns(SentenceWindowWarning) as caught:
            await way(retriever, "add_documents", [given])
        (warning,) = caught
        left_out = {key for key in (*own, "odd") if repr(key) in str(warning.message)}
        assert "odd" in left_out
        expected = {key: value for key, value in own.items() if key not in left_out} | {"day": "2024-05-01"}
        for _ in range(2):
            (window,) = await way(retriever, "invoke", "kiwi", k=1, window=1)
            assert {key: window.metadata[key] for key in expected} == expected
            assert window.metadata.keys().isdisjoint(left_out)
            for key in expected.keys() & {"groups", "nested"}:
                window.metadata[key].clear()

    async def test_a_hole_in_a_window_is_an_error(self, way: Way, retriever: SentenceWindowRetriever) -> None:
        """Check that a window never skips a missing sentence silently."""
        if self.splitter.inline_window is not None:
            pytest.skip("inline windows have no holes")
        await way(retriever, "add_documents", [source("a", "Sweet fig. Dry date. Sour lime.")])
        await way(retriever.vectorstore, "delete", [sentence_id("a", 1)])
        with pytest.raises(IncompleteWindowError, match="no sentence 1"):
            await way(retriever, "invoke", "sweet fig", k=1, window=1)

    # Writing

    async def test_documents_are_replaced_and_deleted_whole(self, way: Way, retriever: SentenceWindowRetriever) -> None:
        """Check that no sentence of a longer version stays, and that deleting an unknown document isn't an error."""
        for text in ("One kiwi. Two kiwi. Three kiwi.", "One plum.", "A fig. Two fig. One plum. A date. Five lime."):
            await way(retriever, "add_documents", [source("a", text), source("b", "Other nut.")])
            found = await way(retriever, "invoke", "one kiwi plum", k=30, window=0)  # so many aren't joined
            expected = [*re.findall(r"\w.*?\.", text), "Other nut."]
            assert sorted(window.page_content for window in found) == sorted(expected)
        await way(retriever, "delete", ["a", "never there"])
        assert [found.page_content for found in await way(retriever, "invoke", "plum", k=9)] == ["Other nut."]

    @pytest.mark.parametrize("is_in_context", [False, True])
    async def test_a_failing_embedder_leaves_the_old_document(
        self, way: Way, make_store: MakeStore, words: WordVectors, *, is_in_context: bool
    ) -> None:
        """Check that the old document stays until the new one is embedded."""
        retriever = self.over(make_store(NeighborMixedEmbeddings(words) if is_in_context else words))
        await way(retriever, "add_documents", [source("a", "Old kiwi. Old plum.")])
        words.is_down = True
        with pytest.raises(ConnectionError):
            await way(retriever, "add_documents", [source("a", "New fig.")])
        (window,) = await way(retriever, "invoke", "kiwi", k=1, window=1)
        assert window.page_content == "Old kiwi. Old plum."

    # Listing

    async def test_documents_are_listed_and_deleted_by_source_and_filter(
        self, way: Way, retriever: SentenceWindowRetriever
    ) -> None:
        """Check that documents are listed with what they are, and deleted whole; or that the store can't list."""
        given = [
            source("a", "# Fruit\n\nOne kiwi. Two kiwi.", "acme", source="fruit.md", page=0),
            source("b", "One plum.", "acme", source="plum.md", title="Plums"),
            source("c", "One fig.", "umbra", source="fig.md"),
        ]
        await way(retriever, "add_documents", given)
        try:
            listed = await way(retriever, "documents")
        except InvalidInputError as error:
            assert "can't list what it holds" in str(error)  # noqa: PT017 - some stores can't
            return

        async def names(*filters: Any) -> list[str]:
            return sorted(each.doc_id for each in await way(retriever, "documents", *filters))

        assert sorted((each.doc_id, each.source, each.title, each.sentences, each.pages) for each in listed) == [
            ("a", "fruit.md", "Fruit", 3, 1),
            ("b", "plum.md", "Plums", 1, None),
            ("c", "fig.md", None, 1, None),
        ]
        assert await way(retriever, "delete", source="nothing.md") == 0
        assert await way(retriever, "delete", ["a", "nothing"], source="plum.md") == 0
        assert await way(retriever, "delete", source="fruit.md") == 1
        assert await names() == ["b", "c"]
        if self.has_filters and self.splitter.inline_window is None:
            acme, umbra = self.tenant_filter("acme"), self.tenant_filter("umbra")
            assert await names(acme) == ["b"]
            assert await way(self.over(retriever.vectorstore, filter=umbra), "delete", source="plum.md") == 0
            assert await way(retriever, "delete", filter=umbra) == 1
            assert await names() == ["b"]
        assert await way(retriever, "delete", ["b"], source="plum.md") == 1
        assert "b" not in await names()

    # Filters

    async def test_a_filter_applies_before_the_best_are_chosen(
        self, way: Way, retriever: SentenceWindowRetriever
    ) -> None:
        """Check that a search finds ``k`` documents of a tenant, or all of them, among many of another."""
        self._need_filters()
        sources = [
            source(f"{tenant}{number}", f"Salary list {number} of {tenant}. End.", tenant)
            for tenant, count in (("acme", 60), ("umbra", 3))
            for number in range(count)
        ]
        await way(retriever, "add_documents", sources)
        for tenant, count in (("acme", 10), ("umbra", 3), ("nobody", 0)):
            found = await way(retriever, "invoke", "acme salary", k=10, filter=self.tenant_filter(tenant))
            assert [window.metadata["tenant"] for window in found] == [tenant] * count
            assert all(tenant in window.page_content for window in found)

    @pytest.mark.parametrize("window", [0, 4, "auto"])
    async def test_a_filter_applies_to_hits_windows_and_traces(
        self, way: Way, make_store: MakeStore, words: WordVectors, window: Any
    ) -> None:
        """Check that a filter applies to hits, to the sentences around them and to traces."""
        self._need_filters()
        store = make_store(words)
        await self._fill_for_two(way, store)
        retriever = self.over(store, filter=self.tenant_filter("acme"), window=window, k=20)
        for query in ("umbra salary", "acme wage", "salary"):
            found = await way(retriever, "invoke", query)
            assert found
            assert not [each for each in found if "umbra" in f"{each.page_content} {each.metadata}".lower()]
            assert await way(retriever, "invoke", query, filter=self.tenant_filter("umbra")) == []
            assert await way(retriever, "invoke", query, filter=self.tenant_filter("acme")) == found
        if window == 4:  # noqa: PLR2004 - larger than any run
            runs = sorted(each.metadata["sentences"] for each in found if each.metadata["doc_id"] == "both")
            assert runs == [[0, 1], [4, 5]]
        trace = await way(retriever, "explain", "salary")
        assert trace.hits
        assert not any("Umbra" in each.text for each in (*trace.windows, *trace.candidates))

    async def test_a_filter_applies_to_documents_and_tools(
        self, way: Way, make_store: MakeStore, words: WordVectors
    ) -> None:
        """Check that a filter applies when documents are fetched, read around a passage, deleted and replaced."""
        self._need_filters()
        store = make_store(words)
        await self._fill_for_two(way, store)
        retriever = self.over(store, filter=self.tenant_filter("acme"))
        names = ["acme", "umbra", "both", "none"]
        assert [each.id for each in await way(retriever, "get", names)] == ["acme"]
        read_around = create_tools(retriever)[1]
        for name, first, expected in (("acme", 0, True), ("both", 1, True), ("both", 2, False), ("umbra", 0, False)):
            shown = await way(read_around, "invoke", {"doc_id": name, "first": first, "last": first, "after": 50})
            assert ("Acme" in shown) is expected
            assert "Umbra" not in shown
        await way(retriever, "delete", ["umbra", "none"])
        with pytest.raises(InvalidInputError, match="only a part"):
            await way(retriever, "delete", ["both"])
        with pytest.raises(InvalidInputError):
            await way(retriever, "add_documents", [source("umbra", "Acme takes it.", "acme")])
        assert [each.id for each in await way(self.over(store), "get", names)] == ["acme", "umbra", "both"]

    def _need_filters(self) -> None:
        if not self.has_filters:
            pytest.skip("the store has no filters")
        if self.splitter.inline_window is not None:
            pytest.skip("the store can't fetch by id, so filters don't apply to windows")

    async def _fill_for_two(self, way: Way, store: VectorStore) -> None:
        """Add a document of each of two tenants, and one whose sentences alternate between them."""
        text = "Acme pays a wage. Acme pays late. Umbra pays a salary. Umbra pays now. Acme wins. Acme ends."
        await way(
            self.over(store),
            "add_documents",
            [
                source("acme", "Acme has a salary. Acme has a list.", "acme"),
                source("umbra", "Umbra has a salary. Umbra has a list.", "umbra"),
            ],
        )
        sentences = [
            each.model_copy(update={"metadata": each.metadata | {"tenant": each.page_content.split()[0].lower()}})
            for each in self.splitter.split_documents([source("both", text)])
        ]
        await way(store, "add_documents", sentences, ids=[str(each.id) for each in sentences])

    # Vectors

    @pytest.mark.parametrize("window", [0, 2, "auto"])
    async def test_vectors_in_context_rank_as_in_faiss_store(
        self, way: Way, make_store: MakeStore, words: WordVectors, window: Any
    ) -> None:
        """Check that mixed vectors rank windows as `FaissStore` does, ties aside."""
        expected = self._faiss_store()
        retriever = self.over(make_store(NeighborMixedEmbeddings(words)), window=window)
        await way(retriever, "add_documents", list(stories()))
        await self._check_same_order(way, retriever, self.over(expected, window=window))

    async def test_an_index_comes_from_faiss_store_without_embedding(
        self, way: Way, make_store: MakeStore, words: WordVectors
    ) -> None:
        """Check that all sentences are copied with their vectors, and rank as before."""
        expected, store = self._faiss_store(), make_store(NeighborMixedEmbeddings(words))
        embedded = words.embedded
        await way(copying, "copy_index", expected, store)
        assert words.embedded == embedded
        await self._check_same_order(way, self.over(store), self.over(expected))

    def _faiss_store(self) -> FaissStore:
        """Return a `FaissStore` that holds the stories, in vectors that are mixed with their neighbors'."""
        store = FaissStore(WordVectors(), neighbor_weights=NEIGHBOR_WEIGHTS)
        self.over(store).add_documents(list(stories()))
        return store

    async def _check_same_order(
        self, way: Way, retriever: SentenceWindowRetriever, expected: SentenceWindowRetriever
    ) -> None:
        """Compare the best windows, without joining them, which would depend on ties: more than 20 are asked for."""
        for query in ("kiwi and plum", "sour lime", "the nut of a date", "fig", "apple pear"):
            found = await way(retriever, "invoke", query, k=30)
            best = await way(expected, "invoke", query, k=30)
            score = {window.id: window.metadata["score"] for window in best}
            for window, other in zip(found[:8], best, strict=False):
                assert window.id in score, f"{window.page_content!r} isn't among the best"
                assert abs(score[window.id] - score[other.id]) < SAME_SCORE, (window.page_content, other.page_content)
            assert len(found) == min(len(best), 30)

    async def test_ten_thousand_sentences(self, make_store: MakeStore, words: WordVectors) -> None:
        """Check that a long document is added, found to its end, and deleted."""
        many = min(self.many, 4_000) if self.splitter.inline_window is not None else self.many
        retriever = self.over(make_store(NeighborMixedEmbeddings(words)), window=1)
        items = [f"Item {index} weighs {index + many} at {index + 2 * many}." for index in range(many)]
        text = " ".join(items)
        retriever.add_documents([source("long", text), source("short", "One kiwi.")])
        for number in (0, many // 2, many - 1):
            for (window,) in (retriever.invoke(items[number], k=1), await retriever.ainvoke(items[number], k=1)):
                assert items[number] in window.page_content
                _check_verbatim(window, source("long", text))
        retriever.delete(["long"])
        if self.splitter.inline_window is None:
            assert [left.id for left in retriever.get(["long", "short"])] == ["short"]
        self.settle(retriever.vectorstore)
        assert [window.page_content for window in retriever.invoke(items[0], k=9)] == ["One kiwi."]


_OURS = {"doc_id", "start_index", "end_index", "sentences", "sentence_spans", "hits", "score", "window_id", "heading"}


def _check_verbatim(window: Document, source: Document) -> None:
    start, end = window.metadata["start_index"], window.metadata["end_index"]
    assert window.page_content == source.page_content[start:end]
