"""Two tenants in one index: with a filter, nothing of the other tenant is shown, changed or deleted.

All texts of one tenant begin with "Mine", all of the other's with "Theirs". Two documents belong to one tenant each; in
``both`` each sentence names its tenant, so that windows end at the other's sentences.
"""

import copy
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_sentence_window import FaissStore, SentenceSplitter, SentenceWindowRetriever, create_tools
from langchain_sentence_window.errors import (
    IncompleteWindowError,
    InvalidInputError,
)
from langchain_sentence_window.stores import IO, BM25Index, StoreAdapter, register
from tests.filter_model import matches
from tests.forms import Invoke
from tests.toys import WordEmbeddings, document

BOTH = "Mine is a refund. Mine is annual. Theirs is a secret refund. Theirs is a card. Mine is a seat. Mine is a trial."
SOURCES = [
    document("# Mine\n\nMine is a page. Mine is a refund of it. Mine ends.", "mine", tenant="mine"),
    document("# Theirs\n\nTheirs is a refund page. Theirs is a secret salary. Theirs ends.", "theirs", tenant="theirs"),
]
QUERIES = ["refund", "theirs secret salary", "seat", "annual card", "mine"]


class Mapped(VectorStore):
    """A store as most are: it takes mappings when it searches, and fetches by id without any filter."""

    name = "filter"

    def __init__(self, embedding: Embeddings) -> None:
        self.beneath = InMemoryVectorStore(embedding)

    def add_documents(self, documents: list[Document], **settings: Any) -> list[str]:
        return self.beneath.add_documents(documents, **settings)

    def delete(self, ids: list[str] | None = None, **settings: Any) -> None:
        self.beneath.delete(ids)

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        return self.beneath.get_by_ids(ids)

    def similarity_search_with_score(self, query: str, k: int = 4, **settings: Any) -> list[tuple[Document, float]]:
        within = settings.get(self.name, {})
        return self.beneath.similarity_search_with_score(query, k, filter=lambda found: matches(found.metadata, within))

    def similarity_search(self, query: str, k: int = 4, **settings: Any) -> list[Document]:
        raise NotImplementedError

    @classmethod
    def from_texts(cls, *given: Any, **settings: Any) -> Any:
        raise NotImplementedError


class WithoutIds(InMemoryVectorStore):
    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        raise NotImplementedError

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        raise NotImplementedError


class MappedWithoutIds(Mapped):
    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        raise NotImplementedError


def mapping(tenant: str) -> Any:
    return {"tenant": tenant}


def function(tenant: str) -> Any:
    return lambda found: found.metadata["tenant"] == tenant


Case = tuple[Callable[[Embeddings], VectorStore], Callable[[str], Any], dict[str, Any]]
BY_ID: list[Any] = [
    pytest.param((FaissStore, mapping, {}), id="FaissStore"),
    pytest.param((InMemoryVectorStore, function, {}), id="functions"),
    pytest.param((InMemoryVectorStore, mapping, {}), id="functions of mappings"),
    pytest.param((Mapped, mapping, {}), id="mappings"),
    pytest.param(
        (InMemoryVectorStore, function, {"splitter": SentenceSplitter(inline_window=3)}), id="ids and inline windows"
    ),
]
INLINE: list[Any] = [
    pytest.param((WithoutIds, function, {"splitter": SentenceSplitter(inline_window=4)}), id="inline, functions"),
    pytest.param((MappedWithoutIds, mapping, {"splitter": SentenceSplitter(inline_window=4)}), id="inline, mappings"),
]


def filled(case: Case, embedding: Embeddings, **settings: Any) -> SentenceWindowRetriever:
    """A retriever without a filter, over all that both tenants have."""
    retriever = SentenceWindowRetriever(vectorstore=case[0](embedding), **case[2] | settings)
    retriever.add_documents(SOURCES)
    sentences = [
        each.model_copy(update={"metadata": each.metadata | {"tenant": each.page_content.split()[0].lower()}})
        for each in retriever.splitter.split_documents([document(BOTH, "both")])
    ]
    assert [each.metadata["tenant"] for each in sentences] == ["mine", "mine", "theirs", "theirs", "mine", "mine"]
    retriever.vectorstore.add_documents(sentences, ids=[str(each.id) for each in sentences])
    if retriever.bm25_index is not None:
        retriever.bm25_index.change([], sentences)
    return retriever


