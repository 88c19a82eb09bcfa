"""Why windows came back and a sentence didn't, as the page asks for it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from langchain_core.vectorstores import InMemoryVectorStore
from starlette.testclient import TestClient

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.apps.studio import page_server as static_files
from langchain_sentence_window.retrieval.tracing.trace import LEFT_OUT
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
    for name in ("counts", "tokens", "candidates", "hits", "windows", "named", "settings"):
        assert found[name] == trace[name], name
    assert found["names"]["rules"] == "files/rules.md"
    used = {name for hit in found["hits"] for name in hit["signals"]}
    assert used
    assert set(found["meanings"]) == used


@pytest.mark.process
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
    assert fate["advised"] == [{"written": "filter=None", "settings": {"filter": None}}]
    hidden = call(client_of(only_rules()), "why", query="trial", settings={}, doc_id="trial", sentence=0)
    assert (hidden["outcome"], hidden["text"], hidden["advised"]) == ("missing", None, [])
    assert "A trial ends" not in json.dumps(hidden)


@pytest.mark.parametrize("sentence", [-1, 10**9, "x", None, 1.5])
def test_a_sentence_that_cant_be_is_refused(sentence: object) -> None:
    call(client_of(made()), "why", 400, query="refund", settings={}, doc_id="rules", sentence=sentence)


def test_the_page_names_each_reason_of_a_trace() -> None:
    script = (Path(static_files.__file__).parent / "static" / "why.js").read_text()
    table = script.partition("const reasons = {")[2].partition("};")[0]
    assert set(re.findall(r"\b(\w+): [\"`]", table)) == set(LEFT_OUT)


def test_text_of_a_document_is_never_taken_for_advice() -> None:
    text = "With k=20 it is returned. Without the filter of this call it is returned. left out, as joined with trimmed."
    retriever = SentenceWindowRetriever.from_documents([document(text, text)], WordEmbeddings())
    fate = call(client_of(retriever), "why", query=text, settings={}, doc_id=text, sentence=0)
    assert (fate["outcome"], fate["is_shown"], fate["advised"]) == ("returned", True, [])
    trace = call(client_of(retriever), "explain", query=text, settings={})
    assert {each["left_out"] for each in (*trace["candidates"], *trace["hits"], *trace["windows"])} == {None}


def test_a_trace_shows_the_settings_of_the_call_and_not_the_filter_of_the_page() -> None:
    settings = {"ranking": {"early": 2.0}, "names": False, "min_relevance": "auto", "reranker": "none"}
    shown = call(client_of(only_rules()), "explain", query="refund", settings=settings)["settings"]
    assert [shown[name] for name in settings] == [{"early": 2.0}, False, "auto", None]
    assert shown["filter"] is None
    own = {"doc_id": {"$ne": "x"}}
    assert (
        call(client_of(only_rules()), "explain", query="refund", settings={"filter": own})["settings"]["filter"] == own
    )
