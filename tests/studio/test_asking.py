"""Questions that the page asks: their windows as cards, and what a page may ask for."""

import asyncio
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain_core.documents import BaseDocumentCompressor, Document
from starlette.testclient import TestClient

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.evaluation import Question, write_questions
from langchain_sentence_window.retrieval.settings import SETTINGS
from langchain_sentence_window.studio import create_studio
from tests.toys import BY_COSINE, VOCABULARY, WordEmbeddings, document

ADDRESS = "http://127.0.0.1"
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


def client_of(retriever: SentenceWindowRetriever, **settings: Any) -> TestClient:
    return TestClient(create_studio(retriever, **settings), base_url=ADDRESS)


def ask(client: TestClient, query: object, settings: object = None, status: int = 200) -> Any:
    # Not by `json=`, which refuses NaN.
    body = json.dumps({"query": query, "settings": {} if settings is None else settings})
    answer = client.post("/api/ask", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == status, answer.text
    return answer.json()


@pytest.fixture(scope="module")
def client() -> TestClient:
    return client_of(retriever_of(window=1))


def test_cards_are_the_windows_of_the_retriever(client: TestClient) -> None:
    windows = retriever_of(window=1).invoke("refund card")
    found = ask(client, "refund card")
    assert [each["text"] for each in found["windows"]] == [each.page_content for each in windows]
    assert [each["rank"] for each in found["windows"]] == list(range(1, len(windows) + 1))
    assert found["seconds"] > 0
    assert (found["doubt"], found["limits"]) == ("", [])
    for card, window in zip(found["windows"], windows, strict=True):
        for key in ("doc_id", "start_index", "end_index", "heading", "score", "hits", "sentences", "window_id"):
            assert card.get(key) == json.loads(json.dumps(window.metadata.get(key)))


def test_a_card_says_where_its_hits_stand_in_code_points(client: TestClient) -> None:
    card = ask(client, "refund", {"k": 1})["windows"][0]
    (hit,) = card["hits"]
    start = card["start_index"]
    assert card["text"][hit["start_index"] - start : hit["end_index"] - start] == "A refund 😀 is quick."
    assert RULES[start : card["end_index"]] == card["text"]
    assert (len(card["text"]), card["tokens"]) == (44, 13)  # the emoji is two tokens
    assert (card["name"], card["title"]) == ("files/rules.md", "files/rules.md")


def test_a_card_links_to_its_place_on_the_web_alone() -> None:
    given = [
        document("A trial ends. A card.", "page", source="https://example.com/terms"),
        document("A seat.", "slides", source="https://example.com/seats.pdf", page=2),
        document("A refund.", "file", source="file:///srv/refunds.md"),
    ]
    client = client_of(retriever_of(*given, window=0))
    found = [ask(client, query, {"k": 1})["windows"][0].get("url") for query in ("trial", "seat", "refund")]
    assert found == [
        "https://example.com/terms#:~:text=A%20trial%20ends.",
        "https://example.com/seats.pdf#page=3",
        None,
    ]


def test_a_card_has_its_lead_ins_its_other_places_and_its_pages() -> None:
    pages = [Document("A backup is made.", metadata={"source": "b.pdf", "page": page}) for page in (0, 1)]
    twin = document("A trial ends.", "twin")
    client = client_of(
        retriever_of(document(RULES, "rules"), *pages, document("A trial ends.", "trial"), twin, window=0)
    )
    seat = ask(client, "seat", {"k": 1, "fetch_k": 1})["windows"][0]
    assert [each["text"] for each in seat["lead_ins"]] == ["Never use it for:"]
    first = ask(client, "trial", {"k": 1})["windows"][0]
    assert {first["doc_id"], first["also_in"][0]["doc_id"]} == {"trial", "twin"}
    assert ask(client, "backup", {"k": 1})["windows"][0]["pages"] == [0, 1]


def test_settings_are_those_of_a_call(client: TestClient) -> None:
    one = ask(client, "refund", {"k": 1, "window": [0, 0]})["windows"]
    more = ask(client, "refund", {"k": 1, "window": [0, 1]})["windows"]
    assert [each["text"] for each in one] == ["A refund 😀 is quick."]
    assert [each["text"] for each in more] == ["A refund 😀 is quick. It takes days."]
    trial = ask(client, "refund", {"filter": {"doc_id": "trial"}})["windows"]
    assert {each["doc_id"] for each in trial} == {"trial"}


@pytest.mark.parametrize(
    "settings",
    [
        {"k": 501},
        {"k": 10**30},
        {"k": 0},
        {"k": "many"},
        {"fetch_k": 10_001},
        {"max_tokens": 1_000_001},
        {"window": 1_001},
        {"window": [0, 10**30]},
        {"window": {"legal": 1_001}},
        {"window": -1},
        {"window": "wide"},
        {"count_tokens": "len"},
        {"ranking": "/etc/passwd"},
        {"ranking": 3},
        {"reranker": "off"},
        {"lexical_weight": float("nan")},
        {"min_score": float("nan")},
        {"order": "random"},
        {"filter": [1]},
        {"vectorstore": None},
        {"top_k": 3},
    ],
)
def test_what_a_page_cant_set_is_refused_by_name(client: TestClient, settings: dict[str, Any]) -> None:
    error = ask(client, "refund", settings, 400)["error"]
    assert next(iter(settings)) in error["message"]
    assert "root:" not in error["message"]


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ([], "InvalidInputError"),
        ("k", "InvalidInputError"),
        (3, "InvalidInputError"),
        ({"filter": {"a": {"$and": [{}]}}}, "FilterError"),
    ],
)
def test_settings_of_another_kind_are_refused(client: TestClient, settings: object, error: str) -> None:
    assert ask(client, "refund", settings, 400)["error"]["type"] == error