def bound(to: SentenceWindowRetriever, case: Case, **settings: Any) -> SentenceWindowRetriever:
    """The retriever of one of the tenants, over the same store."""
    given = {"bm25_index": to.bm25_index, "k": 20, "max_tokens": None, "filter": case[1]("mine"), **case[2]}
    return SentenceWindowRetriever(vectorstore=to.vectorstore, **given | settings)


def assert_mine(found: Sequence[Document]) -> None:
    assert found
    for each in found:
        assert "heirs" not in f"{each.page_content} {each.metadata}"
        assert each.page_content.startswith(("Mine", "# Mine"))


def places(found: Sequence[Document], doc_id: str = "both") -> list[list[int]]:
    return sorted(each.metadata["sentences"] for each in found if each.metadata["doc_id"] == doc_id)


@pytest.mark.parametrize("case", BY_ID)
async def test_no_window_holds_a_sentence_that_the_filter_forbids(
    case: Case, words: WordEmbeddings, way: Invoke
) -> None:
    retriever = bound(filled(case, words), case)
    for query in QUERIES:
        for window in (0, 1, (2, 4), "auto", {"mine": (0, 3)}):
            assert_mine(await way(retriever, "invoke", query, window=window))
            assert_mine(await way(retriever, "invoke", query, window=window, k=1, fetch_k=1))
    found = await way(retriever, "invoke", "refund", window=(4, 4))
    assert places(found) == [[0, 1], [4, 5]]
    assert sorted(each.page_content for each in found if each.metadata["doc_id"] == "both") == [
        "Mine is a refund. Mine is annual.",
        "Mine is a seat. Mine is a trial.",
    ]
    assert [found.page_content for found in await way(retriever, "invoke", "page", k=1, window=4)] == [
        "# Mine\n\nMine is a page. Mine is a refund of it. Mine ends."
    ]


async def test_a_hit_that_a_forbidden_sentence_parts_from_a_better_one_opens_a_window_of_its_own(
    words: WordEmbeddings, way: Invoke
) -> None:
    store = FaissStore(words, neighbor_weights=(1,))
    text = "Mine is a refund. Theirs is one. Mine is annual. Mine is a seat. Theirs is a card. Mine is a trial."
    sentences = [
        each.model_copy(update={"metadata": each.metadata | {"tenant": each.page_content.split()[0].lower()}})
        for each in SentenceSplitter().split_documents([document(text, "both")])
    ]
    store.add_documents(sentences)
    retriever = SentenceWindowRetriever(vectorstore=store, filter={"tenant": "mine"}, window=(0, 3), ranking=None)
    for k, expected in ((1, [[0, 0]]), (2, [[0, 0], [2, 3]]), (3, [[0, 0], [2, 3], [5, 5]])):
        assert places(await way(retriever, "invoke", "refund", k=k)) == expected


@pytest.mark.parametrize("case", BY_ID)
async def test_a_filter_of_a_call_only_narrows(case: Case, words: WordEmbeddings, way: Invoke) -> None:
    admin, of = filled(case, words), case[1]
    retriever = bound(admin, case, window=2)
    assert await way(retriever, "invoke", "refund", filter=of("theirs")) == []
    assert await way(retriever.bind(filter=of("theirs")), "invoke", "refund") == []
    assert await way(retriever, "batch", ["refund", "secret"], filter=of("theirs")) == [[], []]
    usual = await way(retriever, "invoke", "refund")
    assert await way(retriever, "invoke", "refund", filter=None) == usual
    assert await way(retriever, "invoke", "refund", filter={}) == usual
    assert await way(retriever, "invoke", "refund", filter=of("mine")) == usual
    assert_mine(
        narrow := await way(retriever, "invoke", "refund", filter={"doc_id": "both"} if of is mapping else in_both)
    )
    assert {each.metadata["doc_id"] for each in narrow} == {"both"}
    # Without a setting, that of the call binds as well.
    free = bound(admin, case, filter=None, window=(4, 4))
    assert_mine(found := await way(free, "invoke", "refund", filter=of("mine")))
    assert places(found) == [[0, 1], [4, 5]]
    by_hand = bound(admin, case, filter=None, search_kwargs={"filter": of("mine")}, window=(4, 4))
    assert places(await way(by_hand, "invoke", "refund")) == [[0, 1], [4, 5]]
    assert await way(by_hand, "invoke", "refund", filter=of("theirs")) == []
    both = bound(admin, case, search_kwargs={"filter": of("theirs")})
    assert await way(both, "invoke", "refund") == []


