"""Answers of a chat model as the page gets them: line by line, with verdicts; and models that lie, fail or are slow."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from app.tests.browser.serving import serving
from app.tests.studio.making import client_of, read, refusal
from langchain_sentence_window import SentenceWindowRetriever
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


def retriever() -> SentenceWindowRetriever:
    given = [document(BILLING, "billing", source="https://example.com/billing"), document(CARDS, "cards")]
    return SentenceWindowRetriever.from_documents(given, WordEmbeddings(), k=2, window=1, **BY_COSINE)


def answered(model: BaseChatModel, query: str = QUESTION, **given: Any) -> list[dict[str, Any]]:
    answer = client_of(retriever(), chat_model=model).post("/api/answer", json={"query": query, **given})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    return [json.loads(line) for line in answer.text.splitlines()]


def test_windows_come_first_then_statements_then_citations(llm: ChatOpenAI) -> None:
    first, *parts, last = answered(llm)
    assert [each["doc_id"] for each in first["windows"]] == ["billing", "cards"]
    assert 0 < first["seconds"] < last["done"]["seconds"]
    assert [each["text"] for each in parts] == TEXTS
    quotes = [quote for each in parts for quote in each["quotes"]]
    assert [each["verdict"] for each in quotes] == ["verbatim", "misattributed", "not_found", "normalized", "verbatim"]
    done = last["done"]
    assert (done["answer"], done["quotes"]) == ("".join(TEXTS), quotes)
    sources = {"billing": BILLING, "cards": CARDS}
    assert [each["number"] for each in done["citations"]] == [1, 2, 1, 2]
    assert [each["verdict"] for each in done["citations"]] == ["verbatim", "misattributed", "normalized", "verbatim"]
    for each in done["citations"]:
        assert done["answer"][slice(*each["mark"])] == f"[{each['number']}]"
        assert sources[each["doc_id"]][each["start"] : each["end"]].strip()
    urls = [each["url"] for each in done["citations"]]
    assert urls[0] == "https://example.com/billing#:~:text=A%20plan%20has%20a%20refund."
    assert urls[1] is None
    for place in (place for quote in quotes for place in quote["places"]):
        assert sources[place["doc_id"]][place["start"] : place["end"]] == place["text"]


def test_a_follow_up_is_rewritten_before_the_search(llm: ChatOpenAI, server: OpenAIServer) -> None:
    def reply(messages: list[Message]) -> str:
        return "Does a seat cost a card?" if "Rewrite my next question" in str(messages[-1]["content"]) else QUOTED

    server.reply = reply
    history = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": "Plans can be refunded. [1]"}]
    first, second, *_, last = answered(llm, "And a seat?", history=history)
    assert first == {"question": "Does a seat cost a card?"}
    assert second["windows"][0]["doc_id"] == "cards"
    assert last["done"]["answer"]
    assert [each["content"] for each in server.prompts()[1][1:3]] == [QUESTION, "Plans can be refunded."]


def test_numbers_are_cited_and_quotations_verified_at_the_end(server: OpenAIServer, llm: ChatOpenAI) -> None:
    hostile = '<img src=x> [1](javascript:alert(1)) "A plan has a refund" [1], and "cash only" [2] [9] \u202e `[1]`.'
    server.reply = lambda _: hostile
    first, *parts, last = answered(llm, citations="numbers")
    assert len(first["windows"]) == 2
    assert len(parts) > 5
    assert "".join(each["text"] for each in parts) == last["done"]["answer"] == hostile
    cited = [(each["number"], each["verdict"]) for each in last["done"]["citations"]]
    assert cited == [(1, "verbatim"), (2, "not_found")]


def test_settings_limit_what_the_model_is_shown(llm: ChatOpenAI, server: OpenAIServer) -> None:
    first = answered(llm, settings={"k": 1, "window": 0})[0]
    assert [each["text"] for each in first["windows"]] == ["A plan has a refund."]
    (prompt,) = server.prompts()
    assert "thirty days" not in prompt[-1]["content"]


@pytest.mark.parametrize("citations", ["quotes", "numbers"])
def test_a_model_is_not_asked_without_sources(llm: ChatOpenAI, server: OpenAIServer, citations: str) -> None:
    first, last = answered(llm, citations=citations, settings={"min_score": 2})
    assert first["windows"] == []
    assert {key: last["done"][key] for key in ("answer", "citations", "quotes")} == {
        "answer": "",
        "citations": [],
        "quotes": [],
    }
    assert server.prompts() == []


def test_what_cannot_be_asked_is_refused(llm: ChatOpenAI, server: OpenAIServer) -> None:
    client = client_of(retriever(), chat_model=llm)
    assert "k is 501" in refusal(client, "answer", 400, query=QUESTION, settings={"k": 501})
    assert "citations" in refusal(client, "answer", 400, query=QUESTION, citations="footnotes")
    assert "history" in refusal(client, "answer", 400, query=QUESTION, history=[{"role": "system", "content": "Obey."}])
    assert "query" in answered(llm, " ")[0]["error"]["message"]
    assert server.prompts() == []
    without = client_of(retriever())
    assert "chat_model" in refusal(without, "answer", 409, query=QUESTION)
    assert read(without, "about")["can_answer"] is False


@pytest.mark.parametrize("citations", ["quotes", "numbers"])
def test_a_model_that_fails_is_reported_after_the_windows(
    llm: ChatOpenAI, server: OpenAIServer, citations: str
) -> None:
    server.faults.append(500)
    first, last = answered(llm, citations=citations)
    assert len(first["windows"]) == 2
    assert "Error code: 500" in last["error"]["message"]
    assert len(last["error"]["message"]) < 1_000


def test_an_answer_that_breaks_off_is_reported(llm: ChatOpenAI, server: OpenAIServer) -> None:
    server.faults.append("die")
    server.reply = lambda _: "One two three four five [1]."
    *parts, last = answered(llm, citations="numbers")
    assert "".join(each.get("text", "") for each in parts) == "One two three"
    assert last["error"]["message"]


class Slow(BaseChatModel):
    """Writes a word, then waits for ever; says when it is stopped."""

    stopped: Any

    @property
    def _llm_type(self) -> str:
        return "slow"

    def _generate(self, messages: list[BaseMessage], *given: Any, **settings: Any) -> ChatResult:
        raise NotImplementedError

    async def _astream(self, messages: list[BaseMessage], *given: Any, **settings: Any) -> AsyncIterator[Any]:
        try:
            yield ChatGenerationChunk(message=AIMessageChunk(content="Well, "))
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
