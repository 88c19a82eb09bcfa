"""Conversations: follow-ups are rewritten before the search, and citations of earlier turns hold."""

from collections.abc import Iterator
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages

from langchain_sentence_window import SentenceWindowRetriever, create_rag_chain
from langchain_sentence_window.errors import InvalidInputError
from tests.forms import Invoke
from tests.openai_server import Message, OpenAIServer, openai_server
from tests.toys import BY_COSINE, WordEmbeddings, document

POLICY = document(
    "# Refunds\n\nA plan has a refund. It ends after thirty days.\n\n# Cards\n\nA card is charged in May.", "policy"
)
REFUND = "Is there a refund?"
FOLLOW_UP = "And when does it end?"
STANDALONE = "When does the refund end?"


def reply(messages: list[Message]) -> str:
    """Rewrite a follow-up, and answer from the first source."""
    asked = messages[-1]["content"]
    if "My next question" in asked:
        return f" {STANDALONE}\n"
    return "Thirty days [1]." if "end?" in asked else "There is a refund [1]."


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with openai_server(reply) as server:
        yield server


@pytest.fixture
def retriever() -> SentenceWindowRetriever:
    return SentenceWindowRetriever.from_documents([POLICY], WordEmbeddings(), k=1, window=1, **BY_COSINE)


@pytest.fixture
def chain(retriever: SentenceWindowRetriever, llm: ChatOpenAI) -> Any:
    return create_rag_chain(retriever, llm, history=True)


async def test_a_first_question_is_searched_with_as_it_is(chain: Any, server: OpenAIServer, way: Invoke) -> None:
    result = await way(chain, "invoke", REFUND)
    assert (result["question"], result["standalone_question"]) == (REFUND, REFUND)
    assert len(server.prompts()) == 1


@pytest.mark.parametrize("form", ["history", "messages", "pairs"])
async def test_a_follow_up_is_rewritten_before_the_search(
    chain: Any, server: OpenAIServer, way: Invoke, form: str
) -> None:
    before = [HumanMessage(REFUND), AIMessage("There is a refund [1].")]
    forms: dict[str, dict[str, Any]] = {
        "history": {"question": FOLLOW_UP, "history": before},
        "messages": {"messages": [*before, HumanMessage(FOLLOW_UP)]},
        "pairs": {"question": FOLLOW_UP, "history": [("human", REFUND), ("ai", "There is a refund [1].")]},
    }
    result = await way(chain, "invoke", forms[form])
    assert (result["question"], result["standalone_question"]) == (FOLLOW_UP, STANDALONE)
    assert "thirty days" in result["context"][0].page_content
    assert result["answer"] == "Thirty days [1]."
    rewriting, answering = server.prompts()
    # Numbers of earlier sources would be taken for those of this turn.
    assert [message["content"] for message in rewriting[:2]] == [REFUND, "There is a refund."]
    assert [message["content"] for message in answering[1:3]] == [REFUND, "There is a refund."]
    assert answering[-1]["content"].endswith(f"Question: {FOLLOW_UP}")


async def test_a_prompt_without_a_place_for_history_gets_the_standalone_question(
    retriever: SentenceWindowRetriever, llm: ChatOpenAI, server: OpenAIServer, way: Invoke
) -> None:
    chain = create_rag_chain(retriever, llm, "{context} {question}", history=True)
    await way(chain, "invoke", {"question": FOLLOW_UP, "history": [HumanMessage(REFUND)]})
    assert server.prompts()[-1][-1]["content"].endswith(STANDALONE)


async def test_nothing_written_leaves_the_question_as_it_is(chain: Any, server: OpenAIServer, way: Invoke) -> None:
    server.reply = lambda _: "  "
    result = await way(chain, "invoke", {"question": FOLLOW_UP, "history": [HumanMessage(REFUND)]})
    assert result["standalone_question"] == FOLLOW_UP


async def test_the_model_is_shown_the_latest_questions_and_answers_alone(
    chain: Any, server: OpenAIServer, way: Invoke
) -> None:
    turns = [HumanMessage(f"Question {n}?") for n in range(20 + 5)]
    others = [SystemMessage("Be brief."), AIMessage("", tool_calls=[{"name": "a", "args": {}, "id": "1"}])]
    result = ToolMessage("found", tool_call_id="1")
    await way(chain, "invoke", {"messages": [*turns, *others, result, HumanMessage(FOLLOW_UP)]})
    shown = [message["content"] for message in server.prompts()[0][:-1]]
    assert shown == [f"Question {n}?" for n in range(5, 20 + 5)]


async def test_streaming_gives_the_question_that_was_searched_with_before_the_context(chain: Any) -> None:
    given = {"question": FOLLOW_UP, "history": [HumanMessage(REFUND)]}
    for parts in (list(chain.stream(given)), [part async for part in chain.astream(given)]):
        keys = list(dict.fromkeys(key for part in parts for key in part))
        assert keys.index("standalone_question") < keys.index("context") < keys.index("answer")
        assert keys.index("answer") < keys.index("message")


@pytest.mark.parametrize(
    "given",
    [
        {"messages": []},
        {"messages": [AIMessage("Hello")]},
        {"messages": "hello"},
        {"question": REFUND, "history": "hello"},
        {"question": REFUND, "history": [3]},
        {"question": REFUND, "history": {"role": "user", "content": "x"}},
        {"history": [HumanMessage(REFUND)]},
        [HumanMessage(REFUND)],
        42,
    ],
)
async def test_an_invalid_conversation_is_refused(chain: Any, way: Invoke, given: object) -> None:
    with pytest.raises(InvalidInputError, match=r"question|messages|history"):
        await way(chain, "invoke", given)


class State(TypedDict):
    """LangGraph's message state."""

    messages: Annotated[list[AnyMessage], add_messages]


async def test_citations_of_earlier_turns_hold_in_a_graph_with_checkpoints(chain: Any, way: Invoke) -> None:
    def answer(state: State) -> dict[str, Any]:
        return {"messages": [chain.invoke({"messages": state["messages"]})["message"]]}

    builder = StateGraph(State)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    graph = builder.compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    await way(graph, "invoke", {"messages": [HumanMessage(REFUND)]}, config)
    state = await way(graph, "invoke", {"messages": [HumanMessage(FOLLOW_UP)]}, config)
    first, second = (message for message in state["messages"] if isinstance(message, AIMessage))
    assert (first.text, second.text) == ("There is a refund [1].", "Thirty days [1].")
    for message in (first, second):
        (block,) = message.content_blocks
        (citation,) = block["annotations"]  # type: ignore[typeddict-item]
        extras = citation["extras"]  # type: ignore[typeddict-item]
        assert extras["doc_id"] == "policy"
        assert citation["cited_text"] == POLICY.page_content[extras["start"] : extras["end"]]  # type: ignore[typeddict-item]


async def test_citations_of_earlier_answers_are_not_shown_to_the_model(
    chain: Any, server: OpenAIServer, way: Invoke
) -> None:
    earlier = "So it is [1]. And [2, 3] so.【1】 `x [1]` stays, [link](a) too \\[1]."
    await way(chain, "invoke", {"question": FOLLOW_UP, "history": [HumanMessage(REFUND), AIMessage(earlier)]})
    assert server.prompts()[0][1]["content"] == "So it is. And so. `x [1]` stays, [link](a) too \\[1]."
