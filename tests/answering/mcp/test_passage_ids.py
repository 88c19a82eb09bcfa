"""Ids of passages survive their way, and none names another document."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window._primitives import STORABLE_ID
from langchain_sentence_window.apps.mcp.mcp_passages import MAX_PASSAGE_ID_CHARS, passage_id, read_passage_id

NAMES = st.text(min_size=1, max_size=40).filter(STORABLE_ID.fullmatch)
HARD = st.lists(
    st.sampled_from(["a", "#", "%", "1-2", "#1-2", "%23", '"', "\n", " ", "ü", "\u2028", "\U0001f600"]), min_size=1
)
NUMBERS = st.integers(0, 10**9)


@given(NAMES | HARD.map("".join), st.tuples(NUMBERS, NUMBERS))
def test_an_id_means_its_passage_first(doc_id: str, numbers: tuple[int, int]) -> None:
    first, last = sorted(numbers)
    made = passage_id(doc_id, (first, last))
    assert made.isascii()
    assert made.isprintable()
    assert " " not in made
    assert read_passage_id(made)[0] == (doc_id, (first, last))


@given(NAMES | HARD.map("".join))
def test_a_doc_id_is_read_as_it_is_too(doc_id: str) -> None:
    assert (doc_id, None) in read_passage_id(doc_id)
    assert (doc_id, None) in read_passage_id(passage_id(doc_id, None))


@given(st.lists(NAMES | HARD.map("".join), min_size=2, max_size=2, unique=True), st.tuples(NUMBERS, NUMBERS))
def test_two_documents_never_share_an_id(names: list[str], numbers: tuple[int, int]) -> None:
    one, two = (passage_id(name, (min(numbers), max(numbers))) for name in names)
    assert one != two


@pytest.mark.parametrize(
    ("given_id", "expected"),
    [
        ("terms#2-5", [("terms", (2, 5)), ("terms#2-5", None)]),
        ("terms#5-2", [("terms#5-2", None)]),
        ("terms#-2", [("terms#-2", None)]),
        ("#1-2", [("#1-2", None)]),
        ("terms#1-99999999999", [("terms#1-99999999999", None)]),
        ('"a\\u0020b"', [('"a\\u0020b"', None), ("a b", None)]),
        ("a%20b", [("a%20b", None), ("a b", None)]),
        ("terms#\u0661-\u0662", [("terms#\u0661-\u0662", None)]),  # digits, but not ASCII's
        ("a\0", []),
        ("%00", [("%00", None)]),
        ("", []),
    ],
)
def test_what_an_id_may_mean(given_id: str, expected: list[tuple[str, tuple[int, int] | None]]) -> None:
    assert read_passage_id(given_id) == expected


def test_the_longest_doc_id_that_is_shown_fits() -> None:
    assert len(passage_id("\U0001f600" * 1_000, (2**31, 2**31))) <= MAX_PASSAGE_ID_CHARS
