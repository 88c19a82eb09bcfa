"""Common mistakes: each error names the value and the cure, and nothing was done."""

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
    CrossEncoderReranker,
    FaissStore,
    LateInteractionReranker,
    SentenceSplitter,
    SentenceTransformerCrossEncoder,
    SentenceWindowRetriever,
    copy_index,
    create_rag_chain,
    evaluation,
)
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowWarning, StoreError
from langchain_sentence_window.evaluation import Question
from langchain_sentence_window.stores import BM25Index
from tests.forms import Invoke
from tests.reranking.test_cross_encoder import Scorer
from tests.toys import PLAIN, WordEmbeddings, document

DOCUMENT = document("A refund is quick. It takes days.", "a")
KEY = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"
ANSWERS = FakeListChatModel(responses=["So it is [1]."])
QUESTIONS = [Question("refund", "a", ((0, 18),))]


class Secretive:
    """Has a long ``repr`` with a secret."""

    def __repr__(self) -> str:
        return f"Secretive(api_key={KEY!r})" * 100_000


async def answer_later(*arguments: object) -> str:
    return "A line."


def is_empty(folder: Path) -> bool:
    return not list(folder.iterdir())


@pytest.fixture
def retriever(words: WordEmbeddings) -> SentenceWindowRetriever:
    return SentenceWindowRetriever.from_documents([DOCUMENT], words, k=2, window=1, **PLAIN)


INVALID_DOCUMENTS: dict[str, Any] = {
    "documents is a Document; give a list of Documents": DOCUMENT,
    r"documents is 'A refund.'; give a list of Documents: \[Document\(page_content=text\)\]": "A refund.",
    r"documents is 'long .*… \(5,000,000 characters\); give": "long " * 10**6,
    "documents is {'a': …}; give a list": {"a": DOCUMENT},
    "documents is None; give a list": None,
    r"documents\[1\] is 'A refund.'; give Document\(page_content=text\)": [DOCUMENT, "A refund."],
    r"documents\[0\] is \(a Document, 0.5\)": [(DOCUMENT, 0.5)],
    r"documents\[0\] is a Secretive; give Document": [Secretive()],
    r"documents\[0\] has None as its page_content": [DOCUMENT.model_copy(update={"page_content": None})],
    r"None as its metadata; they must be a string and a dict": [DOCUMENT.model_copy(update={"metadata": None})],
}


@pytest.mark.parametrize("message", INVALID_DOCUMENTS)
async def test_invalid_documents_are_refused(way: Invoke, message: str, tmp_path: Path) -> None:
    documents, store = INVALID_DOCUMENTS[message], FaissStore(WordEmbeddings())
    retriever = SentenceWindowRetriever(vectorstore=store)
    more = {"embedding": WordEmbeddings(), "path": tmp_path / "index"}
    for owner, method, settings in (
        (SentenceWindowRetriever, "from_documents", more),
        (retriever, "add_documents", {}),
        (retriever.as_document_index(), "upsert", {}),
        (store, "add_documents", {}),
    ):
        with pytest.raises(InvalidInputError, match=message) as raised:
            await way(owner, method, documents, **settings)
        assert len(str(raised.value)) < 400
        assert KEY not in str(raised.value)
    with pytest.raises(InvalidInputError, match=message):
        SentenceSplitter().split_documents(documents)
    assert len(store) == 0
    assert is_empty(tmp_path)


async def test_documents_may_come_from_a_generator(retriever: SentenceWindowRetriever) -> None:
    async def load() -> Any:
        yield DOCUMENT

    with pytest.raises(InvalidInputError, match=r"\[each async for each in documents\]"):
        retriever.add_documents(load())
    assert await retriever.aadd_documents(load()) == ["a"]
    assert retriever.add_documents(iter((document("A card.", "b"),))) == ["b"]
    assert len(SentenceSplitter().split_documents(each for each in [DOCUMENT])) == 2


