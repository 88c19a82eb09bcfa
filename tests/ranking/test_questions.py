"""What questions need, and whether they hold names."""

import pytest

from langchain_sentence_window.ranking.questions import Needs, has_name, needs_of

FACT = Needs(exchange=False, procedure=False)


@pytest.mark.parametrize(
    "question",
    [
        "What did Anna think of the price?",
        "Why did the team propose the second option?",
        "Summarize the opinions on hiring.",
        "What was said about delays?",
        "What did the Marketing Expert propose?",
    ],
)
def test_a_question_about_what_was_said_needs_an_exchange(question: str) -> None:
    assert needs_of(question).exchange


@pytest.mark.parametrize(
    "question",
    [
        "How do I pair the remote?",
        "how to install apps on the TV",
        "What are the steps to update the software?",
        "The sound is not working. What should I do?",
        "Where can I find the caption settings?",
    ],
)
def test_a_question_about_how_something_is_done_needs_a_procedure(question: str) -> None:
    assert needs_of(question).procedure


@pytest.mark.parametrize(
    "question",
    [
        "Who pays for the audit?",
        "When was the bridge built?",
        "Can I have my money back?",
        "Wie lange habe ich Zeit?",
        "How are bees made?",
        "What is not covered?",
        "Which error rate is reported?",
        "In which meeting room did the team with most wins play?",
        "What is the point of view?",
        "refund",
        "",
    ],
)
def test_others_need_a_fact(question: str) -> None:
    assert needs_of(question) == FACT


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Were Scott Derrickson and Ed Wood of one nationality?", True),
        ("Who wrote about K2?", True),
        ("Do I pay for it?", False),  # "I" is no name
        ("Who pays?", False),
        ("WHO PAYS THE BILL?", False),  # capitals tell nothing here
        ("", False),
    ],
)
def test_names(question: str, expected: bool) -> None:
    assert has_name(question) is expected
