"""Answers in quotes: each statement is shown with the sources that hold its quotes, or says that none does."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from langchain_sentence_window import SentenceWindowRetriever, create_rag_chain
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowWarning
from tests.forms import Invoke
from tests.openai_server import OpenAIServer, openai_server
from tests.toys import BY_COSINE, WordEmbeddings, document

BILLING = document("A plan has a refund. It ends after thirty days.", "billing", source="billing.md")
CARDS = document("A refund goes to the card. It takes 5 days.", "cards", source="cards.md")
QUESTION = "Is there a refund?"
REFUND = {"source": 1, "quote": "A plan has a refund."}
STATEMENTS = [
    {"text": "Plans can be refunded [7].", "evidence": [REFUND]},
    {"text": "The card is used.", "evidence": [{"source": 1, "quote": "A refund goes to the card."}]},
    {"text": "It takes 50 days.", "evidence": [{"source": 2, "quote": "It takes 50 days."}]},
    {"text": "Cash is fine.", "evidence": []},
    {
        "text": "Both hold.",
        "evidence": [{"source": 1, "quote": "a  plan has a refund"}, {"source": 2, "quote": "5 days"}],
    },
]
ANSWER = json.dumps({"statements": STATEMENTS, "remark": "Nothing is said of cash."})
MARKED = (
    "Plans can be refunded. [1] The card is used. [2] It takes 50 days. [unverified] Cash is fine. [unverified] "
    "Both hold. [1][2] Nothing is said of cash."
)
DROPPED = "Plans can be refunded. [1] The card is used. [2] Both hold. [1][2] Nothing is said of cash."
VERDICTS = ["verbatim", "misattributed", "not_found", "normalized", "verbatim"]


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with openai_server(lambda _: ANSWER) as server:
        yield server


@pytest.fixture
def retriever() -> SentenceWindowRetriever:
    return SentenceWindowRetriever.from_documents([BILLING, CARDS], WordEmbeddings(), k=2, window=1, **BY_COSINE)


@pytest.fixture(params=["structured", "json"])
def llm(request: pytest.FixtureRequest, server: OpenAIServer) -> Any:
    if request.param == "structured":
        return ChatOpenAI(base_url=server.base_url, api_key=SecretStr("test"), model="toy")
    return FakeListChatModel(responses=[f"```json\n{ANSWER}\n```"])  # has no structured output


@pytest.mark.parametrize(("unverified", "expected"), [("mark", MARKED), ("drop", DROPPED)])
async def test_only_sources_that_hold_a_quote_are_cited(
    retriever: SentenceWindowRetriever, llm: Any, way: Invoke, unverified: Any, expected: str
) -> None:
    setting: Any = {"unverified": "mark"} if unverified == "mark" else {"failed_quotes": "drop"}
    result = await way(create_rag_chain(retriever, llm, citations="quotes", **setting), "invoke", QUESTION)
    assert [each.metadata["doc_id"] for each in result["context"]] == ["billing", "cards"]
    assert result["answer"] == expected
    assert [quote.verdict for quote in result["quotes"]] == VERDICTS
    assert [cited.number for cited in result["citations"]] == [1, 2]
    assert result["message"].text == expected
    # A quote that no source holds isn't ascribed to the next statement's source.
    (block,) = result["message"].content_blocks
    assert [each["extras"].get("verdict") for each in block["annotations"]] == [
        each for each in VERDICTS if each != "not_found"
    ]


async def test_statements_are_streamed_as_their_quotes_are_verified(
    retriever: SentenceWindowRetriever, llm: Any
) -> None:
    chain = create_rag_chain(retriever, llm, citations="quotes")
    whole = chain.invoke(QUESTION)
    for parts in (list(chain.stream(QUESTION)), [part async for part in chain.astream(QUESTION)]):
        assert list(dict.fromkeys(key for part in parts for key in part)) == list(whole)
        texts = [part["answer"] for part in parts if part.get("answer")]
        assert texts[:2] == ["Plans can be refunded. [1]", " The card is used. [2]"]
        assert "".join(texts) == MARKED
        assert [quote.verdict for part in parts for quote in part.get("quotes", [])] == VERDICTS


def test_the_model_is_asked_for_quotes_in_a_schema(retriever: SentenceWindowRetriever, server: OpenAIServer) -> None:
    llm = ChatOpenAI(base_url=server.base_url, api_key=SecretStr("test"), model="toy")
    create_rag_chain(retriever, llm, citations="quotes").invoke(QUESTION)
    (body,) = server.bodies("/v1/chat/completions")
    schema = body["response_format"]["json_schema"]["schema"]
    assert schema["required"] == ["statements", "remark"]
    assert "copied character by character" in body["messages"][0]["content"]


@pytest.mark.parametrize(
    ("output", "answer", "quotes"),
    [
        ({"statements": [], "remark": "Unknown."}, "Unknown.", 0),
        ({"statements": [], "remark": "Cash is fine [1]."}, "Cash is fine.", 0),
        ({"statements": [], "remark": ""}, "", 0),
        ({"statements": [3, {}, {"text": 4}, {"text": " ", "evidence": None}], "remark": None}, "", 0),
        ({"statements": [{"text": "So.", "evidence": [REFUND | {"source": "1"}]}]}, "So. [1]", 1),
        ({"statements": [{"text": "So.", "evidence": [REFUND | {"source": 99}]}]}, "So. [1]", 1),
        ({"statements": [{"text": "So.", "evidence": [{"quote": " "}, 7]}]}, "So. [unverified]", 0),
    ],
)
async def test_what_doesnt_fit_the_schema_is_no_evidence(
    retriever: SentenceWindowRetriever, way: Invoke, output: Any, answer: str, quotes: int
) -> None:
    chain = create_rag_chain(retriever, FakeListChatModel(responses=[json.dumps(output)]), citations="quotes")
    result = await way(chain, "invoke", QUESTION)
    assert result["answer"] == answer
    assert len(result["quotes"]) == quotes


NUMBERED = 'A plan "has a refund" [1], and it "takes ten days" [2]. It always ends [1].'


@pytest.mark.parametrize("written", ["Yes.", "[]", '{"answer": "Yes."}'])
async def test_a_model_that_writes_no_statements_answers_with_numbers(
    retriever: SentenceWindowRetriever, way: Invoke, written: str
) -> None:
    model = FakeListChatModel(responses=[written, NUMBERED])
    chain = create_rag_chain(retriever, model, citations="quotes")
    with pytest.warns(SentenceWindowWarning, match="so it answers with numbers"):
        result = await way(chain, "invoke", QUESTION)
    assert result["answer"] == NUMBERED
    assert [quote.verdict for quote in result["quotes"]] == ["verbatim", "not_found", "paraphrase"]
    assert [cited.number for cited in result["citations"]] == [1, 2]


async def test_a_server_that_refuses_a_schema_is_asked_for_numbers(
    retriever: SentenceWindowRetriever, server: OpenAIServer, way: Invoke
) -> None:
    server.faults, server.reply = [400], lambda _: NUMBERED
    llm = ChatOpenAI(base_url=server.base_url, api_key=SecretStr("test"), model="toy", max_retries=0)
    chain = create_rag_chain(retriever, llm, citations="quotes")
    with pytest.warns(SentenceWindowWarning, match="so it answers with numbers"):
        result = await way(chain, "invoke", QUESTION)
    assert result["answer"] == NUMBERED
    refused, asked = server.bodies("/v1/chat/completions")
    assert "response_format" in refused
    assert "response_format" not in asked
    assert "by its number in square brackets" in asked["messages"][0]["content"]


@pytest.mark.parametrize("fault", [401, 429, 500])
async def test_another_error_of_a_server_is_raised(
    retriever: SentenceWindowRetriever, server: OpenAIServer, way: Invoke, fault: int
) -> None:
    server.faults = [fault]
    llm = ChatOpenAI(base_url=server.base_url, api_key=SecretStr("test"), model="toy", max_retries=0)
    with pytest.raises(Exception, match=str(fault)):
        await way(create_rag_chain(retriever, llm, citations="quotes"), "invoke", QUESTION)


MENDED = 'A plan "has a refund" [1]. It takes some days [2].'


FAILED: dict[str, tuple[str, list[str], int]] = {
    "keep": (NUMBERED, ["verbatim", "not_found", "paraphrase"], 1),
    "retry": (MENDED, ["verbatim", "paraphrase"], 2),
    "drop": ("It always ends [1].", ["paraphrase"], 1),
}
"""For each setting the answer, its verdicts, and how often the model is asked."""


@pytest.mark.parametrize("failed_quotes", ["keep", "retry", "drop"])
async def test_failed_quotes_of_an_answer_with_numbers(
    retriever: SentenceWindowRetriever, server: OpenAIServer, way: Invoke, failed_quotes: Any
) -> None:
    answer, verdicts, calls = FAILED[failed_quotes]
    server.reply = lambda messages: MENDED if "takes ten days" in str(messages[-1]["content"]) else NUMBERED
    llm = ChatOpenAI(base_url=server.base_url, api_key=SecretStr("test"), model="toy")
    result = await way(create_rag_chain(retriever, llm, failed_quotes=failed_quotes), "invoke", QUESTION)
    assert result["answer"] == result["message"].text == answer
    assert [quote.verdict for quote in result["quotes"]] == verdicts
    (block,) = result["message"].content_blocks
    assert [each["extras"]["verdict"] for each in block["annotations"]] == verdicts
    prompts = server.prompts()
    assert len(prompts) == calls
    if failed_quotes == "retry":
        *_, before, complaint = prompts[1]
        assert (before["role"], before["content"]) == ("assistant", NUMBERED)
        assert "- takes ten days" in complaint["content"]
        assert "has a refund" not in complaint["content"]


@pytest.mark.parametrize("second", [{"statements": STATEMENTS[:1], "remark": ""}, {"answer": "No."}])
async def test_a_model_is_told_once_which_quotes_failed(
    retriever: SentenceWindowRetriever, server: OpenAIServer, way: Invoke, second: Any
) -> None:
    server.reply = lambda messages: json.dumps(second) if "- It takes 50 days." in str(messages[-1]) else ANSWER
    llm = ChatOpenAI(base_url=server.base_url, api_key=SecretStr("test"), model="toy")
    result = await way(create_rag_chain(retriever, llm, citations="quotes", failed_quotes="retry"), "invoke", QUESTION)
    # What doesn't fit the schema the second time leaves the first answer.
    assert result["answer"] == ("Plans can be refunded. [1]" if "statements" in second else MARKED)
    _, prompt = server.prompts()
    assert prompt[-2]["content"] == json.dumps(json.loads(ANSWER), ensure_ascii=False)
    assert "A refund goes to the card" not in prompt[-1]["content"]


@pytest.mark.parametrize(
    "settings",
    [
        {"citations": "quote"},
        {"citations": None},
        {"unverified": "keep"},
        {"history": "yes"},
        {"failed_quotes": "mark"},
    ],
)
def test_invalid_settings_are_refused(retriever: SentenceWindowRetriever, settings: Any) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(settings))):
        create_rag_chain(retriever, FakeListChatModel(responses=[""]), **settings)
