import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window.loaders.pdf.vocabulary import Vocabulary, rejoins


def vocabulary(*lines: str) -> Vocabulary:
    made = Vocabulary()
    made.add(lines)
    return made


@pytest.mark.parametrize(
    ("word", "following", "is_dropped"),
    [
        ("agree-", "ment", True),
        ("(agree-", "ment)", True),
        ("agree\xad", "ment", True),
        ("Agree\xad", "Ment", True),
        ("non-", "compete", False),
        ("X-", "ray", False),
        ("PET-", "CT", False),
        ("Multi-", "Modality", False),
        ("2019-", "2020", False),
        ("agree-", "Ment", False),
        ("-", "ment", False),
        ("", "", False),
    ],
)
def test_a_hyphen_between_two_parts_of_a_word_is_dropped(word: str, following: str, is_dropped: bool) -> None:
    assert vocabulary().drops_hyphen(word, following) is is_dropped


def test_the_words_of_the_file_decide() -> None:
    assert not vocabulary("It is a long-term goal.").drops_hyphen("long-", "term")
    assert vocabulary("It is a longterm goal, a long one.", "the term").drops_hyphen("long-", "term")
    assert not vocabulary("This is as long", "as the term is.").drops_hyphen("long-", "term")


def test_the_parts_of_a_parted_word_are_no_words() -> None:
    assert vocabulary("They agree on the agree-", "ment of both.", "And ment").words == {
        *("they", "agree", "on", "the", "of", "both", "and", "ment")
    }


def test_a_line_that_ends_with_a_hyphen_goes_on_only_in_a_word() -> None:
    assert rejoins("agree-", "ment")
    assert not rejoins("-", "ment")
    assert not rejoins("agree-", "(ment)")
    assert not rejoins("agree", "ment")
    assert not rejoins("", "")


@given(st.text("aB-\xad1 .", max_size=6), st.text("aB-\xad1 .", max_size=6))
def test_any_words_are_decided(word: str, following: str) -> None:
    assert vocabulary(word, following).drops_hyphen(f"{word}\xad", following)
