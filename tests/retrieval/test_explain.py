"""Test what `explain` says of a query, and that it says it of what `invoke` returns."""

import json
import sys
from datetime import date
from html import escape
from html.parser import HTMLParser
from typing import Any

import pytest
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_sentence_window import BM25Index, SentenceWindowRetriever
from langchain_sentence_window.ranking.ranking import DEFAULT_RANKING, Ranking
from langchain_sentence_window.retrieval.settings import CallSettings
from langchain_sentence_window.retrieval.tracing.trace import Trace
from tests.conftest import Invoke
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


async def test_every_hit_says_its_ranks_its_window_and_its_fate(way: Invoke) -> None:
    trace: Trace = await way(made(lexical_weight=0.25, k=2), "explain", "refund", window=1)
    assert (trace.query, trace.settings["k"], trace.settings["window"]) == ("refund", 2, 1)
    by_place = {(hit.doc_id, hit.index): hit for hit in trace.hits}
    assert [hit.rank for hit in trace.hits] == list(range(1, len(trace.hits) + 1))
    assert set(by_place) == {("a", index) for index in range(11)} | {("b", 0), ("b", 1)}
    last, first, heading = by_place["a", 6], by_place["a", 3], by_place["a", 0]
    assert (last.text, TEXT[last.start : last.end]) == ("The refund.", "The refund.")
    # The vector of "The refund." is that of the query; with the card it is at 45 degrees.
    assert (last.dense_rank, first.dense_rank) == (1, 2)
    assert last.dense_score == pytest.approx(1, abs=1e-3)
    assert first.dense_score == pytest.approx(0.71, abs=0.01)
    assert {last.lexical_rank, first.lexical_rank} == {1, 2}
    assert last.lexical_score is not None
    assert heading.lexical_rank is None  # "Refunds" is another word
    assert (last.opened, last.ends) == ((5, 6), {"after": "section"})
    assert (heading.opened, heading.ends) == ((0, 1), {"before": "document"})
    assert by_place["a", 10].ends["after"] == "document"
    assert by_place["a", 7].ends["before"] == "section"
    assert (last.window, last.outcome) == (1, "opened window 1")


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


async def test_windows_say_what_they_were_merged_with_and_what_ended_them(way: Invoke) -> None:
    trace: Trace = await way(made(), "explain", "refund seat", k=3, window=(2, 0), filter={"doc_id": "a"})
    # "A seat." and "The refund." are equally good, and their windows touch.
    assert [(each.sentences, each.hits, each.ends) for each in trace.windows[:5]] == [
        ((3, 6), (1, 2), {}),
        ((0, 0), (4,), {"before": "document"}),
        ((1, 1), (5,), {"before": "window 2"}),
        ((2, 2), (6,), {"before": "window 3"}),
        ((7, 7), (8,), {"before": "section"}),
    ]
    assert "cut by window 2 before; returned as 2, joined with 2" in " ".join(str(trace).split())
    # The second and the third touch and become one, so the fifth comes back, too.
    assert [(each.returned, each.kept, each.outcome) for each in trace.windows[:5]] == [
        (1, None, "returned as 1"),
        (2, (0, 1), "returned as 2, joined with 3"),
        (2, (0, 1), "returned as 2, joined with 2"),
        (None, None, "left out, as it is near a better window"),
        (3, None, "returned as 3"),
    ]
    assert {each.outcome for each in trace.windows[6:]} == {"left out, as there were k better ones"}
    assert [(each.left_out, each.joined, each.change) for each in trace.windows[:5]] == [
        (None, (), None),
        (None, (3,), None),
        (None, (2,), None),
        ("near", (), None),
        (None, (), None),
    ]
    assert {each.left_out for each in trace.windows[6:]} == {"k"}
    assert [hit.outcome for hit in trace.hits[:6]] == [
        "opened window 1",
        "merged into window 1",
        "already in window 1",
        "opened window 2",
        "opened window 3",
        "opened window 4",
    ]


async def test_a_reranker_and_a_budget_leave_their_marks(way: Invoke) -> None:
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


def is_free(document: Document) -> bool:
    return "free" in document.page_content


async def test_a_filter_that_is_a_function_binds_where_the_store_takes_one_and_is_shown_by_its_name(
    way: Invoke,
) -> None:
    retriever = SentenceWindowRetriever(vectorstore=InMemoryVectorStore(WordEmbeddings()))
    await way(retriever, "add_documents", [document("A refund is paid.", "a"), document("A card is free.", "b")])
    trace: Trace = await way(retriever, "explain", "refund", filter=is_free)
    assert [hit.text for hit in trace.hits] == ["A card is free."]
    assert trace.settings["filter"] == "is_free"
    assert "filter='is_free'" in str(trace)


async def test_a_store_without_lexical_search_is_explained_too(way: Invoke) -> None:
    retriever = SentenceWindowRetriever(vectorstore=InMemoryVectorStore(WordEmbeddings()))
    await way(retriever, "add_documents", [document(TEXT)])
    trace: Trace = await way(retriever, "explain", "refund")
    assert trace.hits[0].text == "The refund."
    assert {hit.lexical_rank for hit in trace.hits} == {None}


OTHERS: dict[str, tuple[Any, Any]] = {
    "k": (3, 3),
    "fetch_k": (7, 7),
    "window": ({"a.md": (1, 2)}, {"a.md": (1, 2)}),
    "window_key": ("source", "source"),
    "max_tokens": (900, 900),
    "count_tokens": (len, "len"),
    "order": ("edges", "edges"),
    "lexical_weight": (0.5, 0.5),
    "min_score": (-0.5, -0.5),
    "ranking": (Ranking({"early": 2}), {"early": 2.0}),
    "names": (["author"], ("author",)),
    "min_relevance": ("auto", "auto"),
    "filter": ({"doc_id": "a"}, {"doc_id": "a"}),
}
"""For each setting of a call another value than its default, and how a trace shows it."""