SETTINGS: list[tuple[str, Any, str]] = [
    ("top_k", 3, "top_k: there is no such setting; did you mean 'k'"),
    ("window_size", 3, "did you mean 'window'"),
    ("score_threshold", 0.5, "did you mean 'min_score'"),
    ("lexical_wieght", 0.5, "did you mean 'lexical_weight'"),
    ("where", {}, "did you mean 'filter'"),
    ("embeddings", WordEmbeddings(), r"the store embeds: FaissStore\(embedding\), or from_documents"),
    ("llm", None, r"a retriever needs none; write create_rag_chain\(retriever, llm\)"),
    ("qqqqq", 3, "there are .*vectorstore, k, fetch_k, window"),
    ("k", "3", "k is '3'; it must be a whole number, 1 or more"),
    ("k", True, "k is True"),
    ("k", 0, "k is 0"),
    ("k", 2.0, "k is 2.0"),
    ("max_tokens", 0, "max_tokens is 0"),
    ("window", "big", r"window is 'big'; it must be a number of sentences, .*a pair \(before, after\), or 'auto'"),
    ("window", (1, 2, 3), r"window is \(1, 2, 3\)"),
    ("window", 2.0, "window is 2.0; .* or 'auto'"),
    ("window", {"legal": "big"}, "window is 'big'"),
    ("lexical_weight", "0.5", "lexical_weight is '0.5'; it must be a number, 0 or more"),
    ("lexical_weight", float("inf"), "lexical_weight is inf"),
    ("min_score", float("nan"), "min_score is nan; it must be a number, or None for all"),
    ("order", "best", "order: .* not 'best'"),
    ("vectorstore", "faiss", r"vectorstore is 'faiss'; give a VectorStore .*: FaissStore\(embedding\)"),
    ("vectorstore", FaissStore, r"vectorstore is the class FaissStore; pass an instance: FaissStore\(...\)"),
    ("vectorstore", InMemoryVectorStore(WordEmbeddings()).as_retriever(), "vectorstore is a VectorStoreRetriever;"),
    ("reranker", Secretive(), r"reranker is a Secretive; give a reranker: CrossEncoderReranker\(model=...\) or Late"),
    ("splitter", "en", r"splitter: .*, not 'en'; write SentenceSplitter\('en'\)"),
    ("splitter", SentenceSplitter, r"splitter: .*; pass an instance: SentenceSplitter\(...\)"),
    ("count_tokens", 5, "count_tokens is 5; give a function of a text, such as len"),
    ("count_tokens", lambda: 5, "count_tokens takes other arguments .*too many.*; give a plain function of a text"),
    ("situate", "line", "situate is 'line'; give a plain function of a document and one of its sentences"),
    ("situate", answer_later, "situate is an async function, which can't be used here; give a plain function"),
    ("search_kwargs", {"k": 3}, "search_kwargs sets k to 3; set k=3 on the retriever for .*, or fetch_k=3 for"),
    ("search_kwargs", {"score_threshold": 0.5}, "takes only 'filter'; set min_score on the retriever"),
    ("search_kwargs", {"lambda_mult": 0.5}, "sets lambda_mult to 0.5, and a search of FaissStore .*; leave it out"),
    ("search_kwargs", {"window_key": "kind"}, "which isn't a setting of the store; set window_key on the"),
    ("search_kwargs", KEY, "search_kwargs: .* not a string that looks like a key"),
    ("filter", {"tenant": ["a", "b"]}, r"the condition on 'tenant' is a list of values; write {'\$in': \[...\]}"),
    ("filter", "tenant = 'a'", "a filter is a mapping such as .*, not \"tenant = 'a'\"$"),
    ("filter", lambda document: True, "a filter is a mapping such as .*, not a function; write its condition as a"),
    ("filter", '{"tenant": "a"}', "; read it with json.loads first"),
]


