"""Windows by what a question needs: turns of talk, an exchange, a procedure, the answer to a listed question."""

from langchain_core.documents import Document

from langchain_sentence_window import SentenceWindowRetriever
from tests.forms import Invoke
from tests.toys import BY_COSINE, WordEmbeddings, document

OTHER = "Ben: The mail came late again today.\nAnna: It did.\n" * 40
TALK = (
    f"{OTHER}Ben: What of the refund?\nAnna: It is fine. The refund is paid within a week. We told them so.\n"
    f"Ben: All right, then let us go on to the next point.\n{OTHER}"
)


def retriever(text: str) -> SentenceWindowRetriever:
    return SentenceWindowRetriever.from_documents([document(text)], WordEmbeddings(), **BY_COSINE)


async def best(way: Invoke, text: str, query: str, **settings: object) -> Document:
    found: list[Document] = await way(retriever(text), "invoke", query, k=settings.pop("k", 1), **settings)
    return found[0]


TURN = "Anna: It is fine. The refund is paid within a week. We told them so."


async def test_a_window_of_talk_is_a_whole_turn_with_the_question_before_it(way: Invoke) -> None:
    found = await best(way, TALK, "Within which week is the refund paid?", k=30)
    assert found.page_content.startswith(f"Ben: What of the refund?\n{TURN}")
    assert len(found.page_content) < 500
    (alone,) = await way(retriever(TALK), "invoke", "Within which week is the refund paid?", k=1)
    assert TURN in alone.page_content


async def test_a_question_about_what_was_said_returns_the_exchange(way: Invoke) -> None:
    for k in (1, 30):
        found = await best(way, TALK, "What did Anna say about the refund?", k=k)
        assert TURN in found.page_content
        assert 1_000 <= len(found.page_content) < 1_300
        assert found.page_content.startswith(("Ben:", "Anna:"))
        assert found.page_content.endswith(".")
    within = await way(retriever(TALK), "invoke", "What did Anna say about the refund?", max_tokens=100)
    assert TURN in within[0].page_content
    assert sum(each.metadata["tokens"] for each in within) <= 100


MANUAL = "# Sound\n\nThe sound is on.\n\n# Refund mode\n\n{}\n\n# Light\n\nThe light is on."
STEPS = "\n".join(f"{number}. Select the mode of number {number} in the list." for number in range(1, 12))


async def test_a_short_section_of_a_manual_is_whole_if_it_asks_how(way: Invoke) -> None:
    text = MANUAL.format(STEPS)
    asked = await best(way, text, "How do I select the refund?", k=30)
    assert 450 < len(STEPS) < 600
    assert asked.page_content == f"# Refund mode\n\n{STEPS}"
    fact = await best(way, text, "Which refund is selected?", k=30)
    assert len(fact.page_content) < len(asked.page_content)


async def test_sections_of_long_sentences_are_not_taken_whole(way: Invoke) -> None:
    long = "\n".join(
        f"{step} It is written in a sentence that goes on for some time, as those of a policy do."
        for step in STEPS.splitlines()[:4]
    )
    text = MANUAL.format(long)
    asked = await best(way, text, "How do I select the refund?")
    fact = await best(way, text, "Which refund is selected?")
    assert asked.page_content == fact.page_content


FAQ = (
    "Do you sell cards?\nYes.\n\nWhen is a refund paid?\nIn May.\nIt takes a week until the bank has booked it, and "
    "then it shows on the account of the buyer.\n\nIs there a trial?\nNo."
)


async def test_a_listed_question_comes_with_its_answer(way: Invoke) -> None:
    for settings in ({"k": 1}, {"k": 30}, {"k": 9, "max_tokens": 60}):
        found = await best(way, FAQ, "refund paid when", **settings)
        assert "When is a refund paid?\nIn May.\nIt takes a week" in found.page_content