def in_both(found: Document) -> bool:
    return bool(found.metadata["doc_id"] == "both")


@pytest.mark.parametrize("case", BY_ID)
async def test_the_tools_read_what_the_filter_lets_through(case: Case, words: WordEmbeddings, way: Invoke) -> None:
    search, read = create_tools(bound(filled(case, words), case, window=4))
    for query in QUERIES:
        assert "heirs" not in await way(search, "invoke", {"query": query, "k": 20})

    async def around(doc_id: str, first: int, last: int, **more: int) -> Any:
        return await way(
            read,
            "invoke",
            {
                "name": "read_around",
                "id": "1",
                "type": "tool_call",
                "args": {"doc_id": doc_id, "first": first, "last": last, **more},
            },
        )

    for first, last, expected in ((0, 0, [0, 1]), (1, 1, [0, 1]), (0, 5, [0, 1]), (3, 4, [4, 5]), (5, 5, [4, 5])):
        (found,) = (await around("both", first, last, before=50, after=50)).artifact
        assert_mine([found])
        assert found.metadata["sentences"] == expected
    for doc_id, first, last in (("theirs", 0, 0), ("theirs", 1, 3), ("both", 2, 3), ("none", 0, 1)):
        answer = await around(doc_id, first, last, before=50, after=50)
        assert (answer.status, answer.artifact) == ("error", None)
        assert answer.content == (
            f"There is no document '{doc_id}' with a sentence {first}. Search first, and use the doc_id and the "
            "sentence numbers of a passage that was found."
        )


@pytest.mark.parametrize("case", [BY_ID[0], BY_ID[1], BY_ID[4], *INLINE])
def test_no_score_reveals_the_words_of_a_forbidden_neighbor(case: Case, words: WordEmbeddings) -> None:
    def score(theirs: Sequence[str]) -> float:
        store = FaissStore(words, neighbor_weights=(1,)) if case[0] is FaissStore else case[0](words)
        index = None if case[0] is FaissStore else BM25Index()
        admin = SentenceWindowRetriever(vectorstore=store, bm25_index=index, **case[2])
        texts = [f"Mine is a refund. {theirs[0]}", f"Theirs is a card. {theirs[1]}"]
        texts += [f"Mine is a refund {word}." for word in ("card", "seat", "trial", "card card")]
        sentences = [
            each.model_copy(update={"metadata": each.metadata | {"tenant": each.page_content.split()[0].lower()}})
            for each in admin.splitter.split_documents([document(text, str(n)) for n, text in enumerate(texts)])
        ]
        store.add_documents(sentences, ids=[str(each.id) for each in sentences])
        if index is not None:
            index.change([], sentences)
        first, *_ = bound(admin, case, bm25_index=index).invoke("refund Zanzibar", window=0)
        assert first.page_content == "Mine is a refund."
        return float(first.metadata["score"])

    told = "Theirs is in Zanzibar.", "Theirs is in Aachen."
    assert score(told) == score(told[::-1])


