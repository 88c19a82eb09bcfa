"""The retriever as a part of LangChain: pipelines, callbacks, compression, agents, other stores."""

import copy
import re
from typing import Any, Self

import pytest
from langchain.agents import create_agent
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_classic.retrievers.document_compressors import CrossEncoderReranker as ClassicReranker
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.cross_encoders import BaseCrossEncoder
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableLambda, RunnableParallel
from langchain_core.tools import create_retriever_tool
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_sentence_window import CrossEncoderReranker, FaissStore, SentenceWindowRetriever, format_context
from langchain_sentence_window.errors import InvalidInputError
from tests.forms import Invoke
from tests.toys import BY_COSINE, WordEmbeddings, document

# The cosines with "refund" are near 1 (b), 0.89 (a, twice the refund), 0.71 (c) and 0.58 (d).
DOCUMENTS = [
    document("It is so. Refund upon refund for the annual plan. Not on Sundays. Good.", "a", source="a.md"),
    document("We pay. A refund is quick. It takes days. Bye.", "b", source="b.md"),
    document("All is paid. The refund goes to the card. Nobody else gets it. End.", "c", source="c.md"),
    document("A seat and a trial. A refund for the seat or the trial. That is it.", "d", source="d.md"),
]
WINDOW_A = "It is so. Refund upon refund for the annual plan. Not on Sundays."
WINDOW_B = "We pay. A refund is quick. It takes days."
WINDOW_C = "All is paid. The refund goes to the card. Nobody else gets it."


class SharedWords(BaseCrossEncoder):
    """Scores a pair by the number of different words that query and text share."""

    def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
        sets = [[set(re.findall(r"\w+", text.lower())) for text in pair] for pair in text_pairs]
        return [float(len(query & text)) for query, text in sets]


class Recorder(BaseCallbackHandler):
    """Records events of retrievers."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, Any]] = []

    def on_retriever_start(self, serialized: dict[str, Any], query: str, **kwargs: Any) -> None:
        self.seen.append(("start", query))

    def on_retriever_end(self, documents: Any, **kwargs: Any) -> None:
        self.seen.append(("end", documents))

    def on_retriever_error(self, error: BaseException, **kwargs: Any) -> None:
        self.seen.append(("error", error))


class ScriptedChat(GenericFakeChatModel):
    """Replies from a script."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Self:
        return self


@pytest.fixture
def retriever(words: WordEmbeddings) -> SentenceWindowRetriever:
    return SentenceWindowRetriever.from_documents(DOCUMENTS, words, k=2, window=1)


def texts(documents: list[Document]) -> list[str]:
    return [found.page_content for found in documents]


async def test_a_batch_returns_the_same_as_single_queries(retriever: SentenceWindowRetriever, way: Invoke) -> None:
    found = await way(retriever, "batch", ["refund", "refund card"])
    assert [texts(each) for each in found] == [[WINDOW_B, WINDOW_A], [WINDOW_C, WINDOW_B]]
    configs = [{"configurable": {"k": k}} for k in (1, 3)]
    assert [len(each) for each in await way(retriever, "batch", ["refund", "refund"], configs)] == [1, 3]


async def test_the_retriever_pipes_into_a_context(retriever: SentenceWindowRetriever, way: Invoke) -> None:
    pipeline = retriever | RunnableLambda(format_context)
    expected = f"<source>\n[1] b.md, line 1\n{WINDOW_B}\n</source>\n\n<source>\n[2] a.md, line 1\n{WINDOW_A}\n</source>"
    assert await way(pipeline, "invoke", "refund") == expected
    assert list(pipeline.stream("refund")) == [expected]
    assert [part async for part in pipeline.astream("refund")] == [expected]


async def test_callbacks_get_the_query_and_its_outcome(retriever: SentenceWindowRetriever, way: Invoke) -> None:
    recorder = Recorder()
    found = await way(retriever, "invoke", "refund", config={"callbacks": [recorder]})
    assert recorder.seen == [("start", "refund"), ("end", found)]
    recorder.seen.clear()
    with pytest.raises(InvalidInputError, match="at least one word") as raised:
        await way(retriever, "invoke", " ", config={"callbacks": [recorder]})
    assert recorder.seen == [("start", " "), ("error", raised.value)]