def test_a_deep_filter_is_refused(client: TestClient) -> None:
    deep: dict[str, Any] = {"doc_id": "rules"}
    for _ in range(400):
        deep = {"$not": deep}
    answer = client.post("/api/ask", json={"query": "refund", "settings": {"filter": deep}})
    assert answer.status_code in (200, 400), answer.text
    endless = '{"query": "refund", "settings": {"filter": ' + '{"a": ' * 100_000
    answer = client.post("/api/ask", content=endless, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400


@pytest.mark.parametrize("query", ["", " \n", 3, None, ["refund"], "refund " * 10_000])
def test_a_question_that_cant_be_asked_is_refused(client: TestClient, query: object) -> None:
    assert "query" in ask(client, query, status=400)["error"]["message"]


@pytest.mark.parametrize(
    "query",
    [
        "refund \ud800",
        "\x00refund\x00",
        "😀 refund",
        "refund\u202e",
        "<script>alert(1)</script> refund",
        "{{7*7}} refund",
    ],
)
def test_a_question_is_data(client: TestClient, query: str) -> None:
    assert "refund" in ask(client, query, {"k": 1})["windows"][0]["text"]


class Turned(BaseDocumentCompressor):
    """Gives the windows back in the other order."""

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
        return list(reversed(documents))


def test_a_reranker_is_left_out_for_a_call() -> None:
    retriever = retriever_of(reranker=Turned(), k=2, fetch_k=2)
    client = client_of(retriever)
    on, off, given = (
        ask(client, "refund trial", each)["windows"] for each in ({"reranker": "own"}, {"reranker": "none"}, {})
    )
    assert [each["doc_id"] for each in on] == [each["doc_id"] for each in given]
    assert [each["doc_id"] for each in on] == [each["doc_id"] for each in reversed(off)]
    assert isinstance(retriever.reranker, Turned)


def test_nothing_outside_the_retrievers_filter_is_told() -> None:
    client = client_of(retriever_of().model_copy(update={"filter": {"doc_id": "trial"}}))
    tried: list[dict[str, Any]] = [{}, {"filter": {"doc_id": "rules"}}, {"filter": None}, {"filter": {}}, {"k": 500}]
    for settings in tried:
        found = ask(client, "refund card rules", settings)
        assert {each["doc_id"] for each in found["windows"]} <= {"trial"}
    assert "Rules" not in client.get("/api/examples").text


@pytest.mark.parametrize(
    ("own", "settings", "limits"),
    [
        ({}, {"min_score": 2}, ["min_score"]),
        ({"min_score": 2.0}, {}, ["min_score"]),
        ({}, {"filter": {"doc_id": "none"}}, ["filter"]),
        ({"filter": {"doc_id": "none"}}, {"filter": None, "min_relevance": "auto"}, ["filter", "min_relevance"]),
        ({"filter": {"doc_id": "none"}, "min_score": 2.0}, {"min_score": None}, ["filter"]),
    ],
)
def test_what_may_have_left_everything_out_is_told(own: Any, settings: Any, limits: list[str]) -> None:
    found = ask(client_of(retriever_of().model_copy(update=own)), "refund", settings)
    assert found["windows"] == []
    assert sorted(found["limits"]) == sorted(SETTINGS[name].advice for name in limits)


async def test_questions_are_answered_at_the_same_time() -> None:
    words = ["refund", "card", "seat", "trial"] * 5
    transport = httpx.ASGITransport(create_studio(retriever_of(window=0)))
    async with httpx.AsyncClient(transport=transport, base_url=ADDRESS) as client:
        calls = (client.post("/api/ask", json={"query": word, "settings": {"k": 1}}) for word in words)
        answers = await asyncio.gather(*calls)
    for word, answer in zip(words, answers, strict=True):
        assert word in answer.json()["windows"][0]["text"]


def examples(client: TestClient) -> list[str]:
    found: list[str] = client.get("/api/examples").json()["examples"]
    return found


def test_examples_are_of_the_questions_or_name_documents(tmp_path: Path) -> None:
    retriever, file = retriever_of(), tmp_path / "questions.jsonl"
    named = ["What is said in “Rules”?"]
    assert examples(client_of(retriever)) == named
    client = client_of(retriever, questions=file)
    assert examples(client) == named  # there is no such file yet
    write_questions(file, [Question(f"Refund {number}?", "rules", ((0, 1),)) for number in (1, 1, 2, 3, 4)])
    assert examples(client) == ["Refund 1?", "Refund 2?", "Refund 3?"]
    assert examples(client_of(retriever.model_copy(update={"filter": {"doc_id": "trial"}}), questions=file)) == []
    file.write_text("no questions")
    assert examples(client) == named


def test_an_empty_index_has_no_examples() -> None:
    retriever = retriever_of()
    retriever.delete(["rules", "trial"])
    client = client_of(retriever)
    assert examples(client) == []
    assert ask(client, "refund")["windows"] == []


def test_windows_that_may_not_answer_come_with_a_doubt(words: WordEmbeddings) -> None:
    text = " ".join(f"A {one} {other}." for one, other in pairwise(VOCABULARY))
    retriever = SentenceWindowRetriever.from_documents([Document(text, id="terms")], words, k=1)
    found = ask(client_of(retriever), "Whose dog barks whenever a passing train whistles?")
    assert len(found["windows"]) == 1
    assert found["doubt"] == "These passages may not answer the question."
