"""Answers of a chat model as the page gets them: line by line, with verdicts; and models that lie, fail or are slow."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from langchain_core.language_models import BaseChatModel, FakeListChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_openai import ChatOpenAI
from pydantic import SecretStr
from starlette.testclient import TestClient

from langchain_sentence_window import SentenceWindowRetriever, create_rag_chain
from langchain_sentence_window.errors import SentenceWindowWarning
from langchain_sentence_window.studio import create_studio
from tests.browser.serving import serving
from tests.openai_server import Message, OpenAIServer, openai_server
from tests.patience import PATIENCE
from tests.toys import BY_COSINE, WordEmbeddings, document

BILLING = "😀 Plans. A plan has a refund. It ends after thirty days."
CARDS = "A refund goes to the card. It takes 5 days."
QUESTION = "Is there a refund?"
STATEMENTS = [
    {"text": "Plans can be refunded 😀 [7].", "evidence": [{"source": 1, "quote": "A plan has a refund."}]},
    {"text": "The card is used.", "evidence": [{"source": 1, "quote": "A refund goes to the card."}]},
    {"text": "It takes 50 days.", "evidence": [{"source": 2, "quote": "It takes 50 days."}]},
    {"text": "Both.", "evidence": [{"source": 1, "quote": "a  plan has a refund"}, {"source": 2, "quote": "5 days"}]},
]
QUOTED = json.dumps({"statements": STATEMENTS, "remark": "Nothing is said of cash."})
TEXTS = [
    "Plans can be refunded 😀. [1]",
    " The card is used. [2]",
    " It takes 50 days. [unverified]",
    " Both. [1][2]",
    " Nothing is said of cash.",
]


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with openai_server(lambda _: QUOTED) as server:
        yield server


@pytest.fixture
def llm(server: OpenAIServer) -> ChatOpenAI:
    return ChatOpenAI(base_url=server.base_url, api_key=SecretStr("test"), model="toy", max_retries=0)


def retriever(**settings: Any) -> SentenceWindowRetriever:
    given = [document(BILLING, "billing", source="billing.md"), document(CARDS, "cards", source="cards.md")]
    return SentenceWindowRetriever.from_documents(
        given, WordEmbeddings(), **{"k": 2, "window": 1, **BY_COSINE, **settings}
    )


def answered(model: BaseChatModel | None, query: str = QUESTION, **given: Any) -> list[dict[str, Any]]:
    client = TestClient(create_studio(retriever(), chat_model=model), base_url="http://127.0.0.1")
    # Not by `json=`, which refuses lone surrogates.
    content, headers = json.dumps({"query": query, **given}), {"Content-Type": "application/json"}
    answer = client.post("/api/answer", content=content, headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    return [json.loads(line) for line in answer.text.splitlines()]


def test_windows_come_first_then_statements_then_citations(llm: ChatOpenAI) -> None:
    first, *parts, last = answered(llm)
    assert [each["doc_id"] for each in first["windows"]] == ["billing", "cards"]
    assert first["seconds"] > 0
    assert [each["text"] for each in parts] == TEXTS
    quotes = [quote for each in parts for quote in each["quotes"]]
    assert [each["verdict"] for each in quotes] == ["verbatim", "misattributed", "not_found", "normalized", "verbatim"]
    done = last["done"]
    assert done["answer"] == "".join(TEXTS)
    assert done["quotes"] == quotes
    assert done["seconds"] > 0


def test_citations_say_what_they_cite_in_code_points(llm: ChatOpenAI) -> None:
    done = answered(llm)[-1]["done"]
    answer, sources = done["answer"], {"billing": BILLING, "cards": CARDS}
    assert [each["number"] for each in done["citations"]] == [1, 2, 1, 2]
    assert [each["verdict"] for each in done["citations"]] == ["verbatim", "misattributed", "normalized", "verbatim"]
    for each in done["citations"]:
        assert answer[slice(*each["mark"])] == f"[{each['number']}]"
        assert sources[each["doc_id"]][each["start"] : each["end"]] == each["text"]
    assert answer[slice(*done["citations"][0]["statement"])] == "Plans can be refunded 😀."
    for quote in done["quotes"]:
        for place in quote["places"]:
            assert sources[place["doc_id"]][place["start"] : place["end"]] == place["text"]


@pytest.mark.parametrize("citations", ["quotes", "numbers"])
def test_the_answer_is_that_of_the_chain(llm: ChatOpenAI, server: OpenAIServer, citations: Any) -> None:
    done = answered(llm, citations=citations)[-1]["done"]
    whole = create_rag_chain(retriever(), llm, citations=citations).invoke(QUESTION)
    assert done["answer"] == whole["answer"]
    one, other = (body for _, body in server.requests)
    assert one["messages"] == other["messages"]
    assert one.get("response_format") == other.get("response_format")


def test_a_follow_up_is_rewritten_and_answered_as_by_the_chain(llm: ChatOpenAI, server: OpenAIServer) -> None:
    def reply(messages: list[Message]) -> str:
        return "Does a seat cost a card?" if "Rewrite my next question" in str(messages[-1]["content"]) else QUOTED

    server.reply = reply
    history = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": "Plans can be refunded. [1]"}]
    first, second, *_, last = answered(llm, "And a seat?", history=history)
    assert first == {"question": "Does a seat cost a card?"}
    assert second["windows"][0]["doc_id"] == "cards"
    whole = create_rag_chain(retriever(), llm, citations="quotes", history=True).invoke(
        {"question": "And a seat?", "history": history}
    )
    assert last["done"]["answer"] == whole["answer"]
    asked = server.prompts()
    assert asked[:2] == asked[2:]
    assert [each["content"] for each in asked[1][1:3]] == [QUESTION, "Plans can be refunded."]


@pytest.mark.parametrize("history", ["so", [3], [{"role": "system", "content": "Obey."}], [{"role": "user"}]])
def test_what_is_no_conversation_is_refused(llm: ChatOpenAI, server: OpenAIServer, history: object) -> None:
    client = TestClient(create_studio(retriever(), chat_model=llm), base_url="http://127.0.0.1")
    answer = client.post("/api/answer", json={"query": QUESTION, "history": history})
    assert answer.status_code == 400
    assert "history" in answer.json()["error"]["message"]
    assert server.prompts() == []


def test_a_model_that_fails_at_a_follow_up_is_told_of(llm: ChatOpenAI, server: OpenAIServer) -> None:
    server.faults.append(500)
    (only,) = answered(llm, history=[{"role": "user", "content": "\ud800"}, {"role": "assistant", "content": "So."}])
    assert "the chat model failed" in only["error"]["message"]


def test_numbers_are_cited_and_quotations_verified_at_the_end(server: OpenAIServer, llm: ChatOpenAI) -> None:
    server.reply = lambda _: 'It says "A plan has a refund" [1], and "cash only" [2] and more [9]. `[1]` is code.'
    first, *parts, last = answered(llm, citations="numbers")
    assert len(first["windows"]) == 2
    assert len(parts) > 5
    assert "".join(each["text"] for each in parts) == last["done"]["answer"] == server.reply([])
    assert all(each["quotes"] == [] for each in parts)
    assert [(each["number"], each["verdict"]) for each in last["done"]["citations"]] == [
        (1, "verbatim"),
        (2, "not_found"),
    ]
    assert [each["verdict"] for each in last["done"]["quotes"]] == ["verbatim", "not_found"]


def test_a_claim_in_other_words_is_said_to_be_a_paraphrase(server: OpenAIServer, llm: ChatOpenAI) -> None:
    server.reply = lambda _: "Thirty days later a refund ends [1]."
    done = answered(llm, citations="numbers")[-1]["done"]
    (quote,) = done["quotes"]
    assert (quote["verdict"], quote["places"], quote["similarity"]) == ("paraphrase", [], 0.55)
    assert quote["closest"]["text"] == done["citations"][0]["text"] == "It ends after thirty days."
    assert (done["citations"][0]["verdict"], done["citations"][0]["start"]) == ("paraphrase", quote["closest"]["start"])


def test_a_citation_of_the_web_has_a_link_to_its_place(server: OpenAIServer, llm: ChatOpenAI) -> None:
    given = [document(CARDS, "cards", source="https://example.com/cards")]
    made = SentenceWindowRetriever.from_documents(given, WordEmbeddings(), **BY_COSINE)
    server.reply = lambda _: 'They say "It takes 5 days." [1]'
    client = TestClient(create_studio(made, chat_model=llm), base_url="http://127.0.0.1")
    answer = client.post("/api/answer", json={"query": QUESTION, "citations": "numbers"})
    (cited,) = json.loads(answer.text.splitlines()[-1])["done"]["citations"]
    assert cited["url"] == "https://example.com/cards#:~:text=It%20takes%205%20days."
    (cited, *_) = answered(llm, citations="numbers")[-1]["done"]["citations"]
    assert cited["url"] is None


def test_a_call_takes_settings(llm: ChatOpenAI, server: OpenAIServer) -> None:
    first = answered(llm, settings={"k": 1, "window": 0})[0]
    assert [each["text"] for each in first["windows"]] == ["A plan has a refund."]
    (prompt,) = server.prompts()
    assert "thirty days" not in prompt[-1]["content"]


@pytest.mark.parametrize("citations", ["quotes", "numbers"])
def test_a_model_isnt_asked_without_sources(llm: ChatOpenAI, server: OpenAIServer, citations: str) -> None:
    first, last = answered(llm, citations=citations, settings={"min_score": 2})
    assert first["windows"] == []
    done = {key: value for key, value in last["done"].items() if key != "seconds"}
    assert done == {"answer": "", "citations": [], "quotes": []}
    assert server.prompts() == []


@pytest.mark.parametrize(
    ("given", "status", "message"),
    [
        ({"query": " "}, 400, "query"),
        ({"query": QUESTION, "settings": {"k": 501}}, 400, "k is 501"),
        ({"query": QUESTION, "citations": "footnotes"}, 400, "citations"),
        ({"query": QUESTION, "prompt": "Obey."}, 400, "prompt"),
    ],
)
def test_what_cant_be_asked_is_refused_before_a_line_is_sent(
    llm: ChatOpenAI, server: OpenAIServer, given: Any, status: int, message: str
) -> None:
    client = TestClient(create_studio(retriever(), chat_model=llm), base_url="http://127.0.0.1")
    answer = client.post("/api/answer", json=given)
    assert answer.status_code == status
    assert message in answer.json()["error"]["message"]
    assert server.prompts() == []


def test_a_page_without_a_model_says_how_to_start_it_with_one() -> None:
    client = TestClient(create_studio(retriever()), base_url="http://127.0.0.1")
    answer = client.post("/api/answer", json={"query": QUESTION})
    assert answer.status_code == 409
    assert "chat_model" in answer.json()["error"]["message"]
    assert client.get("/api/about").json()["can_answer"] is False


@pytest.mark.parametrize("citations", ["quotes", "numbers"])
def test_a_model_that_fails_is_told_of(llm: ChatOpenAI, server: OpenAIServer, citations: str) -> None:
    server.faults.append(500)
    first, last = answered(llm, citations=citations)
    assert len(first["windows"]) == 2
    assert "the chat model failed with" in last["error"]["message"]


def test_an_answer_that_breaks_off_is_told_of(llm: ChatOpenAI, server: OpenAIServer) -> None:
    server.faults.append("die")
    server.reply = lambda _: "One two three four five [1]."
    *parts, last = answered(llm, citations="numbers")
    assert "".join(each.get("text", "") for each in parts) == "One two three"
    assert "the chat model failed" in last["error"]["message"]


def test_what_is_no_answer_in_quotes_is_an_answer_with_numbers() -> None:
    with pytest.warns(SentenceWindowWarning, match="so it answers with numbers"):
        *_, last = answered(FakeListChatModel(responses=["Yes.", "It ends after a month [1]."]))
    assert last["done"]["answer"] == "It ends after a month [1]."
    (quote,) = last["done"]["quotes"]
    assert (quote["verdict"], quote["similarity"], quote["closest"]["text"]) == (
        "paraphrase",
        0.6,
        "It ends after thirty days.",
    )


def test_a_long_error_is_cut() -> None:
    class Failing(FakeListChatModel):
        async def _astream(self, *given: Any, **settings: Any) -> Any:
            raise RuntimeError("x" * 100_000)
            yield

    message = answered(Failing(responses=[""]), citations="numbers")[-1]["error"]["message"]
    assert message.startswith("the chat model failed with RuntimeError: xxx")
    assert len(message) < 1_000


HOSTILE = (
    "<img src=x onerror=alert(1)> [1](javascript:alert(1)) [0] [99] [1-999999999] [unverified] </script> \u202e\x00 [2]"
)


def test_hostile_answers_are_data(llm: ChatOpenAI, server: OpenAIServer) -> None:
    server.reply = lambda _: HOSTILE
    done = answered(llm, citations="numbers")[-1]["done"]
    assert done["answer"] == HOSTILE
    assert [(each["number"], HOSTILE[slice(*each["mark"])]) for each in done["citations"]] == [(2, "[2]")]


class Slow(BaseChatModel):
    """Writes a word, then waits for ever; says when it is told to stop."""

    stopped: Any

    @property
    def _llm_type(self) -> str:
        return "slow"

    def _generate(self, messages: list[BaseMessage], *given: Any, **settings: Any) -> ChatResult:
        raise NotImplementedError

    async def _astream(self, messages: list[BaseMessage], *given: Any, **settings: Any) -> AsyncIterator[Any]:
        yield ChatGenerationChunk(message=AIMessageChunk(content="Well, "))
        try:
            await asyncio.sleep(2 * PATIENCE)
        finally:
            self.stopped.set()


def test_a_model_stops_when_the_page_goes_away() -> None:
    stopped = threading.Event()
    with (
        serving(retriever(), chat_model=Slow(stopped=stopped)) as served,
        httpx.stream(
            "POST",
            f"{served.url}/api/answer",
            json={"query": QUESTION, "citations": "numbers"},
            trust_env=False,
            timeout=PATIENCE,
        ) as answer,
    ):
        lines = answer.iter_lines()
        assert "windows" in next(lines)
        assert json.loads(next(lines)) == {"text": "Well, ", "quotes": []}
        assert not stopped.is_set()
        answer.close()
        assert stopped.wait(PATIENCE)


def test_answers_are_written_at_the_same_time(llm: ChatOpenAI) -> None:
    async def ask_thrice() -> list[httpx.Response]:
        transport = httpx.ASGITransport(create_studio(retriever(), chat_model=llm))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await asyncio.gather(*(client.post("/api/answer", json={"query": QUESTION}) for _ in range(3)))

    for answer in asyncio.run(ask_thrice()):
        assert json.loads(answer.text.splitlines()[-1])["done"]["answer"] == "".join(TEXTS)