@pytest.mark.parametrize(("name", "value", "message"), SETTINGS)
def test_an_invalid_setting_is_refused_and_the_old_value_stays(
    retriever: SentenceWindowRetriever, name: str, value: Any, message: str, tmp_path: Path
) -> None:
    before = dict(retriever)
    path = tmp_path / "index"
    calls: list[Callable[[], Any]] = [
        lambda: SentenceWindowRetriever(**{"vectorstore": retriever.vectorstore, name: value}),
        lambda: setattr(retriever, name, value),
        lambda: retriever.model_copy(update={name: value}),
    ]
    if name != "vectorstore":
        made = SentenceWindowRetriever.from_documents
        calls.append(lambda: made([DOCUMENT], WordEmbeddings(), path=path, **{name: value}))
    for call in calls:
        with pytest.raises(InvalidInputError, match=message) as raised:
            call()
        assert len(str(raised.value)) < 600
        assert KEY not in str(raised.value)
        # The errors of pydantic aren't shown, as they contain the values.
        assert raised.value.__cause__ is None
        assert raised.value.__context__ is None or raised.value.__suppress_context__
    assert dict(retriever) == before
    assert not path.exists()


def test_a_valid_setting_is_converted_as_in_the_constructor(retriever: SentenceWindowRetriever) -> None:
    for name, value, kept in (("k", np.int64(3), 3), ("window", [1, 2], (1, 2)), ("lexical_weight", 1, 1.0)):
        setattr(retriever, name, value)
        assert (getattr(retriever, name), type(getattr(retriever, name))) == (kept, type(kept))
    with pytest.raises(InvalidInputError, match="fetch_k is 0; .*; k is 'x'"):
        SentenceWindowRetriever(vectorstore=retriever.vectorstore, k="x", fetch_k=0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "likely"),
    [
        ("top_k", "Did you mean k?"),
        ("windw", "Did you mean window?"),
        ("where", "Did you mean filter?"),
        ("reranker", "Set reranker on the retriever"),
    ],
)
async def test_an_unknown_keyword_of_a_call_is_refused(
    retriever: SentenceWindowRetriever, way: Invoke, name: str, likely: str
) -> None:
    for method in ("invoke", "explain"):
        with pytest.raises(InvalidInputError, match=f"a call can't set '{name}'; it can set filter, .*{likely}"):
            await way(retriever, method, "refund", **{name: 3})


class Tolerant(InMemoryVectorStore):
    """Ignores unknown arguments of a search."""

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> list[tuple[Document, float]]:
        return super().similarity_search_with_score(query, k)


@pytest.mark.parametrize(
    ("store", "settings", "message"),
    [
        (FaissStore, {"k": 8}, "search_kwargs sets k to 8; set k=8 on the retriever"),
        (InMemoryVectorStore, {"fetch_k": 8}, "set fetch_k on the retriever"),
        (Tolerant, {"lambda_mult": 0.5}, "a search of Tolerant doesn't read it; leave it out"),
    ],
)
async def test_arguments_of_another_retriever_that_are_added_later_are_refused(
    way: Invoke, store: type[Any], settings: dict[str, Any], message: str
) -> None:
    retriever = SentenceWindowRetriever(vectorstore=store(WordEmbeddings()))
    await way(retriever, "add_documents", [DOCUMENT])
    retriever.search_kwargs.update(settings)  # type: ignore[attr-defined]
    for method in ("invoke", "explain"):
        with pytest.raises(InvalidInputError, match=message):
            await way(retriever, method, "refund")