# By words shared with this query, c has five (refund, goes, to, the, card), a two (refund, the) and b one.
RERANKED = "the refund goes to card"


@pytest.mark.parametrize("reranker", [ClassicReranker(model=SharedWords()), CrossEncoderReranker(model=SharedWords())])
async def test_windows_can_be_compressed_by_a_cross_encoder(
    retriever: SentenceWindowRetriever, way: Invoke, reranker: BaseDocumentCompressor
) -> None:
    three = retriever.bind(k=3)
    compressing = ContextualCompressionRetriever(base_retriever=three, base_compressor=reranker)

    assert texts(await way(three, "invoke", RERANKED)) == [WINDOW_C, WINDOW_B, WINDOW_A]
    assert texts(await way(compressing, "invoke", RERANKED)) == [WINDOW_C, WINDOW_A, WINDOW_B]


@pytest.mark.parametrize(
    ("reranker", "score"),
    [(ClassicReranker(model=SharedWords()), None), (CrossEncoderReranker(model=SharedWords(), score_on="window"), 3.0)],
)
async def test_all_windows_are_reranked_before_the_best_are_taken(
    words: WordEmbeddings, way: Invoke, reranker: BaseDocumentCompressor, score: float | None
) -> None:
    question = "refund for nobody else"  # shares three words with c, two with a and d, one with b
    settings: dict[str, Any] = {"k": 1, "fetch_k": 4, "window": 1, **BY_COSINE}
    plain = SentenceWindowRetriever.from_documents(DOCUMENTS, words, **settings)
    reranking = SentenceWindowRetriever.from_documents(DOCUMENTS, words, reranker=reranker, **settings)

    assert texts(await way(plain, "invoke", question)) == [WINDOW_B]
    (best,) = await way(reranking, "invoke", question)
    assert best.page_content == WINDOW_C
    assert best.metadata["score"] == pytest.approx(0.71, abs=0.01)
    assert best.metadata.get("relevance_score") == score


def nearly(metadata: dict[str, Any]) -> dict[str, Any]:
    """Metadata to compare with, but for the last digits of its scores."""

    def near(scored: dict[str, Any]) -> dict[str, Any]:
        scores = {key: scored[key] for key in ("score", "similarity") if key in scored}
        return scored | {key: pytest.approx(score, abs=0.001) for key, score in scores.items()}

    return {**near(metadata), "hits": [near(hit) for hit in metadata["hits"]]}


async def test_a_store_of_langchain_returns_the_same_windows_after_changes(words: WordEmbeddings, way: Invoke) -> None:
    faiss, memory = FaissStore(words, neighbor_weights=(1,)), InMemoryVectorStore(words)
    retrievers = [
        SentenceWindowRetriever(vectorstore=store, k=2, window=1, lexical_weight=0, ranking=None)
        for store in (faiss, memory)
    ]

    async def check(expected: list[str], sentences: int) -> None:
        ours, theirs = [await way(retriever, "invoke", "refund") for retriever in retrievers]
        assert texts(ours) == texts(theirs) == expected
        assert [found.id for found in ours] == [found.id for found in theirs]
        assert [found.metadata for found in ours] == [nearly(found.metadata) for found in theirs]
        assert len(faiss) == len(memory.store) == sentences

    for retriever in retrievers:
        assert await way(retriever, "add_documents", DOCUMENTS) == ["a", "b", "c", "d"]
    await check([WINDOW_B, WINDOW_A], 4 + 4 + 4 + 3)

    for retriever in retrievers:
        await way(retriever, "add_documents", [document("A page. No refund.", "b", source="b.md")])
    await check(["A page. No refund.", WINDOW_A], 4 + 2 + 4 + 3)

    for retriever in retrievers:
        await way(retriever, "delete", ["b"])
    await check([WINDOW_A, WINDOW_C], 4 + 4 + 3)


# What a run's configuration sets

NOT_B = {"source": {"$ne": "b.md"}}


