"""Parallel calls and subagents never give one number twice."""

import pickle
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, ToolCall

from langchain_sentence_window.agents.numbering import SHARE, SOURCES, AgentCall, SourceNumbers
from langchain_sentence_window.answering.conversation import Conversation, merge_sources
from tests.toys import document

Step = Sequence[Any]
"""The calls that run at the same time: each finds as many passages, or starts an agent with steps of its own."""

steps = st.recursive(
    st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=3), max_size=3),
    lambda inner: st.lists(st.lists(st.one_of(st.integers(0, 4), inner), min_size=1, max_size=3), max_size=3),
    max_leaves=12,
)


def state_of(sources: Sequence[Document], calls: int, share: object) -> dict[str, Any]:
    made = [ToolCall(name="search", args={}, id=str(at)) for at in range(calls)]
    return {"messages": [HumanMessage("?"), AIMessage("", tool_calls=made)], SOURCES: list(sources), SHARE: share}


class Agents:
    """Runs agents, of which each passage is new."""

    def __init__(self) -> None:
        self.found: list[Document] = []

    def run(self, given: Sequence[Step], sources: Sequence[Document] = (), share: object = None) -> list[Document]:
        """Run an agent; return the sources that it knows at its end."""
        known = list(sources)
        for calls in given:
            new: list[Document] = []
            state = state_of(known, len(calls), share)
            for at, made in enumerate(calls):
                call = AgentCall.of(state, str(at))
                assert call is not None
                if isinstance(made, int):
                    new += self.show(made, call)
                else:
                    new += self.run(made, known, [*call.series, call.group])
            known += [each for each in new if each not in known]
        return known

    def show(self, count: int, call: AgentCall) -> list[Document]:
        at = len(self.found)
        passages = [Document(f"Passage {at + number}.") for number in range(count)]
        # A process of its own for each call, which remembers nothing.
        shown = [each.document for each in SourceNumbers().add(passages, {}, call)]
        self.found += shown
        return shown


@given(steps)
def test_no_number_is_given_twice_however_agents_are_nested(given: Sequence[Step]) -> None:
    agents = Agents()
    known = agents.run(given)
    numbers = [each.metadata["citation_number"] for each in agents.found]
    assert len(set(numbers)) == len(numbers)
    assert sorted(numbers) == sorted(each.metadata["citation_number"] for each in known)


def test_two_calls_that_find_one_passage_give_it_one_number() -> None:
    numbers = SourceNumbers()
    state = state_of([], 2, None)
    given: list[int] = []
    for at in ("1", "0", "1"):  # a call that is repeated after an interrupt, too
        call = AgentCall.of(state, at)
        given += [each.number for each in numbers.add([Document("A card."), Document(f"Call {at}.")], {}, call)]
    assert given == [2, 4, 2, 1, 2, 4]


def test_a_number_of_another_branch_of_the_conversation_is_not_taken() -> None:
    numbers = SourceNumbers()
    call = AgentCall.of(state_of([], 1, None), "0")
    assert numbers.add([Document("A card.")], {}, call)[0].number == 1
    edited = [Document("A seat.", metadata={"citation_number": 1})]
    again = AgentCall.of(state_of(edited, 1, None), "0")
    assert numbers.add([Document("A card.")], {}, again)[0].number != 1


def test_of_two_sources_with_one_number_the_longest_counts() -> None:
    part, whole, other = (
        Document(text, metadata={"citation_number": number})
        for text, number in (("A card.", 1), ("A card. It ends.", 1), ("A seat.", 2))
    )
    assert merge_sources([part, other], [whole, Document("Unnumbered.")]) == [whole, other]
    assert merge_sources([whole], [part]) == [whole]


def test_conversations_that_ended_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("langchain_sentence_window.agents.numbering.MAX_CONVERSATIONS", 2)
    given = SourceNumbers()

    def number(text: str, thread: str) -> int:
        config: Any = {"configurable": {"thread_id": thread}}
        return given.add([document(text, thread, start_index=0)], config)[0].number

    assert [number("A card.", thread) for thread in "abac"] == [1, 1, 1, 1]
    assert [number("A seat.", thread) for thread in "ab"] == [2, 1]


def test_a_document_that_was_changed_is_shown_again() -> None:
    conversation = Conversation()
    (one,) = conversation.add([document("A card.", start_index=0)])
    (same,) = conversation.add([document("A card.", start_index=0)])
    (other,) = conversation.add([document("A seat.", start_index=0)])
    assert (one.number, same.number, other.number) == (1, 1, 2)
    assert (one.is_new, same.is_new, other.is_new) == (True, False, True)


SPANS = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 20)), min_size=1, max_size=12)


@given(SPANS)
def test_each_character_is_shown_once_and_numbers_stay(spans: list[tuple[int, int]]) -> None:
    text = "".join(chr(ord("a") + at % 26) for at in range(60))
    windows = [document(text[start : start + size], start_index=start) for start, size in spans]
    conversation = Conversation()
    shown: list[int] = []
    for source in conversation.add(windows):
        start, part = source.document.metadata["start_index"], source.document.page_content
        assert text[start : start + len(part)] == part
        shown += range(start, start + len(part)) if source.is_new else []
    assert all("citation_number" not in window.metadata for window in windows)  # they were handed in
    covered = {at for start, size in spans for at in range(start, start + size)}
    assert sorted(shown) == sorted(covered)
    again = conversation.add(windows)
    assert not any(source.is_new for source in again)
    numbers = {source.number for source in again}
    assert numbers <= set(range(1, len(shown) + 1))


def test_numbers_are_pickled_without_the_conversations_of_the_process() -> None:
    numbers = SourceNumbers()
    numbers.add([Document("A card.")], {})
    copied = pickle.loads(pickle.dumps(numbers))  # noqa: S301 - our own bytes
    assert copied.add([Document("A seat.")], {})[0].number == 1
