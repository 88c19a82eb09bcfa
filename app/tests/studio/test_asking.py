"""Questions that the page asks: their windows as cards, what a page may ask for, and why a sentence is found."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from langchain_core.documents import Document
from starlette.testclient import TestClient

from app.tests.studio.making import ADDRESS, call, client_of, refusal
from langchain_sentence_window import SentenceWindowRetriever
from sentence_window.studio import create_studio
from tests.toys import BY_COSINE, WordEmbeddings, document

RULES = """# Rules

A refund 😀 is quick. It takes days.

Never use it for:

- a seat
- a card

## Cards

A card has a limit. Each seat has a card."""


def retriever_of(*documents: Document, **settings: Any) -> SentenceWindowRetriever:
    given = documents or (document(RULES, "rules", source="files/rules.md"), document("A trial ends.", "trial"))
    return SentenceWindowRetriever.from_documents(given, WordEmbeddings(), **{**BY_COSINE, **settings})


def ask(client: TestClient, query: object, **settings: object) -> list[dict[str, Any]]:
    windows: list[dict[str, Any]] = call(client, "ask", query=query, settings=settings)["windows"]
    return windows


@pytest.fixture(scope="module")
def client() -> TestClient:
    return client_of(retriever_of(window=1))


def only_trial() -> TestClient:
    return client_of(retriever_of().model_copy(update={"filter": {"doc_id": "trial"}}))


def test_cards_are_the_windows_of_the_retriever(client: TestClient) -> None:
    windows = retriever_of(window=1).invoke("refund card")
    found = call(client, "ask", query="refund card")
    assert [each["text"] for each in found["windows"]] == [each.page_content for each in windows]
    assert [each["rank"] for each in found["windows"]] == list(range(1, len(windows) + 1))
    assert found["seconds"] > 0
    for card, window in zip(found["windows"], windows, strict=True):
        for key in ("doc_id", "start_index", "end_index", "heading", "score", "hits", "sentences", "window_id"):
            assert card.get(key) == json.loads(json.dumps(window.metadata.get(key)))


def test_a_card_says_where_its_hits_are_in_code_points(client: TestClient) -> None:
    card = ask(client, "refund", k=1)[0]
    (hit,) = card["hits"]
    start = card["start_index"]
    assert card["text"][hit["start_index"] - start : hit["end_index"] - start] == "A refund 😀 is quick."
    assert RULES[start : card["end_index"]] == card["text"]
    assert (len(card["text"]), card["tokens"]) == (44, 13)  # the emoji is two tokens
    assert (card["name"], card["title"], card["location"]) == (
        "files/rules.md",
        "rules.md",
        "files/rules.md, lines 1–3 (Rules)",
    )


def test_a_card_links_to_its_place_on_the_web_and_not_to_files() -> None:
    given = [
        document("A trial ends. A card.", "page", source="https://example.com/terms"),
        document("A seat.", "slides", source="https://example.com/seats.pdf", page=2),
        document("A refund.", "file", source="file:///srv/refunds.md"),
    ]
    client = client_of(retriever_of(*given, window=0))
    found = [ask(client, query, k=1)[0].get("url") for query in ("trial", "seat", "refund")]
    assert found == [
        "https://example.com/terms#:~:text=A%20trial%20ends.",
        "https://example.com/seats.pdf#page=3",
        None,
    ]


def test_a_card_has_its_lead_ins_and_its_other_places() -> None:
    given = [document(RULES, "rules"), document("A trial ends.", "trial"), document("A trial ends.", "twin")]
    client = client_of(retriever_of(*given, window=0))
    assert [each["text"] for each in ask(client, "seat", k=1, fetch_k=1)[0]["lead_ins"]] == ["Never use it for:"]
    first = ask(client, "trial", k=1)[0]
    assert {first["doc_id"], first["also_in"][0]["doc_id"]} == {"trial", "twin"}


def test_settings_are_those_of_a_call(client: TestClient) -> None:
    assert [each["text"] for each in ask(client, "refund", k=1, window=[0, 0])] == ["A refund 😀 is quick."]
    assert [each["text"] for each in ask(client, "refund", k=1, window=[0, 1])] == [
        "A refund 😀 is quick. It takes days."
    ]
    assert {each["doc_id"] for each in ask(client, "refund", filter={"doc_id": "trial"})} == {"trial"}


@pytest.mark.parametrize(
    "settings",
    [
        {"k": 501},
        {"k": 10**30},
        {"k": 0},
        {"k": "many"},
        {"fetch_k": 10_001},
        {"max_tokens": 1_000_001},
        {"window": [0, 10**30]},
        {"window": {"legal": 1_001}},
        {"window": "wide"},
        {"count_tokens": "len"},
        {"ranking": "/etc/passwd"},
        {"reranker": "off"},
        {"lexical_weight": float("nan")},
        {"filter": [1]},
        {"vectorstore": None},
        {"top_k": 3},
    ],
)
def test_settings_that_a_page_cannot_ask_for_are_refused_by_name(client: TestClient, settings: dict[str, Any]) -> None:
    for path in ("ask", "explain"):
        message = refusal(client, path, 400, query="refund", settings=settings)
        assert next(iter(settings)) in message
        assert "root:" not in message


def test_settings_that_are_not_settings_are_refused(client: TestClient) -> None:
    wrong: tuple[object, ...] = ([], "k", 3)
    for settings in wrong:
        refusal(client, "ask", 400, query="refund", settings=settings)
    deep: dict[str, Any] = {"doc_id": "rules"}
    for _ in range(400):
        deep = {"$not": deep}
    answer = client.post("/api/ask", json={"query": "refund", "settings": {"filter": deep}})
    assert answer.status_code in (200, 400), answer.text
    endless = '{"query": "refund", "settings": {"filter": ' + '{"a": ' * 100_000
    answer = client.post("/api/ask", content=endless, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400


@pytest.mark.parametrize("query", ["", " \n", 3, None, ["refund"], "refund " * 10_000])
def test_a_question_that_cannot_be_asked_is_refused(client: TestClient, query: object) -> None:
    assert "query" in refusal(client, "ask", 400, query=query)


@pytest.mark.parametrize(
    "query", ["refund \ud800", "\x00refund\x00", "refund\u202e", "<script>alert(1)</script> refund"]
)
def test_a_question_is_data(client: TestClient, query: str) -> None:
    assert "refund" in ask(client, query, k=1)[0]["text"]


def test_nothing_outside_the_filter_of_the_retriever_is_shown() -> None:
    client = only_trial()
    tried: list[dict[str, Any]] = [{}, {"filter": {"doc_id": "rules"}}, {"filter": None}, {"filter": {}}, {"k": 500}]
    for settings in tried:
        assert {each["doc_id"] for each in ask(client, "refund card rules", **settings)} <= {"trial"}
    trace = call(client, "explain", query="refund")
    assert {each["doc_id"] for each in trace["candidates"]} == {"trial"}
    assert (set(trace["names"]), trace["settings"]["filter"]) == ({"trial"}, None)
    hidden = call(client, "why", query="refund", doc_id="rules", sentence=1)
    assert (hidden["outcome"], hidden["text"], hidden["advised"]) == ("missing", None, [])
    assert "quick" not in json.dumps(hidden)


async def test_questions_are_answered_at_the_same_time() -> None:
    words = ["refund", "card", "seat", "trial"] * 5
    transport = httpx.ASGITransport(create_studio(retriever_of(window=0)))
    async with httpx.AsyncClient(transport=transport, base_url=ADDRESS) as client:
        calls = (client.post("/api/ask", json={"query": word, "settings": {"k": 1}}) for word in words)
        answers = await asyncio.gather(*calls)
    for word, answer in zip(words, answers, strict=True):
        assert word in answer.json()["windows"][0]["text"]


def test_a_trace_is_that_of_the_retriever_with_names(client: TestClient) -> None:
    settings: dict[str, Any] = {"k": 1, "filter": {"doc_id": {"$ne": "x"}}, "names": False}
    found = call(client, "explain", query="refund", settings=settings)
    wanted = retriever_of(window=1).explain("refund", **settings).to_dict()
    for key in ("hits", "windows", "counts", "tokens"):
        assert found[key] == wanted[key]
    assert {name: found["settings"][name] for name in settings} == settings
    assert found["names"] == {"rules": "files/rules.md", "trial": "trial"}


def test_why_advises_settings_that_return_the_sentence() -> None:
    client = client_of(retriever_of(k=1, lexical_weight=0, window=0))
    asked: dict[str, Any] = {"query": "refund", "doc_id": "rules", "sentence": 5}
    fate = call(client, "why", **asked)
    assert (fate["is_shown"], fate["window"]) == (False, None)
    assert RULES[fate["start"] : fate["end"]] == fate["text"]
    assert fate["advised"]
    for each in fate["advised"]:
        assert call(client, "why", **asked, settings=each["settings"])["is_shown"], each
    assert call(client, "why", **{**asked, "sentence": 1})["is_shown"]
    for sentence in (-1, 10**9, "x", None, 1.5):
        call(client, "why", 400, **{**asked, "sentence": sentence})
