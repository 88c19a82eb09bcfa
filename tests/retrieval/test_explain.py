"""Test what `explain` says of a query, and that it says it of what `invoke` returns."""

import json
from datetime import date
from typing import Any

import pytest
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_sentence_window import Ranking, SentenceWindowRetriever
from langchain_sentence_window.ranking.ranking import DEFAULT_RANKING
from langchain_sentence_window.retrieval.tracing.trace import Trace
from tests.forms import Invoke
from tests.toys import BY_COSINE, WordEmbeddings, document

TEXT = """# Refunds

Nothing here. Nothing there. A refund of the card. Nothing more. A seat. The refund.

# Cards

A card. A card and a trial. An annual card.
"""
# 0 heading · 1 nothing · 2 nothing · 3 refund card · 4 nothing · 5 seat · 6 refund · 7 heading · 8 card · 9 card trial
# 10 annual card


def made(**settings: Any) -> SentenceWindowRetriever:
    documents = [document(TEXT, "a", source="a.md"), document("A trial. A seat.", "b")]
    return SentenceWindowRetriever.from_documents(documents, WordEmbeddings(), **BY_COSINE | settings)


class LastFirst(BaseDocumentCompressor):
    """Leaves out the second of what it is given and turns the others round."""

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> list[Document]:
        kept = [each for i, each in enumerate(documents) if i != 1]
        return [
            each.model_copy(update={"metadata": {**each.metadata, "relevance_score": float(-i)}})
            for i, each in enumerate(reversed(kept))
        ]


async def test_a_trace_is_of_what_is_returned(way: Invoke) -> None:
    retriever = made(order="edges", k=3)
    for window in ("auto", 0, 1, (0, 3), {"a.md": 2}):
        trace: Trace = await way(retriever, "explain", "refund card", window=window)
        found: list[Document] = await way(retriever, "invoke", "refund card", window=window)
        returned = [each for each in trace.windows if each.returned]
        assert {each.returned for each in returned} == set(range(1, len(found) + 1))
        for each in returned:
            back = found[(each.returned or 0) - 1]
            assert list(each.kept or each.sentences) == back.metadata["sentences"]
            assert each.doc_id == back.metadata["doc_id"]
            assert back.metadata["start_index"] <= each.start < each.end <= back.metadata["end_index"]
            assert each.text in back.page_content
            assert (each.kept is None) == (each.text == back.page_content)
        assert trace.settings["window"] == window


async def test_hits_and_windows_say_what_became_of_them(way: Invoke) -> None:
    trace: Trace = await way(made(), "explain", "refund seat", k=3, window=(2, 0), filter={"doc_id": "a"})
    # "A seat." and "The refund." are equally good, and their windows touch.
    assert [(each.sentences, each.hits) for each in trace.windows[:4]] == [
        ((3, 6), (1, 2)),
        ((0, 0), (4,)),
        ((1, 1), (5,)),
        ((2, 2), (6,)),
    ]
    # The second and the third touch and become one.
    assert [(each.returned, each.kept, each.outcome, each.left_out, each.joined) for each in trace.windows[:4]] == [
        (1, None, "returned as 1", None, ()),
        (2, (0, 1), "returned as 2, joined with 3", None, (3,)),
        (2, (0, 1), "returned as 2, joined with 2", None, (2,)),
        (None, None, "left out, as it is near a better window", "near", ()),
    ]
    assert {each.left_out for each in trace.windows[6:]} == {"k"}
    assert [hit.outcome for hit in trace.hits[:4]] == [
        "opened window 1",
        "merged into window 1",
        "already in window 1",
        "opened window 2",
    ]
    last = next(hit for hit in trace.hits if hit.index == 6)
    assert (TEXT[last.start : last.end], last.window) == ("The refund.", 1)
    assert {last.lexical_rank, trace.hits[0].lexical_rank} == {1, 2}
    assert {last.dense_rank, trace.hits[0].dense_rank} == {1, 2}
    assert last.dense_score == pytest.approx(0.71, abs=0.01)  # at 45 degrees to the question
    assert next(hit for hit in trace.hits if hit.index == 0).lexical_rank is None  # "Refunds" is another word


async def test_a_trace_shows_every_setting_as_json_can_hold_it(way: Invoke) -> None:
    given: dict[str, Any] = {
        "window": {date(2026, 1, 2): (1, 2)},
        "count_tokens": len,
        "ranking": Ranking({"early": 2}),
        "names": ["author"],
        "filter": {"doc_id": "a"},
    }
    trace: Trace = await way(made(reranker=LastFirst()), "explain", "<refund>", **given)
    expected = {
        "window": {"2026-01-02": (1, 2)},
        "count_tokens": "len",
        "ranking": {"early": 2.0},
        "names": ("author",),
        "filter": {"doc_id": "a"},
        "reranker": "LastFirst",
    }
    assert trace.settings.items() >= expected.items()
    assert trace.to_dict()["settings"] == json.loads(json.dumps(trace.settings))
    assert "reranker='LastFirst'" in str(trace)
    assert max(map(len, str(trace).splitlines())) <= 100
    nothing: Trace = await way(made(min_score=2.0), "explain", "refund", filter=None, ranking=DEFAULT_RANKING)
    assert (nothing.hits, nothing.windows, nothing.settings["ranking"]) == ([], [], "default")
    assert "refund" in str(nothing)


async def test_a_trace_shows_a_reranker_and_a_budget(way: Invoke) -> None:
    retriever = made(reranker=LastFirst(), max_tokens=10, count_tokens=lambda text: len(text.split()), k=3)
    trace: Trace = await way(retriever, "explain", "card", window=(1, 1))
    found: list[Document] = await way(retriever, "invoke", "card", window=(1, 1))
    assert (trace.windows[1].outcome, trace.windows[1].left_out) == ("left out, as the reranker dropped it", "reranker")
    assert trace.windows[1].reranked is None
    ranked = sorted((each for each in trace.windows if each.reranked), key=lambda each: each.reranked or 0)
    assert [each.number for each in ranked] == [each.number for each in reversed(trace.windows) if each.number != 2]
    assert [each.relevance_score for each in ranked] == [float(-i) for i in range(len(ranked))]
    returned = {each.returned: each for each in trace.windows if each.returned}
    assert [returned[i + 1].kept or returned[i + 1].sentences for i in range(len(found))] == [
        tuple(each.metadata["sentences"]) for each in found
    ]
    assert any(each.kept and each.outcome.endswith("trimmed") for each in returned.values())
    assert all((each.change == "trimmed") == ("trimmed" in each.outcome) for each in returned.values())
    left_out = {each.left_out for each in trace.windows if not each.returned}
    assert {"reranker"} < left_out <= {"reranker", "budget", "k"}
    assert {"search", "windows", "rerank"} == set(trace.seconds)


async def test_asking_does_none_of_the_work_of_explaining(way: Invoke) -> None:
    class Counting(InMemoryVectorStore):
        searches = 0

        def similarity_search_with_score(self, *given: Any, **more: Any) -> list[tuple[Document, float]]:
            type(self).searches += 1
            return super().similarity_search_with_score(*given, **more)

        async def asimilarity_search_with_score(self, *given: Any, **more: Any) -> list[tuple[Document, float]]:
            type(self).searches += 1
            return await super().asimilarity_search_with_score(*given, **more)

    retriever = SentenceWindowRetriever(vectorstore=Counting(WordEmbeddings()))
    retriever.add_documents([document(TEXT)])
    await way(retriever, "invoke", "refund")
    assert Counting.searches == 1
    await way(retriever, "explain", "refund")
    assert Counting.searches == 3
