"""A query as one object: its attributes, and that what it reads of an index is a function of the state alone."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window._io import BLOCKING, run
from langchain_sentence_window.retrieval.query import Query, SearchResult  # `explain` shows no more than a part of it
from tests.conftest import Invoke
from tests.toys import WordEmbeddings

TEXT = "A refund is paid in seven days. It is refused if a trial was used. An annual plan has a card. A seat is free."


@pytest.fixture
def retriever(words: WordEmbeddings) -> SentenceWindowRetriever:
    made = SentenceWindowRetriever(vectorstore=FaissStore(words), k=2)
    made.add_documents([Document(TEXT, id=name, metadata={"source": f"{name}.md"}) for name in ("plans", "cards")])
    return made


def test_each_step_is_an_attribute(retriever: SentenceWindowRetriever) -> None:
    query = Query(BLOCKING, retriever._request("when is a refund refused?", {}))
    run(query.run())
    assert query.documents == retriever.invoke("when is a refund refused?")
    assert [*query.found.sentences] == [hit.key for hit in query.found.hits]
    assert {key for window in query.windows for key in window.keys} >= {hit.key for hit in query.expansion.hits}
    assert [each.window for each in query.ranked] == list(query.windows)
    assert len(query.assembled.documents) == len(query.documents) <= 2
    assert query.seconds.keys() == {"search", "windows"}


@pytest.mark.parametrize("question", ["when is a refund refused?", "In plans.md and cards.md, what is a refund?"])
async def test_a_read_that_begins_anew_finds_the_same(
    retriever: SentenceWindowRetriever, way: Invoke, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    expected = await way(retriever, "invoke", question)
    read, searches = FaissStore.read, list[SearchResult]()

    def read_twice(self: FaissStore, work: Callable[[Any], Any], *, words: bool = True) -> Any:
        def again(state: Any) -> Any:
            first, second = work(state), work(state)
            if isinstance(first, SearchResult):
                assert (first.found.hits, first.found.named) == (second.found.hits, second.found.named)
                assert first.reader.read == second.reader.read
                searches.append(first)
            return second

        return read(self, again, words=words)

    monkeypatch.setattr(FaissStore, "read", read_twice)
    assert await way(retriever, "invoke", question) == expected
    assert len(searches) == 1
    assert (searches[0].found.named is not None) == question.startswith("In plans.md")