@pytest.mark.parametrize(
    ("configurable", "given", "expected"),
    [
        ({"k": 1}, {}, [WINDOW_B]),
        ({"k": 1, "window": (0, 2), "thread_id": "1", "unknown": [1]}, {}, ["A refund is quick. It takes days. Bye."]),
        ({"k": 1}, {"k": 3}, [WINDOW_B, WINDOW_A, WINDOW_C]),
        ({"k": 1}, {"k": None}, [WINDOW_B]),
        ({}, {"k": 1, "window": (0, 2)}, ["A refund is quick. It takes days. Bye."]),
        ({"k": None}, {}, [WINDOW_B, WINDOW_A]),
        ({"filter": NOT_B}, {}, [WINDOW_A, WINDOW_C]),
        ({"filter": NOT_B}, {"filter": {"source": {"$in": ["b.md", "c.md"]}}}, [f"{WINDOW_C} End."]),
        ({"filter": NOT_B}, {"filter": None}, [WINDOW_A, WINDOW_C]),
        ({"filter": None, "max_tokens": 12}, {}, [f"{WINDOW_B} Bye."]),
    ],
)
async def test_a_call_and_the_configuration_of_a_run_override_settings(
    retriever: SentenceWindowRetriever,
    way: Invoke,
    configurable: dict[str, Any],
    given: dict[str, Any],
    expected: list[str],
) -> None:
    config: Any = {"configurable": configurable}
    before = copy.deepcopy((configurable, given))
    assert texts(await way(retriever, "invoke", "refund", config, **given)) == expected
    assert texts(await way(retriever, "invoke", "refund", config=config, **given)) == expected
    assert texts(await way(retriever.with_config(config), "invoke", "refund", **given)) == expected
    assert texts(await way(retriever.bind(**given), "invoke", "refund", config)) == expected
    assert [texts(each) for each in await way(retriever, "batch", ["refund"] * 2, config, **given)] == [expected] * 2
    assert [texts(each) for each in retriever.stream("refund", config, **given)] == [expected]
    assert [texts(each) async for each in retriever.astream("refund", config, **given)] == [expected]
    trace = await way(retriever, "explain", "refund", config, **given)
    assert trace.counts["returned"] == len(expected)
    bound: Any = retriever.with_config(config)
    assert (await way(bound, "explain", "refund", **given)).settings == trace.settings
    assert (configurable, given) == before
    assert texts(await way(retriever, "invoke", "refund")) == [WINDOW_B, WINDOW_A]


async def test_a_chains_configuration_reaches_the_retriever_in_it(
    retriever: SentenceWindowRetriever, way: Invoke
) -> None:
    async def nested(query: str) -> int:
        return len(await way(retriever, "invoke", query))  # the configuration of the run around it

    other: Any = RunnableLambda(lambda query, config: config["configurable"].get("limit"))
    chain = RunnableParallel(piped=retriever | RunnableLambda(len), nested=nested, shielded=retriever.bind(k=3) | len)
    config: Any = {"configurable": {"k": 1, "thread_id": "7", "limit": 5, "order": "document"}}
    assert await chain.ainvoke("refund", config) == {"piped": 1, "nested": 1, "shielded": 3}
    assert await way(other, "invoke", "refund", config) == 5
    assert await chain.ainvoke("refund", {"configurable": {"thread_id": "7"}}) == {
        "piped": 2,
        "nested": 2,
        "shielded": 3,
    }


async def test_a_graphs_configuration_reaches_the_tools_of_its_agent(
    retriever: SentenceWindowRetriever, way: Invoke
) -> None:
    call = {"name": "search", "args": {"query": "refund"}, "id": "1", "type": "tool_call"}
    for configurable, expected in (({"thread_id": "1"}, 2), ({"thread_id": "2", "k": 1, "filter": NOT_B}, 1)):
        answers = [AIMessage("", tool_calls=[call]), AIMessage("It is so.")]
        tool = create_retriever_tool(retriever, "search", "Searches.", response_format="content_and_artifact")
        agent: Any = create_agent(ScriptedChat(messages=iter(answers)), [tool])
        asked = {"messages": [{"role": "user", "content": "refund?"}]}
        state = await way(agent, "invoke", asked, {"configurable": configurable})
        (message,) = [each for each in state["messages"] if isinstance(each, ToolMessage)]
        assert len(message.artifact) == expected
