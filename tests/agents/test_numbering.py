"""Parallel calls and subagents never give one number twice."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, ToolCall

from langchain_sentence_window.agents.numbering import SHARE, SOURCES, AgentCall, SourceNumbers
from langchain_sentence_window.answering.conversation import NumberSeries, merge_sources

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


@given(st.integers(1, 50), st.integers(1, 20), st.integers(0, 200), st.integers(1, 9))
def test_the_shares_of_a_series_are_its_parts(first: int, step: int, above: int, count: int) -> None:
    series = NumberSeries(first, step).after(above)
    assert series.first > above
    assert (series.first - first) % step == 0
    assert series.first - step <= max(above, first - step)
    shares = [series.share(at, count) for at in range(count)]
    numbers = [share.first + share.step * at for share in shares for at in range(3)]
    assert sorted(numbers) == list(range(series.first, series.first + 3 * count * step, step))


def test_two_calls_that_find_one_passage_give_it_one_number() -> None:
    numbers = SourceNumbers()
    state = state_of([], 2, None)
    given: list[int] = []
    for at in ("1", "0", "1"):  # a call that is repeated after an interrupt, too
        call = AgentCall.of(state, at)
        given += [each.number for each in numbers.add([Document("A card."), Document(f"Call {at}.")], {}, call)]
    assert given == [2, 4, 2, 1, 2, 4]


def test_what_is_no_conversation_is_none() -> None:
    assert AgentCall.of(None, "1") is None
    assert AgentCall.of({"messages": "hello"}, "1") is None
    odd = AgentCall.of({"messages": [], SOURCES: "mine", SHARE: "mine"}, "1")
    assert odd is not None
    assert (odd.sources, odd.series, odd.group) == ([], (1, 1), "")


def test_a_step_that_is_repeated_gives_no_number_twice() -> None:
    numbers = SourceNumbers()
    call = AgentCall.of(state_of([], 2, None), "0")
    first, again = (
        {each.document.page_content: each.number for each in numbers.add(map(Document, texts), {}, call)}
        for texts in (["A card."], ["An invoice.", "A card.", "A seat."])
    )
    assert first["A card."] == again["A card."]
    assert len(set(again.values())) == 3


def test_calls_with_one_id_share_no_number() -> None:
    numbers, state = SourceNumbers(), state_of([], 1, None)
    state["messages"][-1].tool_calls *= 2
    given = [numbers.add([Document(text)], {}, AgentCall.of(state, "0"))[0].number for text in ("A card.", "A seat.")]
    assert len(set(given)) == 2


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
