"""Test what holds for any text: spans, verdicts that don't depend on what is around, and work linear in the text."""

import random
import re
from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import verify_quote, verify_quotes
from tests.answering.golden import rows
from tests.answering.quotes.sources import window
from tests.properties import examples

WORDS = ["The", "fee", "is", "due", "5", "10", "1,500", "12.5", "days", "well-known", "état", "isn't", "Ende", "m²"]
GAPS = [" ", " ", " ", ". ", ", ", "\n", "; "]


@st.composite
def texts(draw: st.DrawFn, least: int = 8) -> str:
    words = draw(st.lists(st.sampled_from(WORDS), min_size=least, max_size=40))
    gaps = draw(st.lists(st.sampled_from(GAPS), min_size=len(words), max_size=len(words)))
    return "".join(word + gap for word, gap in zip(words, gaps, strict=True)).strip() + "."


@st.composite
def slices(draw: st.DrawFn) -> tuple[str, int, int]:
    """A text, and a span of whole words in it."""
    text = draw(texts())
    words = [found.span() for found in re.finditer(r"[^\s;]+(?<![.,])", text)]
    first = draw(st.integers(0, len(words) - 1))
    last = draw(st.integers(first, len(words) - 1))
    return text, words[first][0], words[last][1]


def squeezed(text: str) -> str:
    """A text without case and white space."""
    return "".join(text.lower().replace("’", "'").split())


@given(slices(), st.integers(0, 1000))
@examples(300)
def test_a_slice_is_verbatim_and_the_place_is_its_text(given_slice: tuple[str, int, int], start: int) -> None:
    text, low, high = given_slice
    found = verify_quote(text[low:high], [window("Unrelated.", "b"), window(text, start=start)])
    (place,) = found.places
    assert (found.verdict, place.number, place.text) == ("verbatim", 2, text[low:high])
    assert place.start is not None
    assert text[place.start - start :].startswith(text[low:high])
    if text.find(text[low:high]) == text.rfind(text[low:high]):
        assert (place.start, place.end) == (start + low, start + high)


@given(slices(), st.randoms(use_true_random=False))
@examples(300)
def test_a_quote_in_other_form_is_normalized_and_so_is_the_place(
    given_slice: tuple[str, int, int], chance: random.Random
) -> None:
    text, low, high = given_slice
    # A capital at the beginning would claim that a sentence begins there.
    quote = text[low] + "".join(
        chance.choice([each, "  ", "\n", "\u00a0"]) if each == " " else chance.choice([each, each.swapcase()])
        for each in text[low + 1 : high].replace("'", "’")
    )
    found = verify_quote(quote, [window(text)])
    assert found.verdict in ("verbatim", "normalized")
    (place,) = found.places
    assert squeezed(place.text) == squeezed(quote)
    assert text[place.start : place.end] == place.text


@given(slices(), st.integers(0, 1000), st.integers(1, 9))
@examples(300)
def test_a_changed_digit_is_never_passed(given_slice: tuple[str, int, int], which: int, by: int) -> None:
    text, low, high = given_slice
    digits = [at for at in range(low, high) if text[at].isdecimal()]
    assume(digits)
    at = digits[which % len(digits)]
    quote = text[low:at] + str((int(text[at]) + by) % 10) + text[at + 1 : high]
    # The changed text may stand elsewhere by chance.
    assume(squeezed(quote) not in squeezed(text))
    assert verify_quote(quote, [window(text)]).verdict not in ("verbatim", "normalized")


@given(slices(), st.integers(0, 1000), st.sampled_from("-+−.,5%$€½²"))
@examples(300)
def test_a_mark_at_a_number_is_never_passed(given_slice: tuple[str, int, int], which: int, mark: str) -> None:
    text, low, high = given_slice
    digits = [at for at in range(low, high) if text[at].isdecimal()]
    assume(digits)
    at = digits[which % len(digits)]
    before, after = text[low:at] + mark + text[at:high], text[low : at + 1] + mark + text[at + 1 : high]
    for quote in (before, after):
        # A comma or a point at the end is the quotation's own, and no mark of the number.
        if quote[-1] in ".," or squeezed(quote) in squeezed(text):
            continue
        assert verify_quote(quote, [window(text)]).verdict not in ("verbatim", "normalized"), quote


