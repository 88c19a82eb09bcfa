"""What questions need, and whether they hold names."""

import pytest

from langchain_sentence_window.ranking.questions import Needs, has_name, manuals, needs_of

FACT, EXCHANGE, PROCEDURE = Needs(False, False), Needs(True, False), Needs(False, True)


@pytest.mark.parametrize(
    ("question", "needs"),
    [
        ("What did Anna think of the price?", EXCHANGE),
        ("Why did the team propose the second option?", EXCHANGE),
        ("Summarize the opinions on hiring.", EXCHANGE),
        ("What was said about delays?", EXCHANGE),
        ("How do I pair the remote?", PROCEDURE),
        ("how to install apps on the TV", PROCEDURE),
        ("The sound is not working. What should I do?", PROCEDURE),
        ("Where can I find the caption settings?", PROCEDURE),
        ("Who pays for the audit?", FACT),
        ("Can I have my money back?", FACT),
        ("Wie lange habe ich Zeit?", FACT),
        ("How are bees made?", FACT),
        ("In which meeting room did the team with most wins play?", FACT),
        ("What is the point of view?", FACT),
        ("", FACT),
    ],
)
def test_needs_are_recognized_by_english_words(question: str, needs: Needs) -> None:
    assert needs_of(question) == needs


@pytest.mark.parametrize(
    ("kind", "heading", "in_manual", "exchange", "procedure"),
    [
        ("message", "", False, "exchange", None),
        ("message", "Remote", True, "exchange", None),
        ("prose", "Remote", True, None, "procedure"),
        ("prose", "", True, None, None),
        ("prose", "Remote", False, None, None),
    ],
)
def test_messages_and_lines_of_manuals_need_a_passage(
    kind: str, heading: str, *, in_manual: bool, exchange: object, procedure: object
) -> None:
    assert EXCHANGE.passage_around(kind, heading, in_manual=in_manual) == exchange
    assert PROCEDURE.passage_around(kind, heading, in_manual=in_manual) == procedure
    assert FACT.passage_around(kind, heading, in_manual=in_manual) is None


def test_manuals_consist_of_short_lines() -> None:
    texts = [("short", "x" * 60), ("short", "x" * 80), ("long", "x" * 60), ("long", "x" * 81)]
    assert manuals(texts) == {"short"}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Were Scott Derrickson and Ed Wood of one nationality?", True),
        ("Who wrote about K2?", True),
        ("Do I pay for it?", False),  # "I" isn't a name
        ("Who pays?", False),
        ("WHO PAYS THE BILL?", False),  # all in capitals
        ("", False),
    ],
)
def test_words_written_as_names_are_recognized(question: str, expected: bool) -> None:
    assert has_name(question) is expected