@pytest.mark.parametrize("case", BY_ID)
async def test_writes_leave_alone_what_the_filter_forbids(case: Case, words: WordEmbeddings, way: Invoke) -> None:
    admin = filled(case, words)
    retriever = bound(admin, case)
    before = admin.get(["mine", "theirs", "both"])
    await way(retriever, "delete", ["theirs", "none"])
    assert admin.get(["mine", "theirs", "both"]) == before
    with pytest.raises(InvalidInputError, match="only a part of document 'both'"):
        await way(retriever, "delete", ["mine", "both"])
    embedded = len(words.embedded)
    for refused, message in (
        (document("A new card.", "new", tenant="theirs"), "doesn't let through document 'new'"),
        (document("A new card.", "theirs", tenant="mine"), "the doc_id 'theirs' is the id of a document"),
        (document("A new card.", "both", tenant="mine"), "only a part of document 'both'"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            await way(retriever, "add_documents", [document("A seat.", "seat", tenant="mine"), refused])
    assert len(words.embedded) == embedded
    assert admin.get(["mine", "theirs", "both", "new", "seat"]) == before
    await way(
        retriever,
        "add_documents",
        [document("Mine anew.", "mine", tenant="mine"), document("Mine.", "m", tenant="mine")],
    )
    assert [each.page_content for each in admin.get(["mine", "m"])] == ["Mine anew.", "Mine."]
    await way(retriever, "delete", ["mine", "theirs"])
    assert [each.id for each in admin.get(["mine", "theirs", "both", "m"])] == ["theirs", "both", "m"]


def test_langchains_index_works_within_a_filter(words: WordEmbeddings) -> None:
    case = FaissStore, mapping, dict[str, Any]()
    admin = filled(case, words)
    wrapped, records = bound(admin, case).as_document_index(), InMemoryRecordManager("within")
    for texts, counts in ((["A card.", "A seat."], (2, 0)), (["A card."], (0, 1)), ([], (0, 0))):
        sources = [document(text, text, tenant="mine") for text in texts]
        done = index(sources, records, wrapped, cleanup="full", source_id_key="doc_id", key_encoder="blake2b")
        assert (done["num_added"], done["num_deleted"]) == counts or not texts
    with pytest.raises(InvalidInputError, match="doesn't let through"):
        index([document("A page.", "p", tenant="theirs")], records, wrapped, key_encoder="blake2b")
    assert [each.id for each in admin.get(["mine", "theirs"])] == ["mine", "theirs"]


@pytest.mark.parametrize("case", INLINE)
async def test_a_store_that_cannot_fetch_by_id_filters_hits_alone(
    case: Case, words: WordEmbeddings, way: Invoke
) -> None:
    retriever = bound(filled(case, words), case)
    for query in QUERIES:
        assert_mine(await way(retriever, "invoke", query, window=0))
        for method, asked in (("invoke", query), ("explain", query)):
            with pytest.raises(
                InvalidInputError, match="can't be applied to the sentences around hits; ask with window=0"
            ):
                await way(retriever, method, asked, window=1)
    writes: list[tuple[str, Any]] = [("add_documents", [document("Mine.", "m", tenant="mine")]), ("delete", ["mine"])]
    for method, argument in writes:
        with pytest.raises(InvalidInputError, match="add and delete with a retriever that has no filter"):
            await way(retriever, method, argument)
    with pytest.raises(IncompleteWindowError, match="can't fetch documents by id"):
        await way(retriever, "get", ["mine"])


async def test_a_document_that_another_tenant_adds_concurrently_stays(words: WordEmbeddings, way: Invoke) -> None:
    theirs = document("Theirs is a card.", "new", tenant="theirs")

    class Racing(FaissStore):
        raced = False

        def get_by_ids(self, ids: Any, /) -> list[Document]:
            found = super().get_by_ids(ids)
            if not self.raced:
                self.raced = True
                admin.delete(["new"])
                admin.add_documents([theirs])
            return found

        def unraced(self) -> None:
            self.raced = False
            admin.delete(["new"])
            admin.add_documents([document("Mine.", "new", tenant="mine")])

    store = Racing(words)
    store.raced = True
    admin = SentenceWindowRetriever(vectorstore=store)
    retriever = SentenceWindowRetriever(vectorstore=store, filter={"tenant": "mine"})
    store.unraced()
    with pytest.raises(InvalidInputError):
        await way(retriever, "add_documents", [document("Mine anew.", "new", tenant="mine")])
    assert [each.page_content for each in admin.get(["new"])] == ["Theirs is a card."]
    assert await way(retriever, "delete", ["new"]) == 0
    store.unraced()
    assert await way(retriever, "delete", ["new"]) == 1  # in one transaction, which reads nothing before
    assert not store.raced
    assert admin.get(["new"]) == []


async def test_a_sentence_that_changes_its_tenant_between_search_and_reading_is_not_read(
    words: WordEmbeddings, way: Invoke
) -> None:
    class Racing(FaissStore):
        raced = False

        def get_by_ids(self, ids: Any, /) -> list[Document]:
            if not Racing.raced:  # of the class, as a query reads by a copy of the store
                Racing.raced = True
                admin.add_documents([document("Theirs is a refund. Theirs is a card.", "new", tenant="theirs")])
            return super().get_by_ids(ids)

    store = Racing(words)
    admin = SentenceWindowRetriever(vectorstore=store)
    admin.add_documents([document("Mine is a refund. Mine is a card.", "new", tenant="mine")])
    retriever = SentenceWindowRetriever(vectorstore=store, filter={"tenant": "mine"}, window=1, k=1, fetch_k=1)
    assert await way(retriever, "invoke", "refund") == []
    assert Racing.raced


# Filters that can't be applied are refused


class Deaf(Mapped):
    """Takes a filter, and doesn't read it."""

    name = "nothing"


@pytest.mark.parametrize("window", [0, 2])
async def test_a_store_that_ignores_filters_is_detected(words: WordEmbeddings, way: Invoke, window: int) -> None:
    retriever = bound(filled((Deaf, mapping, {}), words), (Deaf, mapping, {}))
    with pytest.raises(InvalidInputError, match="returned documents that its filter forbids") as raised:
        await way(retriever, "invoke", "refund", window=window)
    assert "heirs" not in str(raised.value)


class Foreign(Mapped):
    """Takes objects of its own as filters."""

    def similarity_search_with_score(self, query: str, k: int = 4, **settings: Any) -> list[tuple[Document, float]]:
        tenant = settings["filter"].tenant if "filter" in settings else None
        return self.beneath.similarity_search_with_score(
            query, k, filter=lambda found: tenant in (None, found.metadata["tenant"])
        )


class Tenant:
    def __init__(self, tenant: str) -> None:
        self.tenant = tenant


async def test_an_unknown_filter_is_only_used_for_searches(words: WordEmbeddings, way: Invoke) -> None:
    case = Foreign, Tenant, dict[str, Any]()
    admin = filled(case, words)
    retriever = bound(admin, case)
    assert_mine(await way(retriever, "invoke", "refund", window=0))
    assert "heirs" not in str(await way(retriever, "explain", "refund", window=0))
    for method, asked in (("invoke", "refund"), ("get", ["mine"]), ("delete", ["mine"])):
        with pytest.raises(InvalidInputError, match="can't apply the filter"):
            await way(retriever, method, asked)
    with pytest.raises(InvalidInputError, match="add the document with a retriever that has no filter"):
        await way(retriever, "add_documents", SOURCES[:1])
    with pytest.raises(InvalidInputError, match="can't combine the filters"):
        await way(retriever, "invoke", "refund", filter=Tenant("theirs"), window=0)


class Telling(Foreign):
    """Such a store with an adapter that applies its filters by id."""


class TellingAdapter(StoreAdapter):
    async def select(self, io: IO, ids: Sequence[str] | None, filter: Tenant | None) -> list[Document]:
        found: list[Document] = self.store.get_by_ids(ids)
        return [each for each in found if filter is None or each.metadata["tenant"] == filter.tenant]


register(Telling, TellingAdapter)


async def test_an_adapter_may_apply_a_filter_that_is_not_a_mapping(words: WordEmbeddings, way: Invoke) -> None:
    case = Telling, Tenant, dict[str, Any]()
    retriever = bound(filled(case, words), case)
    assert_mine(found := await way(retriever, "invoke", "refund", window=4))
    assert places(found) == [[0, 1], [4, 5]]
    assert [each.id for each in await way(retriever, "get", ["mine", "theirs", "both"])] == ["mine"]


class Renamed(Mapped):
    name = "pre_filter"


class RenamedAdapter(StoreAdapter):
    filter_name = "pre_filter"


register(Renamed, RenamedAdapter)


async def test_a_filter_binds_by_the_name_that_the_store_knows(words: WordEmbeddings, way: Invoke) -> None:
    case = Renamed, mapping, dict[str, Any]()
    retriever = bound(filled(case, words), case, filter=None, search_kwargs={"pre_filter": {"tenant": "mine"}})
    assert places(await way(retriever, "invoke", "refund", window=4)) == [[0, 1], [4, 5]]
    assert await way(retriever, "invoke", "refund", filter={"tenant": "theirs"}) == []
    with pytest.raises(InvalidInputError, match="holds 'filter', which may not be a filter for this store"):
        bound(retriever, case, search_kwargs={"filter": {"tenant": "mine"}})


async def coroutine(found: Document) -> bool:
    return False


class Coroutine:
    async def __call__(self, found: Document) -> bool:
        return False


@pytest.mark.parametrize(
    ("store", "filter", "message"),
    [
        (FaissStore, {"tenant": {"$like": "m"}}, "isn't an operator"),
        (FaissStore, function("mine"), "a filter is a mapping"),
        (InMemoryVectorStore, {"tenant": {"$like": "m"}}, "isn't an operator"),
        (InMemoryVectorStore, coroutine, "filters by a function of a Document"),
        (InMemoryVectorStore, Coroutine(), "filters by a function of a Document"),
        (InMemoryVectorStore, Coroutine, "filters by a function of a Document.*not by the class Coroutine"),
    ],
)
async def test_a_filter_that_cannot_be_read_is_refused_at_once(
    words: WordEmbeddings, way: Invoke, store: Any, filter: Any, message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        SentenceWindowRetriever(vectorstore=store(words), filter=filter)
    with pytest.raises(InvalidInputError, match=message):
        SentenceWindowRetriever(vectorstore=store(words), search_kwargs={"filter": filter})
    with pytest.raises(InvalidInputError, match=message):
        await way(SentenceWindowRetriever(vectorstore=store(words)), "invoke", "refund", filter=filter)


def test_a_call_cannot_set_what_binds_it(words: WordEmbeddings) -> None:
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words), filter={"tenant": "mine"})
    for setting in ("search_kwargs", "vectorstore", "bm25_index", "scope", "filters"):
        with pytest.raises(InvalidInputError, match=f"a call can't set '{setting}'; it can set filter, "):
            retriever.bind(**{setting: {}}).invoke("refund")


def test_a_filter_function_that_returns_an_awaitable_is_refused(words: WordEmbeddings) -> None:
    store = InMemoryVectorStore(words)
    SentenceWindowRetriever(vectorstore=store).add_documents([Document(page_content="A refund.", id="a")])

    async def allow(_: object) -> bool:
        return False

    class Allow:
        def __call__(self, document: object) -> Any:
            return allow([document])

    for function in (lambda document: allow([document]), partial(lambda _, document: allow(document), 1), Allow()):
        mine = SentenceWindowRetriever(vectorstore=store, filter=function)
        with pytest.raises(InvalidInputError, match="would count as true"):
            mine.invoke("refund")
        with pytest.raises(InvalidInputError, match="would count as true"):
            mine.get(["a"])


class Empty(Mapping[str, Any]):
    """A mapping that reports a length of 0, and isn't empty."""

    def __init__(self, held: dict[str, Any]) -> None:
        self.held = held

    def __getitem__(self, key: str) -> Any:
        return self.held[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.held)

    def __len__(self) -> int:
        return 0


MAPPINGS: list[Callable[[dict[str, Any]], Any]] = [dict, OrderedDict, MappingProxyType, Empty]


@pytest.mark.parametrize("make", MAPPINGS)
@pytest.mark.parametrize("case", BY_ID[::2])
async def test_any_mapping_is_a_filter(case: Case, make: Any, words: WordEmbeddings, way: Invoke) -> None:
    admin, mine = filled(case, words), make({"tenant": "mine"})
    for retriever in (
        bound(admin, case, filter=mine),
        bound(admin, case, filter=None, search_kwargs={"filter": mine}),
    ):
        assert_mine(await way(retriever, "invoke", "refund", window=4))
    assert_mine(await way(admin, "invoke", "refund", window=4, filter=mine))


@pytest.mark.parametrize("make", MAPPINGS)
@pytest.mark.parametrize("store", [FaissStore, InMemoryVectorStore])
def test_an_empty_filter_that_is_set_is_refused(store: Any, make: Any, words: WordEmbeddings) -> None:
    retriever = SentenceWindowRetriever(vectorstore=store(words), filter={"tenant": "mine"})
    for empty in ({"filter": make({})}, {"search_kwargs": {"filter": make({})}}):
        with pytest.raises(InvalidInputError, match="the filter is {}, which matches everything; write filter=None"):
            SentenceWindowRetriever(vectorstore=store(words), **empty)
        with pytest.raises(InvalidInputError, match="which matches everything"):
            retriever.model_copy(update=empty)
        with pytest.raises(InvalidInputError, match="which matches everything"):
            setattr(retriever, *next(iter(empty.items())))
    assert retriever.filter == {"tenant": "mine"}


@pytest.mark.parametrize("name", ["where", "filters", "metadata_filter"])
@pytest.mark.parametrize("value", [None, {"tenant": "mine"}])
def test_a_filter_by_a_name_that_the_store_does_not_read_is_refused(
    name: str, value: Any, words: WordEmbeddings
) -> None:
    class Read(Mapped):
        def similarity_search_with_score(
            self, query: str, k: int = 4, filter: Any = None, **settings: Any
        ) -> list[tuple[Document, float]]:
            return super().similarity_search_with_score(query, k, filter=filter)

    for store, message in (
        (
            FaissStore(words),
            "FaissStore takes only 'filter'; set filter on the retriever",
        ),
        (Read(words), f"search_kwargs holds '{name}', which may not be a filter for this store"),
    ):
        for mine in (None, {"tenant": "mine"}):
            with pytest.raises(InvalidInputError, match=message):
                SentenceWindowRetriever(vectorstore=store, filter=mine, search_kwargs={name: value})


@pytest.mark.parametrize(
    "copied", [copy.copy, lambda each: each.model_copy(), lambda each: each.model_copy(update={"k": 9})]
)
def test_changing_the_filter_of_a_copy_changes_no_other(copied: Callable[[Any], Any], words: WordEmbeddings) -> None:
    case = FaissStore, mapping, dict[str, Any]()
    admin, mine = filled(case, words), {"tenant": {"$in": ["mine"]}}
    retrievers = [bound(admin, case, filter=mine), bound(admin, case, filter=None, search_kwargs={"filter": mine})]
    mine["tenant"]["$in"].append("theirs")
    for retriever in retrievers:
        other = copied(retriever)
        for each in (other.filter, other.search_kwargs.get("filter")):
            if each:
                each["tenant"]["$in"].append("theirs")
                each.clear()
        other.search_kwargs.clear()
        assert_mine(retriever.invoke("refund", window=4))


class Writing(Mapped):
    """Writes into the filter that it is given."""

    def similarity_search_with_score(self, query: str, k: int = 4, **settings: Any) -> list[tuple[Document, float]]:
        found = super().similarity_search_with_score(query, k, **settings)
        settings.get("filter", {}).clear()
        return found


async def test_a_store_that_modifies_its_filter_changes_nothing(words: WordEmbeddings, way: Invoke) -> None:
    case = Writing, mapping, dict[str, Any]()
    retriever = bound(filled(case, words), case)
    for _ in range(3):
        assert_mine(await way(retriever, "invoke", "refund", window=4))