@given(st.lists(texts(), min_size=1, max_size=4), slices(), st.randoms(use_true_random=False))
@examples(100)
def test_the_order_of_windows_changes_numbers_alone(
    others: list[str], given_slice: tuple[str, int, int], chance: random.Random
) -> None:
    text, low, high = given_slice
    windows = [window(each, f"d{number}") for number, each in enumerate([text, *others])]
    shuffled = windows[:]
    chance.shuffle(shuffled)
    for quote in (text[low:high], text[low:high].upper(), f"{text[low:high]} nonsense"):
        one, other = verify_quote(quote, windows), verify_quote(quote, shuffled)
        assert one.verdict == other.verdict
        for found, given_windows in ((one, windows), (other, shuffled)):
            assert all(given_windows[place.number - 1] is place.document for place in found.places)


@given(slices(), st.sampled_from(["", "Before. ", "# A\n\n", "- ", 'He "said" so. ', "1,5 [3]. "]))
@examples(150)
def test_the_verdict_does_not_depend_on_the_text_around(given_slice: tuple[str, int, int], before: str) -> None:
    text, low, high = given_slice
    windows = [window(text), window("Unrelated.", "b")]
    for quote in (text[low:high], text[low:high].upper(), f"{text[low:high]} nonsense"):
        answer = f"{before}It says “{quote}” [1]. After that “nothing” [2]."
        found = [each for each in verify_quotes(answer, windows) if each.text == quote]
        alone = verify_quote(quote, windows, [1])
        assert [(each.verdict, each.places) for each in found] == [(alone.verdict, alone.places)]


@given(st.text(st.sampled_from("ab 1.[]\"“”„«»'’>\n-…`*\u200b\ud800\0「」‘‚(2)"), max_size=80))
@examples(500)
def test_any_answer_is_read(answer: str) -> None:
    windows = [window("a b 1. ab"), Document(answer)]
    for each in verify_quotes(answer, windows):
        assert 0 <= each.start < each.end <= len(answer)
        for place in each.places:
            assert place.own is None or windows[place.number - 1].page_content[slice(*place.own)] == place.text
            assert (place.start is None) == (place.number == 2)


HUGE: dict[str, Callable[[int], tuple[str, str]]] = {
    "quotes": lambda n: ("“a b” " * n, "a b c"),
    "quotes that aren't there": lambda n: (" ".join(f"“x{at} y”" for at in range(n)), "a b c"),
    "openers": lambda n: ("“" * n, "a"),
    "straight marks": lambda n: ('"' * n + "a" + '"' * n, "a"),
    "marks in marks": lambda n: ("“„«" * n + "a b" + "»”“" * n, "a b"),
    "block quotes": lambda n: ("> a b\n\n" * n, "a b"),
    "one block quote": lambda n: ("> a b\n" * n, "a b"),
    "citations": lambda n: ("a b [1]. " * n, "a b"),
    "claims in other words": lambda n: ("b a x [1]. " * n, "a b. " * n),
    "one quote, many numbers": lambda n: ('"a b" ' + "[1]" * n, "a b"),
    "brackets": lambda n: ("“" + "[a" * n + "”", "a"),
    "gaps": lambda n: ("“" + "a … " * n + "”", "a " * n),
    "one letter": lambda n: ("“" + "a" * n + "”", "a" * 2 * n),
    "cut words": lambda n: ("“5”", "15 " * n),
    "words in capitals": lambda n: ("“A”", "ba " * n),
    "negations": lambda n: ("“The fee.”", "no the fee not " * n),
    "pieces": lambda n: ("“" + "a b c d e f " * n + "x”", "a b c x. d e f. " * n),
    "hyphens": lambda n: ("“a-b”", "a-\nb " * n),
    "invisible": lambda n: ("“a" + "\u200b" * n + "b”", "a" + "\u200b" * n + "b"),
    "marks of letters": lambda n: ("“a" + "\u0301\u0316" * n + "”", "a" + "\u0316\u0301" * n),
    "white space": lambda n: ("“a" + " \n" * n + "b”", "a" + " \n\t" * n + "b"),
    "code": lambda n: ("`a` “b” " * n, "b"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HUGE)
def test_a_huge_answer_is_read_at_all(name: str) -> None:
    # With anything worse than linear work this doesn't end.
    answer, text = HUGE[name](20_000)
    assert isinstance(verify_quotes(answer, [Document(text)]), list)


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    rows("markup_pieces"),
)
def test_markup_that_never_closes_is_read_to_the_end(piece: str) -> None:
    assert verify_quote("fee", [Document(piece * 100_000 + " fee")]).verdict in ("verbatim", "not_found")
