"""Questions and answers as people have them: JSON lines, CSV, text."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.evaluation import Question
from sentence_window.question_files import OpenQuestion, parse_questions, read_any_questions

PAIRS = [("How long?", "Five days, at most."), ("Wer zahlt?", "Der Kunde."), ("Why?", "")]


def parsed(text: str) -> list[tuple[str, str]]:
    found = [question for question, _ in parse_questions(text, "x")]
    assert all(isinstance(each, OpenQuestion) for each in found)
    return [(each.question, each.answer) for each in found if isinstance(each, OpenQuestion)]


@pytest.mark.parametrize(
    "text",
    [
        'question,answer\nHow long?,"Five days, at most."\nWer zahlt?,Der Kunde.\nWhy?,\n',
        'id;Answer;Question\r\n1;"Five days, at most.";How long?\r\n\r\n2;Der Kunde.;Wer zahlt?\r\n3;;Why?',
        "question\tanswer\nHow long?\tFive days, at most.\nWer zahlt?\tDer Kunde.\nWhy?\t",
        'How long?, Five days, at most.\n\n"Wer zahlt?", "Der Kunde."\nWhy?,',
        "How long?\nFive days, at most.\n\nWer zahlt?\nDer Kunde.\n\n\nWhy?\n",
        "Q: How long?\nA: Five days, at most.\nQ: Wer zahlt?\nA: Der Kunde.\nQ: Why?\n",
        "Frage 1: How long?\nAntwort: Five days, at most.\n\nFrage 2: Wer zahlt?\nAntwort: Der Kunde.\n\nFrage 3: Why?",
        "1. How long?\nFive days, at most.\n\n2. Wer zahlt?\nDer Kunde.\n\n3. Why?",
        '{"question": "How long?", "answer": "Five days, at most."}\n'
        '{"question": "Wer zahlt?", "answer": "Der Kunde."}\n'
        '{"question": "Why?", "answer": ""}',
    ],
)
def test_questions_and_answers_are_read_as_people_write_them(text: str) -> None:
    assert parsed(text) == PAIRS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "\u8cea\u554f\uff1a\u3044\u3064\uff1f\n\u56de\u7b54\uff1a\u660e\u65e5\u3002",
            ("\u3044\u3064\uff1f", "\u660e\u65e5\u3002"),
        ),
        ("\u0645\u062a\u0649\u061f\n\u063a\u062f\u0627.", ("\u0645\u062a\u0649\u061f", "\u063a\u062f\u0627.")),
        (
            "\u0412\u043e\u043f\u0440\u043e\u0441: \u041a\u0442\u043e?\n\u041e\u0442\u0432\u0435\u0442: \u042f.",
            ("\u041a\u0442\u043e?", "\u042f."),
        ),
        ("Name the price.\tNine euros.".replace("Name", "question\tanswer\nName"), ("Name the price.", "Nine euros.")),
        (
            "Q: Name the price.\nA: Nine euros.\nIt is paid at once.",
            ("Name the price.", "Nine euros.\nIt is paid at once."),
        ),
    ],
)
def test_other_scripts_and_sentences_that_ask_nothing_are_read(text: str, expected: tuple[str, str]) -> None:
    assert parsed(text) == [expected]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Some text that asks nothing.", "'Some text that asks nothing.' of x isn't a question"),
        ("How long?\nFive.\n\nNo question here.", "'No question here.' of x isn't a question"),
        ('{"question": "a"}', "line 1 of x: it lacks 'doc_id', 'spans'"),
        ('{"answer": "a"}', "line 1 of x: it lacks 'question'"),
        ('{"question": "a", "answer": 5}', "answer is 5"),
        ('{"question": "a", "answer": "b", "spans": []}', "lacks 'doc_id'"),
        ("question,answer\n,Five.\n", "row 2 of x: question is ''"),
        (f"question,answer\n{'x' * 200_000},y", "can't be read as a table"),
    ],
)
def test_what_is_no_question_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_questions(text, "x")
    assert message in str(caught.value)


@given(st.text(alphabet="Qa?:,;\n \"'{[|\t\u061f", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = parse_questions(text, "x")
    except InvalidInputError:
        return
    assert all(each.question.strip() for each, _ in found)


@pytest.mark.parametrize(
    "text", ["?" * 100_000, "Why? " * 20_000, "\n \n" * 50_000, "Q" * 100_000 + "?", '"' * 100_000 + "?"]
)
def test_a_long_text_is_read_or_refused_at_once(text: str) -> None:
    # A pattern that tried again at each character would take minutes.
    with contextlib.suppress(InvalidInputError):
        assert len(parse_questions(text, "x")) <= 1


def test_a_file_may_mix_questions_with_gold_and_without(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text('{"question": "a", "doc_id": "d", "spans": [[0, 1]]}\n{"question": "b", "answer": ""}\n')
    assert read_any_questions(path) == [Question("a", "d", ((0, 1),)), OpenQuestion("b")]
    path.write_text("\n")
    with pytest.raises(InvalidInputError, match="holds no questions"):
        read_any_questions(path)
