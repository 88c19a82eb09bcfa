"""A reranker that is a service: Cohere's, through its own client, over HTTP."""

import pytest
from langchain_cohere import CohereRerank
from pydantic import SecretStr

from langchain_sentence_window import SentenceWindowRetriever
from tests.cohere_server import cohere_server
from tests.forms import Invoke
from tests.toys import WordEmbeddings, document

DOCUMENTS = [
    document("It is so. Refund upon refund for the annual plan. Not on Sundays.", "a", source="a.md"),
    document("All is paid. The refund goes to the card. Nobody else gets it.", "b", source="b.md"),
]


async def test_cohere_reranks_windows_before_the_budget_is_spent(words: WordEmbeddings, way: Invoke) -> None:
    with cohere_server() as (base_url, requests):
        reranker = CohereRerank(base_url=base_url, cohere_api_key=SecretStr("test"), model="rerank-v3.5", top_n=5)
        retriever = SentenceWindowRetriever.from_documents(DOCUMENTS, words, k=1, window=1, max_tokens=20)
        question = "refund for nobody else"
        (plain,) = await way(retriever, "invoke", question)
        retriever.reranker = reranker
        (reranked,) = await way(retriever, "invoke", question)
    assert plain.metadata["source"] == "a.md"
    assert reranked.page_content == DOCUMENTS[1].page_content
    assert reranked.metadata["relevance_score"] == pytest.approx(0.75)
    assert reranked.metadata["score"] < plain.metadata["score"]
    (asked,) = requests
    assert asked["query"] == question
    assert len(asked["documents"]) == 2
