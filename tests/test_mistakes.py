"""The commonest mistakes: each is named, with what to write instead."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import HumanMessage
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate
from langchain_core.runnables import ConfigurableField, RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_sentence_window import (
    BM25Index,
    CrossEncoderReranker,
    FaissStore,
    LateInteractionReranker,
    SentenceSplitter,
    SentenceTransformerCrossEncoder,
    SentenceWindowRetriever,
    create_rag_chain,
    evaluation,
)
from langchain_sentence_window._display import shown
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowWarning, StoreError
from langchain_sentence_window.evaluation import Question
from langchain_sentence_window.retrieval import indexing
from langchain_sentence_window.store.files import DATABASE_FILE
from tests.conftest import Invoke
from tests.reranking.test_cross_encoder import Lengths
from tests.toys import PLAIN, WordEmbeddings, document

DOCUMENT = document("A refund is quick. It takes days.", "a")
KEY = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"


@pytest.fixture
def retriever(words: WordEmbeddings) -> SentenceWindowRetriever:
    return SentenceWindowRetriever.from_documents([DOCUMENT], words, k=2, window=1, **PLAIN)


def is_empty(folder: Path) -> bool:
    return not list(folder.iterdir())


class Secretive:
    """Tells more of itself than a message should."""

    def __repr__(self) -> str:
        return f"Secretive(api_key={KEY!r})" * 100_000


# Documents

NOT_DOCUMENTS: list[tuple[Callable[[], object], str]] = [
    (lambda: DOCUMENT, "documents is a Document; give a list of Documents"),
    (lambda: "A refund.", r"documents is 'A refund.'; give a list of Documents: \[Document\(page_content=text\)\]"),
    (lambda: "long " * 10**6, r"documents is 'long .*… \(5,000,000 characters\); give"),
    (lambda: b"A refund.", "documents is b'A refund.'; give"),
    (lambda: Path("a.md"), "documents is a PosixPath; give"),
    (lambda: {"a": DOCUMENT}, "documents is {'a': …}; give a list of Documents"),
    (lambda: None, "documents is None; give a list"),
    (lambda: 5, "documents is 5; give a list"),
    (lambda: ["A refund."], r"documents\[0\] is 'A refund.'; give Document\(page_content=text\)"),
    (lambda: [DOCUMENT, "A refund."], r"documents\[1\] is 'A refund.'"),
    (lambda: [DOCUMENT, DOCUMENT, None], r"documents\[2\] is None; give Document"),
    (lambda: [[DOCUMENT]], r"documents\[0\] is \[a Document\]; give Document"),
    (lambda: [(DOCUMENT, 0.5)], r"documents\[0\] is \(a Document, 0.5\)"),
    (lambda: (each for each in [DOCUMENT, 3]), r"documents\[1\] is 3"),
    (lambda: [Secretive()], r"documents\[0\] is a Secretive; give Document"),
    (lambda: [DOCUMENT.model_copy(update={"page_content": None})], r"documents\[0\] has None as its page_content"),
    (
        lambda: [DOCUMENT.model_copy(update={"metadata": None})],
        r"None as its metadata; they must be a string and a dict",
    ),
]


@pytest.mark.parametrize(("make", "message"), NOT_DOCUMENTS)
async def test_what_is_no_list_of_documents_is_named_with_its_place(
    retriever: SentenceWindowRetriever, way: Invoke, make: Callable[[], Any], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "index"
    for method, owner, more in (
        ("from_documents", SentenceWindowRetriever, {"embedding": WordEmbeddings(), "path": path}),
        ("add_documents", retriever, {}),
        ("upsert", retriever.as_document_index(), {}),
    ):
        with pytest.raises(InvalidInputError, match=message) as raised:
            await way(owner, method, make(), **more)
        assert len(str(raised.value)) < 400
    with pytest.raises(InvalidInputError, match=message):
        SentenceSplitter().split_documents(make())
    with pytest.raises(InvalidInputError, match=message):
        await SentenceSplitter().atransform_documents(make())
    assert not path.exists()
    assert [each.page_content for each in retriever.get(["a"])] == [DOCUMENT.page_content]


async def test_an_async_generator_is_to_be_collected_for_a_blocking_call(retriever: SentenceWindowRetriever) -> None:
    async def loading() -> Any:
        yield DOCUMENT

    with pytest.raises(InvalidInputError, match=r"\[each async for each in documents\]"):
        retriever.add_documents(loading())
    with pytest.raises(InvalidInputError, match=r"\[each async for each in documents\]"):
        SentenceSplitter().split_documents(loading())
    assert await retriever.aadd_documents(loading()) == ["a"]


async def test_a_generator_of_documents_will_do(way: Invoke) -> None:
    made = await way(SentenceWindowRetriever, "from_documents", (each for each in [DOCUMENT]), WordEmbeddings())
    assert await way(made, "add_documents", iter((document("A card.", "b"),))) == ["b"]
    assert len(SentenceSplitter().split_documents(each for each in [DOCUMENT])) == 2


async def test_arguments_in_the_wrong_order_are_told(way: Invoke) -> None:
    with pytest.raises(InvalidInputError, match="documents is a WordEmbeddings; give a list of Documents"):
        await way(SentenceWindowRetriever, "from_documents", WordEmbeddings(), [DOCUMENT])


@pytest.mark.parametrize(
    ("embedding", "message"),
    [
        (None, "embedding is None; pass an embedder: init_embeddings"),
        ("all-MiniLM-L6-v2", "embedding is 'all-MiniLM-L6-v2'; pass an embedder: init_embeddings"),
        (KEY, "embedding is a string that looks like a key; pass an embedder"),
        (WordEmbeddings, r"embedding is the class WordEmbeddings; pass an instance: WordEmbeddings\(...\)"),
        ([DOCUMENT], r"embedding is \[a Document\]; pass an embedder"),
        (len, "embedding is a builtin_function_or_method; .* an object with embed_documents"),
    ],
)
async def test_what_does_not_embed_is_told(way: Invoke, embedding: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=message):
        await way(SentenceWindowRetriever, "from_documents", [DOCUMENT], embedding, path=tmp_path / "index")
    with pytest.raises(InvalidInputError, match=message):
        FaissStore(embedding, tmp_path / "index")
    if embedding is not None:  # the index may remember it
        with pytest.raises(InvalidInputError, match=message):
            SentenceWindowRetriever.open(tmp_path, embedding)
    assert not (tmp_path / "index").exists()


# Settings

LIKELY: list[tuple[str, Any, str]] = [
    ("top_k", 3, "did you mean 'k'"),
    ("similarity_top_k", 3, "did you mean 'k'"),
    ("n", 3, "did you mean 'k'"),
    ("num_results", 3, "did you mean 'k'"),
    ("K", 3, "did you mean 'k'"),
    ("search_k", 3, "did you mean 'fetch_k'"),
    ("fetchk", 3, "did you mean 'fetch_k'"),
    ("window_size", 3, "did you mean 'window'"),
    ("windows", 3, "did you mean 'window'"),
    ("max_context_tokens", 3, "did you mean 'max_tokens'"),
    ("max_token", 3, "did you mean 'max_tokens'"),
    ("compressor", None, "did you mean 'reranker'"),
    ("base_compressor", None, "did you mean 'reranker'"),
    ("re_ranker", None, "did you mean 'reranker'"),
    ("score_threshold", 0.5, "did you mean 'min_score'"),
    ("similarity_threshold", 0.5, "did you mean 'min_score'"),
    ("alpha", 0.5, "did you mean 'lexical_weight'"),
    ("weights", [0.5, 0.5], "did you mean 'lexical_weight'"),
    ("lexical_wieght", 0.5, "did you mean 'lexical_weight'"),
    ("store", 3, "did you mean 'vectorstore'"),
    ("text_splitter", 3, "did you mean 'splitter'"),
    ("embeddings", WordEmbeddings(), r"the store embeds: FaissStore\(embedding\), or from_documents"),
    ("where", {}, "did you mean 'filter'"),
    ("language", "de", r"write splitter=SentenceSplitter\(language\)"),
    ("documents", [], r"index them with from_documents"),
    ("llm", None, r"a retriever needs none; write create_rag_chain\(retriever, llm\)"),
    ("search_type", "mmr", r"it searches by similarity, .*for mmr take store.as_retriever\(search_type='mmr'\)"),
    ("qqqqq", 3, "there are .*vectorstore, k, fetch_k, window"),
]


@pytest.mark.parametrize(("name", "value", "message"), LIKELY)
def test_a_setting_that_there_is_not_is_named_with_the_likely_one(
    retriever: SentenceWindowRetriever, name: str, value: Any, message: str, tmp_path: Path
) -> None:
    whole = f"{name}: there is no such setting; {message}"
    with pytest.raises(InvalidInputError, match=whole):
        SentenceWindowRetriever(vectorstore=retriever.vectorstore, **{name: value})
    with pytest.raises(InvalidInputError, match=whole):
        retriever.model_copy(update={name: value})
    with pytest.raises(InvalidInputError, match=whole):
        setattr(retriever, name, value)
    if name not in ("documents", "path"):
        with pytest.raises(InvalidInputError, match=whole):
            SentenceWindowRetriever.from_documents(
                [DOCUMENT], WordEmbeddings(), path=tmp_path / "index", **{name: value}
            )
    assert not (tmp_path / "index").exists()


@pytest.mark.parametrize(
    ("name", "likely"),
    [
        ("top_k", "Did you mean k?"),
        ("num_results", "Did you mean k?"),
        ("windw", "Did you mean window?"),
        ("window_size", "Did you mean window?"),
        ("fliter", "Did you mean filter?"),
        ("where", "Did you mean filter?"),
        ("score_threshold", "Did you mean min_score?"),
        ("max_token", "Did you mean max_tokens?"),
        ("reranker", "Set reranker on the retriever"),
        ("search_kwargs", "Set search_kwargs on the retriever"),
    ],
)
async def test_a_keyword_of_a_call_that_there_is_not_is_told(
    retriever: SentenceWindowRetriever, way: Invoke, name: str, likely: str
) -> None:
    for method in ("invoke", "explain"):
        with pytest.raises(InvalidInputError, match=f"a call can't set '{name}'; it can set filter, .*{likely}"):
            await way(retriever, method, "refund", **{name: 3})


async def written_later(*given: object) -> str:
    return "A line."


WRONG = [
    ("k", "3", "k is '3'; it must be a whole number, 1 or more"),
    ("k", True, "k is True"),
    ("k", 2.0, "k is 2.0"),
    ("k", 0, "k is 0"),
    ("k", None, "k is None"),
    ("k", "x", "k is 'x'"),
    ("fetch_k", "50", "fetch_k is '50'"),
    ("max_tokens", 0, "max_tokens is 0"),
    ("max_tokens", "2000", "max_tokens is '2000'"),
    ("window", "big", r"window is 'big'; it must be a number of sentences, .*a pair \(before, after\), or 'auto'"),
    ("window", -1, "window is -1"),
    ("window", (1, 2, 3), r"window is \(1, 2, 3\)"),
    ("window", 2.5, "window is 2.5"),
    ("window", 2.0, "window is 2.0; .* or 'auto'"),
    ("window", "2", "window is '2'; .* or 'auto'"),
    ("window", True, "window is True"),
    ("window", None, "window is None"),
    ("window", {"legal": "big"}, "window is 'big'"),
    ("window", {}, r"window is \{\}"),
    ("lexical_weight", "0.5", "lexical_weight is '0.5'; it must be a number, 0 or more"),
    ("lexical_weight", -1, "lexical_weight is -1"),
    ("lexical_weight", float("nan"), "lexical_weight is nan"),
    ("min_score", "0.5", "min_score is '0.5'; it must be a number, or None for all"),
    ("min_score", float("nan"), "min_score is nan"),
    ("count_tokens", 5, "count_tokens is 5; give a function of a text, such as len"),
    ("order", "best", "order: .* not 'best'"),
    ("vectorstore", None, r"vectorstore is None; give a VectorStore of LangChain: FaissStore\(embedding\)"),
    ("vectorstore", "faiss", r"vectorstore is 'faiss'; give .*SentenceWindowRetriever.open"),
    ("vectorstore", FaissStore, r"vectorstore is the class FaissStore; pass an instance: FaissStore\(...\)"),
    ("vectorstore", WordEmbeddings(), r"vectorstore is a WordEmbeddings; give .*FaissStore\(embedding\)"),
    (
        "vectorstore",
        InMemoryVectorStore(WordEmbeddings()).as_retriever(),
        "vectorstore is a VectorStoreRetriever; give a VectorStore",
    ),
    (
        "reranker",
        "cross-encoder/ms-marco-MiniLM-L6-v2",
        r"reranker is 'cross-encoder/.*'; give a reranker: CrossEncoderReranker\(model=...\) or Late",
    ),
    ("reranker", CrossEncoderReranker, r"pass an instance: CrossEncoderReranker\(...\)"),
    ("reranker", WordEmbeddings(), r"LateInteractionReranker\(model=...\)"),
    ("reranker", Secretive(), "reranker is a Secretive; give a reranker"),
    ("splitter", "en", r"splitter: .*, not 'en'; write SentenceSplitter\('en'\)"),
    ("splitter", SentenceSplitter, r"splitter: .*; pass an instance: SentenceSplitter\(...\)"),
    ("bm25_index", "words/", r"bm25_index: .*, not 'words/'; write BM25Index\('words/'\)"),
    ("situate", "line", "situate is 'line'; give a function of a document and one of its sentences"),
    (
        "situate",
        lambda sentence: "",
        "situate can't be called with a document and one of its sentences .*too many",
    ),
    ("situate", written_later, "situate is an async function, which can't be used here; give a plain function"),
    ("count_tokens", lambda: 5, "count_tokens can't be called with a text .*too many"),
    ("count_tokens", written_later, "count_tokens is an async function"),
    ("search_kwargs", {"k": 3}, "search_kwargs sets k to 3; set k=3 on the retriever for .*, or fetch_k=3 for"),
    ("search_kwargs", {"query": "x"}, "search_kwargs sets query to 'x'; give the query to invoke"),
    (
        "search_kwargs",
        {"score_threshold": 0.5},
        "takes only 'filter'; set min_score on the retriever",
    ),
    ("search_kwargs", {"fetch_k": 9}, "takes only 'filter'; set fetch_k on the retriever"),
    ("search_kwargs", {"lambda_mult": 0.5}, "sets lambda_mult to 0.5, and a search of FaissStore .*; leave it out"),
    (
        "search_kwargs",
        {"window_key": "kind"},
        "window_key to 'kind', which isn't a setting of the store; set window_key on the",
    ),
    (
        "search_kwargs",
        {"lexical_weight": 1},
        "lexical_weight to 1, which isn't a setting of the store; set lexical_weight on the",
    ),
    ("filter", {"tenant": ["a", "b"]}, r"the condition on 'tenant' is a list of values; write {'\$in': \[...\]}"),
    ("filter", {"tenant": {"a", "b"}}, r"the condition on 'tenant' is a list of values; write {'\$in'"),
    ("filter", "tenant = 'a'", "a filter is a mapping such as .*, not \"tenant = 'a'\"$"),
    ("filter", lambda document: True, "a filter is a mapping such as .*, not a function; write its condition as a"),
    ("search_kwargs", {"filter": lambda document: True}, "a filter is a mapping such as .*, not a function; write"),
    ("filter", '{"tenant": "a"}', "; read it with json.loads first"),
    ("search_kwargs", KEY, "search_kwargs: .* not a string that looks like a key"),
]


class Indifferent(InMemoryVectorStore):
    """Takes any argument of a search."""

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> list[tuple[Document, float]]:
        return super().similarity_search_with_score(query, k)


@pytest.mark.parametrize(
    ("store", "settings", "message"),
    [
        (FaissStore, {"k": 8}, "search_kwargs sets k to 8; set k=8 on the retriever"),
        (FaissStore, {"fetch_k": 8}, "set fetch_k on the retriever"),
        (FaissStore, {"score_threshold": 0.5}, "set min_score on the retriever"),
        (FaissStore, {"lexical_weight": 1.0}, "set lexical_weight on the retriever"),
        (FaissStore, {"query": "x"}, "give the query to invoke"),
        (InMemoryVectorStore, {"k": 8}, "search_kwargs sets k to 8; set k=8 on the retriever"),
        (InMemoryVectorStore, {"fetch_k": 8}, "set fetch_k on the retriever"),
        (InMemoryVectorStore, {"lambda_mult": 0.5}, "takes only 'filter'; leave it out"),
        (InMemoryVectorStore, {"score_threshold": 0.5}, "set min_score on the retriever"),
        (Indifferent, {"k": 8}, "search_kwargs sets k to 8; set k=8 on the retriever"),
        (Indifferent, {"fetch_k": 8}, "a search of Indifferent doesn't read it; set fetch_k on the retriever"),
        (Indifferent, {"lambda_mult": 0.5}, "a search of Indifferent doesn't read it; leave it out"),
    ],
)
async def test_arguments_of_langchains_own_retriever_are_refused_also_on_one_that_is_made_already(
    way: Invoke, store: type[Any], settings: dict[str, Any], message: str
) -> None:
    made = store(WordEmbeddings())
    with pytest.raises(InvalidInputError, match=message):
        SentenceWindowRetriever(vectorstore=made, search_kwargs=settings)
    retriever = SentenceWindowRetriever(vectorstore=made)
    await way(retriever, "add_documents", [DOCUMENT])
    # As code for another retriever does.
    retriever.search_kwargs.update(settings)  # type: ignore[attr-defined]
    for method in ("invoke", "explain"):
        with pytest.raises(InvalidInputError, match=message):
            await way(retriever, method, "refund")


@pytest.mark.parametrize(("name", "value", "message"), WRONG)
def test_a_wrong_value_is_told_and_the_old_one_stays(
    retriever: SentenceWindowRetriever, name: str, value: Any, message: str
) -> None:
    before = dict(retriever)
    with pytest.raises(InvalidInputError, match=message):
        SentenceWindowRetriever(**{"vectorstore": retriever.vectorstore, name: value})
    with pytest.raises(InvalidInputError, match=message):
        setattr(retriever, name, value)
    with pytest.raises(InvalidInputError, match=message) as raised:
        retriever.model_copy(update={name: value})
    assert dict(retriever) == before
    assert len(str(raised.value)) < 600
    assert KEY not in str(raised.value)
    # Nothing that pydantic says of the values comes out beside it.
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None or raised.value.__suppress_context__


def test_a_right_value_is_taken_as_the_constructor_takes_it(retriever: SentenceWindowRetriever) -> None:
    for name, value, taken in (
        ("k", np.int64(3), 3),
        ("window", [1, 2], (1, 2)),
        ("max_tokens", None, None),
        ("lexical_weight", 1, 1.0),
        ("tags", ["mine"], ["mine"]),
        ("name", "terms", "terms"),
    ):
        setattr(retriever, name, value)
        assert getattr(retriever, name) == taken
        assert type(getattr(retriever, name)) is type(taken)
    assert [window.metadata["sentences"] for window in retriever.invoke("refund", window=0)] == [[0, 1]]


def test_settings_are_given_by_their_names(retriever: SentenceWindowRetriever) -> None:
    made: Any
    for made, given, message in (
        (SentenceWindowRetriever, retriever.vectorstore, r"SentenceWindowRetriever\(vectorstore=...\)"),
        (SentenceWindowRetriever, [DOCUMENT], r"was given \[a Document\]; write SentenceWindowRetriever\(vectorstore="),
        (CrossEncoderReranker, Lengths(), r"CrossEncoderReranker\(model=...\)"),
        (LateInteractionReranker, "minilm", r"LateInteractionReranker\(model=...\)"),
    ):
        with pytest.raises(InvalidInputError, match=f"takes its settings by name, and .*{message}"):
            made(given)


def test_a_setting_of_a_retriever_is_not_given_to_any_search() -> None:
    store = InMemoryVectorStore(WordEmbeddings())
    for setting in ("window_key", "window", "max_tokens", "lexical_weight"):
        with pytest.raises(InvalidInputError, match=f"isn't a setting of the store; set {setting} on the retriever"):
            SentenceWindowRetriever(vectorstore=store, search_kwargs={setting: "kind"})


async def test_a_path_and_an_embedder_in_each_others_place_are_told(way: Invoke, tmp_path: Path) -> None:
    embedding: Any = WordEmbeddings()
    for made, given, message in (
        (SentenceWindowRetriever.open, (embedding, tmp_path), r"SentenceWindowRetriever.open\(path, embedding\)"),
        (SentenceWindowRetriever.open, (embedding, str(tmp_path)), r"SentenceWindowRetriever.open\(path, embedding\)"),
        (FaissStore.open, (embedding, str(tmp_path)), r"FaissStore.open\(path, embedding\)"),
        (FaissStore, (tmp_path, embedding), r"FaissStore\(embedding, path\)"),
        (FaissStore, (str(tmp_path), embedding), r"FaissStore\(embedding, path\)"),
    ):
        with pytest.raises(InvalidInputError, match=f"; write {message}"):
            made(*given)
    with pytest.raises(InvalidInputError, match=r"the path is a WordEmbeddings, which embeds; write FaissStore\("):
        await way(SentenceWindowRetriever, "from_documents", [DOCUMENT], embedding, path=embedding)
    assert is_empty(tmp_path)


async def test_nothing_is_made_at_a_path_if_a_setting_is_wrong_for_the_store(way: Invoke, tmp_path: Path) -> None:
    wrong: list[dict[str, Any]] = [
        {"filter": lambda found: True},
        {"search_kwargs": {"score_threshold": 0.5}},
        {"bm25_index": BM25Index()},
        {"filter": {}},
    ]
    for settings in wrong:
        with pytest.raises(InvalidInputError):
            await way(
                SentenceWindowRetriever, "from_documents", [DOCUMENT], WordEmbeddings(), path=tmp_path / "i", **settings
            )
    with pytest.raises(InvalidInputError, match="got 1 metadatas for 2 texts"):
        await way(FaissStore, "from_texts", ["a", "b"], WordEmbeddings(), [{}], path=tmp_path / "i")
    with pytest.raises(InvalidInputError, match="documents is a Document"):
        await way(FaissStore, "from_documents", DOCUMENT, WordEmbeddings(), path=tmp_path / "i")
    assert is_empty(tmp_path)


def test_a_file_is_no_index(tmp_path: Path) -> None:
    SentenceWindowRetriever.from_documents([DOCUMENT], WordEmbeddings(), path=tmp_path / "index")
    file = tmp_path / "a.md"
    file.write_text("A refund.")
    for path, cure in (
        (file, "the path that from_documents was given"),
        (tmp_path / "index" / DATABASE_FILE, f"'{tmp_path / 'index'}'"),
    ):
        with pytest.raises(StoreError, match=f"is a file, and an index is a folder; give {cure}"):
            SentenceWindowRetriever.open(path, WordEmbeddings())


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ("", "index is ''; it must be 'auto', 'exact' or 'codes'"),
        ("Codes", "index is 'Codes'; it must be 'auto', 'exact' or 'codes'"),
        ("HNSW32", "index is 'HNSW32'; it must be"),
        ("Flat" + ",Flat" * 10**6, r"index is 'Flat,Flat.*5,000,004 characters\); it must be"),
        (["exact"], r"index is \['exact'\]; it must be"),
        (5, "index is 5; it must be"),
    ],
)
def test_a_kind_of_index_that_there_is_not_is_told(index: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=message) as raised:
        FaissStore(WordEmbeddings(), tmp_path / "index", index=index)
    assert len(str(raised.value)) < 400
    assert not list(tmp_path.iterdir())


def test_all_that_is_wrong_is_told_at_once(words: WordEmbeddings) -> None:
    settings: dict[str, Any] = {"k": "x", "fetch_k": 0}
    with pytest.raises(InvalidInputError, match="fetch_k is 0; .*; k is 'x'"):
        SentenceWindowRetriever(vectorstore=FaissStore(words), **settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "ms-marco"}, "model is 'ms-marco'; give a BaseCrossEncoder .*SentenceTransformerCrossEncoder"),
        ({"model": None}, "model is None; give a BaseCrossEncoder"),
        ({"model": Lengths}, r"model is the class Lengths; pass an instance: Lengths\(...\)"),
        ({"top_k": 3}, "top_k: there is no such setting; did you mean 'top_n'"),
        ({"k": 3}, "k: there is no such setting; did you mean 'top_n'"),
        ({"cross_encoder": Lengths()}, "did you mean 'model'"),
        ({"score_threshold": 3}, "did you mean 'min_score'"),
        ({"top_n": True}, "top_n is True"),
        ({"top_n": "3"}, "top_n is '3'"),
        ({"max_length": 2.0}, "max_length is 2.0"),
    ],
)
def test_mistakes_with_a_reranker(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        CrossEncoderReranker(**{"model": Lengths(), **settings})
    reranker = CrossEncoderReranker(model=Lengths())
    with pytest.raises(InvalidInputError, match=message):
        setattr(reranker, *next(iter(settings.items())))


def test_a_cross_encoder_of_sentence_transformers_is_to_be_wrapped(
    retriever: SentenceWindowRetriever, tiny_model: Path
) -> None:
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(str(tiny_model))
    with pytest.raises(InvalidInputError, match=r"reranker is a CrossEncoder; give .*CrossEncoderReranker\("):
        retriever.reranker = model
    with pytest.raises(InvalidInputError, match="model is a CrossEncoder; give .*SentenceTransformerCrossEncoder"):
        CrossEncoderReranker(model=model)
    with pytest.raises(InvalidInputError, match="name_or_path is a CrossEncoder; give the name of a model"):
        SentenceTransformerCrossEncoder(model)


def test_a_model_of_token_vectors_can_be_exchanged(minilm: Any) -> None:
    reranker = LateInteractionReranker(model=minilm)
    reranker.model = minilm
    assert reranker.model is minilm._client
    with pytest.raises(InvalidInputError, match="model is 'minilm'; give one with token vectors"):
        reranker.model = "minilm"
    assert len(reranker.compress_documents([DOCUMENT], "refund")) == 1


# Questions


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (DOCUMENT, "the query is a Document; ask with a string"),
        (HumanMessage("refund"), "the query is a HumanMessage; ask with a string, such as message.text"),
        (["refund"], r"the query is \['refund'\]; ask with a string"),
        ({"question": "refund"}, "the query is {'question': …}; ask with a string"),
        (None, "the query is None; ask with a string"),
        (5, "the query is 5; ask with a string"),
        (b"refund", "the query is b'refund'; ask with a string"),
        ("", "the query is ''; ask with at least one word"),
    ],
)
async def test_what_is_no_question_is_told(
    retriever: SentenceWindowRetriever, way: Invoke, query: Any, message: str
) -> None:
    for method in ("invoke", "explain"):
        with pytest.raises(InvalidInputError, match=message):
            await way(retriever, method, query)


async def test_ids_that_are_none_are_told(retriever: SentenceWindowRetriever, way: Invoke) -> None:
    for ids, message in (
        ("a", "documents are named by a list of ids, not 'a'; write"),
        (None, "not None"),
        (5, "not 5"),
        ([DOCUMENT], "id 0 is a Document; documents are named by strings"),
        (["a", 5], "id 1 is 5; documents are named by strings"),
    ):
        for method in ("delete", "get"):
            with pytest.raises(InvalidInputError, match=message):
                await way(retriever, method, ids)


async def test_a_budget_that_holds_no_hit_is_told(retriever: SentenceWindowRetriever, way: Invoke) -> None:
    def words_in(text: str) -> int:
        return len(text.split())

    settings: dict[str, Any] = {"count_tokens": words_in, "k": 1}
    message = "max_tokens is 2, and the shortest sentence that was found has 4 tokens; set it to 4 or more"
    with pytest.raises(InvalidInputError, match=message):
        await way(retriever, "invoke", "refund", max_tokens=2, **settings)
    with pytest.raises(InvalidInputError, match="max_tokens is 3, and"):
        await way(retriever, "explain", "refund", max_tokens=3, **settings)
    (found,) = await way(retriever, "invoke", "refund", max_tokens=4, **settings)
    assert found.page_content == "A refund is quick."


@pytest.mark.parametrize("counted", ["5", None, -1, float("nan"), float("inf"), [5], True])
async def test_a_counter_that_counts_nothing_is_told(
    retriever: SentenceWindowRetriever, way: Invoke, counted: Any
) -> None:
    with pytest.raises(InvalidInputError, match="count_tokens returned .* for a text of .* characters; it must return"):
        await way(retriever, "invoke", "refund", max_tokens=99, count_tokens=lambda text: counted)


# The chain

ANSWERS = FakeListChatModel(responses=["So it is [1]."])


@pytest.mark.parametrize(
    ("llm", "message"),
    [
        (None, "llm is None; give a chat model of LangChain: .*init_chat_model"),
        ("gpt-5-mini", "llm is 'gpt-5-mini'; .*init_chat_model"),
        (KEY, "llm is a string that looks like a key"),
        (FakeListChatModel, r"llm is the class FakeListChatModel; pass an instance: FakeListChatModel\(...\)"),
        ({"model": "x"}, "llm is {'model': …}"),
        (5, "llm is 5"),
    ],
)
def test_what_does_not_answer_is_told(retriever: SentenceWindowRetriever, llm: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as raised:
        create_rag_chain(retriever, llm)
    assert KEY not in str(raised.value)


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ("Answer {question}.", r"no place for \['context'\]; it needs {context} and {question}"),
        ("", r"no place for \['context', 'question'\]"),
        ("{context} {question} {", "can't be read .*write {context} and {question} where they go, and {{ and }}"),
        ([("human", "{context} {question}")], r"the prompt is \[\(.*\)\]; give ChatPromptTemplate.from_template"),
        ({"question": "{question}"}, "the prompt is {'question': …}"),
        (5, "the prompt is 5"),
        (ChatPromptTemplate.from_messages([]), "no place for"),
    ],
)
def test_what_is_no_prompt_is_told(retriever: SentenceWindowRetriever, prompt: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        create_rag_chain(retriever, ANSWERS, prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "{context}\nAnswer {question}.",
        ChatPromptTemplate.from_template("{context} {question}"),
        PromptTemplate.from_template("{context} {question}"),
    ],
)
async def test_a_prompt_may_be_a_string(retriever: SentenceWindowRetriever, way: Invoke, prompt: Any) -> None:
    seen: list[str] = []

    def answered(value: Any) -> str:
        seen.append(value.to_string())
        return "So it is [1]."

    answer = await way(create_rag_chain(retriever, RunnableLambda(answered), prompt), "invoke", "refund")
    assert [each.number for each in answer["citations"]] == [1]
    assert "<source>\n[1] a:0-33\nA refund is quick. It takes days.\n</source>" in seen[0]
    assert "refund" in seen[0].split("</source>")[1]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((ANSWERS, "retriever"), r"the retriever comes first: create_rag_chain\(retriever, llm\)"),
        (("retriever", "retriever"), r"llm is a SentenceWindowRetriever; .*create_rag_chain\(retriever, "),
        (("store", ANSWERS), r"retriever is a FaissStore; give SentenceWindowRetriever\(vectorstore=store\)"),
        ((None, ANSWERS), "retriever is None; give a retriever"),
        ((SentenceWindowRetriever, ANSWERS), "retriever is the class SentenceWindowRetriever"),
    ],
)
def test_what_does_not_retrieve_is_told(
    retriever: SentenceWindowRetriever, given: tuple[Any, Any], message: str
) -> None:
    named: dict[str, Any] = {"retriever": retriever, "store": retriever.vectorstore}
    first, second = (named.get(each, each) if isinstance(each, str) else each for each in given)
    with pytest.raises(InvalidInputError, match=message):
        create_rag_chain(first, second)


@pytest.mark.parametrize("settings", [{"k": "x"}, {"k": True}, {"window": "big"}, {"filter": {"x": {"$near": 1}}}])
async def test_what_is_configured_wrongly_is_told_by_the_retriever(
    retriever: SentenceWindowRetriever, way: Invoke, settings: dict[str, Any]
) -> None:
    chain = create_rag_chain(retriever, ANSWERS)
    with pytest.raises(InvalidInputError):
        await way(chain, "invoke", "refund", {"configurable": settings})
    assert len((await way(chain, "invoke", "refund", {"configurable": {"window": "auto"}}))["context"]) == 1


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (HumanMessage("refund"), "not a HumanMessage; ask with a string, such as message.text"),
        ({"question": HumanMessage("refund")}, "ask with a string"),
        ({"query": KEY}, r"not {'query': …}; write {'question': given\['query'\]}"),
        ({"input": "refund", "k": 3}, r"write {'question': given\['input'\]}"),
        ({}, "not {}; write {'question': ...}"),
        (["x" * 10**6], r"not \['xxx"),
    ],
)
async def test_what_a_chain_cannot_answer_is_told(
    retriever: SentenceWindowRetriever, way: Invoke, asked: Any, message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message) as raised:
        await way(create_rag_chain(retriever, ANSWERS), "invoke", asked)
    assert len(str(raised.value)) < 400


async def test_a_setting_that_a_chain_would_drop_is_told(retriever: SentenceWindowRetriever, way: Invoke) -> None:
    chain = create_rag_chain(retriever, ANSWERS)
    for name, meant in (("top_k", "k"), ("where", "filter"), ("window_size", "window")):
        with pytest.warns(SentenceWindowWarning, match=f"no '{name}' in its configuration.*did you mean '{meant}'"):
            await way(chain, "invoke", "refund", {"configurable": {name: 1}})
    for settings in ({"k": 1, "thread_id": "1"}, {"temperature": 1}):
        await way(chain, "invoke", "refund", {"configurable": settings})
    # One that a part of the chain knows is that one's.
    of_model = ANSWERS.configurable_fields(responses=ConfigurableField(id="top_k"))
    await way(create_rag_chain(retriever, of_model), "invoke", "refund", {"configurable": {"top_k": ["So."]}})


# Evaluation

QUESTIONS = [Question("refund", "a", ((0, 18),))]


async def test_questions_and_retriever_in_each_others_place_are_told(
    retriever: SentenceWindowRetriever, way: Invoke
) -> None:
    for method, given, more in (
        ("evaluate", (QUESTIONS, retriever), {}),
        ("compare", ({"one": QUESTIONS}, [retriever]), {}),
        ("compare", (QUESTIONS, {"one": retriever}), {}),
        ("evaluate", (retriever, retriever), {}),
    ):
        with pytest.raises(InvalidInputError, match=r"the retriever comes first: evaluate\(retriever, questions\)"):
            await way(evaluation, method, *given, **more)
    with pytest.raises(InvalidInputError, match=r"the retriever is \[a Question\]; .*and the questions after it"):
        await way(evaluation, "sweep", QUESTIONS, retriever, k=[1])


async def test_gold_behind_the_end_of_its_document_is_told(retriever: SentenceWindowRetriever, way: Invoke) -> None:
    questions = [Question("refund", "a", ((0, end),)) for end in (33, 35, 36, 9_999)]
    with pytest.warns(SentenceWindowWarning, match=r"2 of 4 .*'a' ends before its gold at \(0, 36\); .*; and 1 more"):
        report = await way(evaluation, "evaluate", retriever, questions)
    # Two line breaks at the end of a file are in no sentence, and may be in a span.
    assert [result.question.spans for result in report.results] == [((0, 33),)] * 2
    assert [lost.reason for lost in report.lost] == ["outside"] * 2


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(InvalidInputError, match="can't be read .*; give a file that write_questions wrote"):
            evaluation.read_questions(path)
    for path in (tmp_path / "none" / "some.jsonl", tmp_path):
        with pytest.raises(InvalidInputError, match="can't be written .*; choose another"):
            evaluation.write_questions(path, QUESTIONS)
    assert not list(tmp_path.iterdir())


# Engines


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        (lambda text: None, r"the sentence engine returned None; it must return \(start, end\) of each sentence"),
        (lambda text: "A b.", "returned 'A b.'"),
        (lambda text: {0: 4}, "returned {0: …}"),
        (lambda text: ["A b.", "C d."], "returned 'A b.'"),
        (lambda text: [5], "returned 5"),
        (lambda text: [None], "returned None"),
        (lambda text: [(0, 4, 9)], r"returned \(0, 4, 9\)"),
        (lambda text: [(0.0, 4.0)], r"returned \(0.0, 4.0\); .* as whole numbers"),
        (lambda text: [(4, 0)], r"returned the span \(4, 0\) for a text of 9 characters"),
        (lambda text: [(0, 99)], r"returned the span \(0, 99\) for a text of 9 characters"),
        (lambda *, text: [], "engine can't be called with a text"),
        (dict, "engine is the class dict; give a function of a text"),
        (written_later, "engine is an async function"),
    ],
)
def test_an_engine_that_gives_no_spans_is_told(engine: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        SentenceSplitter(engine=engine).spans("A b. C d.")


def test_spans_of_numpy_will_do() -> None:
    (first, *more) = SentenceSplitter(engine=lambda text: np.array([[0, 4], [5, 9]])).spans("A b. C d.")
    assert [first, *more] == [(0, 4), (5, 9)]
    assert {type(end) for span in (first, *more) for end in span} == {int}


# What messages show


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "None"),
        (2.5, "2.5"),
        (True, "True"),
        (10**30, "1" + "0" * 30),
        ([10**5000], "[an int of more than 30 digits]"),
        ("x" * 81, f"'{'x' * 80}'… (81 characters)"),
        (b"x" * 10**6, f"b'{'x' * 80}'… (1,000,000 bytes)"),
        ("\ud800\0", r"'\ud800\x00'"),
        (KEY, "a string that looks like a key"),
        (f"Bearer {KEY}", "a string that looks like a key"),
        (KEY.encode(), "a string that looks like a key"),
        ((1,), "(1,)"),
        ([], "[]"),
        (list(range(10**6)), "[0, 1, 2, 3, … 999,996 more]"),
        ([[[[1]]]], "[[a list of 1]]"),
        ([KEY], "[a string that looks like a key]"),
        ({"api_key": "x"}, "{'api_key': …}"),
        (dict.fromkeys(range(9)), "{0: …, 1: …, 2: …, 3: …, … 5 more}"),
        (int, "the class int"),
        (Secretive(), "a Secretive"),
        (object(), "an object"),
        (Document("x"), "a Document"),
    ],
)
def test_a_value_is_shown_short_and_without_secrets(value: object, written: str) -> None:
    assert shown(value) == written


def test_a_list_that_holds_itself_is_shown() -> None:
    endless: list[Any] = []
    endless.append(endless)
    assert shown(endless) == "[[a list of 1]]"


@pytest.mark.parametrize(
    ("metadatas", "ids", "message"),
    [
        ([{}], None, "got 1 metadatas for 2 texts; give one for each"),
        ([{}, {}, {}], None, "got 3 metadatas for 2 texts"),
        ([{}, None], None, r"metadatas\[1\] is None; give a dict"),
        ("ab", None, "metadatas is 'ab'; give a list"),
        ({"a": {}}, None, "metadatas is {'a': …}"),
        (5, None, "metadatas is 5"),
        (None, ["a"], "got 1 ids for 2 documents; give one for each"),
        (None, "ab", "documents are named by a list of ids, not 'ab'"),
        (None, 5, "documents are named by a list of ids, not 5"),
    ],
)
async def test_metadata_and_ids_that_are_not_one_for_each_text_are_told(
    way: Invoke, metadatas: Any, ids: Any, message: str
) -> None:
    store = FaissStore(WordEmbeddings())
    with pytest.raises(InvalidInputError, match=message):
        await way(store, "add_texts", ["A refund.", "A card."], metadatas, ids=ids)
    assert len(store) == 0
    given: Any = (each for each in ({"page": 1}, {"page": 2}))
    assert await way(store, "add_texts", ["A refund.", "A card."], given, ids=iter(["a", "b"])) == ["a", "b"]
    assert [each.metadata for each in store.get_by_ids(["a", "b"])] == [{"page": 1}, {"page": 2}]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((None, ["a"]), "documents is None; give a list of Documents"),
        (([], None), "documents are named by a list of ids, not None"),
        (([], "abc"), "documents are named by a list of ids, not 'abc'"),
        ((["A refund."], ["a"]), r"documents\[0\] is 'A refund.'"),
    ],
)
async def test_sentences_that_are_none_replace_nothing(way: Invoke, given: Any, message: str) -> None:
    store = FaissStore(WordEmbeddings())
    store.add_documents(SentenceSplitter().split_documents([DOCUMENT]))
    with pytest.raises(InvalidInputError, match=message):
        await way(store, "replace_documents", *given)
    for contexts in ("ab", [None, None], 5):
        with pytest.raises(InvalidInputError, match="texts"):
            await way(store, "replace_documents", [DOCUMENT, DOCUMENT], ["a"], contexts=contexts)
    assert len(store) == 2


async def test_what_an_index_is_not_copied_to_is_told(retriever: SentenceWindowRetriever, way: Invoke) -> None:
    for target, message in (
        (None, "target is None; give a VectorStore of LangChain"),
        ("index/", "target is 'index/'; give a VectorStore"),
        (retriever, "target is a SentenceWindowRetriever; give a VectorStore"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            await way(indexing, "copy_index", retriever.vectorstore, target)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("refund", "texts is 'refund'; give a list of strings"),
        (None, "texts is None"),
        (["refund", 5], r"texts\[1\] is 5; give strings. Nothing was done"),
        ([DOCUMENT], r"texts\[0\] is a Document; give strings"),
    ],
)
async def test_texts_that_are_none_are_told_by_the_store(way: Invoke, texts: Any, message: str) -> None:
    store = FaissStore(WordEmbeddings())
    with pytest.raises(InvalidInputError, match=message):
        await way(store, "add_texts", texts)
    assert len(store) == 0


async def test_documents_that_are_none_are_told_by_the_store(way: Invoke) -> None:
    store = FaissStore(WordEmbeddings())
    for documents, message in ((DOCUMENT, "documents is a Document"), (["refund"], r"documents\[0\] is 'refund'")):
        with pytest.raises(InvalidInputError, match=message):
            await way(store, "add_documents", documents)
        with pytest.raises(InvalidInputError, match=message):
            await way(store, "add_embeddings", documents, [[1.0]])
    assert len(store) == 0
