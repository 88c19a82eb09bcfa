import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentence_window.files.pdf.hyphens import Vocabulary, drops_hyphen, rejoins


def vocabulary(*lines: str) -> Vocabulary:
    made = Vocabulary()
    made.add((line, 0.0, 100.0) for line in lines)
    return made


PLAIN = ["The parties agree on a plan"] * 200
"""Lines of a file that hardly ever ends a line with a hyphen."""

DIVIDING = ["The agreement was a plan for the agree-", "ment of parties"] * 20
"""Lines of a file that divides words."""


@pytest.mark.parametrize(
    ("word", "following", "is_dropped"),
    [
        ("agree-", "ment", True),
        ("(agree-", "ment)", True),
        ("agree\xad", "ment", True),
        ("Agree\xad", "Ment", True),
        ("Verein-", "barung", True),
        ("néces-", "saire", True),
        ("non-", "compete", False),
        ("nicht-", "öffentlich", False),
        ("third-", "party", False),
        ("X-", "ray", False),
        ("e-", "mail", False),
        ("PET-", "CT", False),
        ("Multi-", "Modality", False),
        ("2019-", "2020", False),
        ("agree-", "Ment", False),
        ("https://agree-", "ment.org", False),
        ("-", "ment", False),
        ("", "", False),
    ],
)
def test_a_hyphen_between_two_parts_of_a_word_is_dropped(word: str, following: str, is_dropped: bool) -> None:
    assert drops_hyphen(word, following, vocabulary()) is is_dropped


def test_the_words_of_the_file_decide() -> None:
    assert not drops_hyphen("long-", "term", vocabulary("It is a long-term goal."))
    assert drops_hyphen("long-", "term", vocabulary("It is a longterm goal, a long one.", "the term"))
    assert not drops_hyphen("long-", "term", vocabulary("This is as long", "as the term is."))
    assert not drops_hyphen("long-", "term", vocabulary("A long-term goal, a longterm goal"))


def test_the_commoner_spelling_wins_where_the_file_divides_words() -> None:
    both = ["The on-line and online shop is online."]
    assert drops_hyphen("on-", "line", vocabulary(*both, *DIVIDING))
    assert not drops_hyphen("on-", "line", vocabulary(*both, *PLAIN))


def test_a_file_that_never_divides_words_ends_lines_with_compounds() -> None:
    for lines, is_dropped in ((PLAIN, False), (DIVIDING, True)):
        assert drops_hyphen("plan-", "ning", vocabulary(*lines)) is is_dropped
        assert drops_hyphen("out-", "lined", vocabulary("They lined up", *lines)) is is_dropped


def test_words_in_capitals_are_joined_only_to_words_of_the_file() -> None:
    assert drops_hyphen("AGREE-", "MENT", vocabulary("An agreement"))
    assert not drops_hyphen("AGREE-", "MENT", vocabulary(*PLAIN))
    assert not drops_hyphen("CD-", "ROM", vocabulary("A CD-ROM", *DIVIDING))
    assert not drops_hyphen("agree-", "MENT", vocabulary("An agreement"))


def test_a_few_lines_do_not_show_a_habit() -> None:
    assert drops_hyphen("plan-", "ning", vocabulary(*PLAIN[:50]))


@pytest.mark.parametrize(("word", "following"), [("co-", "efficient"), ("pre-", "liminary"), ("ex-", "amples")])
def test_prefixes_are_syllables_only_where_the_file_divides_words(word: str, following: str) -> None:
    assert drops_hyphen(word, following, vocabulary(*DIVIDING))
    assert not drops_hyphen(word, following, vocabulary(*PLAIN))


@pytest.mark.parametrize("lines", [PLAIN, DIVIDING])
def test_two_mere_syllables_are_one_word(lines: list[str]) -> None:
    assert drops_hyphen("provi-", "sions", vocabulary(*lines))


def test_compounds_of_the_file_suggest_others() -> None:
    words = ["its object and the orientation of it"]
    assert drops_hyphen("object-", "orientation", vocabulary(*DIVIDING))
    assert not drops_hyphen("object-", "oriented", vocabulary("a service-oriented plan", *words, *DIVIDING))
    assert not drops_hyphen("object-", "orientation", vocabulary("an object-based plan", *words, *DIVIDING))


def test_a_word_with_more_hyphens_is_a_compound() -> None:
    words = "The state is left to the right of art"
    assert not drops_hyphen("left-to-", "right", vocabulary(words, *DIVIDING))
    assert not drops_hyphen("left-", "to-right", vocabulary(words, *DIVIDING))
    assert drops_hyphen("Wi-Fi-en-", "abled", vocabulary(words, *DIVIDING))


def test_forms_of_a_word_of_the_file_are_words() -> None:
    words = "They do inform us"
    assert not drops_hyphen("inform-", "ations", vocabulary(words, *PLAIN))
    assert drops_hyphen("inform-", "ations", vocabulary(words + " and information", *PLAIN))


def test_a_line_that_ends_with_a_hyphen_goes_on_only_in_a_word() -> None:
    assert rejoins("agree-", "ment")
    assert not rejoins("-", "ment")
    assert not rejoins("agree-", "(ment)")
    assert not rejoins("agree", "ment")
    assert not rejoins("", "")


@pytest.mark.parametrize(
    ("word", "following"), [("pre-", "and post-war"), ("Haupt-", "und Nebensätze"), ("sous-", "ou")]
)
def test_a_hyphen_for_the_rest_of_a_compound_is_followed_by_a_space(word: str, following: str) -> None:
    assert not rejoins(word, following)
    assert rejoins("search-", "and-rescue")
    assert rejoins("brig\xad", "and")


def test_huge_words_are_decided() -> None:
    assert drops_hyphen("a" * 100_000 + "-", "b" * 100_000, vocabulary())


@given(st.text("aB-\xad1 .", max_size=6), st.text("aB-\xad1 .", max_size=6))
def test_any_words_are_decided(word: str, following: str) -> None:
    assert drops_hyphen(f"{word}\xad", following, vocabulary(word, following))
    assert drops_hyphen(word, following, vocabulary(word, following)) in (True, False)
