"""Which matches of a sentence count, by hand."""

import pytest

from langchain_sentence_window.ranking.relevance import NEARBY, PlacedText, closest_match

SENTENCE = PlacedText(1, 20, "A refund is paid.")


@pytest.mark.parametrize(
    ("other", "counts"),
    [
        (SENTENCE, False),
        (PlacedText(1, 20 - NEARBY, "Before."), False),
        (PlacedText(1, 20 + NEARBY, "After."), False),
        (PlacedText(1, 20 - NEARBY - 1, "Before."), True),
        (PlacedText(1, 20 + NEARBY + 1, "After."), True),
        (PlacedText(2, 20, "Elsewhere."), True),
        (PlacedText(2, 20, " a  REFUND\nis paid. "), False),
        (PlacedText(2, 20, "A refund is paid"), True),
        (PlacedText(2, 20, ""), True),
        (PlacedText(None, None, "A document."), True),
        (PlacedText(None, None, "A refund is paid."), False),
        (PlacedText(1, None, "A document."), True),
        (PlacedText(None, 20, "A document."), True),
    ],
)
def test_matches_count_if_they_are_elsewhere_and_say_something_else(other: PlacedText, counts: bool) -> None:
    assert closest_match(SENTENCE, [(other, 0.5)]) == (0.5 if counts else None)


@pytest.mark.parametrize("place", [(None, None), (None, 20), (1, None)])
def test_documents_without_a_place_are_near_nothing(place: tuple[int | None, int | None]) -> None:
    one, other = PlacedText(*place, "one"), PlacedText(*place, "other")
    assert closest_match(one, [(one, 1.0), (other, 0.5)]) == 0.5


def test_the_best_that_counts_is_the_closest() -> None:
    found = [(SENTENCE, 1.0), (PlacedText(1, 21, "Next."), 0.9), (PlacedText(1, 90, "x"), 0.8)]
    found += [(PlacedText(2, 20, SENTENCE.text), 0.7), (PlacedText(2, 0, "y"), 0.6)]
    assert closest_match(SENTENCE, found) == 0.8
    assert closest_match(SENTENCE, [*found[:2], *found[3:]]) == 0.6
    assert closest_match(SENTENCE, found[:2]) is None
    assert closest_match(SENTENCE, []) is None


def test_any_text_is_compared() -> None:
    odd = ["", "\0", "\ud800", "ß", "x" * 1_000_000]
    for text in odd:
        found = [(PlacedText(number, 0, other), -float(number)) for number, other in enumerate(odd)]
        assert closest_match(PlacedText(9, 0, text), found) == (0 if text else -1)
    assert closest_match(PlacedText(1, 0, "STRASSE"), [(PlacedText(2, 0, "straße"), 0.5)]) is None
