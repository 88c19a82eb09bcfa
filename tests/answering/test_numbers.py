"""Source numbers continue through a conversation, and no passage is shown twice."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.messages import AnyMessage, HumanMessage, ToolCall, ToolMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from langchain_sentence_window import (
    SentenceWindowRetriever,
    create_rag_chain,
    create_tools,
    find_citations,
    shown_sources,
)
from tests.forms import Invoke
from tests.openai_server import Message, OpenAIServer, openai_server
from tests.toys import BY_COSINE, WordEmbeddings, document

NAMES = ["refund", "card", "seat", "trial", "plan"]
TEXTS = {name: f"A {name} has rules. The {name} ends in May." for name in NAMES}


@pytest.fixture
def retriever(words: WordEmbeddings) -> SentenceWindowRetriever:
    documents = [document(text, f"{name}.md", source=f"{name}.md") for name, text in TEXTS.items()]
    return SentenceWindowRetriever.from_documents(documents, words, k=2, window=0, **BY_COSINE)


def number_of(source: Document) -> int:
    number: int = source.metadata["citation_number"]
    return number


def numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"^\[(\d+)\]", text, re.MULTILINE)]


def call(name: str, id_: str, **arguments: Any) -> ToolCall:
    return ToolCall(name=name, args=arguments, id=id_, type="tool_call")


ASKED = ["refund", "card seat", "refund card", "trial", "refund trial"]
"""The searches of an agent, one after the other. The third search finds nothing new, and the last one neither."""


def scripted(messages: list[Message]) -> Message:
    """Search for the next of `ASKED` in each turn, then answer from all that was found."""
    searched = sum(each["role"] == "tool" for each in messages)
    if messages[-1]["role"] == "user":
        function = {"name": "search", "arguments": json.dumps({"query": ASKED[searched]})}
        return {"role": "assistant", "tool_calls": [{"id": f"c{searched}", "type": "function", "function": function}]}
    return {"role": "assistant", "content": f"See [{searched}]."}


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with openai_server(scripted) as server:
        yield server


async def five_turns(
    way: Invoke, llm: ChatOpenAI, retriever: SentenceWindowRetriever, **given: Any
) -> list[AnyMessage]:
    agent = create_agent(llm, create_tools(retriever, **given), checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    for turn in range(len(ASKED)):
        state = await way(agent, "invoke", {"messages": [HumanMessage(f"Question {turn}")]}, config)
    messages: list[AnyMessage] = state["messages"]
    return messages


async def test_an_agent_is_shown_no_passage_twice_in_five_turns(
    retriever: SentenceWindowRetriever, llm: ChatOpenAI, way: Invoke
) -> None:
    messages = await five_turns(way, llm, retriever)
    shown = [each.text for each in messages if isinstance(each, ToolMessage)]
    assert numbers(shown.pop(2)) == [3, 1]  # it found nothing new, so it shows it again
    assert numbers(shown.pop()) == [1, 5]
    given = [number for text in shown for number in numbers(text)]
    assert given == list(range(1, len(given) + 1))
    by_number = {number_of(each): each for each in shown_sources(messages)}
    assert len({each.metadata["window_id"] for each in by_number.values()}) == len(by_number)
    for text in shown:
        sources = re.findall(r"\[(\d+)\] (\S+)\.md, line.*\n(.*)\n</source>", text)
        assert [int(number) for number, *_ in sources] == numbers(text)
        for number, name, body in sources:
            assert by_number[int(number)].page_content == body
            assert body in TEXTS[name]
    whole = "".join(shown)
    assert all(whole.count(each.page_content) == 1 for each in by_number.values())
    again = await five_turns(way, llm, retriever, show_again=True)
    repeated = [each.text for each in again if isinstance(each, ToolMessage)]
    assert [number_of(each) for each in shown_sources(again)] == [number_of(each) for each in shown_sources(messages)]
    assert numbers(repeated[2]) == [3, 1]


def test_tools_without_messages_remember_each_thread(retriever: SentenceWindowRetriever) -> None:
    search, read = create_tools(retriever)

    def asked(query: str, thread: str | None = None) -> str:
        config: Any = None if thread is None else {"configurable": {"thread_id": thread}}
        message: ToolMessage = search.invoke(call("search", "1", query=query, k=1), config)
        return message.text

    assert numbers(asked("refund")) == [1]
    assert numbers(asked("card")) == [2]
    assert asked("refund") == "Also found: [1]. You have it already."
    assert numbers(asked("card", "other")) == [1]
    assert numbers(read.invoke(call("read_around", "1", doc_id="seat.md", first=0, last=0)).text) == [3]


def first_label(messages: list[Message]) -> str:
    """Repeat a question, or answer from the first source that a prompt shows."""
    prompt: str = messages[-1]["content"]
    _, is_question, question = prompt.partition("My next question: ")
    return question if is_question else f"So it is [{numbers(prompt)[0]}]."


async def test_numbers_continue_through_five_turns_of_a_chain(retriever: SentenceWindowRetriever, way: Invoke) -> None:
    by_number: dict[int, str] = {}
    history: list[AnyMessage] = []
    with openai_server(first_label) as server:
        llm = ChatOpenAI(base_url=server.base_url, api_key=SecretStr("test"), model="toy")
        chain = create_rag_chain(retriever, llm, "{context} {question}", history=True)
        for query in ASKED:
            # Each question is understood alone, and the history says the numbers.
            result = await way(chain, "invoke", {"question": query, "history": history})
            for source in result["context"]:
                assert by_number.setdefault(number_of(source), source.page_content) == source.page_content
            (citation,) = result["citations"]
            assert citation.document.page_content == by_number[citation.number]
            history += [HumanMessage(query), result["message"]]
    assert sorted(by_number) == list(range(1, len(by_number) + 1))
    assert len(set(by_number.values())) == len(by_number) > 2


def test_a_citation_names_the_source_with_its_number() -> None:
    numbered = [document(f"{name} text.", name, citation_number=number) for name, number in (("b", 7), ("a", 3))]
    found = find_citations("So [3], [7], [1-3] and [5].", numbered)
    assert [(each.number, each.document.metadata["doc_id"]) for each in found] == [(3, "a"), (7, "b")]
    assert [each.number for each in find_citations("So [2].", [document("x"), document("y", citation_number=1)])] == [2]
    far = [document("x", citation_number=10**9)]
    assert [each.number for each in find_citations("So [1].", far)] == [1]
