"""Why windows came back and a sentence didn't, as the page asks for it."""

import json
from typing import Any

import pytest
from langchain_core.vectorstores import InMemoryVectorStore
from starlette.testclient import TestClient

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.studio.tracing import advised_settings
from tests.studio.making import ADDRESS, client_of
from tests.toys import WordEmbeddings, document

RULES = "# Rules\n\nA refund 😀 is quick. It takes days. Nothing more. A seat is free. Never a card. A trial ends."


def made(**settings: Any) -> SentenceWindowRetriever:
    given = [document(RULES, "rules", source="files/rules.md"), document("A trial ends. A seat ends.", "trial")]
    return SentenceWindowRetriever.from_documents(given, WordEmbeddings(), **{"window": 0, **settings})


def only_rules() -> SentenceWindowRetriever:
    return made().model_copy(update={"filter": {"doc_id": "rules"}})


def call(client: TestClient, path: str, status: int = 200, /, **given: Any) -> Any:
    answer = client.post(f"{ADDRESS}/api/{path}", json=given)
    assert answer.status_code == status, answer.text
    return answer.json()


def test_a_trace_is_that_of_the_retriever_with_names_and_meanings() -> None:
    found = call(client_of(made(k=2)), "explain", query="refund seat", settings={"fetch_k": 3})
    trace = json.loads(made(k=2).explain("refund seat", fetch_k=3).to_json())
    for name in ("counts", "tokens", "candidates", "hits", "named", "settings"):
        assert found[name] == trace[name], name
    assert [{**each, "surroundings": 0} for each in found["windows"]] == [
        {**each, "surroundings": 0} for each in trace["windows"]
    ]
    assert found["names"]["rules"] == "files/rules.md"
    used = {name for hit in found["hits"] for name in hit["signals"]}
    assert used
    assert set(found["meanings"]) == used


def test_a_trace_takes_the_settings_of_the_page() -> None:
    client = client_of(made())
    found = call(client, "explain", query="refund", settings={"ranking": {"early": 2}, "lexical_weight": 0})
    assert {name for hit in found["hits"] for name in hit["signals"]} == {"early"}
    assert call(client, "explain", query="refund", settings={"ranking": None})["meanings"] == {}
    refused = call(client, "explain", 400, query="refund", settings={"ranking": __file__})
    assert __file__ in refused["error"]["message"]
    assert "'default'" in refused["error"]["message"]


def test_a_store_that_lists_nothing_is_traced_without_names() -> None:
    class Unlisted(InMemoryVectorStore):
        """A store without a filter that this package knows."""

    retriever = SentenceWindowRetriever(vectorstore=Unlisted(WordEmbeddings()), ranking=None, lexical_weight=0)
    retriever.add_documents([document(RULES, "rules")])
    found = call(client_of(retriever), "explain", query="refund", settings={})
    assert found["hits"]
    assert set(found["names"]) <= {"rules"}


def test_a_trace_tells_nothing_of_what_the_filter_forbids() -> None:
    found = call(client_of(only_rules()), "explain", query="trial", settings={})
    assert {each["doc_id"] for each in found["candidates"]} == {"rules"}
    assert set(found["names"]) == {"rules"}


def test_the_fate_of_a_sentence_comes_with_settings_that_return_it() -> None:
    client = client_of(made(k=1, lexical_weight=0))
    asked = {"query": "refund", "settings": {}, "doc_id": "rules"}
    fate = call(client, "why", **asked, sentence=4)
    assert (fate["text"], fate["window"]) == ("A seat is free.", None)
    assert RULES[fate["start"] : fate["end"]] == fate["text"]
    assert fate["advised"]
    for each in fate["advised"]:
        again = call(client, "why", **{**asked, "settings": each["settings"]}, sentence=4)
        assert again["outcome"] == "returned", each
        assert again["advised"] == []
    assert set(fate["meanings"]) == set(fate["signals"])
    there = call(client, "why", **asked, sentence=1)
    assert (there["outcome"], there["window"]) == ("returned", 1)


def test_a_filter_of_the_call_is_advised_away_and_that_of_the_page_hides() -> None:
    client = client_of(made())
    fate = call(client, "why", query="trial", settings={"filter": {"doc_id": "rules"}}, doc_id="trial", sentence=0)
    assert fate["advised"] == [{"written": "no filter", "settings": {"filter": None}}]
    hidden = call(client_of(only_rules()), "why", query="trial", settings={}, doc_id="trial", sentence=0)
    assert (hidden["outcome"], hidden["text"], hidden["advised"]) == ("missing", None, [])
    assert "A trial ends" not in json.dumps(hidden)


@pytest.mark.parametrize("sentence", [-1, 10**9, "x", None, 1.5])
def test_a_sentence_that_cant_be_is_refused(sentence: object) -> None:
    call(client_of(made()), "why", 400, query="refund", settings={}, doc_id="rules", sentence=sentence)


@pytest.mark.parametrize(
    ("advice", "settings"),
    [
        ("With k=20 it is returned.", [{"k": 20}]),
        (
            "It is 3rd. With k=5, fetch_k=200 or window=(0, 3) it is returned.",
            [{"k": 5, "fetch_k": 200}, {"window": [0, 3]}],
        ),
        ("With min_relevance=None or min_score=0.25 it is returned.", [{"min_relevance": None}, {"min_score": 0.25}]),
        ("With names=False it is returned.", [{"names": False}]),
        ("Ask with words that it holds. None of these returns it: k=20.", []),
    ],
)
def test_advice_is_read_as_settings(advice: str, settings: list[dict[str, Any]]) -> None:
    assert [each["settings"] for each in advised_settings(advice)] == settings
