import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window.loaders.pdf.hyphens import Piece, Vocabulary, first_letters, last_letters


def vocabulary(*pieces: str | Piece) -> Vocabulary:
    made = Vocabulary()
    made.add((each, 0.0, 100.0) if isinstance(each, str) else each for each in pieces)
    return made


def test_the_parts_of_a_parted_word_are_no_words() -> None:
    made = vocabulary("They agree on the agree-", "ment of both.", "And ment")
    assert set(made.words) == {"they", "agree", "on", "the", "of", "both", "and", "ment"}
    assert made.words["ment"] == 1
    assert made.parted == [("agree", "ment")]


def test_a_parted_word_goes_on_below_not_in_the_column_beside_it() -> None:
    made = vocabulary(
        ("We find it nec-", 0.0, 90.0),
        ("On the other side hori-", 110.0, 200.0),
        ("essary to say so.", 0.0, 90.0),
        ("zontal lines stand.", 110.0, 200.0),
    )
    assert made.parted == [("nec", "essary"), ("hori", "zontal")]
    assert not {"nec", "essary", "hori", "zontal"} & set(made.words)
    assert {"on", "to", "lines"} <= set(made.words)


def test_compounds_and_their_parts_are_counted() -> None:
    made = vocabulary("A long-term plan is long\u2010term.", "Not state-of-the-art")
    assert made.compounds == {"long-term": 2, "state-of-the-art": 1}
    assert made.first_parts == {"long", "state", "of", "the"}
    assert made.last_parts == {"term", "of", "the", "art"}
    assert "long" not in made.words


def test_parted_words_are_compared_with_those_inside_lines() -> None:
    made = vocabulary("The agreement of long-term", "plans is an agree-", "ment that long-", "term plans need.")
    assert made.told() == (1, 1)
    made.add([("Another agree-", 0.0, 9.0), ("ment stands.", 0.0, 9.0)])
    assert made.told() == (2, 1)


def test_a_single_word_is_no_line() -> None:
    assert vocabulary("one", "two words", "").lines == 1


@given(st.lists(st.tuples(st.text("aB-\xad1 ."), st.integers(0, 3), st.integers(0, 3))))
def test_any_pieces_are_taken(pieces: list[Piece]) -> None:
    made = vocabulary(*pieces)
    assert sum(made.told()) <= len(made.parted) <= len(pieces)


@pytest.mark.slow
@given(st.text())
def test_letters_are_taken_from_the_ends(word: str) -> None:
    first, last = first_letters(word), last_letters(word)
    assert word.startswith(first)
    assert word.endswith(last)
    assert not (first + last) or (first + last).isalpha()