OF_THE_RETRIEVER: dict[str, tuple[Any, Any]] = {
    "reranker": (LastFirst(), "LastFirst"),
    "search_kwargs": ({"score_threshold": -1.0, "made": made}, {"score_threshold": -1.0, "made": "made"}),
    "bm25_index": (BM25Index(), repr(BM25Index())),
}
"""The same for the settings of a query that only its retriever has."""

NOT_OF_A_QUERY = {"vectorstore", "splitter", "embed_headings", "situate"}


def test_each_setting_is_of_a_query_or_known_not_to_be() -> None:
    assert OTHERS.keys() == CallSettings.__annotations__.keys()
    own = SentenceWindowRetriever.model_fields.keys() - BaseRetriever.model_fields.keys()
    assert own == OTHERS.keys() | OF_THE_RETRIEVER.keys() | NOT_OF_A_QUERY
    assert made().explain("refund").settings.keys() == own - NOT_OF_A_QUERY


@pytest.mark.parametrize("name", OTHERS)
async def test_a_setting_is_shown_wherever_it_was_set(way: Invoke, name: str) -> None:
    retriever, (value, expected) = made(), OTHERS[name]
    usual = retriever.explain("refund").settings
    of_call: Trace = await way(retriever, "explain", "refund", **{name: value})
    of_retriever: Trace = await way(retriever.model_copy(update={name: value}), "explain", "refund")
    for trace in (of_call, of_retriever):
        assert trace.settings == {**usual, name: expected}
        check_shown(trace, name)


class Reads(InMemoryVectorStore):
    """Takes any argument of a search."""

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> list[tuple[Document, float]]:
        return super().similarity_search_with_score(query, k, filter=kwargs.get("filter"))


@pytest.mark.parametrize("name", OF_THE_RETRIEVER)
def test_a_setting_of_the_retriever_is_shown(name: str) -> None:
    value, expected = OF_THE_RETRIEVER[name]
    retriever = SentenceWindowRetriever(vectorstore=Reads(WordEmbeddings()), **{name: value})
    retriever.add_documents([document(TEXT)])
    trace = retriever.explain("refund")
    assert trace.settings[name] == expected
    check_shown(trace, name)


def check_shown(trace: Trace, name: str) -> None:
    """Check that all ways of showing a trace show a setting."""
    written = f"{name}={trace.settings[name]!r}"
    assert " ".join(written.split()) in " ".join(str(trace).split())
    assert escape(written) in trace._repr_html_()
    assert repr(dict(trace.settings)) in repr(trace)
    assert json.loads(trace.to_json()) == trace.to_dict()
    assert trace.to_dict()["settings"] == json.loads(json.dumps(trace.settings))


def test_what_json_can_not_hold_is_shown_as_python_writes_it() -> None:
    window = {date(2026, 1, 2): 1}
    trace = made().explain("refund", window=window)
    assert trace.settings["window"] == {"2026-01-02": 1}
    assert json.loads(trace.to_json())["settings"]["window"] == trace.settings["window"]
    assert made().explain("refund", ranking=DEFAULT_RANKING).settings["ranking"] == "default"


async def test_nothing_found_is_explained(way: Invoke) -> None:
    trace: Trace = await way(made(min_score=2.0), "explain", "refund")
    assert (trace.hits, trace.windows) == ([], [])
    assert "refund" in str(trace)
    assert trace._repr_html_().startswith("<div")


class Balanced(HTMLParser):
    """Sees that tags are closed in the order in which they were opened, and collects the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.add(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_trace_is_shown_as_text_page_and_json() -> None:
    hostile = "# <b>Refund</b>\n\nA refund </span><script>alert(1)</script> & more. A card."
    retriever = SentenceWindowRetriever.from_documents([document(hostile, '"<i>')], WordEmbeddings(), k=1, **BY_COSINE)
    trace = retriever.explain("<refund>")
    lines = str(trace).splitlines()
    assert max(map(len, lines)) <= 100
    at = lines.index("  2  A refund </span><script>alert(1)</script> & more.")
    assert "already in window 1" in " ".join(lines[at : at + 3])
    parser = Balanced()
    parser.feed(trace._repr_html_())
    assert not parser.open
    assert not {"script", "b>", "i>"} & parser.seen
    assert "A refund </span><script>alert(1)</script> & more." in parser.text
    assert {"u", "span", "details", "pre"} <= parser.seen
    assert json.loads(trace.to_json())["windows"][0]["hits"] == [1]
    assert json.loads(json.dumps(trace.to_dict()))["query"] == "<refund>"


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


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{"window": 1, **BY_COSINE}, {"window": "auto", "k": 2_000, "max_tokens": None}])
def test_a_trace_takes_work_that_grows_as_its_hits_do(settings: dict[str, Any], words: WordEmbeddings) -> None:
    """Of equal sentences all are strong, and one window takes them in, or each opens one."""

    def work(sentences: int) -> int:
        retriever = SentenceWindowRetriever.from_documents(
            [document("A refund is quick. " * sentences)], words, fetch_k=sentences, **settings
        )
        retriever.explain("refund")
        counted = 0

        def count(frame: object, event: str, argument: object) -> None:
            nonlocal counted
            counted += event in ("call", "c_call")

        sys.setprofile(count)
        try:
            trace = retriever.explain("refund")
        finally:
            sys.setprofile(None)
        assert len(trace.hits) == sentences
        return counted

    assert work(800) < 2.6 * work(400)