@pytest.mark.parametrize(
    ("method", "argument", "message"),
    [
        ("invoke", HumanMessage("refund"), "the query is a HumanMessage; ask with a string, such as message.text"),
        ("explain", ["refund"], r"the query is \['refund'\]; ask with a string"),
        ("invoke", "", "the query is ''; ask with at least one word"),
        ("delete", "a", "documents are named by a list of ids, not 'a'; write"),
        ("get", None, "not None"),
        ("delete", ["a", 5], "id 1 is 5; documents are named by strings"),
    ],
)
async def test_invalid_queries_and_ids_are_refused(
    retriever: SentenceWindowRetriever, way: Invoke, method: str, argument: Any, message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        await way(retriever, method, argument)


async def test_a_budget_below_every_hit_is_refused(retriever: SentenceWindowRetriever, way: Invoke) -> None:
    settings: dict[str, Any] = {"count_tokens": lambda text: len(text.split()), "k": 1}
    message = "max_tokens is 3, and the shortest sentence that was found has 4 tokens; set it to 4 or more"
    for method in ("invoke", "explain"):
        with pytest.raises(InvalidInputError, match=message):
            await way(retriever, method, "refund", max_tokens=3, **settings)
    (window,) = await way(retriever, "invoke", "refund", max_tokens=4, **settings)
    assert window.page_content == "A refund is quick."
    for count in ("5", None, -1, float("inf"), True):
        with pytest.raises(InvalidInputError, match="count_tokens returned .* for a text of .* characters; it must"):
            await way(retriever, "invoke", "refund", max_tokens=99, count_tokens=lambda text, count=count: count)


def add_texts(*arguments: Any, **settings: Any) -> None:
    FaissStore(WordEmbeddings()).add_texts(*arguments, **settings)


def spans_of(engine: Any) -> None:
    SentenceSplitter(engine=engine).spans("A b. C d.")


# Untyped, as these calls are wrong on purpose.
Retriever: Any = SentenceWindowRetriever
Store: Any = FaissStore
CrossEncoder: Any = CrossEncoderReranker
LateInteraction: Any = LateInteractionReranker
Model: Any = SentenceTransformerCrossEncoder
chain: Any = create_rag_chain
copied: Any = copy_index
measures: Any = evaluation
TWO = ["A refund.", "A card."]
CALLS: list[tuple[Callable[[Any], object], str]] = [
    # Embedders, stores and paths
    (lambda r: Retriever.from_documents([DOCUMENT], KEY), "embedding is a string that looks like a key; pass an"),
    (lambda r: Retriever.from_documents(WordEmbeddings(), [DOCUMENT]), "documents is a WordEmbeddings; give a list"),
    (lambda r: Retriever.open(WordEmbeddings(), "x"), r"; write SentenceWindowRetriever.open\(path, embedding\)"),
    (lambda r: Store.open(WordEmbeddings(), "x"), r"; write FaissStore.open\(path, embedding\)"),
    (lambda r: Store(Path("x"), WordEmbeddings()), r"; write FaissStore\(embedding, path\)"),
    (lambda r: Store(WordEmbeddings(), index="HNSW"), "index is 'HNSW'; it must be 'auto', 'exact' or 'codes'"),
    (lambda r: copied(r.vectorstore, "index/"), "target is 'index/'; give a VectorStore"),
    # Texts, metadata and ids
    (lambda r: add_texts("refund"), "texts is 'refund'; give a list of strings"),
    (lambda r: add_texts(["refund", 5]), r"texts\[1\] is 5; give strings. Nothing was done"),
    (lambda r: add_texts(TWO, [{}]), "got 1 metadatas for 2 texts; give one for each"),
    (lambda r: add_texts(TWO, [{}, None]), r"metadatas\[1\] is None; give a dict"),
    (lambda r: add_texts(TWO, "ab"), "metadatas is 'ab'; give a list"),
    (lambda r: add_texts(TWO, ids=["a"]), "got 1 ids for 2 documents; give one for each"),
    (lambda r: add_texts(TWO, ids="ab"), "documents are named by a list of ids, not 'ab'"),
    (lambda r: r.vectorstore.replace_documents([], "abc"), "documents are named by a list of ids, not 'abc'"),
    (lambda r: r.vectorstore.replace_documents([DOCUMENT], [], contexts=[5]), "texts"),
    # Settings by position, and rerankers
    (lambda r: Retriever(r.vectorstore), r"takes its settings by name, .*SentenceWindowRetriever\(vectorstore=...\)"),
    (lambda r: LateInteraction("minilm"), r"takes its settings by name, .*LateInteractionReranker\(model="),
    (lambda r: LateInteraction(model=WordEmbeddings()), "model is a WordEmbeddings; give one with token"),
    (lambda r: LateInteraction(model=1, weight=-1), "weight is -1"),
    (lambda r: CrossEncoder(model="marco"), "model is 'marco'; give a BaseCrossEncoder .*SentenceTransformer"),
    (lambda r: CrossEncoder(model=Scorer), r"model is the class Scorer; pass an instance: Scorer\(...\)"),
    (lambda r: CrossEncoder(model=Scorer(), top_k=3), "top_k: there is no such setting; did you mean 'top_n'"),
    (lambda r: CrossEncoder(model=Scorer(), top_n=0), "top_n is 0"),
    (lambda r: CrossEncoder(model=Scorer(), score_on="all"), "score_on"),
    (lambda r: Model(5), "name_or_path is 5; give the name of a model"),
    (lambda r: Model("x", scale="%"), "scale is '%'; write 'logit' or 'probability'"),
    # Chains
    (lambda r: chain(r, KEY), "llm is a string that looks like a key; give a chat model"),
    (lambda r: chain(r, FakeListChatModel), "llm is the class FakeListChatModel; pass an instance"),
    (lambda r: chain(ANSWERS, r), r"the retriever comes first: create_rag_chain\(retriever, llm\)"),
    (lambda r: chain(r.vectorstore, ANSWERS), r"give SentenceWindowRetriever\(vectorstore=store\)"),
    (lambda r: chain(r, ANSWERS, "{question}"), r"no place for \['context'\]; it needs {context} and"),
    (lambda r: chain(r, ANSWERS, "{context} {question} {"), "can't be read .*write {context} and"),
    (lambda r: chain(r, ANSWERS, 5), "the prompt is 5; give ChatPromptTemplate.from_template"),
    (lambda r: chain(r, ANSWERS).invoke(HumanMessage("x")), "not a HumanMessage; ask with a string"),
    (lambda r: chain(r, ANSWERS).invoke({"query": KEY}), r"write {'question': given\['query'\]}"),
    (lambda r: chain(r, ANSWERS).invoke("x", {"configurable": {"k": "x"}}), "k is 'x'"),
    # Engines
    (
        lambda r: spans_of(lambda text: None),
        r"the sentence engine returned None; it must return \(start, end\) of each",
    ),
    (lambda r: spans_of(lambda text: ["A b."]), "returned 'A b.'"),
    (lambda r: spans_of(lambda text: [(0.0, 4.0)]), r"returned \(0.0, 4.0\); .* as whole numbers"),
    (lambda r: spans_of(lambda text: [(0, 99)]), r"returned the span \(0, 99\) for a text of 9 characters"),
    (lambda r: spans_of(dict), "engine is the class dict; give a plain function of a text"),
    # Evaluation
    (lambda r: measures.evaluate(QUESTIONS, r), r"the retriever comes first: evaluate\(retriever, questions\)"),
    (lambda r: measures.evaluate(r, r), r"the retriever comes first: evaluate\(retriever, questions\)"),
    (lambda r: measures.sweep(QUESTIONS, r, k=[1]), r"the retriever is \[a Question\]; .*the questions after it"),
    (lambda r: measures.evaluate(r, QUESTIONS, on_progress=lambda done: None), "on_progress takes other arguments"),
    (lambda r: measures.read_questions("none.jsonl"), "can't be read .*; give a file that write_questions wrote"),
    (lambda r: measures.write_questions("none/some.jsonl", QUESTIONS), "can't be written .*; choose another"),
]


@pytest.mark.parametrize(("call", "message"), CALLS, ids=range(len(CALLS)))
def test_an_invalid_argument_is_refused_with_the_cure(
    retriever: SentenceWindowRetriever,
    call: Callable[[Any], object],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInputError, match=message) as raised:
        call(retriever)
    assert len(str(raised.value)) < 600
    assert KEY not in str(raised.value)
    assert len(retriever.vectorstore) == 2  # type: ignore[arg-type]
    assert is_empty(tmp_path)


@pytest.mark.parametrize(
    "settings", [{"search_kwargs": {"score_threshold": 0.5}}, {"bm25_index": BM25Index()}, {"filter": {}}]
)
async def test_no_index_is_made_if_a_setting_is_invalid_for_the_store(
    way: Invoke, tmp_path: Path, settings: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInputError):
        await way(
            SentenceWindowRetriever, "from_documents", [DOCUMENT], WordEmbeddings(), path=tmp_path / "i", **settings
        )
    assert is_empty(tmp_path)


def test_a_file_is_not_an_index(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("A refund.")
    with pytest.raises(StoreError, match="is a file, and an index is a folder; give the path that from_documents"):
        SentenceWindowRetriever.open(file, WordEmbeddings())


def test_a_cross_encoder_of_sentence_transformers_must_be_wrapped(tiny_model: Path) -> None:
    from sentence_transformers import CrossEncoder

    with pytest.raises(InvalidInputError, match="model is a CrossEncoder; give .*SentenceTransformerCrossEncoder"):
        CrossEncoderReranker(model=CrossEncoder(str(tiny_model)))


@pytest.mark.parametrize("kind", [str, ChatPromptTemplate.from_template, PromptTemplate.from_template])
async def test_a_prompt_may_be_a_string_or_a_template(
    retriever: SentenceWindowRetriever, way: Invoke, kind: Callable[[str], Any]
) -> None:
    prompts: list[str] = []

    def answer(value: Any) -> str:
        prompts.append(value.to_string())
        return "So it is [1]."

    chain = create_rag_chain(retriever, RunnableLambda(answer), kind("{context}\nAnswer {question}."))
    reply = await way(chain, "invoke", "refund")
    assert [each.number for each in reply["citations"]] == [1]
    assert prompts[0].endswith("<source>\n[1] a:0-33\nA refund is quick. It takes days.\n</source>\nAnswer refund.")


async def test_a_warning_names_a_setting_that_a_chain_would_drop(
    retriever: SentenceWindowRetriever, way: Invoke
) -> None:
    chain = create_rag_chain(retriever, ANSWERS)
    with pytest.warns(SentenceWindowWarning, match="no 'top_k' in its configuration.*did you mean 'k'"):
        await way(chain, "invoke", "refund", {"configurable": {"top_k": 1}})
    for settings in ({"k": 1, "thread_id": "1"}, {"temperature": 1}):
        await way(chain, "invoke", "refund", {"configurable": settings})
    # A setting of another part of the chain isn't an unknown one.
    of_model = ANSWERS.configurable_fields(responses=ConfigurableField(id="top_k"))
    await way(create_rag_chain(retriever, of_model), "invoke", "refund", {"configurable": {"top_k": ["So."]}})


def test_an_engine_may_return_numpy_arrays() -> None:
    spans = SentenceSplitter(engine=lambda text: np.array([[0, 4], [5, 9]])).spans("A b. C d.")
    assert list(spans) == [(0, 4), (5, 9)]
    assert {type(end) for span in spans for end in span} == {int}


def endless() -> list[Any]:
    nested: list[Any] = []
    nested.append(nested)
    return nested


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (2.5, "2.5"),
        ([10**5000], "[an int of more than 30 digits]"),
        ("x" * 81, f"'{'x' * 80}'… (81 characters)"),
        (b"x" * 10**6, f"b'{'x' * 80}'… (1,000,000 bytes)"),
        ("\ud800\0", r"'\ud800\x00'"),
        (f"Bearer {KEY}", "a string that looks like a key"),
        (KEY.encode(), "a string that looks like a key"),
        ((1,), "(1,)"),
        (list(range(10**6)), "[0, 1, 2, 3, … 999,996 more]"),
        (endless(), "[[a list of 1]]"),
        ([KEY], "[a string that looks like a key]"),
        (dict.fromkeys(range(9)), "{0: …, 1: …, 2: …, 3: …, … 5 more}"),
        ({"api_key": "x"}, "{'api_key': …}"),
        (int, "the class int"),
        (Secretive(), "a Secretive"),
        (object(), "an object"),
    ],
)
def test_messages_show_values_short_and_without_secrets(value: Any, written: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        CrossEncoderReranker(model=Scorer(), top_n=value)
    assert str(raised.value) == f"top_n is {written}; it must be a whole number, 1 or more"
